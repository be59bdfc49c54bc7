"""The dense path of Algorithm 1 against the literal one; merging, lazy plans, drift, memory, state."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noregret import NoRegretError, learners, problems
from noregret.features import Fourier, Joint, OneHot, Table
from noregret.problems.continuous import ContinuousSpec
from tests.reference.algorithm1 import ReferenceAlgorithm1
from tests.reference.dense import ReferenceDense

H, A = 4, 3
CONSTANTS = {"lam": 0.01, "beta": 0.3, "alpha": 20.0, "eta": 0.1, "xi": 5.0, "cap": "H-h+1", "lower_clip": True}


def simplex(x):
    """Six bumps on [0,1], normalised, moved by the action: on the simplex, so the norm is at most 1."""
    x = np.asarray(x, dtype=float)
    bumps = np.exp(-8 * (x[:, :1, None] - np.linspace(0, 1, 6) + 0.1 * np.arange(A)[:, None]) ** 2)
    return bumps / bumps.sum(axis=2, keepdims=True)


JOINT = Joint(simplex, n_actions=A, dimension=6, bound=1.0)
LIFTED = Fourier([0.0], [1.0], n_actions=A, order=5)


def make(features=JOINT, b=(1.0,), K=200, absorbing=None, **options):
    spec = ContinuousSpec(H, b, features, absorbing=absorbing)
    return learners.make("primal-dual-lsvi", spec, episodes=K, **({"preset": "paper", "zeta": 0.0} | CONSTANTS | options))


def reference(features, b, absorbing=None, **changes):
    ref = ReferenceDense(lambda x: features.phi([x])[0], H, A, b, absorbing=absorbing, **(CONSTANTS | changes))
    ref.probe = np.array([0.5])
    return ref


def episodes(n, m, seed=0, early=False, repeat=True):
    rng = np.random.default_rng(seed)
    pool = rng.random((7, 1))
    for _ in range(n):
        L = 2 if early and rng.random() < 0.3 else H
        x = pool[rng.integers(7, size=L + 1)] if repeat and rng.random() < 0.5 else rng.random((L + 1, 1))
        yield x, rng.integers(A, size=L), rng.random((L, 1 + m))


def difference(learner, ref, states):
    plan = learner.plan()
    off = 0.0
    for h in range(H):
        policy, Q, V = plan.at(h, learner.map.encode(states))
        for i, x in enumerate(states):
            Q_ref, policy_ref, V_ref = ref.at(h, x)
            off = max(
                off, *(np.abs(got - want).max() for got, want in ((Q[:, i], Q_ref), (policy[i], policy_ref), (V[:, i], V_ref)))
            )
    return off


@pytest.mark.parametrize("features", [JOINT, LIFTED], ids=["joint", "lifted"])
@pytest.mark.parametrize("b", [(1.0,), (1.0, 0.5)], ids=["m=1", "m=2"])
def test_dense_path_is_algorithm_1(features, b):
    absorbing = np.linspace(0.2, 0.4, 1 + len(b))
    learner, ref = make(features, b, absorbing=absorbing), reference(features, b, absorbing)
    probes = np.array([[0.11], [0.5], [0.93]])
    for k, (x, a, seen) in enumerate(episodes(60, len(b), early=True)):
        ref.plan()
        if k % 6 == 0 or k > 55:
            assert difference(learner, ref, probes) < 1e-8
        learner.observe(x, a, seen[:, 0], seen[:, 1:].T)
        ref.observe(x, a, seen)
        np.testing.assert_allclose(learner.dual, ref.Y, atol=1e-9)


def test_a_finite_world_through_the_dense_path_is_the_tabular_algorithm_and_its_cost_does_not_grow():
    p = problems.load("random:m=2")
    S, actions = p.n_states, p.n_actions
    ref = ReferenceAlgorithm1(np.eye(S * actions).reshape(S, actions, -1), p.horizon, p.b, **CONSTANTS)
    spec = ContinuousSpec(p.horizon, p.b, OneHot(S, actions))
    learner = learners.make("primal-dual-lsvi", spec, episodes=500, preset="paper", zeta=0.0, **CONSTANTS)
    rng = np.random.default_rng(1)
    for k in range(500):
        x, a = rng.integers(S, size=p.horizon + 1), rng.integers(actions, size=p.horizon)
        r, g = rng.random(p.horizon), rng.random((2, p.horizon))
        if k < 40:
            got, want = learner.plan(), ref.plan()
            for h in range(p.horizon):
                Q = got.values(h, np.arange(S))[0]
                np.testing.assert_allclose(Q[0], want.Q_r[h], atol=1e-9)
                np.testing.assert_allclose(Q[1:], want.Q_g[:, h], atol=1e-9)
            ref.observe(x, a, r, g)
        learner.observe(x, a, r, g)
    assert (learner.kept[1:] == S).all() and learner.kept[0] == 0
    assert (learner._state.gram.slots[1:] == S * actions).all()


@pytest.mark.parametrize("preset", ["practical", "paper"])
def test_every_option_of_a_preset_is_that_of_the_tabular_learner(preset):
    """Span bonus, plain dual estimate, damping, schedules: one-hot through the dense path against the counts.

    The bonus for noise is left out: counts have a variance for each pair, vectors one for a step. So are the measured step of
    several prices, and the bonus that fades, which are for tables.
    """
    p = problems.load("random:m=2")
    finite = learners.make(
        "primal-dual-lsvi", p.spec, episodes=200, preset=preset, noise_bonus=0.0, price_step="printed", late_bonus=1.0
    )
    spec = ContinuousSpec(p.horizon, p.b, OneHot(p.n_states, p.n_actions))
    dense_one = learners.make("primal-dual-lsvi", spec, episodes=200, preset=preset, noise_bonus=0.0)
    rng = np.random.default_rng(2)
    for _ in range(120):
        want, got = finite.plan(), dense_one.plan()
        for h in range(p.horizon):
            Q = got.values(h, np.arange(p.n_states))[0]
            np.testing.assert_allclose(Q[0], want.Q_r[h], atol=1e-7)
            np.testing.assert_allclose(Q[1:3], want.Q_g[:, h], atol=1e-7)
            np.testing.assert_allclose(got.probabilities(h, np.arange(p.n_states)), want.policy[h], atol=1e-5)
        x = rng.integers(p.n_states, size=p.horizon + 1)
        a = np.array([rng.choice(p.n_actions, p=want.policy[h, x[h]]) for h in range(p.horizon)])
        r, g = rng.random(p.horizon), rng.random((2, p.horizon))
        finite.observe(x, a, r, g)
        dense_one.observe(x, a, r, g)
        np.testing.assert_allclose(dense_one.dual, finite.dual, atol=1e-7)
    assert preset != "practical" or dense_one.J == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"safe_policy": np.ones((H, 2, A))}, "unknown parameter of primal-dual-lsvi 'safe_policy'"),
        ({"rounding": 0.1}, "rounding is 0.1; expected a number of at least 0, at most 0"),
        ({"schedule": "doubling"}, "unknown schedule 'doubling'"),
        ({"xi_rule": "estimate"}, "unknown xi_rule 'estimate'"),
        ({"bonus": "variance"}, "unknown bonus 'variance'"),
        ({"dual_estimate": "pessimistic"}, "unknown dual_estimate 'pessimistic'"),
        ({"share": "transitions"}, "share"),
        ({"share": "all", "states": 1}, "states is 1"),
        ({"preset": "safe"}, "preset of primal-dual-lsvi"),
    ],
)
def test_what_needs_finite_states_is_refused(options, message):
    with pytest.raises(NoRegretError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gram.slot", 10**6), ("gram.slots", 10**6), ("gram.counts", 10**6), ("gram.pendings", 10**6),
        ("gram.pending_block", 7),
        ("gram.visits", -1), ("counters", -1), ("Y", np.nan), ("gram.Lambda", np.nan), ("gram.w", np.nan),
    ],
)  # fmt: skip
def test_a_state_that_would_lead_out_of_the_tables_is_refused_whole(key, value):
    learner = make(replan="doubling")
    for x, a, seen in episodes(12, 1):
        learner.observe(x, a, seen[:, 0], seen[:, 1])
    before = learner.state()
    with pytest.raises(NoRegretError, match="expected"):
        learner.restore(before | {key: np.full_like(before[key], value)})
    for name, array in learner.state().items():
        np.testing.assert_array_equal(array, before[name])


def test_tables_and_one_hot_give_the_same_plan():
    one = np.eye(6).reshape(2, 3, 6)
    plans = []
    for features in (OneHot(2, 3), Table(one)):
        learner = make(features)
        rng = np.random.default_rng(0)
        for _ in range(30):
            learner.observe(rng.integers(2, size=H + 1), rng.integers(3, size=H), rng.random(H), rng.random(H))
        plans.append(np.stack([learner.plan().values(h, [0, 1])[0] for h in range(H)]))
    np.testing.assert_allclose(plans[0], plans[1], atol=1e-10)


@pytest.mark.parametrize("preset", ["practical", "theory"])
def test_lsvi_ucb_on_a_finite_world_is_the_tabular_one(preset):
    p = problems.load("random")
    finite = learners.make("lsvi-ucb", p.spec, episodes=50, preset=preset)
    spec = ContinuousSpec(p.horizon, p.b, OneHot(p.n_states, p.n_actions))
    dense_one = learners.make("lsvi-ucb", spec, episodes=50, preset=preset)
    rng = np.random.default_rng(3)
    for _ in range(30):
        x, a = rng.integers(p.n_states, size=p.horizon + 1), rng.integers(p.n_actions, size=p.horizon)
        r, g = rng.random(p.horizon), rng.random(p.horizon)
        finite.observe(x, a, r, g)
        dense_one.observe(x, a, r, g)
    want, got = finite.plan(), dense_one.plan()
    for h in range(p.horizon):
        np.testing.assert_allclose(got.values(h, np.arange(p.n_states))[0][0], want.Q_r[h], atol=1e-7)


def test_lsvi_ucb_goes_through_the_same_code_with_no_dual_and_greedy():
    spec = ContinuousSpec(H, [1.0], JOINT)
    ucb = learners.make("lsvi-ucb", spec, episodes=50, beta=0.3, lam=0.01)
    same = make(alpha=math.inf, eta=0.0)
    for x, a, seen in episodes(30, 1):
        for learner in (ucb, same):
            learner.observe(x, a, seen[:, 0], seen[:, 1])
    assert ucb.dual == 0.0
    np.testing.assert_array_equal(ucb.plan().probabilities(1, [[0.2], [0.8]]), same.plan().probabilities(1, [[0.2], [0.8]]))
    with pytest.raises(NoRegretError, match="eta"):
        learners.make("lsvi-ucb", spec, episodes=50, eta=1.0)
    assert learners.make("lsvi-ucb", spec, episodes=50, preset="theory").constants["lam"] == 1.0


# --- lazy plans -------------------------------------------------------------------------------------------------


def test_lazy_plans_are_made_when_a_determinant_doubled_or_the_dual_moved():
    learner, ref = make(replan="doubling", dual_tol=0.15), reference(JOINT, (1.0,))
    plans, planned_Y, planned_det = 0, None, None
    for x, a, seen in episodes(150, 1, repeat=False):
        dets = []
        for h in range(H):
            Lambda = CONSTANTS["lam"] * np.eye(6)
            for y, c, *_ in ref.episodes:
                f = JOINT.phi([y[h]])[0, c[h]]
                Lambda += np.outer(f, f)
            dets.append(np.linalg.det(Lambda))
        dets = np.array(dets)
        if planned_Y is None or (dets > 2 * planned_det).any() or np.abs(ref.Y - planned_Y).max() > 0.15:
            saved = ref.Y
            ref.plan()
            planned_Y, planned_det, plans = saved.copy(), dets, plans + 1
        acting, ref.Y = ref.Y, planned_Y  # the policy stands still: with the Y of its plan
        if plans % 3 == 0:
            assert difference(learner, ref, np.array([[0.4]])) < 1e-8
        V = ref.at(0, x[0])[2]
        ref.Y = np.clip(acting + ref.eta * (ref.b - V[1:]), 0.0, ref.xi)
        ref.episodes.append((x, a, seen, False))
        learner.observe(x, a, seen[:, 0], seen[:, 1])
        np.testing.assert_allclose(learner.dual, ref.Y, atol=1e-8)
    learner.plan()
    assert plans <= learner.replans <= plans + 1 and 5 < plans < 120


# --- merging ------------------------------------------------------------------------------------------------------


def test_equal_next_states_share_a_place_and_near_ones_with_a_tolerance():
    exact, merged = make(), make(merge_tol=0.05)
    for x, a, seen in episodes(150, 1, repeat=False):
        for learner in (exact, merged):
            learner.observe(x, a, seen[:, 0], seen[:, 1])
    assert (exact.kept[1:] == 150).all()
    kept = merged.kept
    assert (kept[1:] < 60).all()
    gram = merged._state.gram
    T = gram.q.shape[3]
    for h in range(1, H):  # no two kept states are within the tolerance
        F = np.array([gram.F[h, i // T, :, i % T :: T].T for i in range(kept[h])])  # (n,R,p)
        gap = np.linalg.norm(F[:, None] - F[None], axis=3).max(axis=2) + np.eye(kept[h])
        assert gap.min() > 0.05


@pytest.mark.parametrize("alpha", [2.0, 500.0])
def test_merging_changes_q_by_no_more_than_is_stated(alpha):
    """One step of the backup: the same V of step h+1, once at the next states themselves and once at their stand-ins."""
    tol = 0.1
    merged = make(merge_tol=tol, alpha=alpha)
    history = list(episodes(80, 1, repeat=False))
    for x, a, seen in history:
        merged.observe(x, a, seen[:, 0], seen[:, 1])
    view, probes = merged.plan(), np.linspace(0.05, 0.95, 7)[:, None]
    total = 0.0
    for h in range(H - 1):
        Lambda, target = CONSTANTS["lam"] * np.eye(6), np.zeros((2, 6))
        for x, a, seen in history:
            f = JOINT.phi([x[h]])[0, a[h]]
            Lambda += np.outer(f, f)
            target += np.outer(seen[h] + view.values(h + 1, [x[h + 1]])[1][:, 0], f)
        w = target @ np.linalg.inv(Lambda)
        phi = JOINT.phi(probes)
        bonus = CONSTANTS["beta"] * np.sqrt(np.einsum("nai,ij,naj->na", phi, np.linalg.inv(Lambda), phi))
        exact = np.clip(np.einsum("nai,ji->jna", phi, w) + bonus, 0.0, H - h)
        off = np.abs(view.values(h, probes)[0] - exact)
        bound = merged.merge_error(h, probes)
        assert (off <= bound + 1e-9).all()
        assert (bound < 400).all()
        total += off.max()
    assert total > 1e-6  # merging did change something
    assert (make(alpha=alpha).merge_error(0, probes) == 0.0).all()
