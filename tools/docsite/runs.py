"""Runs that the gallery shows: every learner on every small problem, played once and kept in a store.

A learner is compiled when it first plays, on one core; so learners, not trials, share the cores here. One process a core plays
them one after the other: importing the package for each learner would cost a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from tools.docsite.site import ROOT, Site

EPISODES, TRIALS, EVERY = 5_000, 2, 50
#: Problems with more entries (h, x, a) than these are left to the leaderboard.
ENTRIES = 900


@cache
def problem(name: str) -> Any:
    """A problem with its defaults."""
    import noregret as nr

    return nr.problems.load(name)


@cache
def small() -> tuple[str, ...]:
    """The problems that every learner plays here."""
    import noregret as nr

    def entries(name: str) -> int:
        return int(problem(name).horizon * problem(name).n_states * problem(name).n_actions)

    return tuple(name for name in nr.problems.names(continuous=False) if entries(name) <= ENTRIES)


def told(learner: str) -> dict[str, Any]:
    """What a learner must be given: the oracle's safest policy, where it asks for one."""
    import noregret as nr

    return {"safe_policy": "safest"} if "safe_policy" in nr.learners.get(learner).told else {}


def result(store: Path, problem: str, learner: str) -> Any:
    """The result of a learner on a problem, from the store or played into it; the reason in words where it refuses.

    Args:
        store: the folder of the runs.
        problem: its name.
        learner: its name.
    """
    import noregret as nr

    options: dict[str, Any] = {"episodes": EPISODES, "trials": TRIALS, "record_every": EVERY, "progress": False, "threads": 1}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return nr.run(problem, learner, out=store, **options, **told(learner))
    except nr.NoRegretError as error:
        return str(error)


def results(site: Site, problem: str, learners: list[str]) -> dict[str, Any]:
    """Results of learners on a problem by their names; those who refuse it are left out."""
    found = {learner: result(site.shelf / "store", problem, learner) for learner in learners}
    return {learner: each for learner, each in found.items() if not isinstance(each, str)}


def play_all(site: Site, learners: list[str]) -> None:
    """Play what is not in the store, in one process a core; each takes the next learner when it is done with one.

    Args:
        site: the build.
        learners: their names.
    """
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tools.docsite.runs", str(site.shelf / "store")]
    waiting = list(enumerate(learners, 1))[::-1]

    def hand_out() -> None:
        with subprocess.Popen(
            command, env=os.environ | {"PYTHONPATH": path}, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as player:
            assert player.stdin is not None and player.stdout is not None
            while waiting:
                number, learner = waiting.pop()
                site.log(f"learner {number} of {len(learners)}: {learner} plays")
                player.stdin.write(f"{learner}\n")
                player.stdin.flush()
                if player.stdout.readline() != f"{learner}\n":
                    break
            player.stdin.close()
        if player.returncode:
            raise subprocess.CalledProcessError(player.returncode, command)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for each in [pool.submit(hand_out) for _ in range(min(os.cpu_count() or 1, len(learners)))]:
            each.result()


if __name__ == "__main__":
    for line in sys.stdin:  # a learner a line; its name comes back when it has played everything
        for each in small():
            result(Path(sys.argv[1]), each, line.strip())
        print(line, end="", flush=True)
