"""The oracle knows the truth: the optimum, its dual and Slater gap, the exact value of any policy. Learners never import it.

``of(problem)`` chooses the oracle for a kind of problem, here and nowhere else; what it gives has ``solve``, ``evaluate``
and ``starts``. A new kind of problem needs an :class:`~noregret.oracle.base.Oracle` of its own and a line in ``ORACLES``.
"""

from __future__ import annotations

from typing import Any, overload

from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.oracle.base import Optimum, Oracle, tightened_value
from noregret.oracle.quadrature import GridOracle, LinearOptimum
from noregret.oracle.starts import PerStart, Starts
from noregret.oracle.tables import (
    TableOptimum,
    TableOracle,
    greedy,
    occupancy,
    per_start,
    reachable,
    safest,
    slater_gap,
)
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.linear_continuous import LinearCMDP

#: The oracle of each kind of problem.
ORACLES: dict[type, Any] = {TabularCMDP: TableOracle, LinearCMDP: GridOracle}

__all__ = [
    "LinearOptimum",
    "Optimum",
    "Oracle",
    "PerStart",
    "Starts",
    "TableOptimum",
    "evaluate",
    "greedy",
    "occupancy",
    "of",
    "per_start",
    "reachable",
    "safest",
    "slater_gap",
    "solve",
    "tightened_value",
]


@overload
def of(problem: TabularCMDP) -> TableOracle: ...
@overload
def of(problem: LinearCMDP, *, cells: int | None = None) -> GridOracle: ...
def of(problem: TabularCMDP | LinearCMDP, **options: Any) -> Oracle[Any]:
    """The oracle of a problem.

    Args:
        problem: the world.
        options: of the kind: ``cells`` along each axis of the grid, for states in R^D.
    """
    for kind in type(problem).__mro__:
        if kind in ORACLES:
            found: Oracle[Any] = ORACLES[kind](problem, **options)
            return found
    raise InputError(f"problem is {problem!r}; expected a problem (problems.load makes one from a name)")


@overload
def solve(problem: TabularCMDP, tighten: float | ArrayLike = 0.0) -> TableOptimum: ...
@overload
def solve(problem: LinearCMDP, tighten: float | ArrayLike = 0.0) -> LinearOptimum: ...
def solve(problem: TabularCMDP | LinearCMDP, tighten: float | ArrayLike = 0.0) -> Optimum:
    """The exact optimum under the thresholds b + ``tighten``.

    Args:
        problem: the world; a linear CMDP on R^D is solved by quadrature (:mod:`noregret.oracle.quadrature`).
        tighten: ζ ≥ 0, one number or one per constraint.

    Returns:
        The :class:`Optimum`, always finite. Its ``slater_gap`` belongs to the original b; that of the tightened problem is
        smaller by ζ if ζ is one number.

    Raises:
        InfeasibleError: no policy meets the constraints, or ``tighten`` is beyond the Slater gap.
        OracleError: the result failed its own checks.

    Warns:
        UserWarning: a constraint is met by every policy.
    """
    return of(problem).solve(tighten)


def evaluate(problem: TabularCMDP | LinearCMDP, policy: Any) -> tuple[float, Array]:
    """The exact V_r and V_g (m,) of any policy (H,S,A), from the start distribution; on R^D by quadrature, of a plan."""
    return of(problem).evaluate(policy)
