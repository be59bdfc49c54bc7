"""Each kernel against its literal version, fed the same numbers. Also run with bounds checked and with the JIT off."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret import oracle
from noregret.features import OneHot, one_hot
from noregret.kernels.gram.base import Tables, estimate, everyone, learn
from noregret.kernels.gram.one_hot import one_hot_gram
from noregret.kernels.gram.table import learn_row, table_gram
from noregret.kernels.steps.primal_dual import dual_step
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.worlds import draws
from noregret.kernels.worlds import world as worlds
from noregret.learners.lsvi.dual import no_dual
from noregret.learners.lsvi.rule import assemble
from noregret.problems.continuous import ContinuousSpec
from tests.reference import world as slow_world
from tests.reference.algorithm1 import softmax
from tests.support import begin, chosen, small
from tests.support import limited as limited_problem

pytestmark = pytest.mark.kernels

#: Whether kernels run at their full speed, so that they can be called a million times.
FAST = not numba.config.DISABLE_JIT and not numba.config.BOUNDSCHECK

WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sparse": {"sparse": True},
    "three constraints": {"m": 3},
    "noise": {"m": 2, "noise": "bernoulli"},
    "by next state": {"by_next": True},
    "by next state, noise": {"by_next": True, "m": 3, "noise": "bernoulli", "sparse": True},
    "masks": {"masked": True, "m": 2},
    "one state to start": {"mu": 2},
    "many states": {"S": 40, "A": 2, "H": 2},
    "one of everything": {"S": 1, "A": 1, "H": 1, "b": [0.0]},
}


# --- the world -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", WORLDS)
def test_play_and_evaluate_match_the_literal_world(case: str) -> None:
    problem = small(1, **WORLDS[case])
    world = worlds.compile_world(problem)
    out = worlds.scratch_for(world)
    rng = np.random.default_rng(5)
    shape = problem.available.shape
    for k in range(30):
        policy = np.where(problem.available, rng.random(shape) ** 4, 0.0)
        if k % 3 == 0:  # deterministic now and then
            policy = np.where(policy == policy.max(axis=2, keepdims=True), 1.0, 0.0)
        policy /= policy.sum(axis=2, keepdims=True)
        u, v = rng.random(worlds.world_width(problem)), rng.random(problem.horizon)
        worlds.play(world, policy, u, v, out)
        states, actions, rewards, utilities = slow_world.play(problem, policy, u, v)
        np.testing.assert_array_equal(out.states, states)
        np.testing.assert_array_equal(out.actions, actions)
        np.testing.assert_array_equal(out.observed, np.column_stack([rewards, utilities.T]))
        worlds.evaluate(world, policy, world.start, out)
        V_r, V_g = slow_world.evaluate(problem, policy)
        np.testing.assert_allclose(out.values, [V_r, *V_g], rtol=1e-12, atol=1e-14)
        V_r, V_g = oracle.evaluate(problem, policy)
        np.testing.assert_allclose(out.values, [V_r, *V_g], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("limited", [False, True])
def test_the_loop_records_sums_of_exact_values(limited: bool) -> None:
    """The loop around plan and update, of a learner that does neither: all it writes, also with policies kept and a limit."""
    problem = limited_problem(4, S=3, masked=True) if limited else small(4, m=2, noise="bernoulli")
    one = begin(problem, "uniform", episodes=7, record_every=3)
    one.keep_policies()
    one.advance(4)
    one.advance(4)
    V_r, V_g = oracle.evaluate(problem, one.learner.plan().policy)
    lack, m, k = problem.b - V_g, problem.n_constraints, np.array([3, 6, 7])[:, None]
    each = np.concatenate([[one.V_star - V_r, max(one.V_star - V_r, 0.0)], lack, np.maximum(lack, 0.0)])
    np.testing.assert_allclose(one.curves[:, : 2 + 2 * m], k * each, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(one.curves[:, 2 + 2 * m : 2 + 3 * m], 0.0)
    assert one.curves.shape == (3, 2 + 3 * m + limited) and (not limited or (np.diff(one.curves[:, -1]) > 0.0).all())
    assert one.k == 7 and one.kept.any()


@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
def test_draw_by_halving_equals_draw_by_search(n: int) -> None:
    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.full(n, 0.2))
    p[rng.random(n) < 0.3] = 0.0
    p[n // 2] += 1.0 - p.sum()
    sums = worlds._cumulative(p[None])[0]
    for u in [0.0, *rng.random(200), *np.cumsum(p)[:-1], np.nextafter(1.0, 0.0)]:
        if u < 1.0:
            at = worlds.draw(sums, 0, n, u)
            assert at == int(np.argmax(sums > u))
            assert p[at] > 0.0


def test_an_action_of_probability_zero_is_never_drawn() -> None:
    policy = np.array([[[0.0, 0.5, 0.5 - 1e-16, 0.0]]])
    assert worlds.draw_action(policy, 0, 0, 0.0) == 1
    assert worlds.draw_action(policy, 0, 0, np.nextafter(1.0, 0.0)) == 2


# --- the soft-max --------------------------------------------------------------------------------------------------


def run_soft_max(Q: np.ndarray, Y: np.ndarray, alpha: float, available: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Policy (S,A) and V (J,S) of one step for Q (J,S,A)."""
    J, S, A = Q.shape
    policy, V = np.full((1, S, A), np.nan), np.full((2, J, S), np.nan)
    soft_max(everyone(S), 0, Tables(Q[None].copy(), V, policy, available[None], np.zeros((1, J))), Y, alpha)
    return policy[0], V[0]


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0, 1e5, np.inf])
@pytest.mark.parametrize(("A", "m"), [(2, 1), (2, 3), (3, 1), (5, 2), (1, 1)])
def test_soft_max_matches_the_literal_one(alpha: float, A: int, m: int) -> None:
    rng = np.random.default_rng(A + m)
    Q, Y = rng.uniform(0, 10, size=(1 + m, 20, A)), rng.uniform(0, 3, size=m)
    Q[:, :5] = Q[:, :5, :1]  # ties
    available = rng.random((20, A)) < 0.7
    available[:, 0] |= ~available.any(axis=1)
    policy, V = run_soft_max(Q, Y, alpha, available)
    for s in range(20):
        composite = Q[0, s].copy()
        for i in range(m):
            composite += Y[i] * Q[1 + i, s]
        expected = softmax(composite, alpha, available[s])
        np.testing.assert_allclose(policy[s], expected, rtol=2e-9 if alpha > 1e4 else 1e-12, atol=1e-300)
    np.testing.assert_allclose(V, (policy * Q).sum(axis=2), rtol=1e-13)
    assert (policy[~available] == 0.0).all()


@pytest.mark.parametrize("A", [2, 3])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-7, 3e-6, 1e-5, 1e-3, 1.0])
def test_soft_max_is_exact_at_exponents_of_a_million(A: int, gap: float) -> None:
    """α·Q = 10⁶ against decimal arithmetic with 60 digits on the very same floats."""
    alpha = 1e5
    Q = np.full((2, 1, A), 10.0)
    Q[0, 0, 1] -= gap
    policy, V = run_soft_max(Q, np.array([0.0]), alpha, np.ones((1, A), bool))
    with decimal.localcontext(decimal.Context(prec=60, Emin=-999_999_999, Emax=999_999_999)):
        weights = [(Decimal(alpha) * Decimal(q)).exp() for q in Q[0, 0]]
        exact = [float(w / sum(weights)) for w in weights]
    np.testing.assert_allclose(policy[0], exact, rtol=1e-14, atol=5e-324)
    assert np.isfinite(policy).all()
    assert np.isfinite(V).all()


def test_two_actions_with_and_without_a_third_that_is_masked() -> None:
    """The path for two actions gives what the general one gives."""
    rng = np.random.default_rng(0)
    Q, Y = rng.uniform(0, 3, size=(3, 50, 2)), np.array([0.3, 2.0])
    Q[:, 10:20, 1] = Q[:, 10:20, 0]
    wide = np.concatenate([Q, rng.uniform(5, 9, size=(3, 50, 1))], axis=2)
    mask = np.ones((50, 3), bool)
    mask[:, 2] = False
    for alpha in (0.1, 7.0, 1e4, np.inf):
        policy, V = run_soft_max(Q, Y, alpha, np.ones((50, 2), bool))
        general, V_general = run_soft_max(wide, Y, alpha, mask)
        np.testing.assert_allclose(policy, general[:, :2], rtol=1e-10 if alpha == 1e4 else 1e-13, atol=1e-300)
        np.testing.assert_allclose(V, V_general, rtol=1e-12)
        assert (general[:, 2] == 0.0).all()


@given(
    q=st.lists(st.lists(st.floats(0, 20), min_size=6, max_size=6), min_size=2, max_size=3),
    Y=st.floats(0, 1e3),
    alpha=st.one_of(st.floats(1e-6, 1e8), st.just(float("inf"))),
    A=st.sampled_from([2, 3]),
    mask=st.integers(0, 63),
)
def test_policies_lie_on_the_simplex(q: list[list[float]], Y: float, alpha: float, A: int, mask: int) -> None:
    Q = np.array(q).reshape(len(q), 6 // A, A)
    available = np.array([(mask >> i) & 1 for i in range(6)], dtype=bool).reshape(6 // A, A)
    available[:, 0] |= ~available.any(axis=1)
    policy, V = run_soft_max(Q, np.full(len(q) - 1, Y), alpha, available)
    assert (policy >= 0.0).all()
    np.testing.assert_allclose(policy.sum(axis=1), 1.0, rtol=1e-14)
    assert (policy[~available] == 0.0).all()
    low = np.where(available, Q, np.inf).min(axis=2)
    high = np.where(available, Q, -np.inf).max(axis=2)
    assert (low - 1e-9 <= V).all()
    assert (high + 1e-9 >= V).all()


@pytest.mark.parametrize("A", [2, 3])
def test_a_number_that_is_not_finite_is_not_hidden(A: int) -> None:
    Q = np.ones((2, 1, A))
    Q[1, 0, 1] = np.nan
    policy, _ = run_soft_max(Q, np.array([0.5]), 10.0, np.ones((1, A), bool))
    assert np.isnan(policy).any()


# --- least squares -------------------------------------------------------------------------------------------------


def random_episodes(rng: np.random.Generator, n: int, H: int, S: int, A: int, J: int) -> list[tuple[Any, Any, Any]]:
    return [(rng.integers(S, size=H + 1), rng.integers(A, size=H), rng.random((H, J))) for _ in range(n)]


def literal_estimate(phi: Any, data: Any, h: int, V_next: Any, lam: float, beta: float, floor: float, cap: float) -> np.ndarray:
    """clip(⟨w,φ⟩ + β‖φ‖) for V_next (J,S), with Λ and the sums formed from all episodes."""
    d = phi.shape[2]
    f = np.array([phi[x[h], a[h]] for x, a, _ in data]).reshape(-1, d)
    Lambda = lam * np.eye(d) + f.T @ f
    solved = np.linalg.solve(Lambda, np.moveaxis(phi, 2, 0).reshape(d, -1)).reshape(d, *phi.shape[:2])
    bonus = beta * np.sqrt(np.einsum("sad,dsa->sa", phi, solved))
    Q = []
    for j in range(len(V_next)):
        targets = np.array([o[h, j] + V_next[j, x[h + 1]] for x, _, o in data])
        Q.append(np.einsum("d,dsa->sa", f.T @ targets if len(data) else np.zeros(d), solved) + bonus)
    return np.clip(np.array(Q), floor, cap)


@pytest.mark.parametrize("J", [2, 3, 4])
@pytest.mark.parametrize("kind", ["one-hot", "table", "one-hot as table"])
@pytest.mark.parametrize(("floor", "cap"), [(0.0, 2.0), (-np.inf, 3.0)])
def test_estimate_matches_a_fresh_solve(kind: str, J: int, floor: float, cap: float) -> None:
    H, S, A, lam, beta = 2, 4, 3, 0.1, 0.3
    rng = np.random.default_rng(J)
    phi = one_hot(S, A) if kind != "table" else rng.normal(size=(S, A, 3)) / 2
    gram: Any = one_hot_gram(H, S, A, J, lam) if kind == "one-hot" else table_gram(phi, H, J, lam)
    V = np.zeros((H + 1, J, S))
    V[:H] = rng.uniform(0, 2, size=(H, J, S))
    data = random_episodes(rng, 40, H, S, A, J)
    for k, (x, a, o) in enumerate(data):
        if k % 8 == 0:
            for h in range(H):
                Q = np.full((H, J, S, A), min(beta / np.sqrt(lam), cap))  # what a state never visited keeps
                tables = Tables(Q, V, np.zeros((H, S, A)), np.ones((H, S, A), bool), np.zeros((1, J)))
                estimate(gram, h, tables, beta, (floor, cap))
                np.testing.assert_allclose(
                    Q[h], literal_estimate(phi, data[:k], h, V[h + 1], lam, beta, floor, cap), atol=1e-11
                )
        learn(gram, x, a, o)


def test_one_hot_features_give_counts() -> None:
    H, S, A, J = 2, 3, 2, 2
    rng = np.random.default_rng(0)
    data = random_episodes(rng, 50, H, S, A, J)
    gram, table = one_hot_gram(H, S, A, J, 0.5), table_gram(one_hot(S, A), H, J, 0.5)
    visits, led = np.zeros((H, S, A)), np.zeros((H, S, A, S))
    for x, a, o in data:
        learn(gram, x, a, o)
        learn(table, x, a, o)
        for h in range(H):
            visits[h, x[h], a[h]] += 1
            led[h, x[h], a[h], x[h + 1]] += 1
    np.testing.assert_array_equal(gram.visits, visits)
    times = np.zeros_like(led)
    for h, s, a in np.ndindex(H, S, A):
        n = gram.successors[h, s, a]
        times[h, s, a, gram.successor[h, s, a, :n]] = gram.times[h, s, a, :n]
    np.testing.assert_array_equal(times, led)
    np.testing.assert_allclose(gram.fit[..., 1], 1 / np.sqrt(visits + 0.5), rtol=1e-15)
    np.testing.assert_allclose(table.norm.reshape(H, S, A), gram.fit[..., 1], rtol=1e-12)
    for h in range(H):
        np.testing.assert_array_equal(table.Lambda[h], np.diag(visits[h].ravel() + 0.5))
        np.testing.assert_array_equal(np.sort(gram.active[h, : gram.actives[h]]), np.nonzero(visits[h].any(axis=1))[0])


@numba.njit
def learn_rows(gram: Any, s: Any, a: Any, observed: Any, s_next: Any) -> None:
    for k in range(len(s)):
        learn_row(gram, 0, s[k], a[k], observed, s_next[k])


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_inverse_and_norms_do_not_drift(spread: float) -> None:
    """A million rank-one updates from λ = 1e-4, looked at just before the inverse would be made anew."""
    n = 999_999 if FAST else 2_999
    rng = np.random.default_rng(2)
    S, A, d = 4, 2, 4
    phi = rng.normal(size=(S, A, d)) * spread
    phi[..., 0] = 0.9  # nearly one direction when the spread is small
    phi /= np.maximum(np.linalg.norm(phi, axis=2, keepdims=True), 1.0)
    gram = table_gram(phi, 1, 2, 1e-4)
    learn_rows(gram, rng.integers(S, size=n), rng.integers(A, size=n), rng.random((1, 2)), rng.integers(S, size=n))
    assert gram.visits[0] == n
    inverse = np.linalg.inv(gram.Lambda[0])
    square = np.einsum("dk,de,ek->k", gram.phi, inverse, gram.phi)
    np.testing.assert_allclose(gram.square[0], square, rtol=1e-6)
    np.testing.assert_allclose(gram.norm[0], np.sqrt(square), rtol=1e-6)
    np.testing.assert_allclose(gram.Lambda_inv[0], inverse, atol=1e-6 * np.abs(inverse).max())


@given(seed=st.integers(0, 10_000), lam=st.floats(1e-4, 10.0), n=st.integers(0, 30))
def test_lambda_is_at_least_the_ridge(seed: int, lam: float, n: int) -> None:
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(3, 2, 3)) / 3
    gram = table_gram(phi, 1, 2, lam)
    for x, a, o in random_episodes(rng, n, 1, 3, 2, 2):
        learn(gram, x, a, o)
    assert np.linalg.eigvalsh(gram.Lambda[0]).min() >= lam * (1 - 1e-9)
    assert np.linalg.eigvalsh(gram.Lambda_inv[0]).max() <= 1 / lam * (1 + 1e-9)
    assert (gram.norm[0] <= np.linalg.norm(phi, axis=2).ravel() / np.sqrt(lam) * (1 + 1e-9)).all()


# --- the dual step -------------------------------------------------------------------------------------------------


@given(
    Y=st.floats(0, 5), b=st.floats(-10, 10), V=st.floats(-10, 10), eta=st.floats(0, 10), xi=st.floats(0, 5)
)  # fmt: skip
def test_the_dual_stays_between_zero_and_its_cap(Y: float, b: float, V: float, eta: float, xi: float) -> None:
    dual, values = no_dual(1), np.zeros((2, 2, 3))
    dual.Y[0], values[0, 1, 2] = min(Y, xi), V
    rule = assemble(chosen(beta=0.0, alpha=1.0, eta=eta, xi=xi), ContinuousSpec(1, [b], OneHot(1, 1)))
    dual_step(dual, rule, values, 2, np.zeros((1, 2)), 1.0)
    assert 0.0 <= dual.Y[0] <= xi
    assert dual.k[0] == 1
    assert dual.Y[0] == pytest.approx(np.clip(min(Y, xi) + eta * (b - V), 0.0, xi), abs=1e-12)


@pytest.mark.parametrize("shape", [-1.0, 0.0, np.nan, np.inf])
def test_a_gamma_variable_of_a_shape_that_cannot_be_is_nan_and_ends(shape: float) -> None:
    """Rejection went on for ever where a forged checkpoint had negative counts."""
    assert np.isnan(draws.gamma(np.ones(1, dtype=np.uint64), shape))
