r"""The oracle of a linear CMDP on R^D: V*, dual and Slater gap, and the values of any policy, by quadrature.

The grid of :mod:`noregret.problems.quadrature` is a finite linear CMDP, so column generation (:mod:`noregret.oracle.columns`)
ends there too; each policy is priced by one backward induction over the grid. What is left is the error of the grid, which
``solve(..., check=True)`` measures against a grid of half the cells: :attr:`LinearOptimum.error` is the larger of the changes
in V* and in the Slater gap, and with an order of at least 1 the error on the grid in use is no larger than that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError, shown
from noregret.oracle.base import Oracle, Solution
from noregret.oracle.columns import Mixture, Pool
from noregret.problems.base import Array
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.quadrature import Policy, Quadrature


@dataclass(frozen=True, eq=False, repr=False)
class LinearOptimum(Solution):
    """The solution of a linear CMDP on a grid.

    The optimal policy is a mixture: with probability ``weights[k]`` the policy greedy for ``prices[k]`` (1+m,) is played.
    ``error`` is how much value and Slater gap move when the cells are halved in number (nan if that was not asked for).
    """

    weights: Array
    prices: Array
    cells: int
    error: float = float("nan")


class GridOracle(Oracle[LinearOptimum]):
    """The oracle on a grid of ``cells`` along each axis. A policy is written as the prices that it is greedy for."""

    problem: LinearCMDP
    damped, enough, solution = False, 1e-10, LinearOptimum

    def __init__(self, problem: LinearCMDP, cells: int | None = None) -> None:
        self.problem, self.grid = problem, quadrature(problem, cells)

    def first(self, reward: float) -> tuple[Array, Array]:
        """Give the best policies for the reward, for each utility, and for the sum of all values that have a price."""
        m = self.problem.n_constraints
        return self.best(np.concatenate([np.eye(1 + m), [[reward, *np.ones(m)]]]))

    def best(self, prices: Array) -> tuple[Array, Array]:
        """Find the best policy for each row of prices, by one backward induction each."""
        return prices, np.stack([self.grid.greedy(price)[0] for price in prices])

    def gap(self, pool: Pool, b: Array) -> float:
        """Compute the Slater gap as the value of the master program."""
        return pool.generate(b, reward=0.0).value

    def pool_for_reward(self, pool: Pool, b: Array) -> Pool:
        """Begin a new pool, for a small master; the policies of ``pool`` are added only if b cannot be met without them."""
        small = Pool(self, reward=1.0)
        if small.slack(b) < 0.0:
            small.add(np.stack(pool.policies), pool.values)
        return small

    def mix(self, pool: Pool, mixture: Mixture) -> tuple[float, Array, tuple[object, ...]]:
        """Mix values that are exact on the grid, so the mixture's values are exact there too."""
        keep = mixture.weights > 0.0
        weights = mixture.weights[keep]
        return mixture.value, (weights @ pool.values[keep])[1:], (weights, np.stack(pool.policies)[keep], self.grid.cells)

    def why_infeasible(self, pool: Pool, zeta: Array, gap: float, room: float) -> str:
        """Name the thresholds and the worst slack.

        Args:
            pool: not used.
            zeta: (m,) what was added to the thresholds.
            gap: not used.
            room: the worst slack that any policy has.
        """
        b = np.round(self.problem.b + zeta, 6).tolist()
        return f"no policy of {self.problem.name!r} meets V_g ≥ {b}: the worst slack is {room:.6g} at best"

    def solve(self, tighten: float | ArrayLike = 0.0, *, check: bool = False) -> LinearOptimum:
        """Find the optimum on the grid; with ``check`` also measure how much a grid of half the cells would change it."""
        optimum = super().solve(tighten)
        if not check:
            return optimum
        coarse = GridOracle(self.problem, max(2, self.grid.cells // 2)).solve(tighten)
        return replace(optimum, error=max(abs(coarse.value - optimum.value), abs(coarse.slater_gap - optimum.slater_gap)))

    def evaluate(self, policy: object) -> tuple[float, Array]:
        """Compute V_r and V_g (m,) of a policy from the start.

        The policy is a learner's plan, or a function from (step, states (n,D)) to probabilities (n,A).
        """
        V = self.grid.values(_on_grid(self.problem, self.grid, policy))
        return float(V[0]), V[1:]


def _on_grid(problem: LinearCMDP, grid: Quadrature, policy: object) -> Policy:
    """Make any policy one of encoded states. The plan of a learner with the problem's own features is one already."""
    if hasattr(policy, "at") and hasattr(policy, "chances") and getattr(policy, "features", None) is problem.features:
        chances: Policy = policy.chances
        return chances
    ask = getattr(policy, "probabilities", policy)
    if not callable(ask):
        raise InputError(f"policy is {shown(policy)}; expected a learner's plan, or a function of (step, states)")

    def table(h: int, phi: Array) -> Array:
        states = problem.start[None] if len(phi) == 1 else grid.points
        pi = np.asarray(ask(h, states), dtype=np.float64)
        if pi.shape != (len(states), problem.n_actions):
            raise InputError(f"policy gives shape {pi.shape} at step {h}; expected {(len(states), problem.n_actions)}")
        if not (pi >= -1e-9).all() or np.abs(pi.sum(axis=1) - 1.0).max() > 1e-6:
            raise InputError(f"policy at step {h} is not a distribution over actions at every state")
        return pi

    return table


@lru_cache(maxsize=8)
def quadrature(problem: LinearCMDP, cells: int | None = None) -> Quadrature:
    """Make the grid of a problem, or return it if it is among the last few made."""
    return Quadrature(problem, cells)
