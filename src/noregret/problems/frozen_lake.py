r"""Frozen lake with a limit on falling in, from Gymnasium's own transition table (``FrozenLake-v1``, slippery).

Kernel and map are Gymnasium's: the agent goes the way it chose or to either side of it, a third each. Reaching the
goal pays 1 once, falling into a hole costs 1 once; both end the episode there, which here means a state that is never
left and pays nothing more. So V_r is the probability of reaching the goal within H steps and V_c the probability of
falling in. Both are seen at the transition.

- 4×4, H = 20, falling at most 0.02: optimum 0.087670, dual 4.323757, Slater gap 0.02.
- 8×8, H = 60, falling at most 0.05: optimum 0.311070, dual 0.728461, Slater gap 0.05.

One can stay on the ice for ever on both, so the Slater gap is the limit itself, and small.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from noregret.problems import checks
from noregret.problems.base import Array, Constraint, Mask, TabularCMDP
from noregret.problems.registry import register

#: Gymnasium's table: for each state and action what may follow, as (probability, next state, reward, terminated).
Moves = Mapping[int, Mapping[int, list[tuple[float, int, float, bool]]]]


@register("frozen-lake-4x4")
def frozen_lake_4x4(limit: float = 0.02, H: int = 20) -> TabularCMDP:
    """Cross a frozen lake of 4×4 cells, rarely falling in.

    Args:
        limit: the highest probability of falling in.
        H: steps of an episode.
    """
    return _frozen_lake("4x4", limit, H)


@register("frozen-lake-8x8")
def frozen_lake_8x8(limit: float = 0.05, H: int = 60) -> TabularCMDP:
    """Cross a frozen lake of 8×8 cells, rarely falling in.

    Args:
        limit: the highest probability of falling in.
        H: steps of an episode.
    """
    return _frozen_lake("8x8", limit, H)


def _frozen_lake(map_name: str, limit: float, H: int) -> TabularCMDP:
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv  # only here: the import is slow

    env = FrozenLakeEnv(map_name=map_name, is_slippery=True)
    cells = np.asarray(env.desc).ravel()
    P, r, c = _tables(env.P, hole=cells == b"H", goal=cells == b"G")
    checks.fits(H=H, table=P.size)
    shape = (H, *P.shape)
    fallen = Constraint(np.broadcast_to(c, shape), checks.number("limit", limit), "<=", "falling in")
    start = np.asarray(env.initial_state_distrib, dtype=np.float64)
    return TabularCMDP.with_constraints(np.broadcast_to(P, shape), np.broadcast_to(r, shape), [fallen], start, share="all")


def _tables(table: Moves, hole: Mask, goal: Mask) -> tuple[Array, Array, Array]:
    """P, reward and cost, each (S,A,S), from Gymnasium's table of (probability, next state, reward, terminated)."""
    S, A = len(table), len(table[0])
    P, r, c = np.zeros((3, S, A, S))
    for s in range(S):
        for a in range(A):
            for probability, x, _, _ in table[s][a]:
                P[s, a, x] += probability
                if not (hole[s] or goal[s]):  # once: what has ended pays nothing more
                    r[s, a, x], c[s, a, x] = goal[x], hole[x]
    return P, r, c
