"""What compiling takes: no part is compiled twice, and Python's search for garbage waits meanwhile."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noregret.kernels.compiler import jit, numba_parts, numba_private


@partial(jit.jit, cached=False)
def times(x: Any, n: int) -> Any:
    return x * n


@partial(jit.jit, cached=False)
def some(x: Any, n: int) -> Any:
    return times(x, 2) + times(x, 3) + times(x, n)


def test_a_constant_is_no_reason_to_compile_a_part_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    finish = numba_parts._Library._finalize_final_module
    monkeypatch.setattr(numba_parts._Library, "_finalize_final_module", lambda part: (made.append(part.name), finish(part))[1])
    assert some(2.0, 5) == 20.0
    assert made == ["times"]


#: Plays a learner, then calls its bodies from Python; prints how many parts were compiled, before and after.
SCRIPT = """
import noregret as nr
from noregret.kernels.compiler import numba_parts
made, finish = [], numba_parts._Library._finalize_final_module
numba_parts._Library._finalize_final_module = lambda part: (made.append(part.name), finish(part))[1]
problem = nr.problems.load("random:S=3,A=2,H=2")
nr.run(problem, "triple-q", episodes=3, trials=1)
print(len(made))
learner = nr.learners.make("triple-q", problem.spec, episodes=3)
learner.plan()
learner.observe([0, 1, 2], [0, 1], [0.5, 0.5], [[0.5, 0.5]])
print(len(made))
"""


def test_the_loop_and_python_share_the_bodies_of_a_learner(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600, check=False,
        env=os.environ | {"NOREGRET_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split()[-2:])
    assert before == after > 0


def test_the_search_for_garbage_waits_for_the_last_that_compiles() -> None:
    assert gc.isenabled()
    begun, end = threading.Event(), threading.Event()

    def other() -> None:
        with numba_private.uncollected():
            begun.set()
            end.wait(60)

    thread = threading.Thread(target=other)
    with numba_private.uncollected():
        thread.start()
        assert begun.wait(60)
        assert not gc.isenabled()
    assert not gc.isenabled(), "another thread still compiles"
    end.set()
    thread.join()
    assert gc.isenabled()


def test_a_search_for_garbage_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pytest.raises(KeyError), numba_private.uncollected():
            raise KeyError
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(KeyError), numba_private.uncollected():
        raise KeyError
    assert gc.isenabled(), "also after an error"


@partial(jit.jit, cached=False)
def wrong(x: Any) -> Any:
    return x.no_such_thing


def test_compiling_pauses_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    disable = gc.disable
    monkeypatch.setattr(numba_private.gc, "disable", lambda: (seen.append("paused"), disable())[1])
    with pytest.raises(Exception, match="no_such_thing"):
        wrong(1.0)
    assert seen
    assert gc.isenabled()
