"""Kill the long commands at random moments: ``python -m tests.killed_commands FOLDER KILLS SEED``, for a fault test.

The leaderboard, the search for presets and Table 1 are played small. As in killed.py this process imports everything and forks
a child for each sitting. After each kill it looks at what is there: whole, or not there.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Imported here, so that no child spends its life on it.
import jinja2  # noqa: F401
import optuna  # noqa: F401
import plotly.offline  # noqa: F401
import rich.table  # noqa: F401
import scipy.optimize
import scipy.stats  # noqa: F401
from benchmarks.command import run
from benchmarks.protocol import Judged
from benchmarks.table1 import __main__ as table1
from benchmarks.table1 import page as rows
from benchmarks.tuning import page as tables

from benchmarks import tuning
from noregret._system.blas import pin_one_thread
from noregret.cli import app
from noregret.report import figures
from noregret.report.leaderboard import Leaderboard
from noregret.report.leaderboard import page as board

RUNGS = ((Judged("random:seed=1,S=3,A=2,H=2", 60, (0,)),), (Judged("streaming:seed=1,H=2,buffer=2", 60, (0, 1)),))
CELLS = ["--problems", "random:S=3,A=2,H=2,random:S=3,A=2,H=3", "--learners", "uniform,lsvi-ucb", "-k", "5000", "-t", "5"]
ROWS = ["--measure", "--learners", "triple-q", "--episodes", "100", "--trials", "3"]
SPACES = '[lsvi-ucb]\npractical = ["beta=0.01x:10x:log", "cap=H,H-h+1"]\n'


def leaderboard(out: Path) -> int:
    app(["leaderboard", *CELLS, "--out", str(out)], standalone_mode=False)
    return 0


def search(out: Path) -> int:
    spaces = out.parent / "spaces.toml"

    def main(words: Any) -> int:
        tables.check(out)
        found = tuning.tune_all(None, out, budget=5, rungs=RUNGS, spaces=spaces)
        tables.write(found, out)
        return 0

    return run(main, [])


def table(out: Path) -> int:
    return run(table1.main, [*ROWS, "--data", str(out / "data"), "--out", str(out / "runs"), "--log", str(out / "log.csv")])


def look_board(out: Path) -> list[Any]:
    """The numbers of a leaderboard, if it is there; its files belong together."""
    if not (out / "leaderboard.json").exists():
        return []
    found = Leaderboard.read(out / "leaderboard.json")
    assert (out / "leaderboard.csv").read_text() == found.table().csv()
    assert (out / "leaderboard.html").read_text() == board.page(found)
    return [(cell.problem, cell.learner, cell.samples, cell.curves) for cell in found.cells]


def look_search(out: Path) -> list[Any]:
    """The tables of a search, if they are there."""
    if not (out / tables.TABLE).exists():
        return []
    assert tables.markdown(out) == (out / tables.TABLE).read_text()
    return [(out / tables.CONFIGURATIONS).read_text()]


def look_rows(out: Path) -> list[Any]:
    """The rows of Table 1, without what a clock measured."""
    found = rows.read(out / "data") if (out / "data" / rows.DATA).exists() else []
    return [{name: row[name] for name in rows.FIELDS if name != "microseconds"} for row in found]


COMMANDS: dict[str, tuple[Callable[[Path], int], Callable[[Path], list[Any]]]] = {
    "leaderboard": (leaderboard, look_board),
    "search": (search, look_search),
    "table1": (table, look_rows),
}


def child(work: Callable[[Path], int], out: Path, said: Path) -> int:
    """Fork; the child does the work and is gone. What it says goes into a file."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 1), os.dup2(handle, 2)
            code = work(out)
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def attack(name: str, folder: Path, kills: int, rng: random.Random) -> dict[str, Any]:
    """Play a command whole, then killed many times, then twice at once.

    Args:
        name: of the command.
        folder: for what it writes.
        kills: how many.
        rng: decides the moments.
    """
    work, look = COMMANDS[name]
    said, killed, finished = folder / f"{name}.said", 0, 0
    assert ended(child(work, folder / f"{name}-warm", said)) == 0, said.read_text()  # compiles
    began = time.monotonic()
    assert ended(child(work, folder / f"{name}-whole", said)) == 0, said.read_text()
    seconds, whole = time.monotonic() - began, look(folder / f"{name}-whole")
    while killed < kills and finished < 2 * kills:
        out = folder / f"{name}-killed{finished}"
        pid = child(work, out, said)
        time.sleep(rng.uniform(0.0, 0.6 * seconds))
        os.kill(pid, signal.SIGKILL)
        code = ended(pid)
        assert code in (0, -signal.SIGKILL), said.read_text()
        killed, finished = killed + (code != 0), finished + (code == 0)
        look(out)
    for each in {0, finished}:
        assert ended(child(work, folder / f"{name}-killed{each}", said)) == 0, said.read_text()
        assert look(folder / f"{name}-killed{each}") == whole, f"{name}: kills changed something"
    both = [child(work, folder / f"{name}-two", folder / f"{name}-two{i}.said") for i in range(2)]
    codes = sorted(map(ended, both))
    refused = [text for i in range(2) if "error:" in (text := (folder / f"{name}-two{i}.said").read_text())]
    assert look(folder / f"{name}-two") == whole, f"{name}: two at once changed something"
    return {"killed": killed, "finished": finished, "codes": codes, "refused": refused}


def main(folder: Path, kills: int, seed: int) -> None:
    pin_one_thread()
    figures.available = lambda: False  # drawing would take most of the time
    (folder / "spaces.toml").write_text(SPACES)
    rng = random.Random(seed)
    print(json.dumps({name: attack(name, folder, kills, rng) for name in COMMANDS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
