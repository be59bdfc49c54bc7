"""Compiled code: kept on disk and found again, never stale; the same results with bounds checked and with the JIT off."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret.kernels import jit
from noregret.kernels.flat import flat, index

TESTS = Path(__file__).parents[1]

#: Compiles a small kernel and the loop of a fixed policy; prints how often code was compiled and how often found.
SCRIPT = """
import noregret as nr
from noregret.runs.loop import block
from noregret.kernels import jit, world
nr.run(nr.problems.load("job-scheduling"), "uniform", episodes=3, trials=1)
found = compiled = 0
for kernel in (block, world.play, world.evaluate):
    found += sum(kernel.stats.cache_hits.values())
    compiled += sum(kernel.stats.cache_misses.values())
print(found, compiled, jit.cache_folder())
"""


def python(code: str, **env: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | env, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = python(SCRIPT, NOREGRET_CACHE_DIR=str(tmp_path))
    second = python(SCRIPT, NOREGRET_CACHE_DIR=str(tmp_path))
    assert int(first[1]) > 0
    assert int(first[0]) == 0
    assert int(second[1]) == 0
    assert int(second[0]) > 0
    assert first[2] == second[2] == str(tmp_path / jit.source_hash())


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert jit.cache_folder.__wrapped__() == tmp_path / "home" / "noregret" / jit.source_hash()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    assert jit.cache_folder.__wrapped__().parent.parent == tmp_path / "temporary"
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert jit.cache_folder.__wrapped__() is None


def test_without_any_folder_the_kernels_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "cache_folder", lambda: None)

    def twice(x: int) -> int:
        return 2 * x

    assert jit.jit(twice)(4) == 8


@pytest.mark.parametrize("edited", ["runs/loop.py", "kernels/softmax.py", "learners/fixed.py", "learners/new.py"])
def test_an_edit_of_a_source_changes_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str) -> None:
    package = Path(jit.__file__).parent.parent
    for part in ("kernels", "learners"):
        shutil.copytree(package / part, tmp_path / part)
    (tmp_path / "runs").mkdir()
    shutil.copy(package / "runs" / "loop.py", tmp_path / "runs")
    monkeypatch.setattr(jit, "_PACKAGE", tmp_path)
    before = jit.source_hash.__wrapped__()
    assert before == jit.source_hash.__wrapped__() == jit.source_hash()
    with open(tmp_path / edited, "a") as file:
        file.write("# an edit\n")
    assert jit.source_hash.__wrapped__() != before


def test_old_code_is_forgotten(tmp_path: Path) -> None:
    old, recent, own = tmp_path / "old", tmp_path / "recent", tmp_path / "own"
    for folder in (old, recent, own):
        folder.mkdir()
    os.utime(old, (0, 0))
    jit._forget_old(own)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["own", "recent"]


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_kernels_again(switch: str) -> None:
    """The tests marked ``kernels``, with every index checked, and as plain Python."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "kernels", "-p", "no:cacheprovider", str(TESTS / "kernels" / "test_kernels.py"),
         str(TESTS / "learners" / "test_learner_primal_dual.py")],
        capture_output=True, text=True, env=os.environ | {switch: "1"}, cwd=TESTS.parent, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@partial(jit.jit, inline=True, cached=False)
def write_through(table: Any) -> None:
    line = flat(table)
    line[index(3)] = 7.0


@partial(jit.jit, cached=False)
def write(tables: Any) -> None:
    write_through(tables[1])


def test_what_is_written_through_a_flat_view_stays() -> None:
    """Numba drops writes to arrays that it takes for nobody's when it puts a function in its caller's place."""
    table = np.zeros((2, 2))
    write((np.zeros(1), table))
    np.testing.assert_array_equal(table, [[0.0, 0.0], [0.0, 7.0]])


def test_a_disk_without_room_for_compiled_code_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(signature: Any, code: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching._Cache.save_overload", full, raising=False)
    monkeypatch.setattr("numba.core.caching.Cache.save_overload", lambda self, signature, code: full(signature, code))
    kernel = jit.jit(lambda x: x + 1)
    with pytest.warns(UserWarning, match="compiled code is not kept: .*: No space left on device"):
        assert kernel(1) == 2
