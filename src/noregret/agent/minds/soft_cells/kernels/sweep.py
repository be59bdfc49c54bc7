"""The backward pass over all prototypes, and the same values at one state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.kernels.interpolation import (
    EDGE,
    Prototypes,
    StepNoise,
    Waves,
    interpolate,
    near,
    smooth_features,
)
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows, Seen
from noregret.agent.minds.soft_cells.types import Array, Flags, Singles
from noregret.kernels.compiler.jit import jit

#: Chances below exp of this are 0.
NEVER = -30.0
#: A state whose squared distance to a prototype is at most this is that prototype.
SAME = 1e-12
#: Values are steady where going on would change them by less than this share of H. This is asked every so many steps, and not
#: before so many were made: what is worth its price only after a long time looks steady at first.
STEADY, CHECKED, PATIENT = 5e-3, 10, 200


#: Steps of a backward pass that are counted as work, at most, of states with few numbers and with more: passes end early where
#: values are steady, which takes longer with more numbers.
_COUNTED, _MANY = (500, 1000), 4


def counted_steps(horizon: int, dimension: int) -> int:
    """The steps that are counted as work of a backward pass."""
    return min(horizon, _COUNTED[dimension >= _MANY])


class Wish(NamedTuple):
    """What a plan is made for: prices, how sharply it chooses, and what it hopes for."""

    prices: Array  # (J,) weight of each signal in the composite; the reward's is 1
    sharpness: float  # of the soft-max
    unknown: Array  # (J,H) U_h: what an unknown next state at step h is worth; 0 where nothing is hoped for
    end: Array  # (J,) what each step after an end is worth


class PlanValues(NamedTuple):
    """What a backward pass finds: the values at prototypes, and their smooth part."""

    V: Singles  # (H+1,J,N) float32
    coef: Singles  # (H,J,p) float32: the smooth part of V_{h+1}


class Belief(NamedTuple):
    """The model at any state: B_aᵀ f(z), plus what is left at the nearest prototype."""

    basis: Waves  # of f
    scale: float  # of the Fourier part of f
    B: Array  # (A,P,D+J+1); the last column is the chance of an end
    residual: Array  # (N,A,D+J+1)
    visits: Array  # (N,A)
    untried: Array  # (N·A,) the least unknown share for what is hoped of limits
    seen: Seen  # what was counted, with nothing in it where states do not come back
    ended: Array  # (N,A) the counted part of the chance of an end
    doubt: Array  # (N,A) the share of that chance that is left to B and the residual
    low: Array  # (J,) raw signal that is 0
    width: Array  # (J,) raw signal that is 1


@jit
def soft_max(Q: Singles, allowed: Flags, wish: Wish, out: Array) -> None:
    """The soft-max policy π(a) ∝ exp(sharpness Σ_j price_j Q_j(a)) over the actions that can be taken, at many prototypes.

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
def action_values(rows: ModelRows, wish: Wish, V: Singles, left: int, Q: Singles, which: tuple[int, int]) -> None:
    """Q_j of prototypes ``which`` (first, last) with ``left`` steps to go, from V (J,N) of what follows.

    Q (J,n·A) holds the smooth part of P̂V before, and the values afterwards. P̂V is cut to the range of the V that it averages:
    where V jumps, the smooth part overshoots, and errors would grow from step to step. Where the step ends the episode, what
    follows is worth that of the steps after an end. The unknown share of a pair is worth U. Q is cut to [0, left].
    """
    first, after, weight, signal = rows.first, rows.after, rows.weight, rows.signal
    A, J, h, most = signal.shape[1], len(Q), wish.unknown.shape[1] - left, np.float64(left)
    begin, end = which
    for j in range(J):
        worth, over = wish.unknown[j, h], (left - 1) * wish.end[j]
        unknown = rows.untried if j else rows.unknown
        for i in range(begin, end):
            for a in range(A):
                row = i * A + a
                start, stop, place = first[row], first[row + 1], row - begin * A
                total, low, high = Q[j, place], np.float32(np.inf), np.float32(-np.inf)
                if start == stop:
                    total = low = high = V[j, i]
                for e in range(start, stop):
                    v = V[j, after[e]]
                    total += weight[e] * v
                    low, high = min(low, v), max(high, v)
                follows = np.float64(min(max(total, low), high))
                follows += rows.ends[row] * (over - follows)
                follows += unknown[row] * max(worth - follows, 0.0)
                Q[j, place] = min(max(follows + signal[i, a, j], 0.0), most)


@jit
def smooth_part(V: Singles, projector: Singles, correction: Singles, coef: Singles, out: Singles) -> None:
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
def average(chances: Array, Q: Singles, rows: ModelRows, ended: Array, V: Singles) -> None:
    """V_j(z_i) = Σ_a π(a) Q_j(z_i,a) into V (J,N); at an end V is what the steps after it are worth, plus its pay."""
    terminal, pay = rows.terminal, rows.pay
    N, A = chances.shape
    for j in range(len(V)):
        for i in range(N):
            value = 0.0
            for a in range(A):
                value += chances[i, a] * Q[j, i * A + a]
            V[j, i] = ended[j] + pay[i, j] if terminal[i] else value


@jit
def fill_pools(V: Singles, rows: ModelRows, out: Singles) -> None:
    """V (J,N), and after it the mean of each pool, into ``out`` (J,N+L)."""
    N = V.shape[1]
    for j in range(len(V)):
        out[j, :N] = V[j]
        for pool in range(len(rows.pool_first) - 1):
            begin, end = rows.pool_first[pool], rows.pool_first[pool + 1]
            total = 0.0
            for e in range(begin, end):
                total += V[j, rows.pool[e]]
            out[j, N + pool] = total / max(end - begin, 1)


@jit
def steady(values: PlanValues, wish: Wish, h: int) -> bool:
    """Whether V_h - V_{h+1} and V_{h+1} - V_{h+2} are so near each other that h more such steps change V by less than STEADY·H.

    What is hoped for must grow evenly too: where it does not, values will not.
    """
    V, H = values.V, len(values.coef)
    most = STEADY * H / h
    for j in range(V.shape[1]):
        for i in range(V.shape[2]):
            if abs(V[h, j, i] - 2 * V[h + 1, j, i] + V[h + 2, j, i]) > most:
                return False
        for before in range(h):
            if abs(wish.unknown[j, before] - 2 * wish.unknown[j, before + 1] + wish.unknown[j, before + 2]) > most:
                return False
    return True


@jit
def backward(rows: ModelRows, wish: Wish, values: PlanValues) -> None:
    """V_h(z_i) of the soft-max policy, for h = H-1 down to 0.

    P̂V = Σ_j w_j V(z_j) + [b(q) - Σ_j w_j b(z_j)]·coef, coef = projectorᵀ V: what is smooth in V is taken at q itself, and only
    the rest is interpolated. Q gets u (U_h - P̂V)₊ for the unknown share u. Every Q is clipped to [0, H-h]. Once each step adds
    what the step after it added, all earlier steps add the same.
    """
    V, coef = values.V, values.coef
    H, (N, A, J) = len(coef), rows.signal.shape
    Q, chances = np.zeros((J, N * A), np.float32), np.zeros((N, A))
    average(chances, Q, rows, 0.0 * wish.end, V[H])
    L = len(rows.pool_first) - 1
    pooled = np.zeros((J, N + L if L else 0), np.float32)
    for h in range(H - 1, -1, -1):
        smooth_part(V[h + 1], rows.projector, rows.correction, coef[h], Q)
        if L:
            fill_pools(V[h + 1], rows, pooled)
        action_values(rows, wish, pooled if L else V[h + 1], H - h, Q, (0, N))
        soft_max(Q, rows.allowed, wish, chances)
        average(chances, Q, rows, (H - h) * wish.end, V[h])
        if h % CHECKED == 0 and 0 < h < H - PATIENT and steady(values, wish, h):
            for before in range(h - 1, -1, -1):
                V[before] = 2 * V[before + 1] - V[before + 2]
                coef[before] = 2 * coef[before + 1] - coef[before + 2]
            break


@jit
def model_features(z: Array, basis: Waves, scale: float, out: Array) -> None:
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
def values_at(z: Array, h: int, plan: tuple[Prototypes, Belief, StepNoise], wish: Wish, values: PlanValues) -> Singles:
    """Q (J,A) at a state and step: what :func:`backward` does at prototypes; ``plan`` is (prototypes, belief, noise)."""
    prototypes, belief, noise = plan
    A, P, E = belief.B.shape
    D, p, H = len(z), prototypes.smooth.shape[1], len(values.coef)
    J, room, seen = E - D - 1, near(prototypes), belief.seen
    f, q, b, out, Q = np.empty(P), np.empty(D), np.empty(p), np.empty(E), np.zeros((J, A), np.float32)
    low, high = np.empty(J), np.empty(J)
    model_features(z, belief.basis, belief.scale, f)
    interpolate(z, prototypes, room)
    home = room.which[0]
    counted = room.distance[0] <= SAME
    for a in range(A):
        row = home * A + a
        whole = seen.rest[row] if counted else 1.0
        out[:] = 0.0
        for n in range(P):
            for e in range(E):
                out[e] += f[n] * belief.B[a, n, e]
        for j in range(J):
            out[D + j] = min(max(out[D + j], belief.low[j]), belief.low[j] + belief.width[j])
        out[D + J] = min(max(out[D + J], 0.0), 1.0)
        for e in range(E):
            out[e] += belief.residual[home, a, e]
        unknown = 0.0
        low[:], high[:] = np.inf, -np.inf
        for s in range(len(noise.chances)):
            for t in range(D):
                q[t] = min(max(z[t] + out[t] + noise.shifts[s, t], -EDGE), EDGE)
            chance = whole * noise.chances[s]
            if chance == 0.0:
                continue
            unknown += chance * interpolate(q, prototypes, room)
            smooth_features(q, prototypes.basis, b)
            for n in range(prototypes.k):
                w = room.weight[n]
                if w > 0.0:
                    for c in range(p):
                        b[c] -= w * prototypes.smooth[room.which[n], c]
                    for j in range(J):
                        v = values.V[h + 1, j, room.which[n]]
                        Q[j, a] += chance * w * v
                        low[j], high[j] = min(low[j], v), max(high[j], v)
            for j in range(J):
                for c in range(p):
                    Q[j, a] += chance * b[c] * values.coef[h, j, c]
        if counted:
            for e in range(seen.first[row], seen.first[row + 1]):
                for j in range(J):
                    v = values.V[h + 1, j, seen.after[e]]
                    Q[j, a] += seen.share[e] * v
                    low[j], high[j] = min(low[j], v), max(high[j], v)
        unknown /= 1.0 + belief.visits[home, a]
        end = min(max(out[D + J], 0.0), 1.0)
        if counted:
            end = belief.ended[home, a] + belief.doubt[home, a] * end
        for j in range(J):
            Q[j, a] = min(max(Q[j, a], low[j]), high[j])
            Q[j, a] += end * ((H - h - 1) * wish.end[j] - Q[j, a])
            if j == 1 and counted:
                unknown = max(unknown, belief.untried[row])
            Q[j, a] += unknown * max(wish.unknown[j, h] - Q[j, a], 0.0)
            signal = min(max((out[D + j] - belief.low[j]) / belief.width[j], 0.0), 1.0)
            Q[j, a] = min(max(Q[j, a] + signal, 0.0), H - h)
    return Q
