"""The bytes that soft cells need at most, from sizes alone."""

from __future__ import annotations

from noregret.agent.minds.soft_cells.counts import MOST_TRANSITIONS
from noregret.agent.minds.soft_cells.dynamics import MOST_DIMENSIONS
from noregret.agent.minds.soft_cells.forests import STARTS, TREES, USED
from noregret.agent.minds.soft_cells.networks import length_of, sizes_of, takes_part
from noregret.agent.minds.soft_cells.rehearsal import PARENTS
from noregret.problems.worlds import WorldSpec


def memory_bound(spec: WorldSpec, states: int, transitions: int) -> int:
    """Bytes for two plans, all that is remembered, and the work of making a model.

    Args:
        spec: the world.
        states: the most that a model tells apart.
        transitions: the most that are kept, of vectors.
    """
    N = states + 1
    A, J, H = spec.n_actions, 1 + spec.n_constraints, spec.horizon
    values = 4 * (H + 1) * J * N + 100 * 8 * J
    if not spec.dimension:
        return 4 * N * A * (8 * (J + 3) + 2) + 400 * MOST_TRANSITIONS + 2 * values + 400 * N
    D, n = min(spec.dimension, MOST_DIMENSIONS), transitions + H
    p, P = D + D * (D + 1) // 2 + 60, 1 + D + 200
    kept = n * (8 * (spec.dimension + J + 2) + A)
    working = n * (8 * (4 * spec.dimension + 8 * D + 6 * J + 24) + A)
    model = N * A * (8 * (D + J) * 3 + 4 * p + 8 * 5 * (2 * D + 2)) + 16 * N * (P + p)
    trees = USED * TREES * (A * (8 + 4 + 4) + 60) + USED * A * 8 * (J + 4) + USED * 8 * (4 * spec.dimension + J + PARENTS)
    more = 2 * 4 * (H + 1) * J * max(USED + STARTS + 1 - N, 0)
    if takes_part(spec):  # a network, as it learns and in three plans; what it learns from, in its own units
        more += 36 * length_of(sizes_of(spec)) + n * (16 * spec.dimension + 36 * J + 16 + 3 * A)
    return kept + working + 3 * (model + trees) + 2 * values + more + 100 * 3000 * P
