"""A plan that never returns: a second Ctrl-C ends it, whoever plays it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from noregret._system.crew import Crew
from noregret.runs import schedule
from noregret.runs.backends import processes, threads
from noregret.runs.backends.job import Context
from noregret.store import RunKey, Store


def again() -> None:
    """What a second Ctrl-C does."""
    raise KeyboardInterrupt


def test_threads_are_not_waited_for_after_the_second_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    monkeypatch.setattr(threads, "execute", lambda *_: forever.wait(60))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(threads.on_threads([RunKey("random", "uniform", 10)], Context(Store(tmp_path), 1), again))
    assert time.monotonic() - begin < 30
    forever.set()


def test_processes_are_ended_after_the_second_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PROGRAM", "import time; time.sleep(300)")
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(processes.on_processes([RunKey("random", "uniform", 10)], Context(Store(tmp_path), 1), again))
    assert time.monotonic() - begin < 30


def test_a_thread_that_never_returns_does_not_keep_the_process() -> None:
    code = (
        "from noregret._system.crew import Crew\nimport threading\n"
        "with Crew(1) as crew:\n    crew.submit(threading.Event().wait)\n    raise KeyboardInterrupt"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, check=False, text=True)
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stderr


def test_a_crew_calls_and_waits() -> None:
    with Crew(2) as crew:
        made = [crew.submit(divmod, 7, n) for n in (3, 2, 0)]
    assert [made[0].result(), made[1].result()] == [(2, 1), (3, 1)]
    assert isinstance(made[2].exception(), ZeroDivisionError)


def test_whoever_pressed_once_is_told_to_press_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(schedule, "PATIENCE", 0.0)
    context: Any = Context(Store(tmp_path), 1)
    look = schedule._reminder(context)
    look()
    look()
    context.stop.set()
    look()
    with pytest.warns(UserWarning, match="press Ctrl-C again to end them without a checkpoint"):
        look()
    look()  # once is enough
