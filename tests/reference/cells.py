"""Soft cells written literally: dense rows, one state and one action at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.agent.minds.soft_cells.kernels.interpolation import Prototypes, StepNoise, Waves
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows
from noregret.agent.minds.soft_cells.kernels.sweep import Belief, Wish

Array = NDArray[np.float64]


def smooth(z: Array, basis: Waves) -> Array:
    pairs = [value for t in range(len(z)) for value in [z[t], *(0.5 * z[t] * z[u] for u in range(t + 1))]]
    return np.concatenate([pairs, np.cos(basis.frequencies @ z + basis.phases)])


def weights(q: Array, prototypes: Prototypes) -> tuple[Array, float]:
    """(N,) weights and the unknown share."""
    Z = prototypes.places.T
    d = ((Z - q) ** 2).sum(axis=1)
    near = np.argsort(d, kind="stable")[: prototypes.k]
    K = 1.0 / (d[near] + prototypes.blur**2)
    K /= K.sum()
    mean = K @ Z[near]
    away = Z[near] - mean
    S = (K[:, None] * away).T @ away
    S += (1e-3 * np.trace(S) / len(q) + 1e-10) * np.eye(len(q))
    w = K * np.maximum(1.0 + away @ np.linalg.solve(S, q - mean), 0.0)
    if w.sum() < 1e-9:
        w = np.eye(len(near))[0]
    out = np.zeros(len(Z))
    out[near] = w / w.sum()
    miss = ((out @ Z - q) ** 2).sum()
    return out, float(1.0 - np.exp(-max(miss, 0.25 * d.min()) / prototypes.reach**2))


def dense(rows: ModelRows) -> Array:
    """(N,A,N) the rows, dense; those without entries stay."""
    N, A = rows.allowed.shape
    out = np.zeros((N, A, N))
    for i in range(N):
        for a in range(A):
            entries = range(rows.first[i * A + a], rows.first[i * A + a + 1])
            if not entries:
                out[i, a, i] = 1.0
            for e in entries:
                out[i, a, rows.after[e]] += rows.weight[e]
    return out


def policy(Q: Array, allowed: NDArray[np.bool_], wish: Wish) -> Array:
    """Chances (A,) for Q (J,A)."""
    composite = np.where(allowed, wish.prices @ Q, -np.inf)
    e = np.exp(wish.sharpness * (composite - composite.max()))
    return e / e.sum()


def backward(rows: ModelRows, wish: Wish) -> tuple[Array, Array]:
    """V (H+1,J,N) and coef (H,J,p)."""
    N, A, J = rows.signal.shape
    H, P = wish.unknown.shape[1], dense(rows)
    V, coef = np.zeros((H + 1, J, N)), np.zeros((H, J, rows.projector.shape[1]))
    V[H, :, rows.terminal] = rows.pay[rows.terminal]
    for h in range(H - 1, -1, -1):
        coef[h] = V[h + 1] @ rows.projector
        for i in range(N):
            if rows.terminal[i]:
                V[h, :, i] = (H - h) * wish.end + rows.pay[i]
                continue
            Q = np.zeros((J, A))
            for a in range(A):
                row = i * A + a
                after = V[h + 1] @ P[i, a]
                if rows.first[row] != rows.first[row + 1]:
                    near = V[h + 1][:, P[i, a] > 0.0]
                    after = np.clip(after + coef[h] @ rows.correction[:, row], near.min(axis=1), near.max(axis=1))
                after = (1.0 - rows.ends[row]) * after + rows.ends[row] * (H - h - 1) * wish.end
                unknown = np.array([rows.unknown[row], *[rows.untried[row]] * (J - 1)])
                after += unknown * np.maximum(wish.unknown[:, h] - after, 0.0)
                Q[:, a] = np.clip(after + rows.signal[i, a], 0.0, H - h)
            V[h, :, i] = Q @ policy(Q, rows.allowed[i], wish)
    return V, coef


def next_state(q: Array, prototypes: Prototypes, noise: StepNoise) -> tuple[Array, float, Array]:
    """Weights (N,), the unknown share and b(q) - Σ w b(z), averaged over the noise; q may leave the box."""
    w, unknown, rest = np.zeros(prototypes.places.shape[1]), 0.0, np.zeros(prototypes.smooth.shape[1])
    for shift, chance in zip(noise.shifts, noise.chances, strict=True):
        at = np.clip(q + shift, -3.0, 3.0)
        here, share = weights(at, prototypes)
        w, unknown = w + chance * here, unknown + chance * share
        rest = rest + chance * (smooth(at, prototypes.basis) - here @ prototypes.smooth)
    return w, unknown, rest


def values_at(z: Array, h: int, plan: tuple[Prototypes, Belief, StepNoise], wish: Wish, found: tuple[Array, Array]) -> Array:
    """Q (J,A) at a state."""
    prototypes, belief, noise = plan
    V, coef = found
    D, A, J, H = len(z), len(belief.B), V.shape[1], len(coef)
    away = ((prototypes.places.T - z) ** 2).sum(axis=1)
    home = int(away.argmin())
    counted, seen = away[home] <= 1e-12, belief.seen
    waves = belief.scale * np.cos(belief.basis.frequencies @ z + belief.basis.phases)
    f, Q = np.concatenate([[1.0], z, waves]), np.zeros((J, A))
    for a in range(A):
        out = f @ belief.B[a]
        out[D:-1] = np.clip(out[D:-1], belief.low, belief.low + belief.width)
        out[-1] = np.clip(out[-1], 0.0, 1.0)
        out += belief.residual[home, a]
        w, unknown, rest = next_state(z + out[:D], prototypes, noise)
        row, end, untried = home * A + a, float(np.clip(out[-1], 0.0, 1.0)), 0.0
        if counted:
            w, unknown, rest = (seen.rest[row] * part for part in (w, unknown, rest))
            for e in range(seen.first[row], seen.first[row + 1]):
                w[seen.after[e]] += seen.share[e]
            end, untried = belief.ended[home, a] + belief.doubt[home, a] * end, belief.untried[row]
        near = V[h + 1][:, w > 0.0]
        after = np.clip(V[h + 1] @ w + coef[h] @ rest, near.min(axis=1), near.max(axis=1))
        after = (1.0 - end) * after + end * (H - h - 1) * wish.end
        unknown /= 1.0 + belief.visits[home, a]
        after += np.array([unknown, *[max(unknown, untried)] * (J - 1)]) * np.maximum(wish.unknown[:, h] - after, 0.0)
        Q[:, a] = np.clip(after + np.clip((out[D:-1] - belief.low) / belief.width, 0.0, 1.0), 0.0, H - h)
    return Q
