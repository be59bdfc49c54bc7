"""Ends as places or as events: whether the next state shows that an episode is over, or the action taken in a state tells it.

A pole that fell is seen in the next state: its end is a *place*, a prototype of its own. Whoever sells or stops ends the
episode where it stands: that end is an *event* of the pair, and the model keeps a chance of it.
"""

from __future__ import annotations

import numpy as np

from noregret.agent.minds.soft_cells.history import Transitions
from noregret.agent.minds.soft_cells.prototypes import keys
from noregret.agent.minds.soft_cells.types import Array, Flags, Integers

#: An action's ends are events where pairs predict them with less than this share of the loss of places.
_BETTER = 0.4


def events(Z: Array, after: Array, seen: Transitions, side: float) -> Flags:
    """(A,) the actions whose ends are events.

    Both guesses are made from cells, each transition by all others: the share of ends among what came into the same cell, and
    the share of ends among what began in the same cell with the same action.

    Args:
        Z: (n,D) scaled states before.
        after: (n,D) scaled states after.
        seen: the transitions.
        side: of the cells.
    """
    A, ended = seen.masks.shape[1], seen.ended
    out = np.zeros(A, dtype=np.bool_)
    if not ended.any():
        return out
    nowhere = np.zeros(len(Z), dtype=np.bool_)
    by_place = _loss(keys(after, side, nowhere), ended)
    by_pair = _loss(keys(Z, side, nowhere) * A + seen.actions, ended)
    for a in range(A):
        mine = seen.actions == a
        out[a] = by_pair[mine].sum() < _BETTER * by_place[mine].sum()
    return out


def _loss(cell: Integers, ended: Flags) -> Array:
    """(n,) minus the logarithm of the chance that the other transitions of the same cell give to what happened."""
    at = np.unique(cell, return_inverse=True)[1]
    others = np.bincount(at)[at] - 1.0
    ends = np.bincount(at, weights=ended)[at] - ended
    chance = np.clip((ends + ended.mean()) / (others + 1.0), 1e-6, 1.0 - 1e-6)
    return np.asarray(-np.log(np.where(ended, chance, 1.0 - chance)), dtype=np.float64)
