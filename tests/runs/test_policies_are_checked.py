"""A policy that is none stops the run, with learner, trial, episode, step and state; the check costs next to nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import NoRegretError
from noregret.learners.fixed import FixedPolicy
from noregret.runs.trial import wrong_policy


def broken(fault: str, available: Any) -> Any:
    policy = available / available.sum(axis=2, keepdims=True)
    if fault == "zero":
        policy[1, 1] = 0.0
    elif fault == "negative":
        policy[1, 1, :2] = (1.5, -0.5)
    elif fault == "weights":
        policy *= 3.0
    elif fault == "missing":
        policy[0, 5] = np.eye(policy.shape[2])[5]  # a full shop cannot order
    return policy


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("zero", r"policy\[1, 1, 0\] = 0 is in a row that sums to 0 \(step 1, state 1\)"),
        ("negative", r"policy\[1, 1, 1\] = -0.5 is negative \(step 1, state 1\)"),
        ("weights", r".*is in a row that sums to 3 \(step 0, state 0\)"),
        ("missing", r"policy\[0, 5, 5\] = 1 belongs to an action that is not available \(step 0, state 5\)"),
    ],
)
def test_what_is_no_policy_is_named(fault: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = nr.problems.load("inventory")
    if fault == "missing":
        problem = problem.replace(mu=5)
    fixed = FixedPolicy(problem.spec, episodes=50, policy=broken(fault, problem.available), called="mine")
    monkeypatch.setattr(nr.learners, "make", lambda *args, **kwargs: fixed)
    with pytest.raises(NoRegretError, match=f"mine on inventory, trial 0, episode 1: {said}"):
        nr.run(problem, "uniform", episodes=50, trials=1)


def test_a_right_policy_is_fine_and_one_that_is_not_finite_is_left_to_the_other_check() -> None:
    available = nr.problems.load("inventory").available
    assert wrong_policy(broken("none", available), available) is None
    assert wrong_policy(np.full(available.shape, np.nan), available) is None
