"""The slow reference itself, by hand: what everything faster is compared with must be right on its own."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.problems.base import TabularCMDP
from tests.reference import algorithm1, world
from tests.reference.algorithm1 import ReferenceAlgorithm1, softmax

ALL2 = np.ones(2, bool)


def one_hot(S: int, A: int) -> np.ndarray:
    return np.eye(S * A).reshape(S, A, S * A)


def make(phi: Any, H: int, b: Any, **changes: Any) -> ReferenceAlgorithm1:
    given = {"lam": 1.0, "beta": 0.5, "alpha": 2.0, "eta": 0.1, "xi": 3.0} | changes
    return ReferenceAlgorithm1(phi, H, b, **given)


def random_problem(seed: int, *, H: int = 3, S: int = 3, A: int = 2, m: int = 2, **changes: Any) -> TabularCMDP:
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(S), size=(H, S, A))
    given: dict[str, Any] = {
        "P": P, "r": rng.random((H, S, A)), "g": rng.random((m, H, S, A)), "b": np.full(m, H / 2),
        "mu": rng.dirichlet(np.ones(S)),
    }  # fmt: skip
    return TabularCMDP(**(given | changes))


def learn(problem: TabularCMDP, learner: ReferenceAlgorithm1, episodes: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(episodes):
        u, v = rng.random(world.width(problem)), rng.random(problem.horizon)
        learner.observe(*world.play(problem, learner.plan().policy, u, v))


# --- Algorithm 1: the first episodes -------------------------------------------------------------------------------


def test_first_episode_is_bonus_only_and_uniform() -> None:
    """Without data w = 0 and Λ = λI: Q = min(β‖φ‖/√λ, H); equal norms make the policy uniform."""
    plan = make(one_hot(3, 2), 4, 1.0, lam=0.25, beta=0.7).plan()
    np.testing.assert_allclose(plan.Q_r, 1.4, rtol=1e-15)
    np.testing.assert_allclose(plan.Q_g, 1.4, rtol=1e-15)
    np.testing.assert_array_equal(plan.policy, 0.5)
    np.testing.assert_allclose(plan.V_r[:4], 1.4, rtol=1e-15)
    np.testing.assert_array_equal(plan.V_r[4], 0.0)
    np.testing.assert_array_equal(plan.V_g[:, 4], 0.0)
    assert [t.shape for t in plan] == [(4, 3, 2), (1, 4, 3, 2), (5, 3), (1, 5, 3), (4, 3, 2)]


def test_first_episode_with_general_features_follows_the_norms() -> None:
    phi = np.array([[[0.6, 0.8], [0.3, 0.0]]])  # norms 1 and 0.3
    plan = make(phi, 2, 1.0, lam=4.0, beta=2.0, alpha=3.0).plan()
    np.testing.assert_allclose(plan.Q_r[0, 0], [1.0, 0.3], rtol=1e-14)
    weight = math.exp(-3.0 * 0.7)  # Y_1 = 0: the soft-max of Q_r alone
    np.testing.assert_allclose(plan.policy[0, 0], [1 / (1 + weight), weight / (1 + weight)], rtol=1e-14)
    np.testing.assert_allclose(plan.V_g[0, 0, 0], (1.0 + 0.3 * weight) / (1 + weight), rtol=1e-14)


@pytest.mark.parametrize(("cap", "expected"), [("H", [3, 3, 3]), ("H-h+1", [3, 2, 1])])
def test_caps(cap: str, expected: list[int]) -> None:
    plan = make(one_hot(1, 2), 3, 1.0, beta=100.0, cap=cap).plan()
    for h in range(3):
        np.testing.assert_array_equal(plan.Q_r[h], expected[h])
        np.testing.assert_array_equal(plan.Q_g[:, h], expected[h])


def test_second_episode_by_hand() -> None:
    """H=2, one state, two actions, λ=1, β=1/2, α=2, after one episode with actions 0, 1 and rewards 1, 1/2."""
    learner = make(one_hot(1, 2), 2, [0.6])
    assert learner.plan().V_g[0, 0, 0] == 0.5
    learner.observe([0, 0, 0], [0, 1], [1.0, 0.5], [[0.25, 1.0]])
    assert learner.Y[0] == pytest.approx(0.1 * (0.6 - 0.5), rel=1e-12)
    plan, Y, root = learner.plan(), 0.01, 0.5 / math.sqrt(2)
    # step 1: action 0 untried, 0 + 1/2; action 1 tried once, value/2 + (1/2)/√2
    Q_r1, Q_g1 = [0.5, 0.25 + root], [0.5, 0.5 + root]
    np.testing.assert_allclose(plan.Q_r[1, 0], Q_r1, rtol=1e-14)
    np.testing.assert_allclose(plan.Q_g[0, 1, 0], Q_g1, rtol=1e-14)
    odds = math.exp(2.0 * (Q_r1[1] + Y * Q_g1[1] - Q_r1[0] - Y * Q_g1[0]))
    pi1 = odds / (1 + odds)
    np.testing.assert_allclose(plan.policy[1, 0], [1 - pi1, pi1], rtol=1e-12)
    V_r1, V_g1 = (1 - pi1) * Q_r1[0] + pi1 * Q_r1[1], (1 - pi1) * Q_g1[0] + pi1 * Q_g1[1]
    np.testing.assert_allclose([plan.V_r[1, 0], plan.V_g[0, 1, 0]], [V_r1, V_g1], rtol=1e-12)
    # step 0: action 0 tried once and led to the only state
    np.testing.assert_allclose(plan.Q_r[0, 0], [(1.0 + V_r1) / 2 + root, 0.5], rtol=1e-12)
    np.testing.assert_allclose(plan.Q_g[0, 0, 0], [(0.25 + V_g1) / 2 + root, 0.5], rtol=1e-12)


@pytest.mark.parametrize("cap", ["H", "H-h+1"])
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_one_hot_reduces_to_counts(cap: str, lam: float) -> None:
    """Q_j = min((n·j + Σ_x' n(x')·V_j(x'))/(n+λ) + β/√(n+λ), cap)."""
    problem = random_problem(1)
    H, S, A, m = 3, 3, 2, 2
    learner = make(one_hot(S, A), H, problem.b, cap=cap, lam=lam, beta=0.3)
    learn(problem, learner, 40)
    plan = learner.plan()
    n = np.zeros((H, S, A, S))
    for tau in learner.episodes:
        for h in range(H):
            n[h, tau.states[h], tau.actions[h], tau.states[h + 1]] += 1
    visits = n.sum(axis=3)
    assert (visits == 0).any() or visits.min() < visits.max()
    for h in range(H):
        top = H if cap == "H" else H - h
        bonus = 0.3 / np.sqrt(visits[h] + lam)
        for Q, V, mean in [(plan.Q_r, plan.V_r, problem.r)] + [(plan.Q_g[i], plan.V_g[i], problem.g[i]) for i in range(m)]:
            estimate = (visits[h] * mean[h] + n[h] @ V[h + 1]) / (visits[h] + lam)
            np.testing.assert_allclose(Q[h], np.minimum(estimate + bonus, top), rtol=1e-12)
            np.testing.assert_allclose(V[h], (plan.policy[h] * Q[h]).sum(axis=1), rtol=1e-14)


def test_general_features_solve_the_ridge_regression() -> None:
    """w minimises the squared error plus λ‖w‖² (paper.tex l. 309): compare with a stacked least-squares solve."""
    problem = random_problem(2, S=4, A=3, m=1)
    rng = np.random.default_rng(5)
    phi = rng.normal(size=(4, 3, 2))
    phi /= np.linalg.norm(phi, axis=2, keepdims=True) * rng.uniform(1, 3, size=(4, 3, 1))
    learner = make(phi, 3, problem.b, lam=0.3, beta=0.05)
    learn(problem, learner, 25)
    plan = learner.plan()
    for h in range(3):
        X = np.array([phi[t.states[h], t.actions[h]] for t in learner.episodes])
        y = np.array([t.rewards[h] + plan.V_r[h + 1, t.states[h + 1]] for t in learner.episodes])
        w = np.linalg.lstsq(np.vstack([X, math.sqrt(0.3) * np.eye(2)]), np.append(y, [0.0, 0.0]), rcond=None)[0]
        Lambda = X.T @ X + 0.3 * np.eye(2)
        bonus = 0.05 * np.sqrt(np.einsum("sad,sad->sa", phi, np.linalg.solve(Lambda, phi[..., None])[..., 0]))
        np.testing.assert_allclose(plan.Q_r[h], np.minimum(phi @ w + bonus, 3.0), rtol=1e-9, atol=1e-12)


def test_lower_clip() -> None:
    """Opposite features: an estimate of +1/2 at one action is -1/2 at the other, unless clipped."""
    phi = np.array([[[1.0], [-1.0]]])
    for lower_clip, other in [(False, -0.5), (True, 0.0)]:
        learner = make(phi, 1, 0.0, beta=0.0, lower_clip=lower_clip)
        learner.observe([0, 0], [0], [1.0], [[1.0]])
        np.testing.assert_allclose(learner.plan().Q_r[0, 0], [0.5, other], rtol=1e-15)
        np.testing.assert_allclose(learner.plan().Q_g[0, 0, 0], [0.5, other], rtol=1e-15)


# --- Algorithm 1: the policy ---------------------------------------------------------------------------------------


def test_softmax_survives_large_alpha() -> None:
    np.testing.assert_allclose(softmax(np.array([1e4, 1e4 - 1e-3]), 1e3, ALL2), [1 / (1 + math.e**-1), 0.2689414213], 1e-6)


def test_infinite_alpha_is_uniform_over_exact_ties_of_available_actions() -> None:
    x = np.array([1.0, 2.0, 2.0, 2.0 - 1e-15, 5.0])
    available = np.array([True, True, True, True, False])
    np.testing.assert_array_equal(softmax(x, np.inf, available), [0.0, 0.5, 0.5, 0.0, 0.0])
    plan = make(one_hot(2, 3), 2, 1.0, alpha=np.inf).plan()
    np.testing.assert_array_equal(plan.policy, np.ones(3) / 3 * np.ones((2, 2, 3)))


def test_masked_actions_take_no_part() -> None:
    available = np.array([[True, False, True], [False, True, False]])
    plan = make(one_hot(2, 3), 2, 1.0, available=available).plan()
    for h in range(2):
        np.testing.assert_array_equal(plan.policy[h], [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    by_step = np.stack([available, ~available])
    np.testing.assert_array_equal(
        make(one_hot(2, 3), 2, 1.0, available=by_step).plan().policy[1], [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    )


def test_composite_sums_over_constraints() -> None:
    """One state, one step, λ so small that a tried action's Q is what was observed (β = 0)."""
    learner = make(one_hot(1, 2), 1, [1.0, 0.5], lam=1e-12, beta=0.0, eta=2.0, xi=[9.0, 0.75], alpha=1.0)
    learner.observe([0, 0], [0], [0.2], [[0.3], [0.9]])  # V_g = 0: Y = (2·1, 2·0.5 capped at 0.75)
    np.testing.assert_array_equal(learner.Y, [2.0, 0.75])
    learner.observe([0, 0], [1], [1.0], [[0.0], [0.4]])
    learner.Y[:] = [2.0, 0.75]
    learner.last = None
    gap = (0.2 + 2 * 0.3 + 0.75 * 0.9) - (1.0 + 0.75 * 0.4)
    np.testing.assert_allclose(learner.plan().policy[0, 0, 0], 1 / (1 + math.exp(-gap)), rtol=1e-10)


# --- Algorithm 1: the dual variable --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("b", "zeta", "expected"),
    [(1.0, 0.0, 0.05), (1.0, 0.2, 0.07), (0.2, 0.0, 0.0), (100.0, 0.0, 3.0)],  # V_g = 0.5, η = 0.1, ξ = 3
)
def test_dual_step(b: float, zeta: float, expected: float) -> None:
    learner = make(one_hot(1, 2), 2, b, zeta=zeta)
    learner.observe([0, 0, 0], [0, 1], [0.0, 0.0], [[1.0, 1.0]])
    assert learner.Y[0] == pytest.approx(expected, rel=1e-12)


def test_dual_step_uses_the_start_state_of_the_episode() -> None:
    phi = np.array([[[0.2]], [[0.8]]])  # V_g = β‖φ‖: 0.1 in state 0, 0.4 in state 1
    for start, value in [(0, 0.1), (1, 0.4)]:
        learner = make(phi, 1, 1.0, eta=1.0)
        learner.observe([start, 0], [0], [0.0], [[0.0]])
        assert learner.Y[0] == pytest.approx(1.0 - value, rel=1e-12)


def test_plan_is_idempotent_and_observe_copies() -> None:
    learner = make(one_hot(2, 2), 2, 1.0)
    first = learner.plan()
    assert learner.plan() is first
    rewards = np.array([1.0, 1.0])
    learner.observe([0, 1, 0], [0, 1], rewards, [[0.0, 0.0]])
    planned = learner.plan().Q_r.copy()
    rewards[:] = 0.0
    learner.last = None
    np.testing.assert_array_equal(learner.plan().Q_r, planned)
    with pytest.raises(ValueError, match="shapes"):
        learner.observe([0, 1], [0, 1], rewards, [[0.0, 0.0]])
    with pytest.raises(ValueError, match="cap"):
        make(one_hot(2, 2), 2, 1.0, cap="H-h")


def test_every_line_of_the_pseudo_code_is_marked() -> None:
    """Lines 2, 3, 14 and 15 are the caller's: the loop over episodes, and playing the plan."""
    source = Path(algorithm1.__file__).read_text()
    marked = set(map(int, re.findall(r"# Alg\. 1, l\. (\d+)", source)))
    assert marked == {1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16}
    assert "Alg. 1, l. 13-15" in source


def test_learns_the_better_action() -> None:
    """One step, one state: the reward prefers action 1, and nothing else matters when the constraint is vacuous."""
    problem = TabularCMDP(np.ones((1, 1, 2, 1)), [[[0.1, 0.9]]], [[[0.5, 0.5]]], 0.1, 0)
    learner = make(one_hot(1, 2), 1, problem.b, alpha=50.0, lam=0.01, beta=0.1)
    learn(problem, learner, 30)
    assert learner.plan().policy[0, 0, 1] > 0.99
    assert learner.Y[0] == 0.0


# --- the world -----------------------------------------------------------------------------------------------------


def test_draw_by_hand() -> None:
    p = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    drawn = [(0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (0.9999, 4)]
    assert [world.draw(p, u) for u, _ in drawn] == [index for _, index in drawn]
    assert world.draw(np.array([0.5, 0.4, 0.0]), 0.95) == 1  # a sum short of u: the last index that can occur
    assert world.draw(np.array([1.0]), 0.0) == 0


@given(
    weights=st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1.0]), min_size=1, max_size=8).filter(any),
    u=st.floats(0.0, 1.0, exclude_max=True),
)
def test_draw_never_draws_the_impossible(weights: list[float], u: float) -> None:
    p = np.array(weights) / sum(weights)
    index = world.draw(p, u)
    assert p[index] > 0.0
    below = sum(p[:index])
    assert below <= u * (1 + 1e-12) + 1e-12


def test_play_reads_the_uniforms_in_order() -> None:
    """Two states, H=2: a chain whose every draw is decided by a known entry."""
    P = np.full((2, 2, 2, 2), 0.5)
    r = np.arange(8).reshape(2, 2, 2) / 8
    g = np.stack([r / 2, 1 - r])
    policy = np.full((2, 2, 2), 0.5)
    problem = TabularCMDP(P, r, g, [0.0, 0.0], [0.5, 0.5])
    assert world.width(problem) == 3
    x, a, rewards, utilities = world.play(problem, policy, np.array([0.9, 0.1, 0.7]), np.array([0.6, 0.2]))
    assert (x.tolist(), a.tolist()) == ([1, 0, 1], [1, 0])
    np.testing.assert_array_equal(rewards, [3 / 8, 4 / 8])
    np.testing.assert_array_equal(utilities, [[3 / 16, 4 / 16], [5 / 8, 4 / 8]])
    with pytest.raises(ValueError, match="uniforms have shapes"):
        world.play(problem, policy, np.zeros(4), np.zeros(2))


def test_play_with_noise_reads_the_uniforms_in_order() -> None:
    problem = random_problem(0, H=2, S=2, noise="bernoulli", P=np.full((2, 2, 2, 2), 0.5), mu=[0.5, 0.5])
    r = np.array([[[0.5, 0.5]] * 2] * 2)
    problem = problem.replace(r=r, g=np.stack([r / 2, r * 2]))
    assert world.width(problem) == 9
    u = np.array([0.4, 0.6, 0.49, 0.25, 0.99, 0.3, 0.5, 0.24, 0.0])
    x, a, rewards, utilities = world.play(problem, np.full((2, 2, 2), 0.5), u, np.array([0.0, 0.5]))
    assert (x.tolist(), a.tolist()) == ([0, 1, 0], [0, 1])
    np.testing.assert_array_equal(rewards, [1.0, 0.0])
    np.testing.assert_array_equal(utilities, [[0.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize("noise", [None, "bernoulli"])
def test_next_state_tables_are_what_is_observed(noise: Any) -> None:
    P = np.full((1, 2, 1, 2), 0.5)
    r = np.array([[[[0.0, 1.0]], [[0.0, 1.0]]]])
    problem = TabularCMDP(P, r, 1 - r[None], [0.0], 0, noise=noise)
    for u_next, y in [(0.2, 0), (0.8, 1)]:  # r = 1[x' = 1], g = 1[x' = 0]
        u = np.array([0.0, u_next, 0.5, 0.5])[: world.width(problem)]
        x, _, rewards, utilities = world.play(problem, np.ones((1, 2, 1)), u, np.zeros(1))
        assert (x[1], rewards[0], utilities[0, 0]) == (y, float(y), float(1 - y))


@pytest.mark.parametrize("noise", [None, "bernoulli"])
def test_frequencies_and_returns_match_the_model(noise: Any) -> None:
    """20 000 episodes: every frequency and both mean returns within 4.5 standard errors of the truth."""
    problem = random_problem(7, H=2, noise=noise)
    rng = np.random.default_rng(11)
    policy = rng.dirichlet(np.ones(2), size=(2, 3))
    n = 20_000
    starts, taken, moved = np.zeros(3), np.zeros((3, 2)), np.zeros((3, 2, 3))
    returns = np.zeros((n, 3))
    for k in range(n):
        x, a, rewards, utilities = world.play(problem, policy, rng.random(world.width(problem)), rng.random(2))
        starts[x[0]] += 1
        taken[x[0], a[0]] += 1
        moved[x[0], a[0], x[1]] += 1
        returns[k] = [rewards.sum(), *utilities.sum(axis=1)]

    def check(hits: np.ndarray, trials: Any, p: np.ndarray) -> None:
        assert (np.abs(hits - trials * p) <= 4.5 * np.sqrt(trials * p * (1 - p)) + 1e-9).all()

    check(starts, n, problem.mu)
    check(taken, starts[:, None], policy[0])
    check(moved, taken[:, :, None], problem.P[0])
    V_r, V_g = world.evaluate(problem, policy)
    error = 4.5 * returns.std(axis=0) / math.sqrt(n)
    assert (np.abs(returns.mean(axis=0) - [V_r, *V_g]) <= error).all()


def test_evaluate_by_hand() -> None:
    """Two steps, two states: from state 0 action 1 moves to state 1 with probability 1/4; state 1 pays 1 and stays."""
    P = np.zeros((2, 2, 2, 2))
    P[:, 0, 0, 0] = P[:, 1, :, 1] = 1.0
    P[:, 0, 1] = [0.75, 0.25]
    r = np.zeros((2, 2, 2))
    r[:, 1, :] = 1.0
    g = np.zeros((2, 2, 2))
    g[0, 0, 1] = 0.5
    policy = np.zeros((2, 2, 2))
    policy[:, 0] = [0.6, 0.4]
    policy[:, 1] = [1.0, 0.0]
    V_r, V_g = world.evaluate(TabularCMDP(P, r, g, 0.0, 0), policy)
    assert V_r == pytest.approx(0.4 * 0.25)
    assert V_g == pytest.approx([0.4 * 0.5])
    V_r, V_g = world.evaluate(TabularCMDP(P, r, g, 0.0, [0.5, 0.5]), policy)
    assert V_r == pytest.approx(0.5 * 0.1 + 0.5 * 2.0)
    assert V_g == pytest.approx([0.1])


def test_evaluate_by_next_state_equals_evaluate_by_mean() -> None:
    rng = np.random.default_rng(3)
    by_next = random_problem(3, r=rng.random((3, 3, 2, 3)), g=rng.random((2, 3, 3, 2, 3)))
    by_mean = by_next.replace(r=by_next.r, g=by_next.g)
    assert by_next.r_next is not None
    assert by_mean.r_next is None
    policy = rng.dirichlet(np.ones(2), size=(3, 3))
    for one, other in zip(world.evaluate(by_next, policy), world.evaluate(by_mean, policy), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
