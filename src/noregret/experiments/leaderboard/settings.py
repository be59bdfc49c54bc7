"""What is on the leaderboard when nothing is said: all learners, all finite problems, and what each learner is given."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from noregret import learners, problems
from noregret.experiments.compare.settings import Entry
from noregret.experiments.tune_all.settings import BUDGET, RUNGS
from noregret.learners import tuned
from noregret.report.leaderboard import Row
from noregret.runs.prepare import FIXED_POLICIES

EPISODES, TRIALS = 10_000, 20
#: Seconds that a run may take.
MOST = 60.0
#: What learners are given that must be told more than sizes and thresholds, in words.
WORDS = {
    "reward": "the reward",
    "utilities": "the utilities",
    "safe_policy": "a safe policy (the safest)",
    "simulator": "a simulator",
}


def entries() -> list[Entry]:
    """All learners; those that need a safe policy are given the safest one."""
    return [Entry(name, name, _given(name)) for name in learners.names()]


def _given(name: str) -> dict[str, str]:
    return {"safe_policy": "safest"} if "safe_policy" in learners.get(name).told else {}


def problem_names() -> list[str]:
    """All problems on finitely many states."""
    return problems.names(continuous=False)


def remarks(preset: str, names: Sequence[str]) -> list[str]:
    """Where the constants of a preset are from, for the page.

    Args:
        preset: which rule gives the learners their constants.
        names: the learners.
    """
    found = tuned.packaged()
    searched = [name for name in names if preset in found.get(name, {})]
    if not searched:
        return []
    judged = {test.problem for rung in RUNGS for test in rung}
    kinds = sorted({name.partition(":")[0] for name in judged if ":" in name})
    itself = sorted(name for name in judged if ":" not in name)
    said = (
        f"Preset {preset} has what one search found for each learner (noregret tune-all): {BUDGET} configurations each, judged "
        f"on the same problems: smaller or other ones of the kinds {', '.join(kinds)}"
        + (f", and {', '.join(itself)} itself with other seeds." if itself else ".")
    )
    others = [name for name in names if name not in searched]
    return [said, f"Constants that no search changed: {', '.join(others)}."] if others else [said]


def left_out() -> list[str]:
    """What is left out as a whole when nothing is said, and why."""
    left = ", ".join(problems.names(continuous=True))
    return [f"Left out as a whole: {left}, whose states are vectors, as nearly all learners are for tables."] if left else []


def row(entry: Entry) -> Row:
    """What is said of a learner."""
    if entry.name in FIXED_POLICIES:
        return Row(entry.label, ["everything"], "", [])
    learner = learners.get(entry.name)
    told = [name for name in learner.told if name != "safe_policy" or entry.params.get(name) is not None]
    return Row(entry.label, [WORDS.get(name, name) for name in told], learner.source, list(learner.promise or ()))


def line(problem: str, entry: Entry, episodes: int, trials: int, seed: int, preset: str) -> str:
    """The command that repeats a cell.

    Args:
        problem: the name of the problem.
        entry: the learner with its parameters.
        episodes: K of every run.
        trials: runs of the cell.
        seed: the number that all randomness is drawn from.
        preset: which rule gives the learner its constants; one of its own comes before it.
    """
    own = {"preset": preset} | entry.params
    words = ["noregret", "run", problem, "--learner", entry.name, "--episodes", str(episodes), "--trials", str(trials)]
    words += ["--seed", str(seed), "--preset", str(own.pop("preset"))]
    if (gap := own.pop("slater_gap", None)) is not None:
        words += ["--slater-gap", str(gap)]
    for name, value in own.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
