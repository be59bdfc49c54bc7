"""Where a point lies among prototypes: weights on the nearest ones that keep the point as their mean, as far as they can."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.types import Array, Integers, Singles
from noregret.kernels.compiler.jit import jit

#: Scaled states lie in [-EDGE, EDGE].
EDGE = 3.0
#: Prototypes in a box.
BOX = 16


class Waves(NamedTuple):
    """Random Fourier features cos(ω·z + φ)."""

    frequencies: Array  # (n,D) ω
    phases: Array  # (n,) φ


class Boxes(NamedTuple):
    """Points that lie near each other, BOX by BOX, so that whole boxes can be passed over in a search."""

    places: Array  # (D,N) the points, box after box
    number: Integers  # (N,) of each point
    low: Array  # (D,boxes) the least coordinates of a box's points
    high: Array  # (D,boxes)

    @classmethod
    def of(cls, Z: Array) -> Boxes:
        """The boxes of points (N,D): all are halved along their widest side until a box holds them."""
        parts, done = [np.arange(len(Z))], []
        while parts:
            part = parts.pop()
            if len(part) <= BOX:
                done.append(part)
                continue
            half, wide = -(-len(part) // BOX) // 2 * BOX, int(np.argmax(np.ptp(Z[part], axis=0)))
            part = part[np.argsort(Z[part, wide], kind="stable")]
            parts += [part[half:], part[:half]]  # only the last box may have room left
        number = np.concatenate(done)
        places, first = np.ascontiguousarray(Z[number].T), np.arange(0, len(Z), BOX)
        return cls(places, number, np.minimum.reduceat(places, first, axis=1), np.maximum.reduceat(places, first, axis=1))


class Prototypes(NamedTuple):
    """Prototypes z_1..z_N, and how a point is spread over them."""

    places: Array  # (D,N) float64
    smooth: Singles  # (N,p) float32, the smooth features b(z_i)
    basis: Waves  # of b
    k: int  # neighbours used
    blur: float  # ε: distances below it do not matter
    reach: float  # ν: what is further away than this is unknown
    boxes: Boxes  # of the places


class StepNoise(NamedTuple):
    """What a step adds to its mean: shift s with probability chance s."""

    shifts: Array  # (S,D)
    chances: Array  # (S,)


class Near(NamedTuple):
    """Room for the answer of :func:`interpolate`."""

    which: Integers  # (k,) numbers of the nearest prototypes
    weight: Array  # (k,)
    distance: Array  # (k,) squared
    every: Array  # (boxes,) squared distances to all


@jit
def near(prototypes: Prototypes) -> Near:
    """Room for one interpolation on ``prototypes``."""
    k, boxes = prototypes.k, prototypes.boxes.low.shape[1]
    return Near(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.zeros(boxes))


@jit
def smooth_features(z: Array, basis: Waves, out: Array) -> None:
    """b(z) = (z, ½ z zᵀ, cos(ωz + φ)) into ``out`` (p,)."""
    D, c = len(z), 0
    for t in range(D):
        out[c] = z[t]
        c += 1
        for u in range(t + 1):
            out[c] = 0.5 * z[t] * z[u]
            c += 1
    for n in range(len(basis.phases)):
        angle = basis.phases[n]
        for t in range(D):
            angle += basis.frequencies[n, t] * z[t]
        out[c] = np.cos(angle)
        c += 1


@jit
def smooth_matrix(states: Array, basis: Waves, p: int) -> Singles:
    """The smooth features b of all states (n,D), as (n,p) float32."""
    out, row = np.empty((len(states), p), np.float32), np.empty(p)
    for i in range(len(states)):
        smooth_features(states[i], basis, row)
        for c in range(p):
            out[i, c] = row[c]
    return out


@jit
def nearest(q: Array, boxes: Boxes, out: Near) -> int:
    """The prototypes nearest to ``q``, nearest first and by number where equally near, into ``out``; returns how many.

    A box that is further away than the k-th nearest so far is passed over. That is exact: rounding keeps the order of sums of
    squares, so no point is nearer than its box.
    """
    places, number, low, high, every = boxes.places, boxes.number, boxes.low, boxes.high, out.every
    (D, N), G = places.shape, len(every)
    k, filled, home = min(len(out.which), N), 0, 0
    for g in range(G):
        every[g] = 0.0
    for t in range(D):
        for g in range(G):
            every[g] += max(low[t, g] - q[t], q[t] - high[t, g], 0.0) ** 2
    for g in range(G):
        if every[g] < every[home]:
            home = g
    for n in range(-1, G):
        g = home if n < 0 else n
        if (n == home) or (filled == k and every[g] > out.distance[k - 1]):
            continue
        for i in range(g * BOX, min((g + 1) * BOX, N)):
            d, name = 0.0, number[i]
            for t in range(D):
                d += (places[t, i] - q[t]) ** 2
            if filled == k and (d > out.distance[k - 1] or (d == out.distance[k - 1] and name > out.which[k - 1])):
                continue
            filled = min(filled + 1, k)
            place = filled - 1
            while place > 0 and (out.distance[place - 1] > d or (out.distance[place - 1] == d and out.which[place - 1] > name)):
                out.distance[place], out.which[place] = out.distance[place - 1], out.which[place - 1]
                place -= 1
            out.distance[place], out.which[place] = d, name
    return filled


@jit
def solve(S: Array, b: Array) -> None:
    """Write S⁻¹ b into b, for a positive definite S, which becomes its Cholesky factor."""
    D = len(b)
    for t in range(D):
        for u in range(t + 1):
            total = S[t, u]
            for n in range(u):
                total -= S[t, n] * S[u, n]
            S[t, u] = np.sqrt(max(total, 1e-12)) if t == u else total / S[u, u]
    for t in range(D):
        for n in range(t):
            b[t] -= S[t, n] * b[n]
        b[t] /= S[t, t]
    for t in range(D - 1, -1, -1):
        for n in range(t + 1, D):
            b[t] -= S[n, t] * b[n]
        b[t] /= S[t, t]


@jit
def interpolate(q: Array, prototypes: Prototypes, out: Near) -> float:
    r"""Weights of ``q`` on its nearest prototypes, and the share of ``q`` that is unknown.

    w_j ∝ K_j (1 + (z_j - m)ᵀ S⁻¹ (q - m))₊ with K_j = 1/(d_j² + ε²), where m and S are the K-weighted mean and covariance: the
    weights of a local line, cut at 0. They sum to 1. The unknown share is 1 - exp(-max(\|Σ_j w_j z_j - q\|², d_1²/4)/ν²).
    Weights of prototypes that are not used become 0.
    """
    places, which, weight = prototypes.places, out.which, out.weight
    D, k = len(places), nearest(q, prototypes.boxes, out)
    weight[:] = 0.0
    total = 0.0
    for j in range(k):
        weight[j] = 1.0 / (out.distance[j] + prototypes.blur**2)
        total += weight[j]
    mean, S, b = np.zeros(D), np.zeros((D, D)), np.empty(D)  # relative to q
    for j in range(k):
        weight[j] /= total
        for t in range(D):
            mean[t] += weight[j] * (places[t, which[j]] - q[t])
    trace = 0.0
    for j in range(k):
        for t in range(D):
            for u in range(t + 1):
                S[t, u] += weight[j] * (places[t, which[j]] - q[t] - mean[t]) * (places[u, which[j]] - q[u] - mean[u])
    for t in range(D):
        trace += S[t, t]
    for t in range(D):
        S[t, t] += 1e-3 * trace / D + 1e-10
        b[t] = -mean[t]
    solve(S, b)
    total = 0.0
    for j in range(k):
        line = 1.0
        for t in range(D):
            line += (places[t, which[j]] - q[t] - mean[t]) * b[t]
        weight[j] *= max(line, 0.0)
        total += weight[j]
    if total < 1e-9:
        weight[:] = 0.0
        weight[0] = total = 1.0
    for j in range(k):
        weight[j] /= total
    miss = 0.0
    for t in range(D):
        gap = 0.0
        for j in range(k):
            gap += weight[j] * (places[t, which[j]] - q[t])
        miss += gap * gap
    unknown: float = 1.0 - np.exp(-max(miss, 0.25 * out.distance[0]) / prototypes.reach**2)
    return unknown
