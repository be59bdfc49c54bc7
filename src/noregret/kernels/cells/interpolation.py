"""Where a point lies among prototypes: weights on the nearest ones that keep the point as their mean, as far as they can."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.jit import jit

#: Scaled states lie in [-EDGE, EDGE].
EDGE = 3.0


class Basis(NamedTuple):
    """Random Fourier features cos(ω·z + φ)."""

    frequencies: Any  # (n,D) ω
    phases: Any  # (n,) φ


class Grid(NamedTuple):
    """Prototypes z_1..z_N, and how a point is spread over them."""

    places: Any  # (D,N) float64
    smooth: Any  # (N,p) float32, the smooth features b(z_i)
    basis: Basis  # of b
    k: int  # neighbours used
    blur: float  # ε: distances below it do not matter
    reach: float  # ν: what is further away than this is unknown


class Noise(NamedTuple):
    """What a step adds to its mean: shift s with probability chance s."""

    shifts: Any  # (S,D)
    chances: Any  # (S,)


class Near(NamedTuple):
    """Room for the answer of :func:`interpolate`."""

    index: Any  # (k,) int64
    weight: Any  # (k,)
    distance: Any  # (k,) squared
    every: Any  # (N,) squared distances to all


@jit
def near(grid: Any) -> Any:
    """Room for one interpolation on ``grid``."""
    return Near(np.zeros(grid.k, np.int64), np.zeros(grid.k), np.zeros(grid.k), np.zeros(grid.places.shape[1]))


@jit
def smooth_features(z: Any, basis: Any, out: Any) -> None:
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
def smooth_matrix(states: Any, basis: Any, p: int) -> Any:
    """The smooth features b of all states (n,D), as (n,p) float32."""
    out, one = np.empty((len(states), p), np.float32), np.empty(p)
    for i in range(len(states)):
        smooth_features(states[i], basis, one)
        for c in range(p):
            out[i, c] = one[c]
    return out


@jit
def nearest(q: Any, places: Any, out: Any) -> int:
    """The prototypes nearest to ``q``, nearest first, into ``out``; returns how many."""
    D, N = places.shape
    k, found = min(len(out.index), N), 0
    for i in range(N):
        out.every[i] = 0.0
    for t in range(D):
        for i in range(N):
            out.every[i] += (places[t, i] - q[t]) ** 2
    for i in range(N):
        d = out.every[i]
        if found == k and d >= out.distance[k - 1]:
            continue
        found = min(found + 1, k)
        place = found - 1
        while place > 0 and out.distance[place - 1] > d:
            out.distance[place], out.index[place] = out.distance[place - 1], out.index[place - 1]
            place -= 1
        out.distance[place], out.index[place] = d, i
    return found


@jit
def solve(S: Any, b: Any) -> None:
    """B ← S⁻¹ b for a positive definite S, which becomes its Cholesky factor."""
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
def interpolate(q: Any, grid: Any, out: Any) -> float:
    r"""Weights of ``q`` on its nearest prototypes, and the share of ``q`` that is unknown.

    w_j ∝ K_j (1 + (z_j - m)ᵀ S⁻¹ (q - m))₊ with K_j = 1/(d_j² + ε²), where m and S are the K-weighted mean and covariance: the
    weights of a local line, cut at 0. They sum to 1. The unknown share is 1 - exp(-max(\|Σ_j w_j z_j - q\|², d_1²/4)/ν²).
    Weights of prototypes that are not used become 0.
    """
    places, index, weight = grid.places, out.index, out.weight
    D, k = len(places), nearest(q, grid.places, out)
    weight[:] = 0.0
    total = 0.0
    for j in range(k):
        weight[j] = 1.0 / (out.distance[j] + grid.blur**2)
        total += weight[j]
    mean, S, b = np.zeros(D), np.zeros((D, D)), np.empty(D)  # relative to q
    for j in range(k):
        weight[j] /= total
        for t in range(D):
            mean[t] += weight[j] * (places[t, index[j]] - q[t])
    trace = 0.0
    for j in range(k):
        for t in range(D):
            for u in range(t + 1):
                S[t, u] += weight[j] * (places[t, index[j]] - q[t] - mean[t]) * (places[u, index[j]] - q[u] - mean[u])
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
            line += (places[t, index[j]] - q[t] - mean[t]) * b[t]
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
            gap += weight[j] * (places[t, index[j]] - q[t])
        miss += gap * gap
    unknown: float = 1.0 - np.exp(-max(miss, 0.25 * out.distance[0]) / grid.reach**2)
    return unknown
