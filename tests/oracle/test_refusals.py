"""What the oracle refuses or warns of, and mistakes of its own that it notices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from noregret import oracle
from noregret.errors import InfeasibleError, InputError, OracleError
from noregret.oracle import columns, tables
from noregret.problems.base import Array, Constraint, TabularCMDP
from tests.oracle.worlds import job_scheduling, two_armed

# --- errors and warnings ------------------------------------------------------------------------------------------


def test_infeasible_names_constraint_threshold_and_range() -> None:
    with pytest.raises(InfeasibleError, match=r"'utility' asks for at least 5, .* utilities from 0 to 4.49979126"):
        oracle.solve(job_scheduling(5.0))


def cost_problem(limit: float) -> TabularCMDP:
    """Two steps in one state; arm 0 pays 1 and costs 0.9, arm 1 pays nothing and costs 0.2."""
    P, r, cost = np.ones((2, 1, 2, 1)), [[[1.0, 0.0]]] * 2, [[[0.9, 0.2]]] * 2
    return TabularCMDP.with_constraints(P, r, [Constraint(cost, limit, "<=", "fuel")], 0)


def test_a_cost_limit_is_described_as_a_cost() -> None:
    assert oracle.solve(cost_problem(1.1)).value == pytest.approx(1.0)
    with pytest.raises(InfeasibleError, match=r"'fuel' asks for at most 0.3, policies reach costs from 0.4 to 1.8$"):
        oracle.solve(cost_problem(0.3))
    with pytest.raises(InfeasibleError, match=r"tighten is 0.9, .*at most 1.1 \(tightened to 0.2\), .* from 0.4 to"):
        oracle.solve(cost_problem(1.1), tighten=0.9)
    with pytest.warns(UserWarning, match=r"'fuel' asks for at most 1.9, .* costs from 0.4 to 1.8: every policy meets"):
        oracle.solve(cost_problem(1.9))


def test_jointly_infeasible_constraints_are_said_to_be_so() -> None:
    problem = two_armed(0.5).replace(g=[[[[0.0, 1.0]]], [[[1.0, 0.0]]]], b=[0.6, 0.6], constraint_names=(), senses=())
    problem = problem.replace(constraint_names=("left", "right"))
    with pytest.raises(InfeasibleError, match=r"alone but not all together, they miss by 0.1: 'left' .*'right' asks"):
        oracle.solve(problem)
    assert oracle.slater_gap(problem) == pytest.approx(-0.1)
    with pytest.raises(InfeasibleError, match="no policy meets the constraints: 'right'"):
        oracle.solve(problem.replace(b=[0.6, 1.2]))


def test_tightening_up_to_the_slater_gap_and_no_further() -> None:
    problem = job_scheduling()
    gap = oracle.slater_gap(problem)
    assert oracle.solve(problem, gap).V_g == pytest.approx([4.49979125515], abs=1e-9)
    with pytest.raises(InfeasibleError, match=r"tighten is 0.5, beyond the Slater gap 0.4997\d*: .*\(tightened to 4.5\)"):
        oracle.solve(problem, 0.5)


@pytest.mark.parametrize(
    ("tighten", "message"),
    [
        (-0.1, "at least 0"),
        (np.nan, "finite"),
        ([0.1, 0.1], r"shape \(2,\); expected a number or \(1,\)"),
        ("x", "number"),
    ],
)
def test_bad_tightening_is_refused(tighten: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        oracle.solve(job_scheduling(), tighten=tighten)


@pytest.mark.parametrize("b", [0.0, -1.0])
def test_a_constraint_that_cannot_bind_is_warned_about(b: float) -> None:
    with pytest.warns(UserWarning, match=f"at least {b:g}, .*cannot bind"):
        best = oracle.solve(job_scheduling(b))
    assert (best.value, best.dual.tolist()) == (pytest.approx(10.0), [0.0])


def test_a_constraint_that_can_bind_is_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        best = oracle.solve(job_scheduling(0.001))
    assert best.dual[0] > 0.0 and best.V_g[0] == pytest.approx(0.001)


# --- the oracle's own checks --------------------------------------------------------------------------------------


def test_a_wrong_dual_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = columns.Pool.generate

    def wrong(pool: Any, b: Array, reward: float) -> columns.Mixture:
        found = honest(pool, b, reward)
        return found._replace(dual=found.dual + 1e-6)

    monkeypatch.setattr(columns.Pool, "generate", wrong)
    with pytest.raises(OracleError, match="duality gap"):
        oracle.solve(job_scheduling())


def test_a_mixture_that_misses_the_threshold_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = columns.Pool.generate

    def wrong(pool: Any, b: Array, reward: float) -> columns.Mixture:
        return honest(pool, b - 1e-6, reward)

    monkeypatch.setattr(columns.Pool, "generate", wrong)
    with pytest.raises(OracleError, match="misses a threshold by 1e-06"):
        oracle.solve(job_scheduling())


def test_an_evaluation_that_disagrees_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = tables._forward
    monkeypatch.setattr(tables, "_forward", lambda problem, policy: honest(problem, policy) * (1 + 1e-6))
    with pytest.raises(OracleError, match="off the mixture's values"):
        oracle.solve(job_scheduling())


def test_a_suboptimal_mixture_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = columns.master

    def lazy(values: Array, b: Array, reward: float) -> tuple[Array, Array, float]:
        weights, Y, _ = honest(values, b, reward)
        return weights, Y, np.inf  # claims to be done

    monkeypatch.setattr(columns, "master", lazy)
    with pytest.raises(OracleError, match="duality gap"):
        oracle.solve(job_scheduling())
