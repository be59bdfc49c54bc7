r"""Inventory control (Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland: DOPE, NeurIPS 2022).

A shop holds x = 0..5 units, none at the start, for H = 7 days. Before the day it orders a units with x + a ≤ 5
(larger orders are not available), then a demand D of 0..5 units comes with probabilities .3 .2 .2 .2 .05 .05 and what
is there is sold: x' = max(0, x + a - D). The reward is 8·E[min(x + a, D)], the cost is an order's 4 + 2a (if a > 0)
plus x + a for the holding; each is divided by its maximum over the available (x, a), which are 13.2 and 19. The
expected total cost is at most 3.5.

With the defaults: optimum 6.665322, dual 0.921212, Slater gap 3.5 (never order).
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks
from noregret.problems.base import Array, Constraint, Mask, TabularCMDP
from noregret.problems.registry import register

#: P(D = 0), P(D = 1), ...
DEMAND = np.array([0.3, 0.2, 0.2, 0.2, 0.05, 0.05])
PRICE = 8.0


@register("inventory")
def inventory(limit: float = 3.5, H: int = 7, capacity: int = 5) -> TabularCMDP:
    """Order stock against random demand under a limit on the cost of ordering and holding; uses action masks.

    Args:
        limit: the most expected total cost, scaled.
        H: days of an episode.
        capacity: the most units held; orders that would exceed it are not available.
    """
    S = checks.integer("capacity", capacity, 1) + 1
    checks.fits(H=H, S=S, A=S, next=S)
    stock, order = np.arange(S)[:, None], np.arange(S)[None, :]
    available = stock + order < S
    level = np.minimum(stock + order, capacity)  # beyond the capacity only where the order is not available
    sold = np.minimum(level[..., None], np.arange(len(DEMAND)))  # by demand
    P = np.zeros((S, S, S))
    for demand, probability in enumerate(DEMAND):
        P[stock, order, level - sold[..., demand]] += probability
    reward = np.asarray(PRICE * (sold @ DEMAND), dtype=np.float64)
    cost = np.asarray((4.0 + 2.0 * order) * (order > 0) + stock + order, dtype=np.float64)
    constraint = Constraint(np.broadcast_to(_scaled(cost, available), (H, S, S)), checks.number("limit", limit), "<=", "cost")
    r = np.broadcast_to(_scaled(reward, available), (H, S, S))
    return TabularCMDP.with_constraints(np.broadcast_to(P, (H, S, S, S)), r, [constraint], 0, available=available, share="all")


def _scaled(table: Array, available: Mask) -> Array:
    """The table divided by its maximum over what is available; what is not, 0."""
    return np.where(available, table / table[available].max(), 0.0)
