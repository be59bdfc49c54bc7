"""The kernels of soft cells against their literal versions, fed the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.kernels.cells.interpolation import Basis, Grid, Noise, interpolate, near, smooth_matrix
from noregret.kernels.cells.rows import Rows, build_rows
from noregret.kernels.cells.sweep import Belief, Values, Wish, backward, soft_max, values_at
from tests.reference import cells as slow

pytestmark = pytest.mark.kernels

A, J, H = 3, 2, 6


def grid_of(random: np.random.Generator, D: int, N: int) -> Grid:
    Z, basis = random.uniform(-1.5, 1.5, (N, D)), Basis(random.standard_normal((4, D)), random.uniform(0.0, 6.0, 4))
    return Grid(np.ascontiguousarray(Z.T), smooth_matrix(Z, basis, D + D * (D + 1) // 2 + 4), basis, 2 * D + 2, 0.01, 0.4)


def rows_of(random: np.random.Generator, grid: Grid, noise: Noise) -> tuple[Rows, np.ndarray, np.ndarray]:
    D, N = grid.places.shape
    terminal, visits = random.random(N) < 0.2, random.integers(0, 4, (N, A)).astype(float)
    shift = 0.3 * random.standard_normal((N, A, D))
    first, index, weight, unknown, correction = build_rows(grid, shift, noise, visits, terminal)
    allowed = random.random((N, A)) < 0.7
    allowed[:, 0] |= ~allowed.any(axis=1)
    projector = (0.1 * random.standard_normal((N, grid.smooth.shape[1]))).astype(np.float32)
    pay = np.where(terminal[:, None], random.random((N, J)), 0.0)
    rows = Rows(first, index, weight, unknown, random.random((N, A, J)), allowed, terminal, pay, correction, projector)
    return rows, shift, visits


NOISES = {"none": Noise(np.zeros((1, 2)), np.ones(1)), "some": Noise(np.array([[0.2, 0.0], [-0.1, 0.1]]), np.array([0.3, 0.7]))}


@pytest.mark.parametrize(("D", "N"), [(1, 1), (1, 9), (2, 3), (2, 40), (4, 60)])
def test_interpolation(D: int, N: int) -> None:
    random = np.random.default_rng(N)
    grid = grid_of(random, D, N)
    for q in random.uniform(-2.0, 2.0, (20, D)):
        room = near(grid)
        unknown = interpolate(q, grid, room)
        w = np.zeros(N)
        np.add.at(w, room.index[room.weight > 0], room.weight[room.weight > 0])
        expected, share = slow.weights(q, grid)
        np.testing.assert_allclose(w, expected, atol=1e-8)
        assert unknown == pytest.approx(share, abs=1e-8) and w.sum() == pytest.approx(1.0) and (w >= 0.0).all()


def test_a_point_inside_is_the_mean_of_its_neighbours() -> None:
    side = np.linspace(-1.0, 1.0, 9)
    Z = np.array([(x, y) for x in side for y in side])
    grid = Grid(np.ascontiguousarray(Z.T), np.zeros((81, 0), np.float32), Basis(np.zeros((0, 2)), np.zeros(0)), 6, 0.01, 0.4)
    room = near(grid)
    q = np.array([0.13, -0.31])
    assert interpolate(q, grid, room) < 0.05
    np.testing.assert_allclose(room.weight @ Z[room.index], q, atol=0.03)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_rows(noise: Noise) -> None:
    random = np.random.default_rng(1)
    grid = grid_of(random, 2, 30)
    rows, shift, visits = rows_of(random, grid, noise)
    P = slow.dense(rows)
    for i in range(30):
        for a in range(A):
            row = i * A + a
            if rows.terminal[i]:
                assert rows.first[row] == rows.first[row + 1]
                continue
            w, unknown, rest = slow.next_state(grid.places[:, i] + shift[i, a], grid, noise)
            np.testing.assert_allclose(P[i, a], w, atol=5e-4)
            assert rows.unknown[row] == pytest.approx(unknown / (1.0 + visits[i, a]), abs=1e-6)
            np.testing.assert_allclose(rows.correction[:, row], rest, atol=2e-3)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_backward_and_values(noise: Noise) -> None:
    random = np.random.default_rng(2)
    grid = grid_of(random, 2, 25)
    rows, _, visits = rows_of(random, grid, noise)
    p = grid.smooth.shape[1]
    wish = Wish(np.array([1.0, 0.7]), 4.0, np.linspace(3.0, 0.0, H), np.array([0.3, 0.8]))
    values = Values(np.zeros((H + 1, J, 25), np.float32), np.zeros((H, J, p), np.float32))
    backward(rows, wish, values)
    V, coef = slow.backward(rows, wish)
    np.testing.assert_allclose(values.V, V, atol=1e-4)
    np.testing.assert_allclose(values.coef, coef, atol=1e-4)
    basis = Basis(random.standard_normal((5, 2)), random.uniform(0.0, 6.0, 5))
    B, residual = 0.2 * random.standard_normal((A, 8, 2 + J)), 0.1 * random.standard_normal((25, A, 2 + J))
    belief = Belief(basis, 0.3, B, residual, visits, np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    for h in (0, H - 1):
        z = random.uniform(-1.0, 1.0, 2)
        Q = values_at(z, h, (grid, belief, noise), wish, values)
        np.testing.assert_allclose(Q, slow.values_at(z, h, (grid, belief, noise), wish, (V, coef)), atol=1e-3)


def test_soft_max_never_takes_what_cannot_be_done() -> None:
    random = np.random.default_rng(3)
    Q, allowed = random.random((J, 4 * A)).astype(np.float32), np.array([[True, False, True], [False, True, False]] * 2)
    wish, out = Wish(np.array([1.0, 2.0]), 5.0, np.zeros(H), np.zeros(J)), np.zeros((4, A))
    soft_max(Q, allowed, wish, out)
    assert (out[~allowed] == 0.0).all()
    for i in range(4):
        np.testing.assert_allclose(out[i], slow.policy(Q[:, i * A : (i + 1) * A], allowed[i], wish), atol=1e-6)
