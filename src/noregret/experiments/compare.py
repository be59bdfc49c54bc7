"""Comparisons: every learner on every problem under one protocol, and the rows of the paper's Table 1.

A comparison is a grid of problems and entries (a learner with its parameters). Each cell is one run of the runner, its trials
side by side on all cores; all cells have the same seed, so that trial t of every learner meets the same world. A learner that
refuses a problem is a row with its reason, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from noregret import learners
from noregret.errors import InputError, NoRegretError
from noregret.problems.base import TabularCMDP
from noregret.results import NO_PROMISE, Outcome
from noregret.runner import FIXED_POLICIES, run

#: What is compared when nothing is said: Table 1, what came after it, and a floor.
PROBLEMS = ("job-scheduling",)
LEARNERS = (
    "primal-dual-lsvi",
    "opdop",
    "opt-primal-dual",
    "opt-dual",
    "optpess-primal-dual",
    "triple-q",
    "lsvi-bisection",
    "opse-lcmdp:safe_policy=safest",
    "uniform",
)
TRIALS = 5
#: Recorded points of a curve.
POINTS = 500

TABLE1_PROBLEM = "job-scheduling"
TABLE1_EPISODES = 200_000
TABLE1_TRIALS = 10


@dataclass(frozen=True)
class Published:
    """A row of the paper's Table 1 (paper.tex l. 151-160) and our learner for it. The orders leave out logarithms."""

    algorithm: str
    source: str
    linear: bool
    model_free: bool
    regret: str
    violation: str
    learner: str


TABLE1 = (
    Published("OPDOP", "Ding 2021", True, False, "√(d²H⁵T)", "√(d²H⁵T)", "opdop"),
    Published("OptPrimalDual-CMDP", "Efroni 2020", False, False, "√(H⁵S²AT)", "√(H⁵S²AT)", "opt-primal-dual"),
    Published("OptDual-CMDP", "Efroni 2020", False, False, "√(H³S²AT)", "√(H³S²AT)", "opt-dual"),
    Published("OptPess-PrimalDual", "Liu 2021", False, False, "√(H⁵S³AT)", "1", "optpess-primal-dual"),
    Published("Triple-Q", "Wei 2022", False, True, "H^3.2·T^0.8·√(SA)", "0", "triple-q"),
    Published("Algorithm 1", "Ghosh 2022", True, True, "√(d³H³T)", "√(d³H³T)", "primal-dual-lsvi"),
)


@dataclass(frozen=True)
class Entry:
    """A learner with parameters; the label is the text that the user wrote."""

    label: str
    name: str
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name in FIXED_POLICIES:
            for key in self.params:
                raise InputError(f"{self.label}: {self.name} is a fixed policy and takes no parameter {key!r}")
        else:
            learners.get(self.name)

    @property
    def promise(self) -> tuple[str, str]:
        """The orders of regret and violation that its theorem promises."""
        return NO_PROMISE if self.name in FIXED_POLICIES else learners.get(self.name).promise


def run_grid(
    problems: Sequence[TabularCMDP],
    entries: Sequence[Entry],
    *,
    episodes: int,
    trials: int,
    seed: int,
    preset: str = "practical",
    slater_gap: float | str | None = None,
    threads: int | None = None,
) -> Iterator[Outcome]:
    """Run the cells one after the other, problem by problem; gives each as soon as it is done.

    A preset that a learner does not have, a Slater gap it needs and was not given, a problem it is not made for: such a
    refusal is an outcome with a reason. What is wrong with the run itself (episodes, trials, seed) is refused at once.
    """
    for problem in problems:
        for entry in entries:
            own: dict[str, Any] = {"preset": preset, "slater_gap": slater_gap} | entry.params
            try:
                result = run(
                    problem, entry.name, episodes=episodes, trials=trials, seed=seed, record_every=max(1, episodes // POINTS),
                    threads=threads, **own,
                )  # fmt: skip
            except NoRegretError as error:
                yield Outcome(problem.name, entry.label, entry.promise, None, " ".join(str(error).split()))
            else:
                yield Outcome(problem.name, entry.label, entry.promise, result)


def check(entries: Sequence[Entry], problems: Sequence[TabularCMDP]) -> None:
    """Refuse a grid that is empty or names the same cell twice."""
    for what, labels in (("learners", [e.label for e in entries]), ("problems", [p.name for p in problems])):
        if not labels:
            raise InputError(f"{what} is empty; expected at least one name")
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise InputError(f"{what} has {twice[0]!r} twice; expected each once")
