"""One oracle for each kind of problem, with the same rules: a Slater gap of 0, tightened thresholds, starts, finite numbers."""

from __future__ import annotations

import numpy as np
import pytest

from noregret import oracle, problems
from noregret.errors import InfeasibleError, InputError, OracleError
from noregret.problems.base import TabularCMDP


@pytest.mark.parametrize(
    "text", ["fraction=1.0", "d=1", "A=1", "fraction=1.0,m=2", "fraction=1.0,m=3,seed=5", "A=1,m=2", "d=1,m=2"]
)
def test_without_room_a_linear_problem_has_a_finite_optimum_too(text: str) -> None:
    """Rounding puts the threshold up to 1e-9 beyond the best policy, and the optimum was -inf."""
    best = oracle.solve(problems.load(f"linear-continuous:{text}"))
    assert abs(best.slater_gap) < 1e-6 or "m=" in text
    assert np.isfinite([best.value, *best.dual, *best.V_g]).all()
    assert (best.V_g >= best.thresholds - 1e-8).all()


@pytest.mark.parametrize("m", [1, 2])
def test_all_oracles_treat_a_gap_within_rounding_alike(m: int) -> None:
    """Thresholds at the largest slack, a little beyond, and beyond rounding: the same answers on tables and on a grid."""
    for problem in (problems.load(f"random:m={m}"), problems.load(f"linear-continuous:m={m},A=2")):
        gap = oracle.solve(problem).slater_gap
        for beyond in (0.0, 3e-10, 8e-10):
            best = oracle.solve(problem.replace(b=problem.b + gap + beyond))
            assert np.isfinite(best.value)
            assert abs(best.slater_gap + beyond) < 1e-10 * problem.horizon
        with pytest.raises(InfeasibleError, match=r"no policy|not all together"):
            oracle.solve(problem.replace(b=problem.b + gap + 1e-7))


def test_an_optimum_is_finite_or_refused() -> None:
    with pytest.raises(OracleError, match="value of the optimum is -inf"):
        oracle.Optimum(-np.inf, np.zeros(1), 0.1)
    with pytest.raises(OracleError, match="dual of the optimum"):
        oracle.Optimum(1.0, np.array([np.nan]), 0.1)


def test_the_kind_of_problem_chooses_the_oracle() -> None:
    class Mine(TabularCMDP):
        """A problem of one's own."""

    tables_of, grid_of = oracle.of(problems.load("job-scheduling")), oracle.of(problems.load("linear-continuous"), cells=50)
    assert (type(tables_of).__name__, type(grid_of).__name__) == ("TableOracle", "GridOracle")
    assert grid_of.solve().cells == 50
    made = problems.load("job-scheduling")
    made.__class__ = Mine
    assert type(oracle.of(made)) is type(tables_of)
    with pytest.raises(InputError, match="problem is 'queue'; expected a problem"):
        oracle.of("queue")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="draws its own start: expected None"):
        grid_of.starts([0])
    assert grid_of.starts(None) is None


@pytest.mark.parametrize("text", ["random:m=2", "linear-continuous:m=2"])
def test_the_value_of_tightened_thresholds(text: str) -> None:
    truth = oracle.of(problems.load(text))
    best = truth.solve()
    zeta = 0.5 * best.slater_gap
    assert oracle.tightened_value(truth, best, 0.0) == best.value
    assert oracle.tightened_value(truth, best, zeta) == truth.solve(zeta).value < best.value
    assert np.isnan(oracle.tightened_value(truth, best, 1.01 * best.slater_gap))
