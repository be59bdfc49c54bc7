"""The oracle knows the truth: the optimum, its dual and Slater gap, the exact value of any policy. Learners never import it.

``of(problem)`` chooses the oracle for a kind of problem, here and nowhere else. Every oracle has ``solve``, ``evaluate`` and
``starts``. A new kind of problem needs an :class:`~noregret.oracle.base.Oracle` of its own and a line in ``ORACLES``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.oracle.base import Optimum, Oracle, tightened_value
from noregret.oracle.gradients import Descent, descend
from noregret.oracle.quadrature import GridOracle, LinearOptimum
from noregret.oracle.starts import PerStart, Starts
from noregret.oracle.tables import TableOptimum, TableOracle, greedy, occupancy, per_start, reachable, safest, slater_gap
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.kinds import of_kind
from noregret.problems.linear_continuous import LinearCMDP

#: The oracle of each kind of problem.
ORACLES: dict[type, Callable[..., TableOracle | GridOracle]] = {TabularCMDP: TableOracle, LinearCMDP: GridOracle}

__all__ = [
    "Descent",
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
def of(problem: TabularCMDP | LinearCMDP, *, cells: int | None = None) -> TableOracle | GridOracle:
    """Choose the oracle that knows the truth about a problem.

    Args:
        problem: the world.
        cells: for states in R^D: how many cells of the grid lie along each axis.

    Returns:
        An oracle with ``solve``, ``evaluate`` and ``starts``.

    Raises:
        InputError: ``problem`` is of no known kind.
    """
    make = of_kind(problem, ORACLES)
    return make(problem) if cells is None else make(problem, cells=cells)


@overload
def solve(problem: TabularCMDP, tighten: float | ArrayLike = 0.0) -> TableOptimum: ...
@overload
def solve(
    problem: TabularCMDP, tighten: float | ArrayLike = 0.0, *, method: str, iterations: int | None = None, **constants: float
) -> Descent: ...
@overload
def solve(problem: LinearCMDP, tighten: float | ArrayLike = 0.0) -> LinearOptimum: ...
def solve(
    problem: TabularCMDP | LinearCMDP,
    tighten: float | ArrayLike = 0.0,
    *,
    method: str = "lp",
    iterations: int | None = None,
    **constants: float,
) -> Optimum:
    """Find the best policy under the constraints, its value, an optimal dual and the Slater gap.

    Args:
        problem: the world. A linear CMDP on R^D is solved by quadrature (:mod:`noregret.oracle.quadrature`).
        tighten: how much is added to the thresholds b: ζ ≥ 0, one number or one per constraint.
        method: "lp", exactly; or by exact gradients "npg-pd", "crpo" or "cspda", for problems with finitely many states
            (:mod:`noregret.oracle.gradients`).
        iterations: how many steps a method by gradients takes; 10 000 unless given.
        constants: of a method by gradients, such as ``alpha``.

    Returns:
        The :class:`Optimum`, always finite. Its ``slater_gap`` belongs to the original b. The Slater gap of the tightened
        problem is smaller by ζ if ζ is one number. A method by gradients gives a :class:`Descent`: near the optimum, with the
        trace of its iterations.

    Raises:
        InfeasibleError: no policy meets the constraints, or ``tighten`` is beyond the Slater gap.
        OracleError: the result failed its own checks.

    Warns:
        UserWarning: a constraint is met by every policy.

    >>> import noregret as nr
    >>> nr.solve(nr.problems.load("job-scheduling"))
    <TableOptimum: value 9.05882, dual [0.235294], Slater gap 0.499791>
    """
    if method == "lp":
        for name in (*constants, *([] if iterations is None else ["iterations"])):
            raise InputError(f"{name} is given; method 'lp' has no options: leave it out")
        return of(problem).solve(tighten)
    return descend(problem, tighten, method=method, iterations=iterations, **constants)


def evaluate(problem: TabularCMDP | LinearCMDP, policy: object) -> tuple[float, Array]:
    """Compute the exact values of a policy from the start.

    Args:
        problem: the world.
        policy: a table (H,S,A) of probabilities for finitely many states. On R^D a learner's plan, or a function from
            (step, states (n,D)) to probabilities (n,A).

    Returns:
        The total reward V_r and the total utilities V_g (m,), both in expectation.

    >>> import noregret as nr
    >>> problem = nr.problems.load("job-scheduling")
    >>> reward, utilities = nr.evaluate(problem, nr.solve(problem).policy)
    >>> round(reward, 6), utilities.round(6).tolist()
    (9.058824, [4.0])
    """
    return of(problem).evaluate(policy)
