"""What is on the leaderboard when nothing is said: all learners, all finite problems, and what each learner is given."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence

from noregret import learners, problems
from noregret.experiments.compare.settings import Entry
from noregret.learners.presets import FOUND
from noregret.report.leaderboard import LearnerRow
from noregret.runs.choose import FIXED_POLICIES, given_safest

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
    return [Entry(name, name, given_safest(name)) for name in learners.names()]


def problem_names() -> list[str]:
    """All problems on finitely many states."""
    return problems.names(continuous=False)


def remarks(preset: str, entries: Sequence[Entry]) -> list[str]:
    """Where the constants of a preset are from, for the page.

    Args:
        preset: which rule gives the learners their constants.
        entries: the learners; one that is given constants beside the preset's is not named among those that no search changed.
    """
    as_preset = [entry for entry in entries if not was_searched(entry.name, preset)]
    if len(as_preset) == len(entries):
        return []
    said = (
        f"Preset {preset} has what one search found for each learner (benchmarks/tuning in the repository): the same number of "
        f"configurations for each, judged on the same problems (benchmarks/protocol.toml)."
    )
    others = [entry.label for entry in as_preset if dict(entry.params) == given_safest(entry.name)]
    return [said, f"Constants that no search changed: {', '.join(others)}."] if others else [said]


def was_searched(name: str, preset: str) -> bool:
    """Whether a search set a constant of a preset."""
    table = learners.get(name).table
    return preset in table.presets and any(FOUND in row.entry(preset, table.like)[1] for row in table)


def left_out() -> list[str]:
    """What is left out as a whole when nothing is said, and why."""
    left = ", ".join(problems.names(continuous=True))
    return [f"{left} was omitted: its states are vectors, and nearly all learners work on tables."] if left else []


def row(entry: Entry, preset: str) -> LearnerRow:
    """What is said of a learner.

    Args:
        entry: the learner with its parameters.
        preset: which rule gives it its constants.
    """
    if entry.name in FIXED_POLICIES:
        return LearnerRow(entry.label, ["everything"], "", [])
    learner = learners.get(entry.name)
    told = [name for name in learner.told if name != "safe_policy" or entry.params.get(name) is not None]
    words = [WORDS.get(name, name) for name in told]
    return LearnerRow(entry.label, words, learner.source, list(learner.promise or ()), constants(entry, preset))


def constants(entry: Entry, preset: str) -> str:
    """A hash of what a learner is played with: the entries of its table, and its parameters.

    Args:
        entry: the learner with its parameters.
        preset: which rule gives it its constants; one of its own comes before it.
    """
    table = learners.get(entry.name).table
    preset = str(entry.params.get("preset", preset))
    known = table is not None and preset in table.presets
    said = {row.name: str(row.entry(preset, table.like)[0]) for row in table} if known else {}
    said |= {name: str(value) for name, value in entry.params.items()}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


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
    options = {"preset": preset} | entry.params
    words = ["noregret", "run", problem, "--learner", entry.name, "--episodes", str(episodes), "--trials", str(trials)]
    words += ["--seed", str(seed), "--preset", str(options.pop("preset"))]
    if (gap := options.pop("slater_gap", None)) is not None:
        words += ["--slater-gap", str(gap)]
    for name, value in options.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
