"""Tidying a store removes what a run left and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from noregret.store import Store

ID = "0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "runs")
    store.work(ID).mkdir(parents=True)
    (store.work(ID) / "checkpoint").write_text("precious")
    return store


@pytest.mark.parametrize(
    "stray", [".DS_Store", ".nfs0000", ".0", "..x", "data.v1/", f"{ID}.bak/", f"{ID}.tar", f"{ID[:-1]}.0/", f"x{ID}/"]
)
def test_what_is_not_a_runs_stays(store: Store, stray: str) -> None:
    path = store.folder / ".work" / stray
    path.mkdir() if stray.endswith("/") else path.write_text("")
    store.path("").mkdir(exist_ok=True)
    store.clean()
    assert path.exists()
    assert (store.work(ID) / "checkpoint").read_text() == "precious"


def test_what_kills_left_goes(store: Store) -> None:
    partial = store.folder / ".work" / f"{ID}.{'0' * 32}"
    partial.mkdir()
    store.clean()
    assert not partial.exists() and store.work(ID).exists()  # not finished: its checkpoints stay
    store.path(ID).mkdir()
    store.clean()
    assert not store.work(ID).exists()


def test_a_lock_that_is_held_stays(store: Store) -> None:
    store.path(ID).mkdir()
    script = (
        "import sys; from noregret.store import Store\nwith Store(sys.argv[1]).lock(sys.argv[2]): print(1, flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", script, store.folder, ID], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "1\n"
        store.clean()
        assert (store.folder / ".work" / f"{ID}.lock").exists() and store.work(ID).exists()
        holder.communicate("\n")


def test_a_stray_file_among_the_failures_is_no_failure(store: Store) -> None:
    (store.folder / ".failed").mkdir()
    (store.folder / ".failed" / "._note.json").write_text("")
    assert store.failures() == {}
