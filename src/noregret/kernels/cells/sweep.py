"""The backward pass over all prototypes, and the same values at one state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.cells.interpolation import EDGE, interpolate, near, smooth_features
from noregret.kernels.jit import jit

#: Chances below exp of this are 0.
NEVER = -30.0


class Wish(NamedTuple):
    """What a plan is made for."""

    prices: Any  # (J,) weight of each signal in the composite; the reward's is 1
    sharpness: float  # of the soft-max
    unknown: Any  # (H,) U_h: what an unknown next state at step h is worth in reward
    end: Any  # (J,) what each step after an end is worth


class Values(NamedTuple):
    """What a pass finds."""

    V: Any  # (H+1,J,N) float32
    coef: Any  # (H,J,p) float32: the smooth part of V_{h+1}


class Belief(NamedTuple):
    """The model at any state: B_aᵀ f(z), plus what is left at the nearest prototype."""

    basis: Any  # of f
    scale: float  # of the Fourier part of f
    B: Any  # (A,P,D+J)
    residual: Any  # (N,A,D+J)
    visits: Any  # (N,A)
    low: Any  # (J,) raw signal that is 0
    width: Any  # (J,) raw signal that is 1


@jit
def soft_max(Q: Any, allowed: Any, wish: Any, out: Any) -> None:
    """Values Σ_a π(a) Q_j(a) of π(a) ∝ exp(sharpness Σ_j price_j Q_j(a)), at many prototypes.

    Args:
        Q: (J,n·A).
        allowed: (n,A) whether an action can be taken.
        wish: prices and sharpness.
        out: (n,A) becomes π.
    """
    J, (n, A) = len(Q), allowed.shape
    prices, sharpness = wish.prices, wish.sharpness
    for i in range(n):
        best, total = -np.inf, 0.0
        for a in range(A):
            composite = 0.0
            for j in range(J):
                composite += prices[j] * Q[j, i * A + a]
            out[i, a] = composite if allowed[i, a] else -np.inf
            best = max(best, out[i, a])
        for a in range(A):
            power = sharpness * (out[i, a] - best)
            out[i, a] = np.exp(power) if power > NEVER else 0.0
            total += out[i, a]
        for a in range(A):
            out[i, a] /= total


@jit
def action_values(rows: Any, wish: Any, V: Any, left: int, Q: Any, which: Any) -> None:
    """Q_j of prototypes ``which`` (first, last) with ``left`` steps to go, from V (J,N) of what follows.

    Q (J,n·A) comes with what is to be added to P̂V, which then must not leave the range of the V it averages: where V jumps the
    smooth part overshoots, and errors would grow from step to step. The unknown share of a pair is worth U in reward. Q is
    clipped to [0, left].
    """
    first, index, weight, unknown, signal = rows.first, rows.index, rows.weight, rows.unknown, rows.signal
    A, J, worth, most = signal.shape[1], len(Q), wish.unknown[len(wish.unknown) - left], np.float64(left)
    begin, end = which
    for j in range(J):
        for i in range(begin, end):
            for a in range(A):
                row = i * A + a
                start, stop, place = first[row], first[row + 1], row - begin * A
                total, low, high = Q[j, place], np.float32(np.inf), np.float32(-np.inf)
                if start == stop:
                    total = low = high = V[j, i]
                for e in range(start, stop):
                    v = V[j, index[e]]
                    total += weight[e] * v
                    low, high = min(low, v), max(high, v)
                after = np.float64(min(max(total, low), high))
                if j == 0:
                    after += unknown[row] * max(worth - after, 0.0)
                Q[j, place] = min(max(after + signal[i, a, j], 0.0), most)


@jit
def smooth_part(V: Any, projector: Any, correction: Any, coef: Any, out: Any) -> None:
    """coef_j = projectorᵀ V_j, and out_j = correctionᵀ coef_j, for every signal."""
    N, p = projector.shape
    for j in range(len(V)):
        for c in range(p):
            coef[j, c] = 0.0
        for i in range(N):
            for c in range(p):
                coef[j, c] += projector[i, c] * V[j, i]
        for row in range(out.shape[1]):
            out[j, row] = 0.0
        for c in range(p):
            slope = coef[j, c]
            for row in range(out.shape[1]):
                out[j, row] += correction[c, row] * slope


@jit
def average(chances: Any, Q: Any, rows: Any, ended: Any, V: Any) -> None:
    """V_j(z_i) = Σ_a π(a) Q_j(z_i,a) into V (J,N); at ends what comes after an end, and what the end pays."""
    terminal, pay = rows.terminal, rows.pay
    N, A = chances.shape
    for j in range(len(V)):
        for i in range(N):
            value = 0.0
            for a in range(A):
                value += chances[i, a] * Q[j, i * A + a]
            V[j, i] = ended[j] + pay[i, j] if terminal[i] else value


@jit
def backward(rows: Any, wish: Any, values: Any) -> None:
    """V_h(z_i) of the soft-max policy, for h = H-1 down to 0.

    P̂V = Σ_j w_j V(z_j) + [b(q) - Σ_j w_j b(z_j)]·coef, coef = projectorᵀ V: what is smooth in V is taken at q itself, and only
    the rest is interpolated. Q_r gets u (U_h - P̂V_r)₊ for the unknown share u. Every Q is clipped to [0, H-h].
    """
    V, coef = values.V, values.coef
    H, (N, A, J) = len(coef), rows.signal.shape
    Q, chances = np.zeros((J, N * A), np.float32), np.zeros((N, A))
    average(chances, Q, rows, 0.0 * wish.end, V[H])
    for h in range(H - 1, -1, -1):
        smooth_part(V[h + 1], rows.projector, rows.correction, coef[h], Q)
        action_values(rows, wish, V[h + 1], H - h, Q, (0, N))
        soft_max(Q, rows.allowed, wish, chances)
        average(chances, Q, rows, (H - h) * wish.end, V[h])


@jit
def model_features(z: Any, basis: Any, scale: float, out: Any) -> None:
    """f(z) = (1, z, scale cos(ωz + φ)) into ``out`` (P,)."""
    D = len(z)
    out[0] = 1.0
    out[1 : 1 + D] = z
    for n in range(len(basis.phases)):
        angle = basis.phases[n]
        for t in range(D):
            angle += basis.frequencies[n, t] * z[t]
        out[1 + D + n] = scale * np.cos(angle)


@jit
def values_at(z: Any, h: int, plan: Any, wish: Any, values: Any) -> Any:
    """Q (J,A) at a state and step: what :func:`backward` does at prototypes; ``plan`` is (grid, belief, noise)."""
    grid, belief, noise = plan
    A, P, E = belief.B.shape
    D, p, H = len(z), grid.smooth.shape[1], len(values.coef)
    J, room = E - D, near(grid)
    f, q, b, out, Q = np.empty(P), np.empty(D), np.empty(p), np.empty(E), np.zeros((J, A), np.float32)
    low, high = np.empty(J), np.empty(J)
    model_features(z, belief.basis, belief.scale, f)
    interpolate(z, grid, room)
    home = room.index[0]
    for a in range(A):
        out[:] = 0.0
        for n in range(P):
            for e in range(E):
                out[e] += f[n] * belief.B[a, n, e]
        for j in range(J):
            out[D + j] = min(max(out[D + j], belief.low[j]), belief.low[j] + belief.width[j])
        for e in range(E):
            out[e] += belief.residual[home, a, e]
        unknown = 0.0
        low[:], high[:] = np.inf, -np.inf
        for s in range(len(noise.chances)):
            for t in range(D):
                q[t] = min(max(z[t] + out[t] + noise.shifts[s, t], -EDGE), EDGE)
            unknown += noise.chances[s] * interpolate(q, grid, room)
            smooth_features(q, grid.basis, b)
            for n in range(grid.k):
                w = room.weight[n]
                if w > 0.0:
                    for c in range(p):
                        b[c] -= w * grid.smooth[room.index[n], c]
                    for j in range(J):
                        v = values.V[h + 1, j, room.index[n]]
                        Q[j, a] += noise.chances[s] * w * v
                        low[j], high[j] = min(low[j], v), max(high[j], v)
            for j in range(J):
                for c in range(p):
                    Q[j, a] += noise.chances[s] * b[c] * values.coef[h, j, c]
        for j in range(J):
            Q[j, a] = min(max(Q[j, a], low[j]), high[j])
        Q[0, a] += unknown / (1.0 + belief.visits[home, a]) * max(wish.unknown[h] - Q[0, a], 0.0)
        for j in range(J):
            signal = min(max((out[D + j] - belief.low[j]) / belief.width[j], 0.0), 1.0)
            Q[j, a] = min(max(Q[j, a] + signal, 0.0), H - h)
    return Q
