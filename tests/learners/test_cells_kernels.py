"""The kernels of soft cells against their literal versions, fed the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.agent.minds.soft_cells.kernels.interpolation import (
    Boxes,
    Prototypes,
    StepNoise,
    Waves,
    interpolate,
    near,
    nearest,
    smooth_matrix,
)
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows, Seen, build_rows, no_pools
from noregret.agent.minds.soft_cells.kernels.sweep import Belief, PlanValues, Wish, backward, soft_max, values_at
from tests.reference import cells as slow

pytestmark = pytest.mark.kernels

A, J, H = 3, 2, 6


def prototypes_of(random: np.random.Generator, D: int, N: int) -> Prototypes:
    Z, basis = random.uniform(-1.5, 1.5, (N, D)), Waves(random.standard_normal((4, D)), random.uniform(0.0, 6.0, 4))
    smooth = smooth_matrix(Z, basis, D + D * (D + 1) // 2 + 4)
    return Prototypes(np.ascontiguousarray(Z.T), smooth, basis, 2 * D + 2, 0.01, 0.4, Boxes.of(Z))


def seen_of(random: np.random.Generator, N: int, some: bool) -> Seen:
    """Counts of a third of all pairs, wholly or in part; or of none."""
    counted = (random.random(N * A) < 0.33) & some
    rest = np.where(counted, random.choice([0.0, 0.4], N * A), 1.0)
    first, after = np.concatenate([[0], np.cumsum(2 * counted)]), random.integers(0, N, 2 * int(counted.sum()))
    return Seen(first, after.astype(np.int32), np.repeat((1.0 - rest[counted]) / 2.0, 2).astype(np.float32), rest)


def rows_of(
    random: np.random.Generator, prototypes: Prototypes, noise: StepNoise, seen: Seen
) -> tuple[ModelRows, np.ndarray, np.ndarray]:
    D, N = prototypes.places.shape
    terminal, visits = random.random(N) < 0.2, random.integers(0, 4, (N, A)).astype(float)
    shift = 0.3 * random.standard_normal((N, A, D))
    first, after, weight, unknown, correction = build_rows(prototypes, shift, noise, visits, terminal, seen)
    allowed = random.random((N, A)) < 0.7
    allowed[:, 0] |= ~allowed.any(axis=1)
    projector = (0.1 * random.standard_normal((N, prototypes.smooth.shape[1]))).astype(np.float32)
    pay = np.where(terminal[:, None], random.random((N, J)), 0.0)
    untried, ends = np.maximum(unknown, 0.2), random.random(N * A) * (random.random(N * A) < 0.5)
    signal = random.random((N, A, J))
    rows = ModelRows(
        first, after, weight, unknown, untried, signal, allowed, ends, terminal, pay, correction, projector, *no_pools()
    )
    return rows, shift, visits


NOISES = {
    "none": StepNoise(np.zeros((1, 2)), np.ones(1)),
    "some": StepNoise(np.array([[0.2, 0.0], [-0.1, 0.1]]), np.array([0.3, 0.7])),
}


@pytest.mark.parametrize(("D", "N"), [(1, 1), (1, 9), (2, 3), (2, 40), (4, 60)])
def test_interpolation(D: int, N: int) -> None:
    random = np.random.default_rng(N)
    prototypes = prototypes_of(random, D, N)
    for q in random.uniform(-2.0, 2.0, (20, D)):
        room = near(prototypes)
        unknown = interpolate(q, prototypes, room)
        w = np.zeros(N)
        np.add.at(w, room.which[room.weight > 0], room.weight[room.weight > 0])
        expected, share = slow.weights(q, prototypes)
        np.testing.assert_allclose(w, expected, atol=1e-8)
        assert unknown == pytest.approx(share, abs=1e-8) and w.sum() == pytest.approx(1.0) and (w >= 0.0).all()


@pytest.mark.parametrize(("D", "N"), [(1, 1), (1, 40), (2, 16), (2, 17), (3, 500), (12, 300)])
@pytest.mark.parametrize("grid", [False, True], ids=["anywhere", "many ties"])
def test_the_search_passes_over_no_nearer_point(D: int, N: int, grid: bool) -> None:
    random = np.random.default_rng(D)
    Z, queries = random.uniform(-3.0, 3.0, (N, D)), random.uniform(-3.0, 3.0, (200, D))
    if grid:
        Z, queries = np.round(Z), np.round(2.0 * queries) / 2.0
    prototypes = Prototypes(
        np.ascontiguousarray(Z.T), np.zeros((N, 0), np.float32), Waves(np.zeros((0, D)), np.zeros(0)), 8, 0.01, 0.4, Boxes.of(Z)
    )
    room, k = near(prototypes), min(8, N)
    for q in queries:
        square = np.zeros(N)
        for t in range(D):
            square += (Z[:, t] - q[t]) ** 2
        order = np.argsort(square, kind="stable")[:k]
        assert nearest(q, prototypes.boxes, room) == k
        assert room.which[:k].tolist() == order.tolist() and (room.distance[:k] == square[order]).all()


def test_a_point_inside_is_the_mean_of_its_neighbours() -> None:
    side = np.linspace(-1.0, 1.0, 9)
    Z = np.array([(x, y) for x in side for y in side])
    prototypes = Prototypes(
        np.ascontiguousarray(Z.T),
        np.zeros((81, 0), np.float32),
        Waves(np.zeros((0, 2)), np.zeros(0)),
        6,
        0.01,
        0.4,
        Boxes.of(Z),
    )
    room = near(prototypes)
    q = np.array([0.13, -0.31])
    assert interpolate(q, prototypes, room) < 0.05
    np.testing.assert_allclose(room.weight @ Z[room.which], q, atol=0.03)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_rows(noise: StepNoise) -> None:
    random = np.random.default_rng(1)
    prototypes = prototypes_of(random, 2, 30)
    seen = seen_of(random, 30, True)
    rows, shift, visits = rows_of(random, prototypes, noise, seen)
    P = slow.dense(rows)
    for i in range(30):
        for a in range(A):
            row = i * A + a
            if rows.terminal[i]:
                assert rows.first[row + 1] - rows.first[row] == seen.first[row + 1] - seen.first[row]
                continue
            w, unknown, rest = slow.next_state(prototypes.places[:, i] + shift[i, a], prototypes, noise)
            w = seen.rest[row] * w
            for e in range(seen.first[row], seen.first[row + 1]):
                w[seen.after[e]] += seen.share[e]
            np.testing.assert_allclose(P[i, a], w, atol=5e-4)
            assert rows.unknown[row] == pytest.approx(seen.rest[row] * unknown / (1.0 + visits[i, a]), abs=1e-6)
            np.testing.assert_allclose(rows.correction[:, row], seen.rest[row] * rest, atol=2e-3)


@pytest.mark.parametrize("some", [False, True], ids=["nothing counted", "some counted"])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_backward_and_values(noise: StepNoise, some: bool) -> None:
    random = np.random.default_rng(2)
    prototypes = prototypes_of(random, 2, 25)
    seen = seen_of(random, 25, some)
    rows, _, visits = rows_of(random, prototypes, noise, seen)
    p = prototypes.smooth.shape[1]
    wish = Wish(np.array([1.0, 0.7]), 4.0, np.array([[1.0], [1.5]]) * np.linspace(3.0, 0.0, H), np.array([0.3, 0.8]))
    values = PlanValues(np.zeros((H + 1, J, 25), np.float32), np.zeros((H, J, p), np.float32))
    backward(rows, wish, values)
    V, coef = slow.backward(rows, wish)
    np.testing.assert_allclose(values.V, V, atol=1e-4)
    np.testing.assert_allclose(values.coef, coef, atol=1e-4)
    basis = Waves(random.standard_normal((5, 2)), random.uniform(0.0, 6.0, 5))
    B, residual = 0.2 * random.standard_normal((A, 8, 3 + J)), 0.1 * random.standard_normal((25, A, 3 + J))
    ended = 0.5 * random.random((25, A))
    span = np.array([-1.0, 0.0]), np.array([1.0, 2.0])
    belief = Belief(basis, 0.3, B, residual, visits, np.full(25 * A, 0.2), seen, ended, 0.9 - ended, *span)
    for h, z in ((0, random.uniform(-1.0, 1.0, 2)), (H - 1, random.uniform(-1.0, 1.0, 2)), *enumerate(prototypes.places.T[:5])):
        Q = values_at(z, h, (prototypes, belief, noise), wish, values)
        np.testing.assert_allclose(Q, slow.values_at(z, h, (prototypes, belief, noise), wish, (V, coef)), atol=1e-3)


def test_soft_max_never_takes_what_cannot_be_done() -> None:
    random = np.random.default_rng(3)
    Q, allowed = random.random((J, 4 * A)).astype(np.float32), np.array([[True, False, True], [False, True, False]] * 2)
    wish, out = Wish(np.array([1.0, 2.0]), 5.0, np.zeros((J, H)), np.zeros(J)), np.zeros((4, A))
    soft_max(Q, allowed, wish, out)
    assert (out[~allowed] == 0.0).all()
    for i in range(4):
        np.testing.assert_allclose(out[i], slow.policy(Q[:, i * A : (i + 1) * A], allowed[i], wish), atol=1e-6)
