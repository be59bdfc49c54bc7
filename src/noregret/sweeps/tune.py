"""Look for parameters: the least hard regret among those whose hard violation stays within a limit. Optuna searches.

A trial of the search is a choice of parameters; it is judged by the runs of some problems and seeds, which are stored like
those of any sweep. Its value is the mean of hard regret at the last episode over all of them, its violation the mean of hard
violation on the problem where that is worst. Every judged choice is kept in a file with a seal, ``study-<id>.json``: stopped or
killed and started again, the search goes on, no run is played twice, and the answer is the same. A search is told apart by all
that decides a value and by its ranges; the limit may change. One process at a time works on a search.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from noregret import learners
from noregret._system.files import hold, make_folder, write_whole
from noregret._system.plugins import library
from noregret._system.text import value
from noregret.errors import DamagedError, FileError, InputError, NoRegretError, one_line
from noregret.runs import How, play
from noregret.runs.keys import make_key
from noregret.runs.prepare import prepare, prepared
from noregret.store import RunKey, encode, read_sealed, seal, usual_grid
from noregret.store.records import check_entries

#: Choices drawn at random before the model of the search is used.
RANDOM_FIRST = 10


@dataclass(frozen=True)
class Range:
    """The values of a parameter: an interval (of whole numbers, on a logarithmic scale) or a list."""

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    def first(self) -> Any:
        """A value that is in the range."""
        return self.choices[0] if self.choices else int(self.low) if self.whole else self.low

    def at(self, u: float) -> Any:
        """The value at a share u of the way, 0 ≤ u < 1; numbers have three digits, so that they can be written down."""
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        low, high = (np.log(self.low), np.log(self.high)) if self.log else (self.low, self.high)
        found = float(np.exp(low + u * (high - low)) if self.log else low + u * (high - low))
        return min(max(round(found), int(self.low)), int(self.high)) if self.whole else float(f"{found:.3g}")

    def share(self, value: Any) -> float:
        """How far along a value is, from 0 to 1: what :meth:`at` takes. A value outside is at the nearer end."""
        if self.choices:
            return (self.choices.index(value) + 0.5) / len(self.choices)
        low, high = (np.log(self.low), np.log(self.high)) if self.log else (self.low, self.high)
        place = (np.log(max(value, self.low)) if self.log else value) - low
        return float(min(max(place / (high - low), 0.0), 1.0))

    def space(self, optuna: Any) -> Any:
        """The range as Optuna describes it."""
        kinds = optuna.distributions
        if self.choices:
            return kinds.CategoricalDistribution(self.choices)
        if self.whole:
            return kinds.IntDistribution(int(self.low), int(self.high), log=self.log)
        return kinds.FloatDistribution(self.low, self.high, log=self.log)


def parse_range(text: str) -> tuple[str, Range]:
    """Read the name and the range of a parameter.

    >>> parse_range("beta=0.01:1:log")
    ('beta', Range(low=0.01, high=1.0, log=True, whole=False, choices=()))
    >>> parse_range("cap=H,H-h+1")[1].choices
    ('H', 'H-h+1')
    """
    name, equals, tail = (part.strip() for part in text.partition("="))
    wrong = InputError(f"parameter {text!r}; expected name=low:high, name=low:high:log, name=low:high:int or name=a,b,c")
    if not (name and equals and tail):
        raise wrong
    if ":" not in tail:
        return name, Range(choices=tuple(value(part.strip()) for part in tail.split(",")))
    ends, flags = tail.split(":")[:2], tail.split(":")[2:]
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        raise wrong from None
    made = Range(low, high, "log" in flags, "int" in flags)
    if set(flags) - {"log", "int"} or not np.isfinite([low, high]).all():
        raise wrong
    if not low < high or (made.log and low <= 0) or (made.whole and not (low.is_integer() and high.is_integer())):
        raise InputError(f"parameter {text!r}: expected low < high, above 0 for log, whole numbers for int")
    return name, made


@dataclass(frozen=True)
class Question:
    """What is searched for: the parameters of ``learner`` within ``ranges`` with the least hard regret.

    Attributes:
        problems: the problems that judge a choice.
        learner: the name of the learner.
        ranges: the values that each parameter may have.
        episodes: the episodes of each run.
        violation_limit: the hard violation that a choice may have on its worst problem.
        seeds: the runs of a choice on each problem.
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
    fixed: Mapping[str, Any] | None = None

    def keys(self, params: Mapping[str, Any]) -> list[RunKey]:
        """The runs that judge a choice."""
        return [
            make_key(
                prepare(text), self.learner, episodes=self.episodes, seed=seed, record_every=usual_grid(self.episodes),
                preset=self.preset, slater_gap=self.slater_gap, params=dict(self.fixed or {}) | dict(params),
            )
            for text in self.problems
            for seed in range(self.seeds)
        ]  # fmt: skip

    @property
    def id(self) -> str:
        """The name of the search: a hash of its runs, without the parameters that are searched, and of the ranges."""
        parts = [*(key.canonical() for key in self.keys({})), *(f"{name}={self.ranges[name]}" for name in sorted(self.ranges))]
        if (meaning := learners.meaning(self.learner, self.preset, dict(self.fixed or {}) | dict(self.ranges))) != 1:
            parts.append(f"meaning={meaning}")  # what version 0.1 tried was something else
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Choice:
    """A choice of parameters with its numbers; ``error`` says why a choice could not be judged."""

    params: dict[str, Any]
    hard_regret: float = float("nan")
    hard_violation: float = float("nan")
    error: str = ""


@dataclass(frozen=True)
class Answer:
    """The best choice, or None where none was within the limit; and how much each parameter matters for hard regret."""

    trials: int
    failed: int
    best: dict[str, Any] | None
    hard_regret: float
    hard_violation: float
    importance: dict[str, float]
    signal: int | None = None  # what stopped the search before its end


@dataclass
class Search:
    """The choices of a search so far, on the disk after each."""

    path: Path
    choices: list[Choice] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Search:
        """Read the choices of a search that was stopped. A damaged file is moved aside: its runs are stored anyway."""
        if not path.exists():
            return cls(path)
        try:
            found = read_sealed(path)["choices"]
            for entry in found:
                check_entries(entry, get_type_hints(Choice), "entry of a choice")
            return cls(path, [Choice(**entry) for entry in found])
        except (DamagedError, InputError, KeyError, TypeError) as error:
            aside = path.with_suffix(".damaged")
            path.replace(aside)
            warnings.warn(
                f"{one_line(error)}; moved to {aside}, the choices are judged again from their stored runs", stacklevel=2
            )
            return cls(path)

    def add(self, choice: Choice) -> None:
        """Keep one more choice, also on the disk."""
        self.choices.append(choice)
        sealed = seal({"choices": encode([asdict(each) for each in self.choices])})
        write_whole(self.path, lambda file: file.write(sealed))

    @property
    def judged(self) -> list[Choice]:
        """The choices that could be judged."""
        return [choice for choice in self.choices if not choice.error]


def tune(question: Question, folder: Path, trials: int, how: How, seed: int = 0) -> Answer:
    """Search until ``trials`` choices are judged, or a signal stops the search. Choices that were judged before count.

    Args:
        question: what is searched for.
        folder: where the search is kept.
        trials: choices to judge in all.
        how: where the runs are played and kept.
        seed: decides which choices are tried; each next one follows from it and the choices before.

    Raises:
        InputError: the question cannot be asked; nothing was run.
        FileError: another process is at work on this search.
    """
    optuna = library("optuna", "tuning", "tune")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name, count in (("seeds", question.seeds), ("trials", trials)):
        if count < 1:
            raise InputError(f"{name} is {count}; expected a whole number, at least 1")
    make_folder(folder)
    for key in question.keys({name: values.first() for name, values in question.ranges.items()}):
        prepared(key).start(key)  # what is wrong with the question is said now
    with hold(folder / f"study-{question.id}.lock") as free:
        if not free:
            raise FileError(f"{folder}: another process is at work on this search; expected one at a time")
        path = folder / f"study-{question.id}.json"
        if how.fresh:
            path.unlink(missing_ok=True)
        search = Search.read(path)
        signal = None
        while signal is None and len(search.judged) < trials:
            params = _next(optuna, search, question, seed)
            choice, signal = judge(question, params, how)
            if signal is None:
                search.add(choice)
            if len(search.choices) - len(search.judged) > trials + RANDOM_FIRST:
                raise NoRegretError(f"more choices fail than are wanted; the last one: {choice.error}")
        return answer(optuna, search, question, signal)


def judge(question: Question, params: Mapping[str, Any], how: How) -> tuple[Choice, int | None]:
    """Judge one choice of parameters by its runs.

    Args:
        question: what is searched for.
        params: the choice.
        how: where the runs are played and kept.

    Returns:
        The choice with its hard regret and hard violation, or with the reason why it has none; and the number of the signal
        that stopped the runs, None if none did.
    """
    keys = question.keys(params)
    sitting = play(keys, how)
    if not sitting.finished(keys):
        return Choice(dict(params), error=next(iter(sitting.summary.failed.values()), "stopped")), sitting.wish.number
    regrets: list[float] = []
    violations: dict[str, list[float]] = {}
    for key in keys:
        last = sitting.store.read(key.id).record["last"]
        regrets.append(last["hard_regret"])
        violations.setdefault(key.problem, []).append(max(last["hard_violations"]))
    worst = max(float(np.mean(each)) for each in violations.values())
    return Choice(dict(params), float(np.mean(regrets)), worst), None


def answer(optuna: Any, search: Search, question: Question, signal: int | None = None) -> Answer:
    """What a search has found so far.

    Args:
        optuna: the module.
        search: the choices that were judged.
        question: what is searched for.
        signal: the number of the signal that stopped the search, if one did.
    """
    judged, importance = search.judged, dict[str, float]()
    failed = len(search.choices) - len(judged)
    if len(judged) > 3 and len({choice.hard_regret for choice in judged}) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an interface that Optuna calls experimental
            evaluator = optuna.importance.PedAnovaImportanceEvaluator()
            found = optuna.importance.get_param_importances(_study(optuna, search, question, 0), evaluator=evaluator)
            importance = {name: float(value) for name, value in found.items()}
    if not judged:
        return Answer(0, failed, None, float("nan"), float("nan"), importance, signal)
    within = [choice for choice in judged if choice.hard_violation <= question.violation_limit]
    top = min(within, key=lambda c: c.hard_regret) if within else min(judged, key=lambda c: c.hard_violation)
    best = dict(top.params) if within else None
    return Answer(len(judged), failed, best, top.hard_regret, top.hard_violation, importance, signal)


def _next(optuna: Any, search: Search, question: Question, seed: int) -> dict[str, Any]:
    """The choice that follows from the choices before and the seed."""
    spaces = {name: values.space(optuna) for name, values in question.ranges.items()}
    found: dict[str, Any] = _study(optuna, search, question, seed + len(search.choices)).ask(spaces).params
    return found


def _study(optuna: Any, search: Search, question: Question, seed: int) -> Any:
    """The search as Optuna sees it."""
    states = optuna.trial.TrialState
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=RANDOM_FIRST, constraints_func=_constraints)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    spaces = {name: values.space(optuna) for name, values in question.ranges.items()}
    for choice in search.choices:
        lack = [choice.hard_violation - question.violation_limit]
        told = {} if choice.error else {"value": choice.hard_regret, "user_attrs": {"constraints": lack}}
        state = states.FAIL if choice.error else states.COMPLETE
        study.add_trial(optuna.trial.create_trial(params=choice.params, distributions=spaces, state=state, **told))
    return study


def _constraints(trial: Any) -> Sequence[float]:
    found: Sequence[float] = trial.user_attrs.get("constraints", [float("inf")])
    return found
