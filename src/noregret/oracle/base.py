"""What all oracles share: a checked optimum, the rules near a Slater gap of 0, the optimum of tightened thresholds.

An oracle is made for one problem. It knows the truth about it, so learners may not import this package.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InfeasibleError, InputError, OracleError
from noregret.oracle.columns import Mixture, Pool, Pricing
from noregret.problems.validation import Array, floats, read_only

if TYPE_CHECKING:
    from noregret.oracle.starts import Starts

#: How closely primal, dual and evaluation must agree; relative to the sum of the duals where that exceeds 1.
AGREEMENT = 1e-8
#: A threshold beyond the best policy by at most this much is met: it is rounding, as in ``tighten=slater_gap(p)``.
FEASIBLE = 1e-9
#: With less room than ``NO_ROOM`` the master's thresholds are lowered by ``RELAX``, so that it does not tell policies
#: apart by the last bits of their utilities.
NO_ROOM, RELAX = 1e-10, 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """The solution of a constrained problem: its best value, an optimal dual and the Slater gap.

    Args:
        value: V*, the largest reward under the constraints.
        dual: (m,) an optimal dual: what one unit of each threshold costs in reward. Where V* has a kink in b, several are.
        slater_gap: by how much some policy exceeds all thresholds at once.

    Raises:
        OracleError: one of the three is not finite.
    """

    value: float
    dual: Array
    slater_gap: float

    def __post_init__(self) -> None:
        read_only(self)
        for name in ("value", "dual", "slater_gap"):
            if not np.isfinite(getattr(self, name)).all():
                raise OracleError(f"the {name} of the optimum is {getattr(self, name)}; expected finite numbers")

    def __repr__(self) -> str:
        """A one-line summary."""
        dual = np.round(self.dual, 6).tolist()
        return f"<{type(self).__name__}: value {self.value:.6g}, dual {dual}, Slater gap {self.slater_gap:.6g}>"


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Optimum):
    """An optimum with the thresholds it is for, b + ``tighten``, and the utilities ``V_g`` (m,) of the best mixture.

    ``slater_gap`` belongs to the problem's own b, also where ``tighten`` is above 0.
    """

    V_g: Array
    thresholds: Array
    tighten: Array


S = TypeVar("S", bound=Solution)


class Solver(Protocol):
    """Anything that knows V* under the thresholds b + ``tighten``."""

    def solve(self, tighten: float = 0.0) -> Optimum:
        """Find the optimum under the thresholds b + ``tighten``."""


class Oracle(Pricing, Generic[S]):
    """The truth about ``problem``. Each kind of problem says how its policies are priced, mixed and evaluated."""

    #: The class of this kind's solutions.
    solution: Callable[..., S]

    @abstractmethod
    def evaluate(self, policy: object) -> tuple[float, Array]:
        """Compute the exact V_r and V_g (m,) of a policy from the start."""

    @abstractmethod
    def mix(self, pool: Pool, mixture: Mixture) -> tuple[float, Array, tuple[object, ...]]:
        """Compute V_r and V_g (m,) of a mixture, and the further fields of this kind's solution."""

    @abstractmethod
    def why_infeasible(self, pool: Pool, zeta: Array, gap: float, room: float) -> str:
        """Say in a sentence why no policy meets the constraints.

        Args:
            pool: the policies found so far.
            zeta: (m,) what was added to the thresholds.
            gap: the Slater gap of the problem's own thresholds.
            room: the worst slack that any policy has at b + ``zeta``; negative.
        """

    def gap(self, pool: Pool, b: Array) -> float:
        """Compute the Slater gap of the thresholds b; the policies that this needs are added to ``pool``."""
        return pool.slater_gap(b)

    def pool_for_reward(self, pool: Pool, b: Array) -> Pool:
        """Choose the pool to maximise the reward with: some mixture of it meets b, if some mixture of ``pool`` does."""
        return pool

    def look(self, pool: Pool, zeta: Array) -> None:
        """Warn of what is odd in a feasible problem."""

    def starts(self, asked: object) -> Starts | None:
        """Turn the user's ``starts`` into first states of episodes; None means the problem's own start."""
        if asked is not None:
            raise InputError(f"starts is {asked!r}; {self.problem.name} draws its own start: expected None")
        return None

    def solve(self, tighten: float | ArrayLike = 0.0) -> S:
        """Find the optimum under the thresholds b + ``tighten`` and check it; see :func:`noregret.oracle.solve`."""
        problem = self.problem
        zeta = _tightening(tighten, problem.n_constraints)
        b = problem.b + zeta
        pool = Pool(self)
        gap = self.gap(pool, problem.b)
        room = gap - float(zeta[0]) if (zeta == zeta[0]).all() else self.gap(pool, b)
        if room < -FEASIBLE:
            raise InfeasibleError(self.why_infeasible(pool, zeta, gap, room))
        self.look(pool, zeta)
        reached = with_room(b, room)
        pool = self.pool_for_reward(pool, reached)
        mixture = pool.generate(reached, reward=1.0)
        V_r, V_g, further = self.mix(pool, mixture)
        free = float(pool.values[:, 0].max())  # the reward without constraints
        dual = np.where((mixture.dual < RELAX) | (free - V_r <= NO_ROOM), 0.0, mixture.dual)
        self._check(b, dual, V_r, V_g)
        return self.solution(V_r, dual, gap, V_g, b, zeta, *further)

    def _check(self, b: Array, dual: Array, V_r: float, V_g: Array) -> None:
        """Primal feasibility and duality gap, from the evaluated policy and a fresh backward induction."""
        short = float((b - V_g).max())
        if not short <= AGREEMENT:
            raise OracleError(f"the policy found for {self.problem.name!r} misses a threshold by {short:.3g}")
        _, values = self.best(np.concatenate([[1.0], dual])[None])
        gap = float(values[0, 0]) + float(dual @ (values[0, 1:] - b)) - V_r
        if not abs(gap) <= AGREEMENT * max(1.0, float(dual.sum())):
            raise OracleError(f"the optimum of {self.problem.name!r} has a duality gap of {gap:.3g} at dual {dual}")


def with_room(b: Array, room: float) -> Array:
    """Lower the thresholds b a little for the master program if their largest slack, ``room``, is about 0."""
    return b if room >= NO_ROOM else b + (min(room, 0.0) - RELAX)


def tightened_value(truth: Solver, optimum: Optimum, zeta: float) -> float:
    """Compute V*(b+ζ), the best value under thresholds that are raised by ζ.

    Args:
        truth: the oracle of the problem, or its :class:`~noregret.oracle.starts.Starts`.
        optimum: what ``truth`` found for ζ = 0.
        zeta: ζ ≥ 0.

    Returns:
        The value; nan when ζ is beyond the Slater gap, so that no policy meets the tightened problem.
    """
    if zeta == 0.0:
        return optimum.value
    return truth.solve(zeta).value if zeta <= optimum.slater_gap else float("nan")


def _tightening(tighten: float | ArrayLike, m: int) -> Array:
    zeta = floats("tighten", tighten)
    if zeta.shape not in ((), (m,)):
        raise InputError(f"tighten has shape {zeta.shape}; expected a number or ({m},), one for each constraint")
    if (zeta < 0.0).any():
        raise InputError(f"tighten is {zeta.tolist()}; expected numbers, at least 0 (to loosen, replace the problem's b)")
    return np.array(np.broadcast_to(zeta, (m,)))
