"""One search: the constants of a learner in one of its forms, judged on generated problems, halved rung by rung.

The engine is that of ``noregret tune`` (:mod:`noregret.sweeps.search`). The first candidate is the preset as it is; it goes on
to every rung, and so do the learner's printed forms with the numbers that they have. A run's loss is its hard regret and its
worst hard violation, divided by what the uniform policy loses on that problem in as many episodes; form ``soft`` takes regret
and violation, each at least 0. The loss of a test is the mean over its seeds, as in the tables: one failure in five runs counts
by its size. A candidate's value is the geometric mean over tests, and grows with the share of its runs that are stuck. All of
it follows from a seed.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.protocol import EXPLORE, LEAST, RUNGS, SHARES, SLOW, STUCK, Judged
from noregret import learners, metrics, oracle
from noregret._system.checks import each_once
from noregret.errors import FileError, InputError, one_line
from noregret.learners.presets import FOUND
from noregret.runs import How, play
from noregret.runs.choose import class_of, given_safest
from noregret.runs.keys import make_key
from noregret.runs.prepare import prepare
from noregret.runs.start import check
from noregret.store import RunKey
from noregret.sweeps.search import Candidate, Range, SearchJournal, parse_range, promote, scaled, search

#: The forms of a learner: the presets that winners become, and for each the preset that factors are of.
FORMS = {"tuned": "theory", "practical": "practical", "soft": "theory"}
#: The forms that are the printed algorithm.
PRINTED = ("tuned", "soft")
#: The learner whose practical preset was made by hand and keeps its numbers; what the search found for it is played as a row of
#: its own, beside the row by hand.
BY_HAND = "primal-dual-lsvi"
#: What came to that preset after the search, and is not in what the search found.
SINCE = {"late_bonus": "1"}
#: What may be tried.
SPACES = Path(__file__).parent / "spaces.toml"
#: The most that a run's loss counts as; a run that failed counts as much.
WORST = 100.0
#: What follows the name of a run's loss where it is said whether the run is stuck.
STUCK_PART = " stuck"


@dataclass(frozen=True)
class Form:
    """What is searched: a learner in one of its forms, and what may be tried."""

    learner: str
    preset: str
    ranges: Mapping[str, Range]

    @property
    def name(self) -> str:
        """A name for files and tables."""
        return f"{self.learner}-{self.preset}"

    def key(self, problem: str, episodes: int, seed: int, params: Mapping[str, Any]) -> RunKey:
        """The run of a candidate.

        Args:
            problem: its name.
            episodes: how many are played.
            seed: decides all randomness.
            params: the candidate's parameters; factors become formulas; "preset" is another form as it is.
        """
        cls, base = class_of(self.learner), None if FORMS[self.preset] == self.preset else FORMS[self.preset]
        own = {name: value for name, value in params.items() if name != "preset"}
        factors = {name for name in own if name in self.ranges and self.ranges[name].relative}
        made = {name: scaled(cls, name, value, base) if name in factors else value for name, value in own.items()}
        preset, told = str(params.get("preset", self.preset)), given_safest(self.learner)
        every = max(1, episodes // 20)  # the last tenth tells what is stuck
        return make_key(problem, self.learner, episodes, seed, record_every=every, preset=preset, params=told | made)

    @property
    def others(self) -> list[dict[str, Any]]:
        """The printed forms of the same learner that have numbers of their own, as candidates of this search.

        Where this form lets steps share what a problem declares and a printed one does not, the printed one that shares is a
        candidate too.
        """
        table, found = learners.get(self.learner).table, list[dict[str, Any]]()
        for preset in PRINTED:
            own = any(FOUND in row.columns.get(preset, ("", ""))[1] for row in table)
            if own and preset != self.preset and f"{self.learner}-{preset}" not in SLOW:
                found.append({"preset": preset})
                if "share" in table:
                    mine, other = (table.rows["share"].entry(each, table.like)[0] for each in (self.preset, preset))
                    found += [{"preset": preset, "share": mine}] if mine != other else []
        return found


def read_spaces(path: Path = SPACES) -> dict[str, dict[str, dict[str, Range]]]:
    """What may be tried: ranges by learner, form and name.

    Raises:
        FileError: the file is not one of spaces.
    """
    try:
        entries = tomllib.loads(path.read_text("utf-8"))
        return {
            learner: {preset: dict(map(parse_range, texts)) for preset, texts in each.items() if FORMS[preset]}
            for learner, each in entries.items()
        }
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise FileError(f"{path}: cannot be read; expected ranges by learner and form: {one_line(error)}") from None


def found_by_hand(folder: Path | None = None) -> dict[str, str]:
    """The parameters that the search found for the learner whose preset is by hand: formulas of what that preset has.

    Args:
        folder: has the table of the search; by default the one that is committed.
    """
    from benchmarks.tuning import page

    ranges = read_spaces()[BY_HAND]["practical"]
    tried = page.winner(BY_HAND, "practical", folder or page.HERE)
    return {name: f"{text}*usual" if ranges[name].relative else text for name, text in tried.items()} | SINCE


def forms(names: Sequence[str] | None = None, spaces: Path = SPACES, presets: Sequence[str] = tuple(FORMS)) -> list[Form]:
    """All that can be searched, or what some learners have. A learner that refuses the problems is left out unless named.

    Args:
        names: the learners; all in the file by default.
        spaces: the file with what may be tried.
        presets: the forms, by their presets; all by default. Slow ones are left out unless their learners are named.

    Raises:
        InputError: the list is empty or has a name twice; a learner is unknown, has nothing that may be tried, or refuses the
            problems of the protocol.
    """
    known, found = read_spaces(spaces), list[Form]()
    for name in known if names is None else each_once("learners", names):
        learners.get(name)
        if name not in known:
            raise InputError(f"learner {name!r} has no space; expected one that {spaces.name} names")
        mine = [Form(name, preset, ranges) for preset, ranges in known[name].items() if preset in presets]
        if names is None:
            mine = [form for form in mine if form.name not in SLOW]
        try:
            for form in mine:
                first = {each: values.first() for each, values in form.ranges.items()}
                for params in ({}, first):
                    check(form.key(RUNGS[0][0].problem, 100, 0, params))
        except InputError:
            if names is not None:
                raise
            continue
        found += mine
    return found


@cache
def yardstick(problem: str) -> float:
    """What the uniform policy loses in an episode: exact, at least a hundredth of H."""
    home = prepare(problem)
    world = home.finite("a search")
    uniform = world.available / world.available.sum(axis=2, keepdims=True)
    value, utilities = oracle.evaluate(world, uniform)
    loss = max(home.optimum.value - value, 0.0) + max(float((world.b - utilities).max()), 0.0)
    return float(max(loss, 0.01 * world.spec.horizon))


def score(tests: Iterable[Sequence[float]], stuck: float = 0.0) -> float:
    """The geometric mean, over tests, of the mean loss of a test's runs; more where some are stuck.

    Args:
        tests: the losses of the runs of each.
        stuck: the share of all runs that are stuck.
    """
    means = [np.mean([min(loss, WORST) for loss in runs]) for runs in tests]
    return float(np.exp(np.mean(np.log(np.maximum(means, LEAST)))) * (1.0 + STUCK * stuck))


def part(test: Judged, seed: int) -> str:
    """The name of a run's loss in a candidate."""
    return f"{test.problem} {test.episodes} {seed}"


def tested(candidate: Candidate, tests: Sequence[Judged]) -> list[list[float]]:
    """The losses of a candidate's runs, test by test."""
    return [[candidate.parts[part(test, seed)] for seed in test.seeds] for test in tests]


def stuck_share(candidate: Candidate) -> float:
    """The share of a candidate's runs that are stuck."""
    return float(np.mean([value for name, value in candidate.parts.items() if name.endswith(STUCK_PART)]))


def judge(
    form: Form, journal: SearchJournal, how: How, rungs: Sequence[Sequence[Judged]], params: Mapping[str, Any], rung: int
) -> Any:
    """Judge a candidate on the tests of the rungs up to one; runs that a rung before has are not played again.

    Args:
        form: the learner and its form.
        journal: the candidates so far.
        how: where runs are played.
        rungs: the tests of each rung.
        params: the candidate's parameters.
        rung: which rung, from 0.

    Returns:
        The candidate with its verdict, and the number of the signal that came first, or None.
    """
    before = journal.find(params, rung - 1)
    losses = dict(before.parts) if before is not None else {}
    tests = [test for each in rungs[: rung + 1] for test in each]
    try:
        todo = {
            name: form.key(test.problem, test.episodes, seed, params)
            for test in tests
            for seed in test.seeds
            if (name := part(test, seed)) not in losses
        }
    except InputError as error:
        return Candidate(dict(params), rung, error=one_line(error)), None
    sitting = play(list(todo.values()), how)
    if sitting.signal.number is not None:
        return Candidate(dict(params), rung), sitting.signal.number
    for name, key in todo.items():
        losses[name], losses[name + STUCK_PART] = WORST, 1.0
        if sitting.store.whole(key.id):
            result = sitting.result([key])
            lost, usual = result.hard_regret + result.hard_violation, yardstick(key.problem)
            sums = np.maximum(result.regret, 0.0) + result.violation if form.preset == "soft" else lost
            loss = float(sums[0, -1]) / (key.episodes * usual)
            if loss == loss:
                losses[name] = min(loss, WORST)
                losses[name + STUCK_PART] = float(metrics.stuck(result.episodes, lost, usual)[0])
    candidate = Candidate(dict(params), rung, parts=losses)
    value = score(tested(candidate, tests), stuck_share(candidate))
    return Candidate(dict(params), rung, value, parts=losses), None


@dataclass
class Found:
    """What a search came to."""

    form: Form
    journal: SearchJournal
    rungs: Sequence[Sequence[Judged]]
    signal: int | None = None

    @property
    def begin(self) -> Candidate:
        """The preset as it was, on the last rung."""
        return next(each for each in self.finalists if each.params == {})

    @property
    def finalists(self) -> list[Candidate]:
        """The candidates of the last rung, the best first."""
        return sorted(self.journal.judged(len(self.rungs) - 1), key=lambda each: each.value)

    @property
    def winner(self) -> Candidate:
        """The best candidate; the preset as it was is one of them, and stays where none is better."""
        return min(self.finalists, key=lambda each: (each.value, each.params != {}))


def taken(form: Form, rungs: Sequence[Sequence[Judged]]) -> list[list[Judged]]:
    """The tests that a learner can take: some take one constraint only."""

    def takes(test: Judged) -> bool:
        try:
            check(form.key(test.problem, test.episodes, test.seeds[0], {}))
        except InputError:
            return False
        return True

    return [[test for test in rung if takes(test)] for rung in rungs]


def sizes(budget: int, rungs: Sequence[Sequence[Judged]] = RUNGS) -> list[int]:
    """How many candidates each rung has, the preset as it was among them; printed forms come on top."""
    return [max(1, math.ceil(budget * share)) for share in SHARES[: len(rungs)]]


def search_form(
    form: Form,
    journal: SearchJournal,
    how: How,
    *,
    budget: int,
    seed: int,
    rungs: Sequence[Sequence[Judged]],
) -> Found:
    """Search one form.

    Args:
        form: the learner and its form.
        journal: the candidates so far; the search goes on from them.
        how: where runs are played.
        budget: candidates on the first rung.
        seed: decides which.
        rungs: the tests of each rung.
    """
    rungs = taken(form, rungs)
    found = Found(form, journal, rungs)

    def verdict(params: Mapping[str, Any], rung: int) -> Any:
        return judge(form, journal, how, rungs, params, rung)

    mine = int(hashlib.sha256(f"{form.name} {seed}".encode()).hexdigest()[:8], 16)
    explore = max(2, math.ceil(EXPLORE * budget))
    found.signal = search(form.ranges, verdict, journal, trials=budget, seed=mine, first=[{}], random_first=explore)
    for params in form.others:
        if found.signal is None and journal.find(params, 0) is None:
            candidate, found.signal = verdict(params, 0)
            if found.signal is None:
                journal.add(candidate)
    for rung, size in enumerate(sizes(budget, rungs)[1:], start=1):
        if found.signal is None:
            found.signal = promote(verdict, journal, rung, size - 1, [{}, *form.others])
    return found
