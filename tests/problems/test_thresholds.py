"""Thresholds that bind: strictly feasible, and they make a difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret import oracle
from noregret.problems import load, thresholds

# --- thresholds that bind -----------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 3),
    fraction=st.floats(0.05, 0.95),
    family=st.sampled_from(["random:S=4,A=3,H=3", "linear:S=6,d=3,H=3"]),
)
def test_chosen_thresholds_are_strictly_feasible_and_bind(seed: int, m: int, fraction: float, family: str) -> None:
    p = load(f"{family},seed={seed},m={m},fraction={fraction!r}")
    low = thresholds.values(p.P, thresholds.best(p.P, p.r, p.g.mean(axis=0)), p.g, p.mu)
    best_reward = thresholds.values(p.P, thresholds.best(p.P, p.r, p.r), p.r[None], p.mu)[0]
    optimum = oracle.solve(p)
    assert optimum.slater_gap > 0.0
    assert (p.b > oracle.reachable(p)[:, 0]).all()
    assert optimum.value <= best_reward + 1e-9
    if (low < p.b - 1e-6).any():
        assert optimum.value < best_reward
        assert optimum.dual.sum() > 0.0
    else:
        assert m > 1 or low[0] == pytest.approx(oracle.reachable(p)[0, 1])  # the best rewards are the safest


def test_thresholds_where_no_policy_makes_a_difference() -> None:
    p = load("random:A=1")
    low, high = oracle.reachable(p)[0]
    assert low == pytest.approx(high)
    assert p.b == pytest.approx([0.5 * high])


def test_best_breaks_ties_by_the_second_table() -> None:
    P, f, ties = np.ones((2, 1, 3, 1)), np.zeros((2, 1, 3)), np.zeros((2, 1, 3))
    f[:, 0, 1:] = 0.5
    ties[:, 0] = [0.9, 0.1, 0.2]
    policy = thresholds.best(P, f, ties)
    assert policy.tolist() == [[2], [2]]
    assert thresholds.values(P, policy, np.stack([f, ties]), np.ones(1)).tolist() == [1.0, 0.4]
