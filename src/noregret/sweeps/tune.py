"""Look for parameters: the least hard regret among those whose hard violation stays within a limit. Optuna searches.

A trial of the search is a choice of parameters; it is judged by the runs of some problems and seeds, which are stored like
those of any sweep. Its value is the mean of hard regret at the last episode over all of them, its violation the mean of hard
violation on the problem where that is worst. The search itself is a journal on the disk: stopped and started again, it goes
on, and no run is played twice. A search is told apart by all that decides a value and by its ranges; the limit may change. One
process at a time works on a search. Of its trials in Optuna's state FAIL those that failed carry the error; the others were
interrupted, and their choice was put in line again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from noregret._system.files import hold, make_folder
from noregret.errors import FileError, InputError, NoRegretError
from noregret.runs.backends.job import Context
from noregret.runs.schedule import sweep
from noregret.runs.worlds import world
from noregret.store import RunKey, Store, usual_grid

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
        """Some value of it."""
        return self.choices[0] if self.choices else int(self.low) if self.whole else self.low

    def suggest(self, trial: Any, name: str) -> Any:
        """Ask a trial for a value."""
        if self.choices:
            return trial.suggest_categorical(name, list(self.choices))
        if self.whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)


def parse_range(text: str, value: Callable[[str], Any]) -> tuple[str, Range]:
    """``beta=0.01:1:log``, ``frame=10:100:int``, ``cap=H,H-h+1``; ``value`` reads one entry of a list."""
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
    """What is searched for."""

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
            RunKey(
                world(text).name, self.learner, self.episodes, seed=seed, record_every=usual_grid(self.episodes),
                preset=self.preset, slater_gap=self.slater_gap, params=dict(self.fixed or {}) | dict(params),
                problem_hash=world(text).hash,
            )
            for text in self.problems
            for seed in range(self.seeds)
        ]  # fmt: skip

    @property
    def id(self) -> str:
        """The name of the search: a hash of the runs, but for what is searched, and of the ranges."""
        parts = [*(key.canonical() for key in self.keys({})), *(f"{name}={self.ranges[name]}" for name in sorted(self.ranges))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Answer:
    """The best choice, or None when none was within the limit, and what each parameter explains of hard regret."""

    trials: int
    failed: int
    best: dict[str, Any] | None
    hard_regret: float
    hard_violation: float
    importance: dict[str, float]


def tune(question: Question, folder: Path, trials: int, context: Context, seed: int = 0) -> Answer:
    """Search until ``trials`` choices are judged, those of earlier sittings included, or ``context.stop`` is set."""
    optuna = _optuna()
    make_folder(folder)
    for key in question.keys({name: values.first() for name, values in question.ranges.items()}):
        world(key.problem).start(key)  # what is wrong with the question is said now
    with hold(folder / f"study-{question.id}.lock") as free:
        if not free:
            raise FileError(f"{folder}: another process is at work on this search; expected one at a time")
        return _search(optuna, _study(optuna, folder / "study.journal", question, seed), question, trials, context)


def _search(optuna: Any, study: Any, question: Question, trials: int, context: Context) -> Answer:
    states = optuna.trial.TrialState
    for left in study.get_trials(deepcopy=False, states=(states.RUNNING,)):  # of a sitting that was killed
        study.tell(left.number, state=states.FAIL)
        study.enqueue_trial(left.params)
    while not context.stop.is_set() and len(study.get_trials(deepcopy=False, states=(states.COMPLETE,))) < trials:
        trial = study.ask()
        params = {name: values.suggest(trial, name) for name, values in question.ranges.items()}
        regret, violation, error = judge(question, params, context)
        if regret is None:
            if not context.stop.is_set():
                trial.set_user_attr("error", error)
                study.tell(trial, state=states.FAIL)
                if _failed(optuna, study) > trials + RANDOM_FIRST:
                    raise NoRegretError(f"more choices fail than are wanted; the last one: {error}")
            continue
        trial.set_user_attr("hard_violation", violation)
        trial.set_user_attr("constraints", [violation - question.violation_limit])
        study.tell(trial, regret)
    return answer(study, question)


def judge(question: Question, params: Mapping[str, Any], context: Context) -> tuple[float | None, float, str]:
    """Hard regret and hard violation of a choice; (None, nan, why) when a run failed or the search was stopped."""
    keys = question.keys(params)
    summary = sweep(keys, context)
    if summary.done + summary.there < len(keys):
        return None, float("nan"), next(iter(summary.failed.values()), "stopped")
    regrets: list[float] = []
    violations: dict[str, list[float]] = {}
    for key in keys:
        last = Store(context.store.folder).read(key.id).record["last"]
        regrets.append(last["hard_regret"])
        violations.setdefault(key.problem, []).append(max(last["hard_violations"]))
    return float(np.mean(regrets)), float(max(np.mean(each) for each in violations.values())), ""


def answer(study: Any, question: Question) -> Answer:
    """What the search knows now."""
    optuna = _optuna()
    states = optuna.trial.TrialState
    complete = study.get_trials(deepcopy=False, states=(states.COMPLETE,))
    failed = _failed(optuna, study)
    within = [trial for trial in complete if trial.user_attrs["hard_violation"] <= question.violation_limit]
    ranked = sorted(within, key=lambda t: t.value) or sorted(complete, key=lambda t: t.user_attrs["hard_violation"])
    importance: dict[str, float] = {}
    if len(complete) > 3 and len({trial.value for trial in complete}) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an interface that Optuna calls experimental
            evaluator = optuna.importance.PedAnovaImportanceEvaluator()
            importance = {k: float(v) for k, v in optuna.importance.get_param_importances(study, evaluator=evaluator).items()}
    if not ranked:
        return Answer(0, failed, None, float("nan"), float("nan"), importance)
    top = ranked[0]
    return Answer(
        len(complete), failed, dict(top.params) if within else None, top.value, top.user_attrs["hard_violation"], importance
    )


def _failed(optuna: Any, study: Any) -> int:
    fails = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.FAIL,))
    return sum("error" in trial.user_attrs for trial in fails)


def _study(optuna: Any, path: Path, question: Question, seed: int) -> Any:
    try:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    name = f"{question.learner}, {question.episodes} episodes, {question.id}"
    study = optuna.create_study(storage=storage, study_name=name, direction="minimize", load_if_exists=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.sampler = optuna.samplers.TPESampler(
            seed=seed + len(study.get_trials(deepcopy=False)), n_startup_trials=RANDOM_FIRST, constraints_func=_constraints
        )
    return study


def _constraints(trial: Any) -> Sequence[float]:
    found: Sequence[float] = trial.user_attrs.get("constraints", [float("inf")])
    return found


def _optuna() -> Any:
    try:
        optuna = import_module("optuna")
    except ImportError:
        raise NoRegretError("tuning needs Optuna: pip install 'noregret[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
