"""The optimistic step over a box of transition models.

Each row of the model is known up to a box, lower ≤ p ≤ upper with lower, upper = p̂ ∓ ρ clipped to [0,1]. Among the p in it
that are distributions, the one that maximises ⟨p, v⟩ starts from ``lower`` and hands the mass that is left to the next states
by decreasing v, each up to its ``upper``.

``lower`` is kept in the order of the model's successor lists (it is 0 elsewhere), ``room`` = upper − lower for every next
state, ``rest`` = 1 − Σ lower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.empirical import radius
from noregret.kernels.types import Array, Integers

if TYPE_CHECKING:
    from noregret.kernels.steps.programs import Rows


class Box(NamedTuple):
    """The box of every row, and the next states of every step by decreasing v (equal ones by number).

    The rows are those of the model: G = H steps, or 1 when all share what they learn.
    """

    lower: Array  # (G,S,A,S) by place in the successor list
    room: Array  # (G,S,A,S) by next state
    rest: Array  # (G,S,A)
    order: Integers  # (H,S)
    value: Array  # (S,) v, scratch

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        return {"order": (0, len(self.value) - 1)}


def whole_box(H: int, S: int, A: int, *, shared: bool = False) -> Box:
    """Make the box of which nothing is known: it holds every distribution."""
    G = 1 if shared else H
    return Box(
        lower=np.zeros((G, S, A, S)),
        room=np.ones((G, S, A, S)),
        rest=np.ones((G, S, A)),
        order=np.tile(np.arange(S), (H, 1)),
        value=np.zeros(S),
    )


@jit
def set_box(box: Box, model: OneHotGram, pair: tuple[int, int, int], L: float, scale: float) -> None:
    """Set the box of the row ``pair`` = (step, state, action) from its counts, with radii ``scale``·ρ."""
    h, s, a = pair
    g = row(model.visits, h)
    n = model.visits[g, s, a]
    room, lower = box.room[g, s, a], box.lower[g, s, a]
    room[:] = min(scale * radius(0.0, n, L), 1.0)
    rest = 1.0
    for place in range(model.successors[g, s, a]):
        p = model.times[g, s, a, place] / n
        rho = scale * radius(p, n, L)
        lower[place] = max(p - rho, 0.0)
        room[model.successor[g, s, a, place]] = min(p + rho, 1.0) - lower[place]
        rest -= lower[place]
    box.rest[g, s, a] = max(rest, 0.0)


@jit
def sort_next(box: Box | Rows, h: int, V: Array, Y: Array) -> None:
    """Put the next states of step h in the order of v = V_r,h+1 + Σ_i Y_i V_gi,h+1, the largest first."""
    order, v = box.order[h], box.value
    for s in range(len(v)):
        v[s] = V[h + 1, 0, s]
        for i in range(len(Y)):
            v[s] += Y[i] * V[h + 1, 1 + i, s]
    for i in range(1, len(order)):  # by insertion: the order of the last episode is nearly right
        s = order[i]
        k = i
        while k > 0 and (v[order[k - 1]] < v[s] or (v[order[k - 1]] == v[s] and order[k - 1] > s)):
            order[k] = order[k - 1]
            k -= 1
        order[k] = s


@jit
def optimistic_step(box: Box, model: OneHotGram, h: int, V: Array, bounds: tuple[float, float, float], Q: Array) -> None:
    """Q_j,h(s,a) ← clip(mean of j + bonus + ⟨p, V_j,h+1⟩, floor, cap) for the pairs tried, p maximising ⟨p, v⟩.

    ``bounds`` are floor, cap, and the visits from which on a pair counts as tried. The objectives are those that the model has
    sums of; Q and V may have more.
    """
    g, (floor, cap, tries) = row(model.visits, h), bounds
    J, A, S = model.fit.shape[3] - 2, Q.shape[3], V.shape[2]
    fit, successors, successor, order = model.fit, model.successors, model.successor, box.order
    lower, room = box.lower, box.room
    for i in range(model.actives[g]):
        s = model.active[g, i]
        for a in range(A):
            if model.visits[g, s, a] < tries:
                continue
            for j in range(J):
                Q[h, j, s, a] = fit[g, s, a, 2 + j] * fit[g, s, a, 0] + fit[g, s, a, 1]
            for place in range(successors[g, s, a]):
                p, s_next = lower[g, s, a, place], successor[g, s, a, place]
                for j in range(J):
                    Q[h, j, s, a] += p * V[h + 1, j, s_next]
            left = box.rest[g, s, a]
            for place in range(S):
                if left <= 0.0:
                    break
                s_next = order[h, place]
                p = min(room[g, s, a, s_next], left)
                left -= p
                for j in range(J):
                    Q[h, j, s, a] += p * V[h + 1, j, s_next]
            for j in range(J):
                Q[h, j, s, a] = max(min(Q[h, j, s, a], cap), floor)
