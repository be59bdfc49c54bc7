"""What every problem keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from noregret import DEFAULT_LEARNER, oracle
from noregret import problems as registry
from noregret.problems.registry import Problem
from noregret.runs.runner import run
from noregret.runs.supplies import problem_hash
from noregret.testing.cases import Check, expect, run_checks

EPISODES = 50


def check_problem(problem: Problem | str) -> None:
    """Check that a problem keeps what the oracle, runs and stored runs rely on.

    Args:
        problem: a name, with parameters where it has some, or the problem itself.

    Raises:
        CheckError: the first check that fails, by its name and what was expected.
    """
    run_checks(problem, problem_checks(problem))


def problem_checks(problem: Problem | str) -> Iterator[Check]:
    """The checks of :func:`check_problem` one by one, each with its name."""
    made = registry.load(problem) if isinstance(problem, str) else problem
    checks: list[Callable[[Problem], None]] = [the_optimum_is_feasible_and_finite, a_seed_gives_the_same_bits]
    checks = [its_text_rebuilds_it, *checks] if isinstance(problem, str) else checks
    for check in checks:
        yield check.__name__.replace("_", " "), partial(check, made)


def its_text_rebuilds_it(problem: Problem) -> None:
    """Stored runs know a problem by its text, so the text must build the same arrays each time."""
    again = registry.load(problem.name)
    expect(again.name == problem.name, f"{problem.name!r} builds a problem called {again.name!r}")
    expect(problem_hash(again) == problem_hash(problem), f"{problem.name!r} builds other arrays each time")


def the_optimum_is_feasible_and_finite(problem: Problem) -> None:
    """The oracle's policy meets the constraints and is worth what the oracle says; some policy meets them with room."""
    optimum = oracle.solve(problem)
    expect(np.isfinite(optimum.value), f"the optimum is {optimum.value}; expected a finite number")
    if (policy := getattr(optimum, "policy", None)) is not None:  # on vector states the best policy is a mixture
        value, utilities = oracle.evaluate(problem, policy)
        expect(abs(value - optimum.value) <= 1e-6, f"the best policy is worth {value}, and the optimum is {optimum.value}")
        lack = float((problem.b - utilities).max())
        expect(lack <= 1e-6, f"the best policy misses a threshold by {lack:.3g}")
    expect(optimum.slater_gap > 0.0, f"the Slater gap is {optimum.slater_gap}; expected a policy that meets b with room")


def a_seed_gives_the_same_bits(problem: Problem) -> None:
    """Two runs with one seed are one, and every value lies between 0 and H."""
    runs = [run(problem, DEFAULT_LEARNER, episodes=EPISODES, trials=1, record_every=1, progress=False) for _ in range(2)]
    expect(np.array_equal(runs[0].regret, runs[1].regret), "two runs with one seed differ")
    values = runs[0].optimal_value - np.diff(runs[0].regret[0], prepend=0.0)
    expect(-1e-9 <= values.min() <= values.max() <= problem.horizon + 1e-9, "the value of a policy is outside of [0, H]")
