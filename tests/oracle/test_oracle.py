"""The oracle against a monolithic linear program, hand-worked worlds and its own dual."""

from __future__ import annotations

import inspect
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from noregret import oracle, problems
from noregret.errors import InfeasibleError, InputError
from noregret.oracle import base, columns, tables
from noregret.problems.base import TabularCMDP
from tests.oracle.worlds import job_scheduling, monolithic, random_problem, recursion, two_armed

# --- the optimum --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("b", "value", "dual"), [(4.0, 10 - 0.8 / 0.85, 0.2 / 0.85), (4.1, 9.031452, 4 / 9)], ids=["b=4", "b=4.1"]
)
def test_golden_values_of_job_scheduling(b: float, value: float, dual: float) -> None:
    best = oracle.solve(job_scheduling(b))
    assert best.value == pytest.approx(value, abs=1e-6)
    assert best.dual == pytest.approx([dual], abs=1e-6)
    assert best.slater_gap == pytest.approx(4.49979125515 - b, abs=1e-10)
    assert best.V_g == pytest.approx([b], abs=1e-9)


def test_golden_values_of_uniform_play() -> None:
    V_r, V_g = oracle.evaluate(job_scheduling(), np.full((10, 10, 2), 0.5))
    assert V_r == pytest.approx(7.6, abs=1e-12)
    assert V_g == pytest.approx([3.7529759708], abs=1e-10)


def test_tightening_is_another_threshold_and_keeps_the_original_slater_gap() -> None:
    tight, moved = oracle.solve(job_scheduling(), tighten=0.1), oracle.solve(job_scheduling(4.1))
    assert tight.value == pytest.approx(moved.value, abs=1e-10)
    assert tight.thresholds == pytest.approx([4.1])
    assert tight.tighten == pytest.approx([0.1])
    assert tight.slater_gap == pytest.approx(0.49979125515, abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 3),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 3)),
    masks=st.booleans(),
    by_next=st.booleans(),
    start=st.booleans(),
)
def test_optimum_agrees_with_the_monolithic_program(
    seed: int, m: int, shape: tuple[int, int, int], masks: bool, by_next: bool, start: bool
) -> None:
    problem = random_problem(seed, m, shape=shape, masks=masks, by_next=by_next, start=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = oracle.solve(problem)
    value, gap = monolithic(problem, problem.b)
    assert best.value == pytest.approx(value, abs=1e-6)
    assert best.slater_gap == pytest.approx(gap, abs=1e-6)
    assert oracle.slater_gap(problem) == pytest.approx(gap, abs=1e-6)

    V_r, V_g = oracle.evaluate(problem, best.policy)
    assert V_r == pytest.approx(best.value, abs=1e-10)
    assert (V_g >= problem.b - 1e-8).all()
    assert (best.dual >= 0).all()
    assert best.dual @ (V_g - problem.b) == pytest.approx(0.0, abs=1e-8 * max(1.0, best.dual.sum()))  # complementary slackness
    assert (best.policy[~problem.available] == 0).all()
    assert best.policy.sum(axis=2) == pytest.approx(1.0)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_strong_duality_and_the_price_of_tightening(m: int) -> None:
    problem = job_scheduling() if m == 1 else random_problem(7, m, masks=True, start=True)
    best = oracle.solve(problem)
    _, V_r, V_g = oracle.greedy(problem, best.dual)
    assert V_r + best.dual @ (V_g - problem.b) == pytest.approx(best.value, abs=1e-8)

    safe, _ = oracle.evaluate(problem, oracle.safest(problem))
    zeta = best.slater_gap / 2
    tight = oracle.solve(problem, zeta)
    loss = best.value - tight.value
    assert -1e-9 <= loss <= zeta * (best.value - safe) / best.slater_gap + 1e-9
    assert zeta * best.dual.sum() - 1e-9 <= loss <= zeta * tight.dual.sum() + 1e-9  # V* is concave in b
    assert best.dual.sum() <= (best.value - safe) / best.slater_gap + 1e-9
    assert tight.value == pytest.approx(monolithic(problem, problem.b + zeta)[0], abs=1e-6)


def test_each_constraint_can_be_tightened_by_its_own_amount() -> None:
    problem = random_problem(3, 3)
    zeta = np.array([0.0, 0.5, 0.25]) * oracle.slater_gap(problem)
    best = oracle.solve(problem, tighten=zeta)
    assert best.value == pytest.approx(oracle.solve(problem.replace(b=problem.b + zeta)).value, abs=1e-9)
    assert best.slater_gap == pytest.approx(oracle.slater_gap(problem), abs=1e-12)


# --- degenerate problems ------------------------------------------------------------------------------------------


def test_a_slack_constraint_has_a_dual_of_exactly_zero() -> None:
    problem = random_problem(1, 2)
    free, V_r, V_g = oracle.greedy(problem)
    best = oracle.solve(problem.replace(b=V_g - 0.01))
    assert best.dual.tolist() == [0.0, 0.0]
    assert best.value == pytest.approx(V_r, abs=1e-12)
    assert (best.policy[best.occupancy > 0] == free[best.occupancy > 0]).all()


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_no_room_at_all_is_still_feasible(m: int, seed: int) -> None:
    problem = random_problem(seed, m, masks=True)
    problem = problem.replace(b=problem.b + oracle.slater_gap(problem))
    best = oracle.solve(problem)
    assert best.slater_gap == pytest.approx(0.0, abs=1e-9)
    assert (best.V_g >= problem.b - 1e-9).all()
    V_r, V_g = oracle.evaluate(problem, oracle.safest(problem))
    assert (V_g >= problem.b - 1e-9).all()
    assert V_r == pytest.approx(best.value, abs=1e-6)


def test_thresholds_that_only_rounding_puts_out_of_reach() -> None:
    problem = random_problem(16, 2, shape=(4, 30, 3), start=True)
    gap = oracle.slater_gap(problem)
    best = oracle.solve(problem, tighten=gap)
    assert (best.V_g >= best.thresholds - 1e-9).all()
    assert best.policy[best.occupancy > 0].min() > 1e-8  # no traces of policies that are not wanted


def test_the_master_tells_close_policies_apart() -> None:
    values = np.array([[2.986308739638862, 2.6277907914598164], [2.986309293474518, 2.6277907904843385]])
    weights, dual, value = columns.master(values, np.array([2.6277907914588163]), 1.0)
    assert dual == pytest.approx([(values[1, 0] - values[0, 0]) / (values[0, 1] - values[1, 1])], rel=1e-6)
    assert weights @ values[:, 0] == pytest.approx(value, abs=1e-12)


def test_the_master_is_solved_where_one_way_of_calling_highs_gives_up() -> None:
    V_r = [5.0, 5.0, 5.0, 4.5, 4.0, 5.0, 4.0]
    slack = [[2.0, 2.0, 1.0, 1.0, 0.0, 1.0, 0.0], [0.0] * 7, [1.0, 1.0, 1.0, 2.0, 0.0, 1.0, 0.0]]
    b = np.array([2.0, 4.0, 1.0])
    values = np.column_stack([V_r, np.transpose(slack) + b])
    weights, dual, value = columns.master(values, b - base.RELAX, 1.0)
    assert (value, weights @ values[:, 0]) == pytest.approx((5.0, 5.0))
    assert dual == pytest.approx(0.0)


def test_one_step_one_state_by_hand() -> None:
    best = oracle.solve(two_armed(0.3))
    assert best.policy == pytest.approx(np.array([[[0.7, 0.3]]]))
    assert (best.value, best.dual[0], best.slater_gap) == pytest.approx((0.7, 1.0, 0.7))
    top = oracle.solve(two_armed(1.0))
    assert (top.value, top.slater_gap) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert top.policy == pytest.approx(np.array([[[0.0, 1.0]]]), abs=1e-9)


def test_one_action() -> None:
    problem = TabularCMDP(np.ones((3, 1, 1, 1)), np.full((3, 1, 1), 0.5), np.full((3, 1, 1), 0.25), 0.75, 0)
    with pytest.warns(UserWarning, match="cannot bind"):
        best = oracle.solve(problem)
    assert (best.value, best.dual[0], best.slater_gap) == (1.5, 0.0, 0.0)


def test_unreached_states_have_uniform_available_actions() -> None:
    H, S, A = 2, 3, 3
    P = np.zeros((H, S, A, S))
    P[:, :, :, 0] = 1.0
    available = np.ones((S, A), dtype=bool)
    available[2, 1] = False
    problem = TabularCMDP(P, np.zeros((H, S, A)), np.full((H, S, A), 0.5), 0.9, 0, available=available)
    with pytest.warns(UserWarning, match="cannot bind"):
        policy = oracle.solve(problem).policy
    assert policy[1, 1] == pytest.approx([1 / 3] * 3)
    assert policy[0, 2] == pytest.approx([0.5, 0.0, 0.5])


def test_an_unavailable_action_is_never_chosen_however_good() -> None:
    problem = two_armed(0.0, available=[[True, False]])
    with pytest.warns(UserWarning, match="cannot bind"):
        assert oracle.solve(problem).policy.tolist() == [[[1.0, 0.0]]]
    assert oracle.reachable(problem).tolist() == [[0.0, 0.0]]
    with pytest.raises(InfeasibleError, match="from 0 to 0"):
        oracle.solve(problem.replace(b=0.1))


# --- safest, reachable --------------------------------------------------------------------------------------------


def test_the_safest_policy_sends_whenever_that_can_help() -> None:
    problem = job_scheduling()
    V_r, V_g = oracle.evaluate(problem, oracle.safest(problem))
    assert V_g == pytest.approx([4.49979125515], abs=1e-10)
    assert V_r > 5.2 + 0.1  # always sending, also with no job left, has utility as large but reward 5.2


def test_the_safest_policy_breaks_ties_by_reward() -> None:
    P = np.ones((2, 1, 3, 1))
    problem = TabularCMDP(P, [[[1.0, 0.2, 0.4]]] * 2, [[[0.0, 0.7, 0.7]]] * 2, 1.0, 0)
    assert oracle.safest(problem).tolist() == [[[0.0, 0.0, 1.0]]] * 2


@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.3])
def test_the_safest_policy_has_the_largest_worst_slack_also_if_infeasible(shift: float) -> None:
    problem = random_problem(11, 3)
    problem = problem.replace(b=problem.b + oracle.slater_gap(problem) + shift)
    _, V_g = oracle.evaluate(problem, oracle.safest(problem))
    assert (V_g - problem.b).min() == pytest.approx(-shift, abs=1e-9)


def test_reachable_is_the_range_over_all_deterministic_policies() -> None:
    problem = random_problem(5, 2, shape=(2, 2, 2), start=True)
    every = [
        oracle.evaluate(problem, np.eye(2)[np.array(list(np.binary_repr(k, 4)), dtype=int).reshape(2, 2)])[1] for k in range(16)
    ]
    assert oracle.reachable(problem) == pytest.approx(np.stack([np.min(every, axis=0), np.max(every, axis=0)], axis=1))


# --- evaluation ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), masks=st.booleans(), by_next=st.booleans())
def test_evaluation_agrees_with_the_textbook_recursion(seed: int, masks: bool, by_next: bool) -> None:
    problem = random_problem(seed, 2, masks=masks, by_next=by_next, start=True)
    policy = np.random.default_rng(seed).random(problem.r.shape) * problem.available
    policy /= policy.sum(axis=2, keepdims=True)
    V_r, V_g = oracle.evaluate(problem, policy)
    assert V_r == pytest.approx(recursion(problem, policy, problem.r), abs=1e-12)
    assert V_g == pytest.approx([recursion(problem, policy, g) for g in problem.g], abs=1e-12)
    q = oracle.occupancy(problem, policy)
    assert q.sum(axis=(1, 2)) == pytest.approx(1.0)
    assert q[0].sum(axis=1) == pytest.approx(problem.mu)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pi: pi[:1], r"policy has shape \(1, 2, 2\); expected \(2, 2, 2\)"),
        (lambda pi: np.where(np.arange(8).reshape(2, 2, 2) == 4, np.nan, pi), r"policy\[1, 0, 0\] is nan"),
        (lambda pi: pi - [0.6, -0.6], r"policy\[0, 0, 0\] is -0.1; expected a probability"),
        (lambda pi: pi * 0.9, r"policy\[0, 0\] sums to 0.9; expected 1"),
        (lambda pi: np.full_like(pi, 0.5), r"policy\[1, 1, 1\] is 0.5; expected 0, for the action is not available"),
        (lambda pi: "often", "policy is not an array of numbers"),
    ],
    ids=["shape", "nan", "negative", "sum", "unavailable", "text"],
)
def test_a_bad_policy_is_refused_by_its_entry(change: Any, message: str) -> None:
    available = np.ones((2, 2, 2), dtype=bool)
    available[1, 1, 1] = False
    problem = random_problem(0, 1, shape=(2, 2, 2)).replace(available=available)
    policy = available / available.sum(axis=2, keepdims=True)
    oracle.evaluate(problem, policy)
    with pytest.raises(InputError, match=message):
        oracle.evaluate(problem, change(policy))
    with pytest.raises(InputError, match=message):
        oracle.occupancy(problem, change(policy))


# --- the rest -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 3])
def test_a_large_problem_is_solved_in_seconds(m: int) -> None:
    problem = random_problem(m, m, shape=(25, 300, 4), level=0.6)
    with threadpool_limits(1):  # seconds of one core, whatever else the machine does
        start = time.process_time()
        best = oracle.solve(problem)
        assert time.process_time() - start < 5.0
    assert best.dual.sum() > 0.0


def test_results_are_read_only_and_the_problem_is_untouched() -> None:
    problem = job_scheduling()
    before = problem.b.copy()
    best = oracle.solve(problem, tighten=0.1)
    for array in (best.policy, best.occupancy, best.dual, best.V_g, best.thresholds, best.tighten):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    assert (problem.b == before).all()


def test_importing_the_oracle_does_not_import_scipy() -> None:
    lines = [line for module in (base, columns, tables) for line in inspect.getsource(module).splitlines()]
    assert not [line for line in lines if line.startswith(("import scipy", "from scipy"))]


def test_the_safest_policy_of_the_queue_is_found() -> None:
    """Two constraints that bind each other: at the largest slack exactly one mixture is left."""

    queue = problems.load("queue")
    slack = oracle.evaluate(queue, oracle.safest(queue))[1] - queue.b
    assert slack.min() == pytest.approx(oracle.slater_gap(queue), abs=1e-6)
