"""Solvers by exact gradients against the optimum by linear programming, and their bounds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError, OracleError
from noregret.oracle import Descent
from noregret.theory import gradients as rates
from tests.reference.world import evaluate
from tests.support import small

METHODS = ("npg-pd", "crpo", "cspda")


def lacks(found: Descent) -> float:
    return float((found.thresholds - found.V_g).max())


@pytest.mark.parametrize("method", METHODS)
def test_the_output_comes_to_the_optimum_within_its_bound(method: str) -> None:
    problem = nr.problems.load("job-scheduling")
    best = nr.solve(problem)
    found = [nr.solve(problem, method=method, iterations=T) for T in (1000, 30_000)]
    for one in found:
        assert one.optimum.value == best.value and one.slater_gap == best.slater_gap
        if one.bound is not None:
            assert best.value - one.value <= one.bound[0] and lacks(one) <= one.bound[1]
    apart = [max(abs(one.value - best.value), lacks(one)) for one in found]
    assert apart[1] < 0.5 * apart[0]
    assert (found[1].bound is None) == (method == "cspda")


def test_the_dual_of_npg_pd_tends_to_that_of_the_problem() -> None:
    """Y* = 0.2/0.85 on job scheduling."""
    problem = nr.problems.load("job-scheduling")
    duals = [float(nr.solve(problem, method="npg-pd", iterations=T).dual[0]) for T in (1000, 100_000)]
    assert abs(duals[1] - 0.2 / 0.85) < 0.01 < abs(duals[0] - 0.2 / 0.85)


@pytest.mark.parametrize("method", METHODS)
def test_several_constraints_masks_and_tightened_thresholds(method: str) -> None:
    problem = small(12, m=2, masked=True, by_next=True, b=[1.65, 1.2])
    tighten = 0.3 * nr.solve(problem).slater_gap
    best = nr.solve(problem, tighten)
    given = {"alpha": 0.05, "tol": 0.0} if method == "crpo" else {}
    found = nr.solve(problem, tighten, method=method, iterations=30_000, **given)
    near = 0.06 if method == "cspda" else 0.03
    assert abs(found.value - best.value) < near and lacks(found) < near
    np.testing.assert_array_equal(found.thresholds, best.thresholds)
    V_r, V_g = evaluate(problem, found.policy)
    assert V_r == pytest.approx(found.value, abs=1e-9)
    assert V_g == pytest.approx(found.V_g, abs=1e-9)
    assert found.policy[~problem.available].max() == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_the_trace_is_of_the_policies_and_is_drawn(method: str) -> None:
    problem = small(11, b=[1.5])
    found = nr.solve(problem, method=method, iterations=50)
    uniform = np.full_like(problem.r, 1 / 3)
    V_r, V_g = evaluate(problem, uniform)
    assert found.values[0] == pytest.approx(V_r) and found.utilities[0] == pytest.approx(V_g)
    assert found.iterations == 50 and found.duals.shape == (50, 1) and found.duals[0] == 0.0
    np.testing.assert_allclose(found.violations[0], max(1.5 - V_g[0], 0.0))
    axes = found.plot()
    assert axes.shape == (1, 3) and [len(ax.lines) for ax in axes[0]] == [2, 2, 2]
    np.testing.assert_array_equal(axes[0, 0].lines[0].get_ydata(), found.values)
    assert list(found.to_frame()["value"]) == found.values.tolist()
    assert method in repr(found) and "by linear programming" in found._repr_html_()


def test_crpo_with_slack_constraints_is_natural_policy_gradient() -> None:
    problem = small(11, b=[0.0])
    with pytest.warns(UserWarning, match="every policy meets it"):
        one, other = (nr.solve(problem, method=method, iterations=400, alpha=0.3) for method in ("crpo", "npg-pd"))
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.policy, other.policy)
    assert one.optimum.value - one.values[-1] < 1e-3


def test_steps_and_bounds_by_hand() -> None:
    """H = 2, A = 2, T = 100: W = 3, Σ(H−h+1)² = 5, ln 2 = 0.693147."""
    assert rates.npg_pd_steps(H=2, A=2, T=100) == pytest.approx((1.386294361, 0.05))
    # 2·0.693147/(1·100) + 3/100 + 2·0.05·2·3 + 0.05·4/2 = 0.0138629 + 0.03 + 0.6 + 0.1; (2/8)(that + 64/10)
    gap, lack = rates.npg_pd_bounds(H=2, A=2, T=100, m=1, alpha=1.0, eta=0.05, xi=8.0)
    assert (gap, lack) == pytest.approx((0.743862944, 1.785965736))
    # α = √(8·1.386294/500) = 0.148932; D = 1.386294/0.148932 + 0.148932·500/8 = 2·9.308217; tol = 2D/100
    alpha, tol = rates.crpo_steps(H=2, A=2, T=100)
    assert (alpha, tol) == pytest.approx((math.sqrt(8 * 1.3862943611 / 500), 4 * 1.3862943611 / alpha / 100))
    assert tol == pytest.approx(0.372328, rel=1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "npg"}, "did you mean 'npg-pd'"),
        ({"method": "lp", "iterations": 3}, "iterations is given; method 'lp' has no options"),
        ({"method": "crpo", "eta": 0.1}, "unknown constant of crpo 'eta'"),
        ({"method": "crpo", "alpha": -0.1}, "alpha is -0.1; expected a number, at least 0"),
        ({"method": "npg-pd", "iterations": 0}, "iterations is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        nr.solve(small(11, b=[1.2]), **given)


def test_what_a_method_cannot_do_is_said() -> None:
    problem = small(11, b=[1.5])
    whole = problem.replace(b=problem.b + nr.solve(problem).slater_gap)
    with pytest.raises(InputError, match="npg-pd needs one above 0, or xi"):
        nr.solve(whole, method="npg-pd", iterations=3)
    with pytest.raises(OracleError, match="none of 3 iterations"):
        nr.solve(whole, method="crpo", iterations=3, tol=0.0)
    with pytest.raises(InputError, match="has states in R\\^D"):
        nr.solve(nr.problems.load("linear-continuous"), method="crpo")
    with pytest.raises(InputError, match="machine-load limits every single step"):
        nr.solve(nr.problems.load("machine-load"), method="npg-pd", iterations=3)


def test_a_value_beyond_the_optimum_is_said_to_be_above_it() -> None:
    found = nr.solve(small(11, b=[1.5]), method="npg-pd", iterations=1)
    assert "npg-pd: 1 iteration, " in repr(found) and "below the optimum" in repr(found)
    beyond = dataclasses.replace(found, value=found.optimum.value + 0.25)
    assert "0.25 above the optimum" in repr(beyond)


def test_the_picture_says_what_its_lines_are() -> None:
    axes = nr.solve(nr.problems.load("queue"), method="npg-pd", iterations=20).plot()
    (legend,) = axes[0, 0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "npg-pd", "by linear programming", "npg-pd, constraint 2",
    ]  # fmt: skip
