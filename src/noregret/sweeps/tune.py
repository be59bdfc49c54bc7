"""Look for parameters: the least hard regret among those whose hard violation stays within a limit.

A candidate of the search is judged by the runs of some problems and seeds, which are stored like those of any sweep. Its value
is the mean of hard regret at the last episode over all of them, its violation the mean of hard violation on the problem where
that is worst. Every verdict is kept in ``study-<id>.json`` (:mod:`noregret.sweeps.search`). A search is told apart by all that
decides a value and by its ranges; the limit may change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from noregret.errors import InputError, one_line
from noregret.runs import How, play
from noregret.runs.choose import class_of
from noregret.runs.keys import make_key
from noregret.runs.start import check
from noregret.store import RunKey, usual_grid
from noregret.sweeps.search import Candidate, Range, SearchJournal, engine, importance, journal_at, scaled, search


@dataclass(frozen=True)
class Question:
    """What is searched for: the parameters of ``learner`` within ``ranges`` with the least hard regret.

    Attributes:
        problems: the problems that judge a candidate.
        learner: the name of the learner.
        ranges: the values that each parameter may have.
        episodes: the episodes of each run.
        violation_limit: the hard violation that a candidate may have on its worst problem.
        seeds: the runs of a candidate on each problem.
        preset: which rule gives the learner its other constants.
        slater_gap: what the learner is told of the Slater gap: a number, "oracle", or None.
        fixed: parameters that are not searched.
    """

    problems: tuple[str, ...]
    learner: str
    ranges: Mapping[str, Range]
    episodes: int
    violation_limit: float
    seeds: int = 3
    preset: str = "practical"
    slater_gap: float | str | None = None
    fixed: Mapping[str, object] | None = None

    def settings(self, params: Mapping[str, object]) -> dict[str, object]:
        """The parameters of a candidate's runs: factors become formulas."""
        factors = {name for name in params if self.ranges[name].relative}
        made = {name: scaled(class_of(self.learner), name, cast(float, params[name])) for name in factors}
        return {name: made.get(name, value) for name, value in params.items()}

    def keys(self, params: Mapping[str, object]) -> list[RunKey]:
        """The runs that judge a candidate."""
        params_given = dict(self.fixed or {}) | self.settings(params)
        return [
            make_key(
                problem,
                self.learner,
                self.episodes,
                seed,
                record_every=usual_grid(self.episodes),
                preset=self.preset,
                slater_gap=self.slater_gap,
                params=params_given,
            )
            for problem in self.problems
            for seed in range(self.seeds)
        ]

    @property
    def id(self) -> str:
        """The name of the search: a hash of its runs, without the parameters that are searched, and of the ranges."""
        parts = [*(key.canonical() for key in self.keys({})), *(f"{name}={self.ranges[name]}" for name in sorted(self.ranges))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def file(self) -> str:
        """The name of the search's file."""
        return f"study-{self.id}.json"


@dataclass(frozen=True)
class Tuned:
    """The best candidate, or None where none was within the limit; and how much each parameter matters for hard regret."""

    trials: int
    failed: int
    best: dict[str, object] | None
    hard_regret: float
    hard_violation: float
    importance: dict[str, float]
    signal: int | None = None  # what stopped the search before its end


def tune(question: Question, folder: Path, trials: int, how: How, seed: int = 0) -> Tuned:
    """Search until ``trials`` candidates are judged, or a signal stops the search. Those that were judged before count.

    Args:
        question: what is searched for.
        folder: where the search is kept.
        trials: candidates to judge in all.
        how: where the runs are played and kept.
        seed: decides which candidates are tried; each next one follows from it and the candidates before.

    Raises:
        InputError: the question cannot be asked; nothing was run.
        FileError: another process is at work on this search.
    """
    engine()
    for name, count in (("seeds", question.seeds), ("trials", trials)):
        if count < 1:
            raise InputError(f"{name} is {count}; expected a whole number, at least 1")
    for key in question.keys({name: values.first() for name, values in question.ranges.items()}):
        check(key)  # what is wrong with the question is said now
    with journal_at(folder / question.file, how.fresh) as journal:
        signal = search(
            question.ranges,
            lambda params, rung: judge(question, params, how),
            journal,
            trials=trials,
            seed=seed,
            limit=question.violation_limit,
        )
        return answer(journal, question, signal)


def judge(question: Question, params: Mapping[str, object], how: How) -> tuple[Candidate, int | None]:
    """Judge one candidate by its runs.

    Args:
        question: what is searched for.
        params: the candidate's parameters.
        how: where the runs are played and kept.

    Returns:
        The candidate with its hard regret and hard violation, or with the reason why it has none; and the number of the signal
        that stopped the runs, None if none did.
    """
    try:
        keys = question.keys(params)
    except InputError as error:
        return Candidate(dict(params), error=one_line(error)), None
    sitting = play(keys, how)
    if not sitting.finished(keys):
        return Candidate(dict(params), error=next(iter(sitting.summary.failed.values()), "stopped")), sitting.signal.number
    regrets: list[float] = []
    violations: dict[str, list[float]] = {}
    for key in keys:
        last = sitting.store.read(key.id).record["last"]
        regrets.append(last["hard_regret"])
        violations.setdefault(key.problem, []).append(max(last["hard_violations"]))
    worst = max(float(np.mean(each)) for each in violations.values())
    return Candidate(dict(params), value=float(np.mean(regrets)), violation=worst), None


def answer(journal: SearchJournal, question: Question, signal: int | None = None) -> Tuned:
    """What a search has found so far.

    Args:
        journal: the candidates that were judged.
        question: what is searched for.
        signal: the number of the signal that stopped the search, if one did.
    """
    judged, failed = journal.judged(), len(journal.failed())
    if not judged:
        return Tuned(0, failed, None, float("nan"), float("nan"), {}, signal)
    within = [each for each in judged if each.violation <= question.violation_limit]
    top = min(within, key=lambda each: each.value) if within else min(judged, key=lambda each: each.violation)
    best = question.settings(top.params) if within else None
    return Tuned(len(judged), failed, best, top.value, top.violation, importance(question.ranges, journal), signal)
