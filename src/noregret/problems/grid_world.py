r"""A grid world with costly obstacles, in the manner of Triple-Q's (Wei, Liu, Ying, AISTATS 2022, and its notebook).

A square of 20×20 cells with a wall around leaves 18×18 to walk on. In every row of these but the first and the last,
a cell is an obstacle with probability 0.4; the agent may enter it, at a price. The start is the last corner (bottom
right), the goal is a cell of the first row; the seed draws obstacles and goal. Actions are up, down, left and right;
a move into the wall stays. With probability ``slip`` (0 as in the source) a direction is drawn instead.

Reward and utility belong to the cell entered: the reward is its nearness to the goal,

.. math::  1 - \lVert c - c_{goal} \rVert_2 \,/\, \max_{c'} \lVert c' - c_{goal} \rVert_2,

and the utility is 1 unless the cell is an obstacle; at least 20 of the H = 25 steps are wanted off obstacles. (The
notebook's goal pays several times as much as the cells beside it; here it pays 1, the most that nearness gives.)

With the defaults (seed 5, where the goal is one column to the left of the start): optimum 17.929742, dual 0.662888,
Slater gap 5 (to and fro in the last row). The constraint binds on most maps; of the seeds 0 to 23 it does not on 0, 7
and 15, where a shortest way meets at most five obstacles. Without slip the dual is often not unique, because every
deterministic policy is off obstacles for a whole number of steps; on the default map it is.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.registry import register

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right


@register("grid-world")
def grid_world(
    seed: int = 5, size: int = 20, density: float = 0.4, b: float = 20.0, H: int = 25, slip: float = 0.0
) -> TabularCMDP:
    """Walk towards a goal and stay off obstacles for most of the steps.

    Args:
        seed: draws the obstacles and the goal.
        size: cells along a side, with the wall.
        density: probability of an obstacle.
        b: the least expected number of steps off obstacles.
        H: steps of an episode.
        slip: probability that the direction is drawn instead of chosen.
    """
    n = checks.integer("size", size, 4) - 2
    checks.fits(H=H, cells=n * n, moves=len(MOVES), next=n * n)
    obstacle, goal = _map(seed, n, checks.number("density", density, 0.0, 1.0))
    P = _kernel(n, checks.number("slip", slip, 0.0, 1.0))
    row, column = np.divmod(np.arange(n * n), n)
    distance = np.hypot(row, column - goal)
    r = P @ (1.0 - distance / distance.max())
    g = P @ (1.0 - obstacle.ravel())
    return TabularCMDP(
        np.broadcast_to(P, (H, *P.shape)),
        np.broadcast_to(r, (H, *r.shape)),
        np.broadcast_to(g, (H, *g.shape)),
        checks.number("b", b),
        n * n - 1,
        constraint_names=["off obstacles"],
        share="all",
    )


def _map(seed: int, n: int, density: float) -> tuple[Array, int]:
    """The obstacles (n,n) as 0 and 1, and the goal's column in row 0."""
    rng = np.random.default_rng(checks.integer("seed", seed, 0))
    obstacle = (rng.uniform(size=(n, n)) < density).astype(np.float64)
    obstacle[[0, -1]] = 0.0
    return obstacle, int(rng.integers(n))


def _kernel(n: int, slip: float) -> Array:
    """P (n·n, 4, n·n) of moves on the n×n cells inside the wall."""
    states = np.arange(n * n)
    row, column = np.divmod(states, n)
    P = np.zeros((n * n, len(MOVES), n * n))
    for a, (down, right) in enumerate(MOVES):
        P[states, a, np.clip(row + down, 0, n - 1) * n + np.clip(column + right, 0, n - 1)] = 1.0
    return np.asarray((1.0 - slip) * P + slip * P.mean(axis=1, keepdims=True))
