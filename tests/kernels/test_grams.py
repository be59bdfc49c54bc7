"""One backward pass for every kind of Gram, with steps that learn alone and steps that share, against the literal one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noregret.features import OneHot, one_hot
from noregret.kernels.gram.base import Tables, everyone, norm, run_learn
from noregret.kernels.gram.bounded import bounded_gram, place, prepare
from noregret.kernels.gram.dense import Sizes, Visited, dense_gram
from noregret.kernels.gram.one_hot import one_hot_gram
from noregret.kernels.gram.stream import tiles
from noregret.kernels.gram.table import table_gram
from noregret.kernels.steps.empirical import UNTRIED, empirical_model, learn_episode, transition_radius
from noregret.kernels.steps.primal_dual import untried
from noregret.kernels.steps.softmax import plain_soft_max, soft_max
from noregret.learners.lsvi.primal_dual import run_backward
from noregret.learners.lsvi.rule import Rule, assemble
from noregret.learners.lsvi.vectors import ContinuousPlan
from noregret.problems.continuous import ContinuousSpec
from tests.reference.algorithm1 import softmax
from tests.reference.noise import of_pairs, of_vectors
from tests.support import chosen

pytestmark = pytest.mark.kernels

H, S, A, M = 4, 5, 3, 2
LAM, ALPHA, Y = 1e-4, 7.0, np.array([0.4, 1.3])


def rule(**options: Any) -> Rule:
    given = {"bonus": "span", "dual_estimate": "plain"} | options
    given |= {"span_floor": 0.4} if given["bonus"] in ("span", "variance") else {}
    given |= {"dual_prior": 0.5} if given["dual_estimate"] == "plain" else {}
    numbers = {"lam": LAM, "beta": 1.2, "alpha": ALPHA, "eta": 0.1, "xi": 5.0, "utility_bonus": 0.5}
    return assemble(chosen(H=H, cap="H-h+1", lower_clip=True, **numbers, **given), ContinuousSpec(H, [1.0] * M, OneHot(S, A)))


def literal(
    phi: Any, data: Any, r: Rule, shared: bool, doubts: Any = of_pairs
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q (H,J,S,A), π (H,S,A), V (H+1,J,S) and ‖φ‖ (H,S,A): all sums formed anew, over all steps where they share."""
    J, d = len(r.beta), phi.shape[2]
    Q, policy, V, norms = np.zeros((H, J, S, A)), np.zeros((H, S, A)), np.zeros((H + 1, J, S)), np.zeros((H, S, A))
    for h in reversed(range(H)):
        seen = [(x[t], a[t], o[t], x[t + 1]) for x, a, o in data for t in range(H) if shared or t == h]
        Lambda = LAM * np.eye(d) + sum((np.outer(phi[s, a], phi[s, a]) for s, a, _, _ in seen), np.zeros((d, d)))
        inverse = np.linalg.inv(Lambda)
        norms[h] = np.sqrt(np.einsum("sai,ij,saj->sa", phi, inverse, phi))
        steps = [[(x[t], a[t], o[t]) for x, a, o in data for t in range(H) if shared or t == g] for g in range(H)]
        doubt = doubts(phi, LAM, steps, h) if r.noise.any() and data else np.zeros((S, A, 1 + M))
        for j in range(J):
            data_j = j if j <= M else j - M
            after = [V[h + 1, j, y] for *_, y in seen]
            scale = max(max(after) - min(after), r.span_floor) if seen else r.span_floor
            scale = 1.0 if r.span_floor < 0 else scale
            scale = r.cap[h] if j > M and not r.pessimistic else scale
            target = sum((phi[s, a] * (o[data_j] + V[h + 1, j, y]) for s, a, o, y in seen), np.zeros(d))
            width = r.beta[j] * scale * norms[h] * np.minimum(1.0, r.late + 2.5 * norms[h])
            width = np.copysign(np.hypot(width, r.noise[j] * doubt[..., data_j]), width)
            Q[h, j] = np.clip(phi @ (inverse @ target) + width, r.floor, r.cap[h])
        for s in range(S):
            policy[h, s] = softmax(Q[h, 0, s] + Y @ Q[h, 1 : 1 + M, s], ALPHA, np.ones(A, bool))
            V[h, :, s] = Q[h, :, s] @ policy[h, s]
    return Q, policy, V, norms


class Numbered:
    """One-hot and table Grams."""

    def __init__(self, kind: str, phi: Any, r: Rule, shared: bool) -> None:
        J = len(r.beta)
        self.rule, Q, V, uniform = r, np.zeros((H, J, S, A)), np.zeros((H + 1, J, S)), np.full((H, S, A), 1 / A)
        self.tables = Tables(Q, V, uniform, np.ones((H, S, A), bool), np.zeros((1, J)))  # a state never visited keeps it
        noise, retry = bool(r.noise.any()), bool(r.retry.any())
        one = one_hot_gram(H, S, A, 1 + M, LAM, shared=shared, noise=noise, retry=retry) if kind == "one-hot" else None
        self.gram: Any = one if one is not None else table_gram(phi, H, 1 + M, LAM, J, shared, noise)
        untried(self.tables, r, LAM)

    def learn(self, x: Any, a: Any, o: Any) -> None:
        run_learn(self.gram, x, a, o)

    def plan(self) -> tuple[np.ndarray, np.ndarray]:
        run_backward(self.gram, self.tables, self.rule, Y, ALPHA)
        return self.tables.Q, self.tables.policy


class Dense:
    """The same features as vectors, kept in a cache."""

    def __init__(self, phi: Any, r: Rule, shared: bool) -> None:
        J, d = len(r.beta), phi.shape[2]
        self.rule, self.phi, self.bonus, self.noise = r, phi, np.zeros((H, J)), np.zeros((H, 2, J))
        size = Sizes(H, A, J, M, rows=A, blocks=1, width=d)
        self._make(size, shared)

    def _make(self, size: Sizes, shared: bool) -> None:
        self.gram: Any = dense_gram(size, LAM, 3 * S)
        self.tables: Any = tiles(self.gram, self.bonus, self.noise, np.zeros(size.J))
        self.places: list[dict[int, int]] = [{} for _ in range(H)]

    def learn(self, x: Any, a: Any, o: Any) -> None:
        at = [self.places[h].setdefault(int(x[h]), len(self.places[h])) for h in range(1, H)]
        run_learn(self.gram, Visited(self.phi[x[:H]], np.array([0, *at])), a, o)

    def plan(self) -> tuple[np.ndarray, np.ndarray]:
        run_backward(self.gram, self.tables, self.rule, Y, ALPHA)
        view = ContinuousPlan(
            SimpleNamespace(n_actions=A),
            self.gram.w,
            self.gram.planned_inv,
            Y,
            self.bonus,
            self.noise,
            ALPHA,
            self.rule.floor,
            self.rule.cap,
        )
        steps = [view.at(h, self.phi) for h in range(H)]
        return np.array([Q for _, Q, _ in steps]), np.array([policy for policy, _, _ in steps])


class Bounded(Dense):
    """The same with a bound on the states, by matrix products; steps may share."""

    def _make(self, size: Sizes, shared: bool) -> None:
        self.gram = bounded_gram(size, LAM, 3 * S, 0.0, shared=shared)

    def learn(self, x: Any, a: Any, o: Any) -> None:
        rows = self.phi[x[: H + (len(self.gram.visits) == 1)]]
        assert place(self.gram, rows, a, 0, False) == H
        run_learn(self.gram, rows, a, o)

    def plan(self) -> tuple[np.ndarray, np.ndarray]:
        self.tables = prepare(self.gram, self.bonus, self.noise, np.zeros(self.bonus.shape[1]))
        return super().plan()


@pytest.mark.parametrize(
    ("kind", "shared"),
    [(k, s) for k in ("one-hot", "table", "dense", "bounded") for s in (False, True) if k != "dense" or not s],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"noise_bonus": 0.3},
        {"dual_estimate": "pessimistic", "pessimism": 0.6, "noise_bonus": 0.3},
        {"dual_estimate": "pessimistic", "pessimism": 0.6},
        {"bonus": "constant"},
        {"bonus": "constant", "noise_bonus": 0.3},
    ],
)
def test_one_pass_for_every_gram(kind: str, shared: bool, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    phi = one_hot(S, A) if kind == "one-hot" else rng.normal(size=(S, A, 4)) / 3
    r = rule(**options)
    vectors = {"dense": Dense, "bounded": Bounded}
    one: Any = vectors[kind](phi, r, shared) if kind in vectors else Numbered(kind, phi, r, shared)
    data: list[Any] = []
    for k in range(30):
        if k in (0, 1, 2, 5, 11, 12, 29):
            Q, policy = one.plan()
            want = literal(phi, data, r, shared, of_vectors if kind in vectors else of_pairs)
            np.testing.assert_allclose(Q, want[0], atol=1e-7)
            np.testing.assert_allclose(policy, want[1], atol=1e-6)
            if kind not in vectors:
                norms = np.array([norm(one.gram, h, s, a) for h, s, a in np.ndindex(H, S, A)]).reshape(H, S, A)
                np.testing.assert_allclose(norms, want[3], rtol=1e-7)
        x, a, o = rng.integers(S - 1, size=H + 1), rng.integers(A, size=H), rng.random((H, 1 + M))
        x[H] = rng.integers(S)  # a state that only the last step leads to
        one.learn(x, a, o)
        data.append((x, a, o))
    assert len(one.gram.visits) == (1 if shared else H)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", ["one-hot", "table"])
def test_a_bonus_that_fades(kind: str, shared: bool) -> None:
    test_one_pass_for_every_gram(kind, shared, {"noise_bonus": 0.3, "late_bonus": 0.25})


def test_the_empirical_model_of_steps_that_share_counts_all_of_them() -> None:
    rng = np.random.default_rng(0)
    model = empirical_model(H, S, A, 2, shared=True)
    visits, led, sums = np.zeros((S, A)), np.zeros((S, A, S)), np.zeros((S, A, 2))
    for _ in range(20):
        x, a, o = rng.integers(S, size=H + 1), rng.integers(A, size=H), rng.random((H, 2))
        learn_episode(model, x, a, o, (0.3, 0.2, 5.0))
        for h in range(H):
            visits[x[h], a[h]] += 1
            led[x[h], a[h], x[h + 1]] += 1
            sums[x[h], a[h]] += o[h]
    np.testing.assert_array_equal(model.visits[0], visits)
    np.testing.assert_allclose(model.fit[0, ..., 2:], sums, rtol=1e-13)
    for s, a in np.ndindex(S, A):
        n, p = visits[s, a], led[s, a] / max(visits[s, a], 1)
        rho = (2 * np.sqrt(p * (1 - p) * 5.0 / max(n, 1)) + 14 / 3 * 5.0 / max(n, 1)).sum()
        want = 0.3 / np.sqrt(n) + 0.2 * rho if n else UNTRIED
        assert model.fit[0, s, a, 1] == pytest.approx(want, rel=1e-12)
        if n:
            assert transition_radius(model, H - 1, s, a, 5.0) == pytest.approx(rho, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 40.0, np.inf])
@pytest.mark.parametrize("actions", [2, 4])
def test_the_fast_soft_max_is_the_plain_one(alpha: float, actions: int) -> None:
    rng = np.random.default_rng(actions)
    Q = rng.uniform(0, 3, size=(2, 3, 30, actions))
    Q[:, :, :5] = Q[:, :, :5, :1]  # ties
    available = rng.random((2, 30, actions)) < 0.8
    available[..., 0] |= ~available.any(axis=2)
    made = []
    for one in (soft_max, plain_soft_max):
        tables = Tables(Q, np.zeros((3, 3, 30)), np.zeros((2, 30, actions)), available, np.zeros((1, 3)))
        for h in range(2):
            one(everyone(30), h, tables, np.array([0.7]), alpha)
        made.append(tables)
    np.testing.assert_allclose(made[0].policy, made[1].policy, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(made[0].V, made[1].V, rtol=1e-12)


def play(kind: str, phi: Any, r: Rule, shared: bool, pay: Any) -> tuple[Any, list[Any]]:
    """A Gram that took in 30 episodes, and Q after each; ``pay`` gives what is observed at (S,A) pairs, (H,1+M)."""
    rng = np.random.default_rng(8)
    one: Any = {"dense": Dense, "bounded": Bounded}.get(kind, Numbered)(
        *((phi, r, shared) if kind in ("dense", "bounded") else (kind, phi, r, shared))
    )
    made = []
    for _ in range(30):
        x, a = rng.integers(S, size=H + 1), rng.integers(A, size=H)
        one.learn(x, a, pay(x[:H], a))
        made.append(np.concatenate([each.ravel().copy() for each in one.plan()]))
    return one, made


@pytest.mark.parametrize("kind", ["one-hot", "table", "dense", "bounded"])
@pytest.mark.parametrize("shared", [False, True])
def test_where_nothing_varies_the_bonus_is_todays_to_the_bit(kind: str, shared: bool) -> None:
    if kind == "dense" and shared:
        pytest.skip("these steps share nothing")
    means = np.random.default_rng(1).random((S, A, 1 + M))
    phi = one_hot(S, A) if kind in ("one-hot", "dense", "bounded") else np.random.default_rng(2).normal(size=(S, A, 4)) / 3
    bonus = {"bonus": "constant"} if kind in ("dense", "bounded") else {}
    runs = [play(kind, phi, rule(noise_bonus=c, **bonus), shared, lambda x, a: means[x, a])[1] for c in (0.0, 0.3)]
    np.testing.assert_array_equal(*runs)
    noisy = np.random.default_rng(5)
    _, made = play(kind, phi, rule(noise_bonus=0.3, **bonus), shared, lambda x, a: means[x, a] * noisy.random((H, 1)))
    noisy = np.random.default_rng(5)
    none = play(kind, phi, rule(**bonus), shared, lambda x, a: means[x, a] * noisy.random((H, 1)))[1]
    assert np.abs(np.array(made[-1]) - none[-1]).max() > 1e-3  # and with noise it is not


@pytest.mark.parametrize("shared", [False, True])
def test_one_hot_features_in_a_table_give_the_numbers_of_counts(shared: bool) -> None:
    rng = [np.random.default_rng(4), np.random.default_rng(4)]
    grams = [
        play(kind, one_hot(S, A), rule(noise_bonus=0.3), shared, lambda x, a, rng=rng: rng.integers(2, size=(H, 1 + M)) * 1.0)
        for kind, rng in zip(("one-hot", "table"), rng, strict=True)
    ]
    (counts, one), (table, two) = grams
    np.testing.assert_allclose(np.array(one), np.array(two), atol=1e-9)
    visited = counts.gram.noise.tried > 0
    of_counts, of_table = (np.moveaxis(one.gram.noise.variance, 1, -1) for one in (counts, table))
    np.testing.assert_allclose(of_counts[visited], of_table[visited], atol=1e-9)
    assert counts.gram.noise.apart.max() == 1.0


def test_an_action_given_up_is_tried_again_and_the_usual_one_has_no_bonus_for_noise() -> None:
    """L is 0 for the one action ever played, and grows with the visits of the state for another."""
    r = rule(noise_bonus=0.3)
    one = Numbered("one-hot", None, r, True)
    rng, x = np.random.default_rng(0), np.zeros(H + 1, np.int64)
    seen = []
    for k in range(400):
        a = np.ones(H, np.int64) if k else np.array([0, 2, 1, 1])
        one.learn(x, a, rng.integers(2, size=(H, 1 + M)) * 1.0)
        one.plan()  # makes D anew
        seen.append(one.gram.noise.doubt[0, 0, 0].copy())
    grown = np.array(seen[20:])
    assert (np.diff(grown[:, 0]) > 0).all()
    assert grown[-1, 1] < 0.01 < 1.0 < grown[-1, 0]


@pytest.mark.parametrize("shared", [False, True])
def test_a_pair_that_was_tried_a_few_times_says_nothing_of_how_many_vary(shared: bool) -> None:
    """R counts by the share of pairs that vary, among these and those that paid the same ten times."""
    r, rng = rule(noise_bonus=0.3), np.random.default_rng(6)
    one, data = Numbered("one-hot", None, r, shared), []
    means, coins = rng.random((S, A, 1 + M)), rng.random((S, A, 1 + M)) < 0.4
    for k in range(120):
        x, a = np.minimum(rng.integers(S, size=H + 1), rng.integers(S, size=H + 1)), rng.integers(A, size=H)
        o = np.where(coins[x[:H], a], rng.random((H, 1 + M)) < 0.3, means[x[:H], a]) * 1.0
        one.learn(x, a, o)
        data.append((x, a, o))
        if k in (3, 10, 40, 119):
            one.plan()  # makes D anew
            steps = [[(x[t], a[t], o[t]) for x, a, o in data for t in range(H) if shared or t == g] for g in range(H)]
            for g in range(1 if shared else H):
                want = of_pairs(one_hot(S, A), LAM, steps if not shared else steps[:1], g)
                seen = one.gram.visits[g].sum(axis=1) > 0
                np.testing.assert_allclose(np.moveaxis(one.gram.noise.doubt[g], 0, -1)[seen], want[seen], atol=1e-9)
    known, varied = one.gram.noise.known
    assert (0 < varied).all() and (varied < known).all()


def lead(one: Numbered, led: Any) -> list[np.ndarray]:
    """Q_r (S,A) of the first step after each of 400 episodes that stay in state 0 with action 1 but for a few.

    Args:
        one: a Gram whose steps share.
        led: gives the states (H+1,) from the actions (H,).
    """
    seen = []
    for k in range(400):
        a = np.ones(H, np.int64) if k else np.array([0, 2, 1, 1])
        one.learn(led(a), a, np.full((H, 1 + M), 0.1))
        seen.append(one.plan()[0][0, 0].copy())
    return seen


def test_an_action_that_had_bad_luck_in_its_next_states_is_hoped_for_again() -> None:
    """E is 0 for the one action ever played, and grows with the visits of the state for another."""
    hope = []
    for c in (0.0, 0.3):
        rng = np.random.default_rng(0)
        one = Numbered("one-hot", None, rule(bonus="variance", retry_bonus=c), True)
        Q = lead(one, lambda a, rng=rng: np.concatenate([[0], np.where(a == 1, rng.integers(2, size=H), 0)]))
        hope.append([float(q[0, 0] - q[0, 1]) for q in Q])
    more = np.subtract(hope[1], hope[0])
    assert more[-1] > more[40] + 0.01 > more[5] + 0.02 > 0.02
    again = one.gram.rarity.again[0, 0]
    assert again[1] < 0.01 < 1.0 < again[0]


def test_where_all_next_values_agree_no_pair_is_tried_again_to_the_bit() -> None:
    made = [
        np.array(
            lead(Numbered("one-hot", None, rule(bonus="variance", retry_bonus=c), True), lambda a: np.zeros(H + 1, np.int64))
        )
        for c in (0.0, 0.3)
    ]
    np.testing.assert_array_equal(*made)
