"""One search: configurations of a learner's form, drawn over the whole space and near the best, halved rung by rung.

A configuration gives every name of the space a value, so that what an earlier search found has no say. The first is what the
preset has; then come points of a scrambled Sobol sequence; the last part of the budget is drawn near the best of these, as the
first rung sees them. All of it follows from a seed.

A run's loss is its hard regret and its worst hard violation, divided by what the uniform policy loses on that problem in as
many episodes. The loss of a test is the mean over its seeds, as in the tables: one failure in five runs counts by its size. A
configuration's score is the geometric mean over tests.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from noregret import learners, oracle
from noregret._system.checks import each_once
from noregret.errors import FileError, InputError, shown
from noregret.experiments.tune_all.settings import EXPLORE, HARM, KEPT, LEAST, MARGIN, MOVES, NEAR, RUNGS, SHARES, STEP, Test
from noregret.learners import tuned
from noregret.runs import How, play
from noregret.runs.keys import make_key
from noregret.runs.prepare import prepare, prepared
from noregret.store import RunKey
from noregret.sweeps.tune import Range, parse_range

#: The forms of a learner by their names in its space, and the presets that their winners become.
FORMS = {"theory": "tuned", "practical": "practical"}


@dataclass(frozen=True)
class Form:
    """What is searched: a learner in one of its forms."""

    learner: str
    form: str

    @property
    def preset(self) -> str:
        """The preset that the winner becomes."""
        return FORMS[self.form]

    @property
    def name(self) -> str:
        """A name for files and tables."""
        return f"{self.learner}-{self.preset}"

    @property
    def told(self) -> dict[str, Any]:
        """What the learner must be given beside its constants: the oracle's safest policy, where it needs a safe one."""
        return {"safe_policy": "safest"} if "safe_policy" in learners.get(self.learner).told else {}

    @property
    def ranges(self) -> dict[str, Range]:
        """What may be tried, as the learner's file has it."""
        return dict(parse_range(text) for text in learners.get(self.learner).space[self.form])

    def key(self, problem: str, episodes: int, seed: int, params: Mapping[str, Any]) -> RunKey:
        """The run of a configuration.

        Args:
            problem: its name.
            episodes: how many are played.
            seed: decides all randomness.
            params: the configuration.
        """
        return make_key(
            prepare(problem), self.learner, episodes=episodes, seed=seed, record_every=episodes, preset=self.preset,
            params=self.told | dict(params),
        )  # fmt: skip


def forms(names: Sequence[str] | None = None) -> list[Form]:
    """All that can be searched, or what some learners have. A learner of another kind of constraint is left out unless named.

    Raises:
        InputError: the list is empty or has a name twice; a learner is unknown, has nothing that may be tried, or refuses the
            problems of the protocol.
    """
    found = []
    for name in learners.names() if names is None else each_once("learners", names):
        space = learners.get(name).space
        own = [Form(name, form) for form in FORMS if form in space]
        if names is not None and not own:
            raise InputError(f"learner {name!r} has no space; expected one that declares what may be tried")
        try:
            for form in own:
                begins(form, RUNGS[0][0].problem)
        except InputError:
            if names is not None:
                raise
            continue
        found += own
    return found


def begins(form: Form, problem: str) -> dict[str, Any]:
    """What the preset has for each name of the space, whatever an earlier search found.

    Args:
        form: the learner and its form.
        problem: where numbers are read off, if the space has numbers themselves.
    """
    with tuned.ignored():
        made = prepared(form.key(problem, 100, 0, {})).learner(form.key(problem, 100, 0, {}))
    known = learners.get(form.learner).parameters
    return {
        name: values.choices[0] if values.choices else made.constants[name] if name in known else 1.0
        for name, values in form.ranges.items()
    }


def own_seed(form: Form, seed: int) -> int:
    """A seed for a form, from that of the search."""
    return int(hashlib.sha256(f"{form.name} {seed}".encode()).hexdigest()[:8], 16)


def configurations(form: Form, count: int, seed: int, problem: str) -> list[dict[str, Any]]:
    """Configurations all over the space: what the preset has, then points of a scrambled Sobol sequence.

    Args:
        form: the learner and its form.
        count: how many.
        seed: scrambles the sequence, together with the form's name.
        problem: where the preset's own numbers are read off.
    """
    ranges = form.ranges
    points = qmc.Sobol(len(ranges), scramble=True, seed=own_seed(form, seed)).random_base2(max(1, math.ceil(math.log2(count))))
    drawn = [{name: each.at(float(u)) for (name, each), u in zip(ranges.items(), point, strict=True)} for point in points]
    return [begins(form, problem), *drawn][:count]


def near(form: Form, best: Sequence[Mapping[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """Configurations near some good ones: some names move a little; a choice of a list is drawn anew.

    Args:
        form: the learner and its form.
        best: the good ones; each is looked near to in turn.
        count: how many.
        seed: decides what moves, together with the form's name.
    """
    rng, ranges, found = np.random.default_rng([own_seed(form, seed), 1]), form.ranges, list[dict[str, Any]]()
    for i in range(count):
        params = dict(best[i % len(best)])
        moved = rng.random(len(ranges)) < MOVES
        moved[rng.integers(len(ranges))] = True
        for (name, each), moves in zip(ranges.items(), moved, strict=True):
            u = float(
                rng.random() if each.choices else np.clip(each.share(params[name]) + STEP * rng.standard_normal(), 0.0, 1.0)
            )
            if moves:
                params[name] = each.at(u)
        found.append(params)
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


class Journal:
    """The losses of runs by their ids, on the disk after each; a torn last line, after a kill, is left out.

    Args:
        path: the file, one JSON line a run.

    Raises:
        FileError: a line is not one that a search wrote.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.losses: dict[str, float] = {}
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        for line in lines[:-1]:  # a whole line ends with a line break
            try:
                entry = json.loads(line)
                self.losses[str(entry["run"])] = float(entry["loss"])
            except (ValueError, TypeError, KeyError):
                said = shown(line[:60].decode(errors="replace"))
                raise FileError(
                    f"{path}: has the line {said}; expected a run and its loss. Without this file its search begins anew"
                ) from None
        if lines and lines[-1]:
            path.write_bytes(b"\n".join([*lines[:-1], b""]))

    def add(self, id: str, loss: float) -> None:
        """Keep the loss of one more run."""
        self.losses[id] = loss
        with self.path.open("ab") as file:
            file.write(json.dumps({"run": id, "loss": loss}).encode() + b"\n")


def losses(keys: Sequence[RunKey], journal: Journal, how: How) -> int | None:
    """Play the runs that the journal does not have, and note their losses.

    Args:
        keys: the runs.
        journal: what is known already.
        how: where runs are played.

    Returns:
        The number of the signal that stopped the runs, or None.
    """
    todo = [key for key in keys if key.id not in journal.losses]
    for begin in range(0, len(todo), CHUNK):
        part = todo[begin : begin + CHUNK]
        sitting = play(part, how)
        for key in part:
            if key.id in sitting.summary.failed:
                journal.add(key.id, math.inf)
            elif sitting.store.whole(key.id):
                last = sitting.store.read(key.id).record["last"]
                loss = last["hard_regret"] + max(last["hard_violations"])
                journal.add(key.id, loss / (key.episodes * yardstick(key.problem)))
        if sitting.wish.number is not None:
            return sitting.wish.number
    return None


#: Runs that are played in one go; a kill loses no more than these.
CHUNK = 64


def score(tests: Iterable[Sequence[float]]) -> float:
    """The geometric mean, over tests, of the mean loss of a test's runs.

    Args:
        tests: the losses of each test's runs. A run that failed counts as a hundred times the uniform policy's loss.
    """
    means = [np.mean([min(loss, WORST) if loss == loss else WORST for loss in runs]) for runs in tests]
    return float(np.exp(np.mean(np.log(np.maximum(means, LEAST)))))


#: The most that a run's loss counts as.
WORST = 100.0


@dataclass
class Trial:
    """A configuration with its place: how many rungs it was judged on, its score there, and its losses test by test."""

    number: int
    params: dict[str, Any]
    rungs: int = 0
    score: float = math.inf
    losses: dict[Test, float] = field(default_factory=dict)


@dataclass
class Found:
    """What a search came to."""

    form: Form
    trials: list[Trial] = field(default_factory=list)
    signal: int | None = None
    held_out: dict[str, list[float]] = field(default_factory=dict)  # "begin" and "winner": a loss for each run

    @property
    def finalists(self) -> list[Trial]:
        """Those that were judged on every rung, the best first."""
        most = max(trial.rungs for trial in self.trials)
        return sorted((trial for trial in self.trials if trial.rungs == most), key=lambda trial: (trial.score, trial.number))

    @property
    def begin(self) -> Trial:
        """What the preset begins with."""
        return self.trials[0]

    @property
    def winner(self) -> Trial:
        """The best that does no harm, or what the preset begins with where that is hardly worse, or is kept."""
        own = self.begin
        for trial in self.finalists if self.form.name not in KEPT else ():
            harmless = all(loss <= HARM * own.losses[test] for test, loss in trial.losses.items())
            if harmless and trial.score < (1.0 - MARGIN) * own.score:
                return trial
        return own

    @property
    def entry(self) -> dict[str, Any]:
        """What the preset becomes: nothing where it stays what it was."""
        return {} if self.winner is self.begin else dict(self.winner.params)


def sizes(budget: int, rungs: Sequence[Sequence[Test]] = RUNGS) -> list[int]:
    """How many configurations each rung has."""
    return [max(1, math.ceil(budget * share)) for share in SHARES[: len(rungs)]]


def search(
    form: Form,
    journal: Journal,
    how: How,
    *,
    budget: int,
    seed: int = 0,
    rungs: Sequence[Sequence[Test]] = RUNGS,
    through: Callable[[int], None] = lambda episodes: None,
) -> Found:
    """Try configurations, halve them rung by rung, and name the winner.

    Args:
        form: the learner and its form.
        journal: the losses so far; the search goes on from them.
        how: where runs are played.
        budget: how many configurations.
        seed: decides which.
        rungs: the problems of each rung.
        through: is called with the episodes of a rung that is done.
    """
    begin = max(1, math.ceil(EXPLORE * budget))
    drawn = configurations(form, begin, seed, rungs[0][0].problem)
    found = Found(form, [Trial(i, params) for i, params in enumerate(drawn)])

    def judge(rung: int, some: Sequence[Trial]) -> bool:
        """Score some configurations on the problems up to a rung; whether a signal came first."""
        tests = [test for each in rungs[: rung + 1] for test in each]
        keys = {
            (t.number, x): [form.key(x.problem, x.episodes, seed, t.params) for seed in x.seeds] for t in some for x in tests
        }
        found.signal = losses([key for own in keys.values() for key in own], journal, how)
        if found.signal is None:
            for trial in some:
                runs = {x: [journal.losses[key.id] for key in keys[trial.number, x]] for x in tests}
                trial.rungs, trial.score = rung + 1, score(runs.values())
                trial.losses = {x: score([own]) for x, own in runs.items()}
            through(sum(x.episodes * len(x.seeds) for x in rungs[rung]) * len(some))
        return found.signal is not None

    if judge(0, found.trials):
        return found
    best = sorted(found.trials, key=lambda trial: (trial.score, trial.number))[:NEAR]
    more = near(form, [trial.params for trial in best], budget - begin, seed)
    found.trials += [Trial(begin + i, params) for i, params in enumerate(more)]
    if judge(0, found.trials[begin:]):
        return found
    alive = list(found.trials)
    for rung, size in enumerate(sizes(budget, rungs)[1:], start=1):
        alive = sorted(alive, key=lambda trial: (trial.number != 0, trial.score, trial.number))[:size]
        if judge(rung, alive):
            return found
    return found


def try_again(found: Found, journal: Journal, how: How, tests: Sequence[Test]) -> None:
    """Score what a preset begins with, and the winner, on held-out problems.

    Args:
        found: a finished search; its ``held_out`` is filled.
        journal: the losses so far.
        how: where runs are played.
        tests: the held-out problems.
    """
    for name, trial in (("begin", found.begin), ("winner", found.winner)):
        keys = [found.form.key(t.problem, t.episodes, s, trial.params) for t in tests for s in t.seeds]
        found.signal = losses(keys, journal, how)
        if found.signal is not None:
            return
        found.held_out[name] = [journal.losses[key.id] for key in keys]
