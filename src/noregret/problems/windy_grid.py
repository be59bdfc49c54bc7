r"""A windy grid with two limits: fly to a landing place, spend little power, and keep out of a zone (after Sutton and Barto's).

A square of n×n cells. The start is the left end of the middle row; the landing place lies in the same row, one column before
the right end. Actions are: hover, up, down, left, right. In the columns of the right half a wind blows up: with probability
``wind`` a move ends one cell higher than it would. A move into the edge stays.

The reward belongs to the cell entered: 1 at the landing place, else its nearness to it, one half at most. Two costs are
limited. *Power*: hovering costs 0.2 a step, moving 0.6, and moving down, against the wind, 1. *Zone*: a step that ends in the
zone costs 1; the zone are the cells between the start and the landing place, in the middle row. The way round costs power, the
way through costs zone: both limits bind, with prices that differ much.

With the defaults: optimum 8.682242, duals 1.635215 (power) and 0.441717 (zone), Slater gap 1.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks
from noregret.problems.base import Array, Constraint, TabularCMDP
from noregret.problems.registry import register

#: Rows down and columns right of each action: hover, up, down, left, right; and the power of each.
MOVES = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
POWER = (0.2, 0.6, 1.0, 0.6, 0.6)


@register("windy-grid")
def windy_grid(size: int = 6, H: int = 15, wind: float = 0.3, power: float = 6.0, zone: float = 1.0) -> TabularCMDP:
    """Fly to a landing place across wind, under a limit on power and one on steps in a zone.

    Args:
        size: cells along a side.
        H: steps of an episode.
        wind: probability that the wind lifts a move by a cell, in the right half.
        power: the most expected total of power.
        zone: the most expected steps in the zone.
    """
    n = checks.integer("size", size, 4)
    checks.fits(H=H, cells=n * n, moves=len(MOVES), next=n * n)
    P = _kernel(n, checks.number("wind", wind, 0.0, 1.0))
    row, column = np.divmod(np.arange(n * n), n)
    middle, end = n // 2, n - 2
    distance = np.abs(row - middle) + np.abs(column - end)
    worth = np.where(distance == 0, 1.0, 0.5 * (1.0 - distance / distance.max()))
    inside = ((row == middle) & (column > 0) & (column < end)).astype(np.float64)
    shape = (H, n * n, len(MOVES))
    constraints = [
        Constraint(np.broadcast_to(POWER, shape), checks.number("power", power), "<=", "power"),
        Constraint(np.broadcast_to(P @ inside, shape), checks.number("zone", zone), "<=", "zone"),
    ]
    return TabularCMDP.with_constraints(
        np.broadcast_to(P, (H, *P.shape)), np.broadcast_to(P @ worth, shape), constraints, middle * n, share="all"
    )


def _kernel(n: int, wind: float) -> Array:
    """P (n·n, 5, n·n): the move, and in the right half with some probability a cell higher."""
    states = np.arange(n * n)
    row, column = np.divmod(states, n)
    P = np.zeros((n * n, len(MOVES), n * n))
    lifted = np.where(column >= n // 2, wind, 0.0)
    for a, (down, right) in enumerate(MOVES):
        to = np.clip(column + right, 0, n - 1)
        for up, chance in ((0, 1.0 - lifted), (1, lifted)):
            P[states, a, np.clip(row + down - up, 0, n - 1) * n + to] += chance
    return P
