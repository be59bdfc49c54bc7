"""Comparisons: every learner on every problem under one protocol, and the rows of the paper's Table 1.

A comparison is a grid of problems and entries (a learner with its parameters). Each cell is one run of the runner; trials, and
cells where there are fewer trials than cores, are side by side. All cells have the same seed, so that trial t of every learner
meets the same world. A learner that refuses a problem is a row with its reason, and the rest goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from noregret import learners
from noregret._system.progress import bar
from noregret.errors import InputError, NoRegretError, unknown_name
from noregret.problems.base import TabularCMDP
from noregret.results import NO_PROMISE, Outcome
from noregret.runs.limits import check_length
from noregret.runs.runner import FIXED_POLICIES, TELLS, available_cores, run

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
#: The reason of a cell that Ctrl-C left without a result.
STOPPED = "stopped before its last episode"
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
            return
        learner = learners.get(self.name)
        known = {"preset", "slater_gap", *learner.parameters}.difference(TELLS)
        for key in self.params:
            if key not in known:
                raise unknown_name(f"parameter of {self.name}", key, known)
        if self.params.get("preset", learner.presets[0]) not in learner.presets:
            raise unknown_name(f"preset of {self.name}", str(self.params["preset"]), learner.presets)

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
    progress: bool | None = None,
    tell: Callable[[Outcome], None] = lambda one: None,
) -> list[Outcome]:
    """Run the cells, problem by problem; ``tell`` is called with each that is done, in this order.

    Where there are fewer trials than ``threads`` (all cores by default), as many cells are at work as have room; what they
    give does not depend on it. After Ctrl-C what is not done is an outcome with the reason :data:`STOPPED`.

    A preset that a learner does not have, a Slater gap it needs and was not given, a problem it is not made for: such a
    refusal is an outcome with a reason. What is wrong with the run itself (episodes, trials, seed) is refused at once.
    """
    check(problems, entries, episodes=episodes, trials=trials, seed=seed, preset=preset, threads=threads)
    cells = [(problem, entry) for problem in problems for entry in entries]
    cores = threads or available_cores()
    played = [0] * len(cells)  # episodes of each cell
    stop = threading.Event()

    def play(i: int) -> Outcome:
        problem, entry = cells[i]
        made = partial(Outcome, problem.name, entry.label, entry.promise)

        def show(done: int, note: str = "") -> None:
            played[i] = done
            if stop.is_set():
                raise KeyboardInterrupt  # ends this run as it does when it is alone

        if stop.is_set():
            return made(None, STOPPED)
        own: dict[str, Any] = {"preset": preset, "slater_gap": slater_gap} | entry.params
        try:
            result = run(
                problem, entry.name, episodes=episodes, trials=trials, seed=seed, record_every=max(1, episodes // POINTS),
                threads=min(trials, cores), progress=show, **own,
            )  # fmt: skip
        except NoRegretError as error:
            return made(None, " ".join(str(error).split()))
        finally:
            played[i] = trials * episodes
        return made(result) if result.complete else made(None, STOPPED)

    told = 0
    with bar(len(cells) * trials * episodes, progress) as show, ThreadPoolExecutor(max(1, cores // trials)) as pool:
        futures = [pool.submit(play, i) for i in range(len(cells))]
        try:
            while told < len(cells):
                wait(futures[told : told + 1], timeout=0.2)
                if sum(played):
                    show(sum(played), f"{told} of {len(cells)} runs")
                while told < len(cells) and futures[told].done():
                    tell(futures[told].result())
                    told += 1
        except KeyboardInterrupt:
            stop.set()
        except BaseException:
            stop.set()
            raise
        return [future.result() for future in futures]


def check(
    problems: Sequence[TabularCMDP], entries: Sequence[Entry], *, episodes: int, trials: int, seed: int, preset: str,
    threads: int | None,
) -> None:  # fmt: skip
    """Refuse a grid that is empty or names the same cell twice, and what no run can be made with."""
    for what, labels in (("learners", [e.label for e in entries]), ("problems", [p.name for p in problems])):
        if not labels:
            raise InputError(f"{what} is empty; expected at least one name")
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise InputError(f"{what} has {twice[0]!r} twice; expected each once")
    check_length(episodes, trials=trials, seed=seed, record_every=episodes, threads=threads)
    presets = {name for learner in learners.names() for name in learners.get(learner).presets}
    if preset not in presets:
        raise unknown_name("preset", str(preset), presets)
