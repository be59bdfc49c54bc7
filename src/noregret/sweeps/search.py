"""The one search engine: Optuna proposes parameters, a judge scores each proposal, a sealed file keeps every verdict.

``noregret tune`` and the project's own search for presets (``benchmarks/tuning``) both use it. A search has rungs. On the
first, proposals follow from the seed and the verdicts so far; on each later one the best of the rung before are judged again,
on more.
Stopped or killed and started again, a search goes on from its file, and ends with the same bytes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np

from noregret._system.files import hold, make_folder, write_whole
from noregret._system.plugins import library
from noregret._system.text import value
from noregret.errors import DamagedError, FileError, InputError, NoRegretError, one_line
from noregret.learners.base import Learner
from noregret.learners.presets import Count, Number
from noregret.store import encode, read_sealed, seal
from noregret.store.records import check_entries

#: Proposals drawn at random before the model of the search is used.
RANDOM_FIRST = 10


@dataclass(frozen=True)
class Range:
    """The values of a parameter: an interval (of whole numbers, on a logarithmic scale) or a list.

    A ``relative`` range has factors: each multiplies what the preset has, as a number or as a formula.
    """

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[object, ...] = ()
    relative: bool = False

    def first(self) -> object:
        """A value that is in the range."""
        return self.choices[0] if self.choices else int(self.low) if self.whole else self.low

    def short(self, proposed: object) -> object:
        """A proposed value as it is tried: numbers have three digits, so that they can be written down."""
        if self.choices or self.whole:
            return proposed
        return min(max(float(f"{proposed:.3g}"), self.low), self.high)

    def space(self, optuna: ModuleType) -> Any:
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
    ('beta', Range(low=0.01, high=1.0, log=True, whole=False, choices=(), relative=False))
    >>> parse_range("eta=0.1x:10x:log")[1].relative
    True
    >>> parse_range("cap=H,H-h+1")[1].choices
    ('H', 'H-h+1')
    """
    name, equals, tail = (part.strip() for part in text.partition("="))
    wrong = InputError(
        f"parameter {text!r}; expected name=low:high, with :log or :int after it, name=0.1x:10x:log for factors of what the "
        f"preset has, or name=a,b,c"
    )
    if not (name and equals and tail):
        raise wrong
    if ":" not in tail:
        return name, Range(choices=tuple(value(part.strip()) for part in tail.split(",")))
    ends, flags = tail.split(":")[:2], tail.split(":")[2:]
    relative = all(end.endswith("x") for end in ends)
    try:
        low, high = (float(end.removesuffix("x") if relative else end) for end in ends)
    except ValueError:
        raise wrong from None
    made = Range(low, high, "log" in flags, "int" in flags, relative=relative)
    if set(flags) - {"log", "int"} or not np.isfinite([low, high]).all() or (relative and made.whole):
        raise wrong
    if not low < high or (made.log and low <= 0) or (made.whole and not (low.is_integer() and high.is_integer())):
        raise InputError(f"parameter {text!r}: expected low < high, above 0 for log, whole numbers for int")
    return name, made


def scaled(learner: type[Learner], name: str, factor: float, base: str | None = None) -> str:
    """What a factor makes of a preset's constant: a formula in text, which a parameter takes.

    Args:
        learner: its class.
        name: the constant.
        factor: multiplies it.
        base: the preset whose entry is multiplied; by default that of the run.

    Raises:
        InputError: the learner has no number of this name in a table.
    """
    row = learner.table.rows.get(name)
    if not isinstance(row, Number | Count):
        raise InputError(f"{name} has factors; expected a number in the table of {learner.name}")
    entry = "usual" if base is None else row.entry(base, learner.table.like)[0]
    formula = f"{factor:g}*({entry})" if base else f"{factor:g}*usual"
    return f"max(1, round({formula}))" if isinstance(row, Count) else formula


@dataclass(frozen=True)
class Candidate:
    """A proposal with its verdict: the value that is to be small, the violation, the parts of the value; or an error."""

    params: dict[str, object]
    rung: int = 0
    value: float = math.nan
    violation: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    error: str = ""

    def check(self) -> None:
        """Refuse numbers that no judge gives: negative ones, and a value that is not finite without an error."""
        numbers = {"value": self.value, "violation": self.violation, **self.parts}
        for name, number in numbers.items() if not self.error else ():
            if not 0.0 <= number < math.inf:
                raise InputError(f"{name} of a candidate is {number}; expected a finite number that is not negative")


#: A judge: parameters and a rung become a candidate with its verdict, and the signal that came first, if one did.
Judge = Callable[[Mapping[str, object], int], tuple[Candidate, int | None]]


@dataclass
class SearchJournal:
    """The candidates of a search so far, on the disk after each."""

    path: Path
    candidates: list[Candidate] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> SearchJournal:
        """Read the journal of a search that was stopped. A damaged file is moved aside, with a warning."""
        if not path.exists():
            return cls(path)
        try:
            entries = read_sealed(path)["candidates"]
            for entry in entries:
                check_entries(entry, get_type_hints(Candidate), "entry of a candidate")
            candidates = [Candidate(**entry) for entry in entries]
            for candidate in candidates:
                candidate.check()
            return cls(path, candidates)
        except (DamagedError, InputError, KeyError, TypeError) as error:
            aside = path.with_suffix(".damaged")
            path.replace(aside)
            warnings.warn(f"{one_line(error)}; moved to {aside}, the candidates are judged again", stacklevel=2)
            return cls(path)

    def add(self, candidate: Candidate) -> None:
        """Keep one more candidate, also on the disk."""
        candidate.check()
        self.candidates.append(candidate)
        sealed = seal({"candidates": encode([asdict(each) for each in self.candidates])})
        write_whole(self.path, lambda file: file.write(sealed))

    def judged(self, rung: int = 0) -> list[Candidate]:
        """The candidates of a rung that could be judged, in the order in which they were."""
        return [each for each in self.candidates if each.rung == rung and not each.error]

    def failed(self) -> list[Candidate]:
        """The candidates that could not be judged."""
        return [each for each in self.candidates if each.error]

    def find(self, params: Mapping[str, object], rung: int) -> Candidate | None:
        """What a rung says of some parameters, if they were tried there."""
        return next((each for each in self.candidates if each.rung == rung and each.params == params), None)


@contextmanager
def journal_at(path: Path, fresh: bool = False) -> Iterator[SearchJournal]:
    """The journal in a file, for one process at a time.

    Args:
        path: the file; its folder is made.
        fresh: whether the journal is forgotten first.

    Raises:
        FileError: another process is at work on this search, or the folder cannot be written.
    """
    make_folder(path.parent)
    with hold(path.with_suffix(".lock")) as free:
        if not free:
            raise FileError(f"{path.parent}: another process is at work on this search; expected one at a time")
        if fresh:
            path.unlink(missing_ok=True)
        yield SearchJournal.read(path)


def search(
    ranges: Mapping[str, Range],
    judge: Judge,
    journal: SearchJournal,
    *,
    trials: int,
    seed: int = 0,
    limit: float = math.inf,
    first: Sequence[Mapping[str, object]] = (),
    random_first: int = RANDOM_FIRST,
) -> int | None:
    """Propose and judge until so many candidates of the first rung are judged. Those of the journal count.

    Args:
        ranges: the values that each parameter may have.
        judge: scores a proposal.
        journal: what was judged before; the search goes on from it.
        trials: candidates to judge in all.
        seed: decides proposals, together with the candidates before.
        limit: the violation that a candidate may have.
        first: proposals that come before Optuna's.
        random_first: proposals drawn at random before the model is used.

    Returns:
        The number of the signal that stopped the search, or None.
    """
    optuna = engine()
    waiting = [params for params in map(dict, first) if journal.find(params, 0) is None]
    while len(journal.judged()) < trials:
        params = waiting.pop(0) if waiting else _proposed(optuna, ranges, journal, limit, seed, random_first)
        candidate, signal = judge(params, 0)
        if signal is not None:
            return signal
        journal.add(candidate)
        if len(journal.failed()) > trials + RANDOM_FIRST:
            raise NoRegretError(f"more candidates fail than are wanted; the last one: {candidate.error}")
    return None


def promote(
    judge: Judge, journal: SearchJournal, rung: int, size: int, always: Sequence[Mapping[str, object]] = ()
) -> int | None:
    """Judge the best of the rung before on the next rung.

    Args:
        judge: scores a candidate on the rung.
        journal: the candidates so far.
        rung: the rung, from 1.
        size: how many go on beside those that always do.
        always: parameters that go on whatever their value.

    Returns:
        The number of the signal that came first, or None.
    """
    before = sorted(journal.judged(rung - 1), key=lambda each: each.value)
    chosen = [each for each in before if each.params in always] + [each for each in before if each.params not in always][:size]
    for params in (each.params for each in chosen if journal.find(each.params, rung) is None):
        candidate, signal = judge(params, rung)
        if signal is not None:
            return signal
        journal.add(candidate)
    return None


def importance(ranges: Mapping[str, Range], journal: SearchJournal) -> dict[str, float]:
    """How much each parameter matters for the value, as shares of 1; empty where too few candidates differ."""
    if len(journal.judged()) <= 3 or len({each.value for each in journal.judged()}) < 2:
        return {}
    optuna = engine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an interface that Optuna calls experimental
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        study = _study(optuna, ranges, journal, math.inf, 0, RANDOM_FIRST)
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in shares.items()}


def engine() -> ModuleType:
    """Optuna, quiet; InputError with the line that installs it where it is missing."""
    optuna = library("optuna", "tuning", "tune")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _proposed(
    optuna: ModuleType, ranges: Mapping[str, Range], journal: SearchJournal, limit: float, seed: int, random_first: int
) -> dict[str, object]:
    """The proposal that follows from the candidates before and the seed."""
    spaces = {name: values.space(optuna) for name, values in ranges.items()}
    tried = sum(each.rung == 0 for each in journal.candidates)
    params = _study(optuna, ranges, journal, limit, seed + tried, random_first).ask(spaces).params
    return {name: ranges[name].short(value) for name, value in params.items()}


def _study(
    optuna: ModuleType, ranges: Mapping[str, Range], journal: SearchJournal, limit: float, seed: int, random_first: int
) -> Any:
    """The first rung as Optuna sees it; candidates with other values than the ranges have are left out."""
    states = optuna.trial.TrialState
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=random_first, constraints_func=_constraints)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    spaces = {name: values.space(optuna) for name, values in ranges.items()}
    for each in journal.candidates:
        if each.rung == 0 and _within(each.params, spaces):
            lack = [each.violation - limit if math.isfinite(limit) else 0.0]
            verdict = {} if each.error else {"value": each.value, "user_attrs": {"constraints": lack}}
            state = states.FAIL if each.error else states.COMPLETE
            study.add_trial(optuna.trial.create_trial(params=each.params, distributions=spaces, state=state, **verdict))
    return study


def _within(params: Mapping[str, object], spaces: Mapping[str, Any]) -> bool:
    """Whether each parameter has a value of its range."""
    return params.keys() == spaces.keys() and all(
        spaces[name]._contains(spaces[name].to_internal_repr(params[name])) for name in spaces
    )


def _constraints(trial: Any) -> Sequence[float]:
    lacks: Sequence[float] = trial.user_attrs.get("constraints", [math.inf])
    return lacks
