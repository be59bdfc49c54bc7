"""Problems with a limit on every step: what is refused, files, hashes, and the optimum against a linear program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import noregret as nr
from noregret import oracle
from noregret.errors import InputError
from noregret.problems import TabularCMDP, load, save
from noregret.runs.supplies import problem_hash
from noregret.testing.cases import small
from tests.learners.test_slucb_qvi import two_actions
from tests.problems.test_problems import assert_same
from tests.support import limited


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"safe_actions": None}, "step_limit is given without safe_actions; expected both, or neither"),
        ({"step_limit": None}, "safe_actions is given without step_limit"),
        ({"step_limit": 1.5}, "step_limit is 1.5; expected a number above 0 and at most 1"),
        ({"step_limit": 0.0}, "step_limit is 0.0; expected a number above 0"),
        ({"b": 1.5}, r"b is 1.5; with step_limit expected at most H\(1 - step_limit\) = 1.4"),
        ({"safe_actions": [1]}, r"safe_actions\[0, 0\] costs 0.5; expected less than the limit 0.3"),
        ({"safe_actions": [2]}, r"safe_actions\[0, 0\] is 2; expected 0..1"),
        ({"safe_actions": [0.0]}, "safe_actions has shape .* and type float64; expected integers"),
        ({"available": [[False, True]]}, r"safe_actions\[0, 0\] is 0; expected an action that is available there"),
        ({"g": np.full((2, 2, 1, 2), 0.9), "b": [1.0, 1.0]}, "there are 2 utilities; expected one"),
    ],
)
def test_wrong_limits_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        two_actions(**changes)


def test_the_spec_tells_the_limit_and_the_safe_action_with_its_cost() -> None:
    step = two_actions().spec.step
    assert step.limit == 0.3 and step.actions.tolist() == [[0], [0]] and step.costs == pytest.approx(np.full((2, 1), 0.1))
    assert not step.costs.flags.writeable and not step.actions.flags.writeable
    assert small().spec.step is None


def test_files_keep_the_limit(tmp_path: Any) -> None:
    problem = limited(4, masked=True)
    save(problem, tmp_path / "p.npz")
    again = load(tmp_path / "p.npz")
    assert_same(problem, again)
    assert problem_hash(again) == problem_hash(problem)


def test_the_limit_is_part_of_the_hash_where_there_is_one() -> None:
    problem = two_actions()
    hashes = {problem_hash(p) for p in (problem, two_actions(step_limit=0.2), two_actions(step_limit=None, safe_actions=None))}
    assert len(hashes) == 3


def program(problem: TabularCMDP) -> float:
    """The optimum as HiGHS finds it: occupancies q ≥ 0 that flow, with Σ_a q_h(x,a)(c_h(x,a) − τ) ≤ 0 in each state."""
    H, S, A = problem.r.shape
    n = H * S * A
    at = np.arange(n).reshape(H, S, A)
    flow, into = np.zeros((H * S, n)), np.zeros(H * S)
    cost = np.zeros((H * S, n))
    into[:S] = problem.mu
    for h in range(H):
        for s in range(S):
            flow[h * S + s, at[h, s]] = 1.0
            if h:
                flow[h * S + s, at[h - 1].ravel()] -= problem.P[h - 1, :, :, s].ravel()
            cost[h * S + s, at[h, s]] = 1.0 - problem.g[0, h, s] - (problem.step_limit or 0.0)
    tops = [(0.0, None if there else 0.0) for there in problem.available.ravel()]
    found = linprog(-problem.r.ravel(), cost, np.zeros(H * S), flow, into, tops, method="highs")
    assert found.status == 0
    return -float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_the_linear_program(seed: int) -> None:
    problem = limited(seed, masked=seed % 2 == 1, by_next=seed % 3 == 1, A=4)
    optimum = nr.solve(problem)
    assert optimum.value == pytest.approx(program(problem), abs=1e-8)
    cost = (optimum.policy * (1.0 - problem.g[0])).sum(axis=2)
    assert cost.max() <= (problem.step_limit or 0.0) + 1e-12
    assert nr.evaluate(problem, optimum.policy)[0] == pytest.approx(optimum.value, abs=1e-9)
    free = oracle.greedy(problem.replace(step_limit=None, safe_actions=None))[1]
    assert optimum.value < free - 1e-3, "the limit does not bind"


def test_the_example_binds_and_all_that_the_oracle_says_keeps_the_limit() -> None:
    problem = load("machine-load")
    assert nr.solve(problem).value == pytest.approx(program(problem), abs=1e-8)
    total = nr.solve(problem.replace(step_limit=None, safe_actions=None)).value
    assert total == pytest.approx(4.643382, abs=1e-6)
    for policy in (oracle.safest(problem), oracle.greedy(problem)[0], nr.solve(problem, 0.3).policy):
        assert (policy * (1.0 - problem.g[0])).sum(axis=2).max() <= 0.3 + 1e-12
    assert oracle.per_start(problem).values[0] == pytest.approx(nr.solve(problem).value)
    assert oracle.reachable(problem)[0, 0] >= problem.b[0] - 1e-12


def test_two_actions_by_hand() -> None:
    """Half of each action costs 0.1/2 + 0.5/2 = 0.3, so each of the two steps pays 1/2."""
    optimum = nr.solve(two_actions())
    assert optimum.value == pytest.approx(1.0) and optimum.policy[:, 0] == pytest.approx(np.full((2, 2), 0.5))
