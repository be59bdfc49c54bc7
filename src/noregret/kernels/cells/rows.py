"""The model as sparse rows: for each prototype and action, which prototypes come next and with which weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.cells.interpolation import EDGE, interpolate, near, smooth_features
from noregret.kernels.jit import jit

#: Weights below this are left out of a row.
SMALL = 1e-4


class Rows(NamedTuple):
    """A finite model on N prototypes with A actions and J signals; pair (i,a) is row i·A + a.

    A row without entries stays where it is. Its unknown share says how much of it is believed.
    """

    first: Any  # (N·A+1,) int64, where the entries of a row begin
    index: Any  # (entries,) int32
    weight: Any  # (entries,) float32
    unknown: Any  # (N·A,) share of the next state that is unknown
    signal: Any  # (N,A,J) in [0,1]: reward and utilities of the step
    allowed: Any  # (N,A) whether the action can be taken
    terminal: Any  # (N,) whether an episode ends there
    pay: Any  # (N,J) what an end itself pays, on top of the step's signals
    correction: Any  # (p,N·A) float32: b(q) - Σ_j w_j b(z_j)
    projector: Any  # (N,p) float32: coef = projectorᵀ V


@jit
def build_rows(grid: Any, shift: Any, noise: Any, visits: Any, terminal: Any) -> Any:
    """The rows of all prototypes.

    Args:
        grid: the prototypes.
        shift: (N,A,D) the mean displacement of each pair.
        noise: what a step adds to it.
        visits: (N,A) how often each pair was seen.
        terminal: (N,) prototypes at which nothing follows.

    Returns:
        first, index, weight, unknown and correction of :class:`Rows`.
    """
    N, A, D = shift.shape
    S, p, room = len(noise.chances), grid.smooth.shape[1], near(grid)
    first = np.zeros(N * A + 1, np.int64)
    index, weight = np.empty(N * A * S * grid.k, np.int32), np.empty(N * A * S * grid.k, np.float32)
    unknown, correction = np.zeros(N * A), np.zeros((p, N * A), np.float32)
    q, b, rest = np.empty(D), np.empty(p), np.empty(p)
    last = 0
    for row in range(N * A):
        i, a = row // A, row % A
        begin = last
        if not terminal[i]:
            rest[:] = 0.0
            for s in range(S):
                for t in range(D):
                    q[t] = min(max(grid.places[t, i] + shift[i, a, t] + noise.shifts[s, t], -EDGE), EDGE)
                unknown[row] += noise.chances[s] * interpolate(q, grid, room)
                smooth_features(q, grid.basis, b)
                for c in range(p):
                    rest[c] += noise.chances[s] * b[c]
                for j in range(grid.k):
                    w = noise.chances[s] * room.weight[j]
                    if w < SMALL:
                        continue
                    place = begin
                    while place < last and index[place] != room.index[j]:
                        place += 1
                    if place == last:
                        index[place], weight[place] = room.index[j], 0.0
                        last += 1
                    weight[place] += w
                    for c in range(p):
                        rest[c] -= w * grid.smooth[room.index[j], c]
            unknown[row] /= 1.0 + visits[i, a]
            for c in range(p):
                correction[c, row] = rest[c]
        first[row + 1] = last
    return first, index[:last].copy(), weight[:last].copy(), unknown, correction
