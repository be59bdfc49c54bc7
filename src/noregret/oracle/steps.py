r"""A limit on the cost of every step, turned into a world without one: its actions are the safe ways to draw an action.

In state x at step h the distributions that keep the limit, {π : Σ_a π(a) c_h(x,a) ≤ τ}, are a polytope. Its vertices are the
actions that cost at most τ, and for each pair of one of them with an action that costs more, the mixture that costs exactly τ.
Policies that keep the limit everywhere are the policies of the world in which one chooses among these vertices. So all that
the oracle knows of tables holds for them, and its backward induction mixes at most two actions in a state.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from noregret.problems.base import Array, TabularCMDP


def vertices(cost: Array, limit: float) -> Array:
    """Find the vertices (n,A) of the distributions over actions whose expected cost is at most ``limit``.

    Args:
        cost: (A,) what each action costs; infinite for one that is not available.
        limit: τ; some action costs at most that.

    >>> vertices(np.array([0.0, 1.0, np.inf]), 0.25).tolist()
    [[1.0, 0.0, 0.0], [0.75, 0.25, 0.0]]
    """
    low, high = np.flatnonzero(cost <= limit), np.flatnonzero((cost > limit) & np.isfinite(cost))
    rows = [np.eye(len(cost))[a] for a in low]
    for a, other in product(low, high):
        share = (limit - cost[a]) / (cost[other] - cost[a])
        if share > 0.0:
            row = np.zeros(len(cost))
            row[a], row[other] = 1.0 - share, share
            rows.append(row)
    return np.stack(rows)


def safe_choices(problem: TabularCMDP) -> tuple[TabularCMDP, Array]:
    """Make the world whose actions are the vertices of each state, and give these, (H,S,N,A)."""
    H, S, A = problem.r.shape
    cost = np.where(problem.available, 1.0 - problem.g[0], np.inf)
    corners = [[vertices(cost[h, s], float(problem.step_limit or 0.0)) for s in range(S)] for h in range(H)]
    N = max(len(rows) for step in corners for rows in step)
    ways, available = np.zeros((H, S, N, A)), np.zeros((H, S, N), dtype=np.bool_)
    for h in range(H):
        for s in range(S):
            n = len(corners[h][s])
            ways[h, s, :n], available[h, s, :n] = corners[h][s], True
    P = np.einsum("hsna,hsax->hsnx", ways, problem.P)
    r, g = (np.einsum("hsna,hsa->hsn", ways, table) for table in (problem.r, problem.g[0]))
    made = TabularCMDP(
        P,
        r,
        g,
        problem.b,
        problem.mu,
        available=available,
        name=problem.name,
        constraint_names=problem.constraint_names,
        senses=problem.senses,
    )
    return made, ways
