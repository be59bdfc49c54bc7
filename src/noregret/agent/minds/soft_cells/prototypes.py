"""Prototypes: states that were seen, merged by cells; fine ones where it matters, coarse ones elsewhere, under a budget."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.types import Array, Flags, Integers

#: The least and the most side of fine cells, over √D, in scaled units.
_SIDES = (0.035, 0.08)
#: Coarse cells have at most this many times the side of fine ones: else all neighbours of a state lie on the fine side.
_RATIO = 3.0
#: The share of the budget that fine cells may use, and how many episodes are to be fine at least.
_FINE_SHARE, _FINE_EPISODES = 0.65, 30


class Sides(NamedTuple):
    """Sides of fine and of coarse cells."""

    fine: float
    coarse: float

    @classmethod
    def least(cls, dimension: int) -> Sides:
        """The sides that every run begins with."""
        return cls(_SIDES[0] * math.sqrt(dimension), 1.5 * _SIDES[0] * math.sqrt(dimension))


class Points(NamedTuple):
    """All states of kept episodes: those before a step, then the last of each episode."""

    Z: Array  # (n + episodes, D)
    terminal: Flags
    episode: Integers


def keys(Z: Array, side: float, terminal: Flags) -> Integers:
    """One number for the cell of each state; ends have cells of their own.

    Args:
        Z: (n,D) scaled states.
        side: of a cell.
        terminal: (n,) which states are ends.
    """
    mix = np.random.default_rng(0x5EED).integers(1, 2**61, Z.shape[1] + 1) | 1
    cells = np.round(Z / side).astype(np.int64)
    return np.asarray(cells @ mix[1:] + np.where(terminal, mix[0], 0) + np.int64(side * 2**40), dtype=np.int64)


def choose_cells(points: Points, score: Array, budget: int, sides: Sides) -> tuple[Sides, Integers, Integers]:
    """Which states become prototypes, and the prototype of every state.

    The newest and the best episodes, taken in turn, get fine cells as long as these use no more than their share of the budget;
    all other states that lie in none of these cells get coarse ones.

    Args:
        points: all states.
        score: (episodes,) how good each was.
        budget: the most prototypes.
        sides: those of before; fine cells start a little smaller.

    Returns:
        The sides; the states that become prototypes; the prototype of every state.
    """
    Z, terminal, episode = points
    K = len(score)
    least, most = (side * math.sqrt(Z.shape[1]) for side in _SIDES)
    turn = np.stack([np.arange(K)[::-1], np.lexsort((np.arange(K), -score))], axis=1).ravel()
    turn = turn[np.sort(np.unique(turn, return_index=True)[1])]
    fine = max(least, 0.9 * sides.fine)
    by_episode = np.argsort(episode, kind="stable")
    cuts = np.searchsorted(episode[by_episode], np.arange(1, K))
    while True:
        while True:
            cells = keys(Z, fine, terminal)
            use = _take(np.split(cells[by_episode], cuts), turn, int(_FINE_SHARE * budget))
            if use.sum() >= min(K, _FINE_EPISODES) or fine >= most:
                break
            fine = min(1.2 * fine, most)
        if not use.any():
            use[-1] = True
        in_fine = np.flatnonzero(use[episode])
        fine_cells, at = np.unique(cells[in_fine], return_index=True)
        place = np.minimum(np.searchsorted(fine_cells, cells), len(fine_cells) - 1)
        rest = np.flatnonzero(fine_cells[place] != cells)
        coarse = 1.5 * fine
        while True:
            wide = keys(Z[rest], coarse, terminal[rest])
            others, where, which = np.unique(wide, return_index=True, return_inverse=True)
            if len(fine_cells) + len(others) <= budget or coarse > _RATIO * fine:
                break
            coarse *= 1.2
        if coarse <= _RATIO * fine:
            place[rest] = len(fine_cells) + which
            return Sides(fine, coarse), np.concatenate([in_fine[at], rest[where]]), place
        fine *= 1.15


def _take(cells: list[Integers], turn: Integers, room: int) -> Flags:
    """Which episodes fit together into ``room`` cells, taken in turn until one does not fit."""
    use, seen = np.zeros(len(cells), dtype=np.bool_), set[int]()
    for e in turn:
        fresh = set(cells[e].tolist()) - seen
        if len(seen) + len(fresh) > room:
            break
        seen |= fresh
        use[e] = True
    return use
