"""Whole files that are not ours: runs of a newer version, records and checkpoints that say something else."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from noregret.cli import app
from noregret.errors import DamagedError, FileError, InputError
from noregret.runs.execute import Settings, execute
from noregret.runs.keys import make_key
from noregret.store import Checkpoints, RunKey, Store, load_runs
from noregret.store.folder import seal

KEY = make_key(problem="random:S=4,A=2,H=3", learner="uniform", episodes=300, record_every=7)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "runs")
    for seed in range(3):
        execute(make_key("random:S=4,A=2,H=3", "uniform", 20, seed, record_every=10), store)
    return store


def changed(store: Store, id: str, **entries: Any) -> None:
    """Write a run's record anew, with a good seal."""
    path = store.path(id) / "run.json"
    record = json.loads(path.read_bytes())
    del record["sha256"]
    for name, value in entries.items():
        place, _, last = name.rpartition("__")
        (record[place] if place else record)[last] = value
    path.write_bytes(seal(record))


def record_of(store: Store, id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((store.path(id) / "run.json").read_bytes())
    return found


def test_a_run_of_a_newer_version_is_named_and_left_out(store: Store) -> None:
    newer, *others = store.ids()
    changed(store, newer, run__temperature=0.5)
    with pytest.warns(UserWarning, match=f"{newer}.*entry 'temperature' of the run is unknown.*left out"):
        table = load_runs(store.folder)
    assert [run.id for run in table.runs] == others
    with pytest.raises(FileError, match="entry 'temperature' of the run is unknown; was it written by a newer version"):
        store.read(newer)
    done = CliRunner().invoke(app, ["list", "runs", "--runs", str(store.folder)])
    assert done.exit_code == 0 and done.exception is None, done.output
    assert store.path(newer).exists()
    key = RunKey.from_json({name: value for name, value in record_of(store, newer)["run"].items() if name != "temperature"})
    with pytest.warns(UserWarning, match="'temperature' of the run is unknown.*moved to.*played again"):
        assert execute(key, store).status == "done"
    assert store.whole(newer) and len(list((store.folder / ".damaged").iterdir())) == 1


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"seconds": "long"}, "entry 'seconds' is 'long'; expected float"),
        ({"last": []}, "entry 'last' is"),
        ({"last__dual": [1.0, 2.0]}, "entry 'dual' has 2 numbers; expected 1"),
        ({"last__regret": None}, "entry of last 'regret' is None"),
        ({"curves": {}}, "entry of curves 'sha256' is missing"),
        ({"constraints": ["\x1b[2Jgone"]}, "entry 'constraints' is"),
        ({"versions": {"a": {"number": "?"}}}, "is not what noregret writes"),
    ],
)
def test_a_record_that_says_something_else_is_refused(store: Store, entries: dict[str, Any], said: str) -> None:
    id = store.ids()[0]
    changed(store, id, **entries)
    with pytest.raises(DamagedError, match=said):
        store.read(id)


@pytest.mark.parametrize("name", ["regret", "dual", "episodes", "more"])
def test_curves_that_do_not_belong_to_the_run_are_refused(store: Store, name: str) -> None:
    id = store.ids()[0]
    curves: dict[str, Any] = store.read(id).curves() | {name: np.full(2, np.nan)}
    buffer = io.BytesIO()
    np.savez(buffer, **curves)
    (store.path(id) / "curves.npz").write_bytes(buffer.getvalue())
    changed(store, id, curves__sha256=hashlib.sha256(buffer.getvalue()).hexdigest())
    with pytest.raises(DamagedError, match=r"curves\.npz: curves"):
        store.read(id).curves()


def test_a_pipe_in_place_of_a_record_does_not_block(store: Store) -> None:
    id = store.ids()[0]
    (store.path(id) / "run.json").unlink()
    os.mkfifo(store.path(id) / "run.json")
    with pytest.raises(FileError, match=r"run\.json: cannot be read: expected a regular file"):
        store.read(id)


def stopped(store: Store) -> Checkpoints:
    """A run that was stopped after its first block."""
    settings = Settings(block_size=100)
    settings.stop.set()
    assert execute(KEY, store, settings).status == "stopped"
    return Checkpoints(store.work(KEY.id))


@pytest.mark.parametrize(
    "change",
    [
        lambda k, arrays, meta: arrays.update({"learner.invented": np.zeros(3)}),
        lambda k, arrays, meta: arrays.pop("sums"),
        lambda k, arrays, meta: arrays.update(sums=arrays["sums"] * np.nan),
        lambda k, arrays, meta: arrays.update(curves=np.zeros((10_000, 5))),
        lambda k, arrays, meta: meta.update(streams=[]),
        lambda k, arrays, meta: meta.pop("seconds"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_set_aside_and_the_run_starts_again(
    store: Store, tmp_path: Path, change: Any
) -> None:
    found = stopped(store).load()
    assert found is not None
    change(*found)
    shutil.rmtree(store.work(KEY.id))
    Checkpoints(store.work(KEY.id)).save(*found)
    with pytest.warns(UserWarning, match=r"its checkpoint does not fit: .*moved to .*\.damaged.*the run is played again"):
        assert execute(KEY, store).status == "done"
    assert [path.suffix for aside in (store.folder / ".damaged").iterdir() for path in aside.iterdir()] == [".bin"]
    quiet = Store(tmp_path / "quiet")
    execute(KEY, quiet)
    assert (store.path(KEY.id) / "curves.npz").read_bytes() == (quiet.path(KEY.id) / "curves.npz").read_bytes()


@pytest.mark.parametrize("k", [-100, 10_000])
def test_a_checkpoint_of_an_episode_that_is_none_is_set_aside(store: Store, k: int) -> None:
    _, arrays, meta = stopped(store).load() or (0, {}, {})
    shutil.rmtree(store.work(KEY.id))
    Checkpoints(store.work(KEY.id)).save(k, arrays, meta)
    with pytest.warns(UserWarning, match="its checkpoint does not fit"):
        assert execute(KEY, store).status == "done"


def test_one_link_in_a_circle_does_not_hide_the_other_runs(tmp_path):
    kept = Store(tmp_path)
    execute(make_key("random:S=3,A=2,H=2", "uniform", 20), kept)
    for name in ("0" * 16, "1" * 16):  # names that runs have
        (tmp_path / name).symlink_to(tmp_path / name)
    assert len(kept.ids()) == 1 and len(load_runs(tmp_path).runs) == 1


def test_a_folder_without_runs_says_so(tmp_path):
    with pytest.raises(InputError, match="has no runs; expected a folder in which runs were kept"):
        Store(tmp_path).find("abc")
