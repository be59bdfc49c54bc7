"""The oracle knows the truth: the optimum, its dual and Slater gap, the exact value of any policy. Learners never import it."""

from noregret.oracle.quadrature import LinearOptimum
from noregret.oracle.tables import (
    Optimum,
    PerStart,
    evaluate,
    greedy,
    occupancy,
    per_start,
    reachable,
    safest,
    slater_gap,
    solve,
)

__all__ = [
    "LinearOptimum",
    "Optimum",
    "PerStart",
    "evaluate",
    "greedy",
    "occupancy",
    "per_start",
    "reachable",
    "safest",
    "slater_gap",
    "solve",
]
