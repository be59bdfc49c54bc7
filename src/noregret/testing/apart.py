"""Checks of learners from elsewhere in a process of their own, where a mistake cannot harm the one that asks.

There compiled code looks whether each index is within its array (``NUMBA_BOUNDSCHECK``), so that a wrong one is an error with a
file and a line, and a check that computes for longer than :data:`SECONDS` ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import noregret
from noregret import learners
from noregret._system import plugins
from noregret.errors import NoRegretError, one_line
from noregret.kernels.compiler.dispatch import bodies
from noregret.learners import base
from noregret.learners.base import Learner
from noregret.testing.cases import Case, CheckError, K, problems

#: Seconds of computing that a check may take, compiling included; on the clock it may take ten times as long.
SECONDS = 60

#: What the other process runs. Standard output is kept for answers; whatever else prints, prints to standard error.
PROGRAM = f"""import os, sys
answers = os.dup(1)
os.dup2(2, 1)
sys.path.append({str(Path(noregret.__file__).parent.parent)!r})
from noregret.testing.apart import serve
serve(answers)
"""

#: Whether this is the other process.
_here = False


def is_apart() -> bool:
    """Tell whether this process was started to check a learner; what it imports may ask for the checks once more."""
    return _here


def can_be_told(params: dict[str, object]) -> bool:
    """Whether another process can be told parameters: numbers, texts, and lists of them."""
    try:
        return bool(json.loads(json.dumps(params)) == params)
    except (TypeError, ValueError):
        return False


def place(learner: type[Learner]) -> tuple[plugins.Home, str] | None:
    """Where another process finds the class of a learner: a module and a name in it; None where it cannot."""
    module, name = learner.__module__, learner.__qualname__
    if "<" in name:
        return None
    if module == "__main__":
        file = getattr(sys.modules[module], "__file__", None)
        return (plugins.Home(str(Path(file).absolute().parent), Path(file).stem), name) if file else None
    return plugins.home(module), name


class Apart:
    """The checks of one learner in another process, which is started for the first of them.

    Args:
        learner: the class.
        params: parameters to make it with.
    """

    def __init__(self, learner: type[Learner], params: dict[str, object]) -> None:
        self.learner, self.params = learner, params
        self._process: subprocess.Popen[str] | None = None

    def check(self, name: str) -> None:
        """Run one check.

        Raises:
            CheckError: it failed, raised an error, took too long, or ended the process.
        """
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(name) + "\n")
            process.stdin.flush()
            said = json.loads(process.stdout.readline())
        except (OSError, ValueError):  # it is gone
            self._process = None
            raise CheckError(_death(process.wait())) from None
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if said is not None:
            raise CheckError(said)

    def close(self) -> None:
        """End the other process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __del__(self) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[str]:
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        assert self._process.stdin is not None
        where = place(self.learner)
        homes = [tuple(home) for home in plugins.named()]
        self._process.stdin.write(json.dumps([sys.path, homes, where, self.params, SECONDS]) + "\n")
        return self._process


def _death(code: int) -> str:
    """How the other process ended, in words."""
    if code in (-getattr(signal, "SIGPROF", 0), -getattr(signal, "SIGALRM", 0)):
        return f"it did not end within {SECONDS} seconds of computing; expected a plan and an update that end"
    if code < 0:
        name = signal.Signals(-code).name
        return f"it ended the process by {name}; expected a plan and an update that stay within their arrays"
    return f"it ended the process with the exit status {code}; expected a check that ends"


# --- in the other process -----------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """Run the checks whose names come in, and answer None or what is wrong on the open file ``descriptor``."""
    global _here
    from noregret.testing.learners import checks_here

    _here = True
    answers = os.fdopen(descriptor, "w")
    path, homes, (home, qualname), params, seconds = json.loads(sys.stdin.readline())
    sys.path.extend(each for each in path if each and each not in sys.path)
    checks: dict[str, Callable[[], None]] | None = None
    for line in sys.stdin:
        name = json.loads(line)
        _limit(seconds, 10 * seconds)
        said: str | None = None
        try:
            if checks is None:
                plugins.load_homes([*homes, home])
                learner: Any = sys.modules[home[1]]
                for part in qualname.split("."):
                    learner = getattr(learner, part)
                checks = dict(checks_here(learners.register(learner).name, params))
            checks[name]()
        except NoRegretError as error:
            said = str(error)
            if "out of bounds" in said:
                said = in_python(learner.name, params) or said
        except Exception as error:
            said = _placed(error)
        _limit(0, 0)
        answers.write(json.dumps(said) + "\n")
        answers.flush()


def in_python(name: str, params: dict[str, object]) -> str | None:
    """Where a learner takes an entry outside of an array: compiled code does not know the line, the same code in Python does.

    This process cannot check a compiled learner after that.
    """

    def update(state: object, *episode: object) -> None:
        bodies([type(state)])[1](state, *episode)

    vars(base).update(run_plan=lambda state: bodies([type(state)])[0](state), run_update=update)
    for problem in problems().values():
        try:
            case = Case(name, problem, params)
            case.play(case.make(), 0, K)
        except IndexError as error:
            return _placed(error)
        except Exception:
            continue  # another check says so
    return None


def _placed(error: Exception) -> str:
    """What an error says, after the file and line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}: {one_line(error)}"


def _limit(computing: float, clock: float) -> None:
    """Have the system end this process after so many seconds, also in the midst of compiled code; 0 for never."""
    if hasattr(signal, "setitimer"):
        for number, timer, seconds in (
            (signal.SIGPROF, signal.ITIMER_PROF, computing),
            (signal.SIGALRM, signal.ITIMER_REAL, clock),
        ):
            signal.signal(number, signal.SIG_DFL)
            signal.setitimer(timer, seconds)
