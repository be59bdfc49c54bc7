"""Algorithm 1 on vector states: no drift, bounded memory, resumed bit for bit, bad episodes refused."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from noregret import NoRegretError, learners
from noregret.features import OneHot
from noregret.kernels.gram import dense
from noregret.kernels.gram.stream import tiles
from noregret.learners.lsvi.primal_dual import backward
from noregret.learners.lsvi.rule import assemble
from noregret.problems.continuous import ContinuousSpec
from tests.learners.test_continuous import JOINT, LIFTED, H, episodes, make
from tests.support import chosen

# --- numbers ------------------------------------------------------------------------------------------------------


@numba.njit
def _many(gram, phi, n, rule, tables, Y, observed):
    for k in range(n):
        dense.visit(gram, 1, phi[k % len(phi)], 0, observed)
        backward(gram, tables, rule, Y, 5.0)


@pytest.mark.slow
def test_norms_do_not_drift_in_a_million_updates_with_a_tiny_ridge():
    rng = np.random.default_rng(0)
    p, lam = 4, 1e-4
    gram = dense.dense_gram(dense.Sizes(H=2, A=1, J=2, m=1, rows=1, blocks=1, width=p), lam, 16)
    phi = rng.normal(size=(997, p)) * [1, 1, 1, 1e-2]  # one direction hardly ever seen
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    rows = rng.normal(size=(16, 1, p))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    for row in rows:
        dense.keep(gram, 1, row)
    rule = assemble(
        chosen(lam=lam, beta=0.1, alpha=5.0, eta=0.0, xi=1.0, cap="H-h+1", lower_clip=True),
        ContinuousSpec(2, [0.0], OneHot(1, 1)),
    )
    n = 1_000_000
    _many(
        gram, phi, n - 1, rule, tiles(gram, np.zeros((2, 2)), np.zeros((2, 2, 2)), np.zeros(2)), np.zeros(1), np.full(2, 0.5)
    )  # one short of a refresh
    Lambda = lam * np.eye(p) + sum((n - 1 - i + 996) // 997 * np.outer(f, f) for i, f in enumerate(phi))
    np.testing.assert_allclose(gram.Lambda[1, 0], Lambda, rtol=1e-9)
    want = np.einsum("nrp,pq,nrq->n", rows, np.linalg.inv(Lambda), rows)
    T = gram.q.shape[3]
    got = np.array([gram.q[1, i // T, 0, i % T] for i in range(16)])
    assert np.abs(got / want - 1).max() < 1e-6
    assert gram.log_det[1] == pytest.approx(np.linalg.slogdet(Lambda)[1] - p * math.log(lam), rel=1e-8)


def test_memory_is_bounded_before_the_run_and_the_cache_grows_to_no_more():
    learner = make(K=1500)
    small = learner._state.gram.F.shape[1]
    for x, a, seen in episodes(1500, 1, repeat=False):
        learner.observe(x, a, seen[:, 0], seen[:, 1])
        learner._state.counters[2] = 1  # planning is not what is tested
        learner._state.gram.pendings[:] = 0
    gram = learner._state.gram
    assert gram.F.shape[1] > small and (learner.kept[1:] == 1500).all()
    held = sum(a.nbytes for a in gram[1:]) + learner._state.key.nbytes
    assert held <= learner.memory_bound() + 64 * 8 * 6 * H * 4  # up to one tile a step
    assert learner.memory_bound() < 3 * held


@pytest.mark.parametrize("replan", ["always", "doubling"])
def test_stop_and_resume_changes_no_bit(replan):
    history = list(episodes(60, 1))
    whole, half = make(replan=replan, merge_tol=0.01), make(replan=replan, merge_tol=0.01)
    for x, a, seen in history:
        whole.observe(x, a, seen[:, 0], seen[:, 1])
    for x, a, seen in history[:35]:
        half.observe(x, a, seen[:, 0], seen[:, 1])
    again = make(replan=replan, merge_tol=0.01)
    again.restore(half.state())
    for x, a, seen in history[35:]:
        again.observe(x, a, seen[:, 0], seen[:, 1])
    whole.plan(), again.plan()
    one, two = whole.state(), again.state()
    for key in one:
        np.testing.assert_array_equal(one[key], two[key], err_msg=key)
    with pytest.raises(NoRegretError, match="disagrees on entry"):
        make().restore({"Y": np.zeros(1)})
    with pytest.raises(NoRegretError, match="expected"):
        make(LIFTED, replan=replan).restore(one)


def test_bad_episodes_are_refused_and_change_nothing():
    learner = make()
    for x, a, seen in episodes(5, 1):
        learner.observe(x, a, seen[:, 0], seen[:, 1])
    before = learner.state()
    x, a, r, g = np.full((H + 1, 1), 0.5), np.zeros(H, dtype=int), np.full(H, 0.5), np.full(H, 0.5)
    nan = x.copy()
    nan[2] = np.nan
    for states, actions, rewards, utilities, text in (
        (nan, a, r, g, "step 2: feature"),
        (x, a + 3, r, g, "actions[0] is 3"),
        (x, a, r + 1, g, "rewards[0] is 1.5"),
        (x, a, r, g * np.nan, "utilities[0, 0] is nan"),
        (
            np.full((H + 2, 1), 0.5),
            np.zeros(H + 1, dtype=int),
            np.zeros(H + 1),
            np.zeros(H + 1),
            "expected at most the horizon 4",
        ),
        (x[:3], a[:2], r[:2], g[:2], "the episode has 2 steps"),
        (x[:H], a, r, g, "states has 4 entries"),
    ):
        with pytest.raises(NoRegretError) as caught:
            learner.observe(states, actions, rewards, utilities)
        assert text in str(caught.value)
    after = learner.state()
    for key in before:
        np.testing.assert_array_equal(before[key], after[key], err_msg=key)
    for wrong in ({"replan": "never"}, {"merge_tol": -1.0}, {"cache": "float32"}, {"gamma": 1.0}):
        with pytest.raises(NoRegretError):
            make(**wrong)
    with pytest.raises(NoRegretError, match="learner of continuous states"):
        learners.make("uniform", ContinuousSpec(H, [1.0], JOINT), episodes=3)
