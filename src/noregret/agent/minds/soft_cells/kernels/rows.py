"""The model as sparse rows: for each prototype and action, which prototypes come next and with which weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.kernels.interpolation import (
    EDGE,
    Prototypes,
    StepNoise,
    interpolate,
    near,
    smooth_features,
)
from noregret.agent.minds.soft_cells.types import Array, Flags, Integers, NextPlaces, Singles
from noregret.kernels.compiler.jit import jit

#: Weights below this are left out of a row.
SMALL = 1e-4


class Seen(NamedTuple):
    """What followed pairs whose state was seen again and again, exactly the same: counts instead of interpolation.

    The shares of a row sum to 1 - rest: the rest of what follows is interpolated. Where nothing was counted the rest is 1.
    """

    first: Integers  # (N·A+1,) int64, where the entries of a row begin
    after: NextPlaces  # (entries,) which prototype came next, where the episode went on
    share: Singles  # (entries,) float32
    rest: Array  # (N·A,)


class ModelRows(NamedTuple):
    """A finite model on N prototypes with A actions and J signals; pair (i,a) is row i·A + a.

    A row says what follows where the episode goes on; ``ends`` says how likely it does not. A pair whose row has no entries
    stays where it is. The unknown share of a row says how little the row is believed.
    """

    first: Integers  # (N·A+1,) int64, where the entries of a row begin
    after: NextPlaces  # (entries,) which prototype comes next
    weight: Singles  # (entries,) float32
    unknown: Array  # (N·A,) share of the next state that is unknown
    untried: Array  # (N·A,) the same for what is hoped of limits: more where states come back, of pairs never tried
    signal: Array  # (N,A,J) in [0,1]: reward and utilities of the step
    allowed: Flags  # (N,A) whether the action can be taken
    ends: Array  # (N·A,) the chance that the step ends the episode, wherever it leads
    terminal: Flags  # (N,) whether an episode ends there
    pay: Array  # (N,J) what an end itself pays, on top of the step's signals
    correction: Singles  # (p,N·A) float32: b(q) - Σ_j w_j b(z_j)
    projector: Singles  # (N,p) float32: coef = projectorᵀ V
    pool_first: Integers  # (L+1,) int64; entries of ``after`` from N on are pools, each the mean of some prototypes
    pool: NextPlaces  # (entries,) the prototypes of each pool


def no_pools() -> tuple[Integers, NextPlaces]:
    """The last two fields of rows without pools."""
    return np.zeros(1, np.int64), np.zeros(0, np.int32)


@jit
def build_rows(
    prototypes: Prototypes, shift: Array, noise: StepNoise, visits: Array, terminal: Flags, seen: Seen
) -> tuple[Integers, NextPlaces, Singles, Array, Singles]:
    """The rows of all prototypes.

    Args:
        prototypes: the prototypes.
        shift: (N,A,D) the mean displacement of each pair.
        noise: what a step adds to it.
        visits: (N,A) how often each pair was seen.
        terminal: (N,) prototypes at which nothing follows.
        seen: what was counted.

    Returns:
        first, after, weight, unknown and correction of :class:`ModelRows`.
    """
    N, A, D = shift.shape
    S, p, room = len(noise.chances), prototypes.smooth.shape[1], near(prototypes)
    first = np.zeros(N * A + 1, np.int64)
    most = N * A * S * prototypes.k + len(seen.after)
    after, weight = np.empty(most, np.int32), np.empty(most, np.float32)
    unknown, correction = np.zeros(N * A), np.zeros((p, N * A), np.float32)
    q, b, rest = np.empty(D), np.empty(p), np.empty(p)
    last = 0
    for row in range(N * A):
        i, a = row // A, row % A
        begin, whole = last, seen.rest[row]
        if not terminal[i] and whole > 0.0:
            rest[:] = 0.0
            for s in range(S):
                for t in range(D):
                    q[t] = min(max(prototypes.places[t, i] + shift[i, a, t] + noise.shifts[s, t], -EDGE), EDGE)
                chance = whole * noise.chances[s]
                unknown[row] += chance * interpolate(q, prototypes, room)
                smooth_features(q, prototypes.basis, b)
                for c in range(p):
                    rest[c] += chance * b[c]
                for j in range(prototypes.k):
                    w = chance * room.weight[j]
                    if w < SMALL:
                        continue
                    place = begin
                    while place < last and after[place] != room.which[j]:
                        place += 1
                    if place == last:
                        after[place], weight[place] = room.which[j], 0.0
                        last += 1
                    weight[place] += w
                    for c in range(p):
                        rest[c] -= w * prototypes.smooth[room.which[j], c]
            unknown[row] /= 1.0 + visits[i, a]
            for c in range(p):
                correction[c, row] = rest[c]
        for e in range(seen.first[row], seen.first[row + 1]):
            after[last], weight[last] = seen.after[e], seen.share[e]
            last += 1
        first[row + 1] = last
    return first, after[:last].copy(), weight[:last].copy(), unknown, correction
