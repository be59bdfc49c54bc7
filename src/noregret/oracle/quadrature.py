r"""The truth about a linear CMDP on R^D: V*, dual and Slater gap, and the values of any policy, by quadrature.

The grid of :mod:`noregret.problems.quadrature` is a finite linear CMDP, and its optimum is found as in
:mod:`noregret.oracle.tables`: by column generation over deterministic policies, each priced by one backward induction. A finite
problem has finitely many of them, so this ends. What is left is the error of the grid, which ``solve(..., check=True)``
measures against a grid of half the cells: :attr:`LinearOptimum.error` is the larger of the changes in V* and in the Slater
gap, and with an order of at least 1 the error on the grid in use is no larger than that. Learners may not import this module.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InfeasibleError, InputError, OracleError
from noregret.oracle.mixtures import master
from noregret.problems.base import Array
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.quadrature import Policy, Quadrature

MAX_ROUNDS = 200
#: How closely the dual bound and the best mixture must meet, times H.
AGREEMENT = 1e-10


@dataclass(frozen=True)
class LinearOptimum:
    """The solution of a linear CMDP on a grid.

    ``value`` is V* for the thresholds b + ``tighten``, ``dual`` an optimal dual; ``slater_gap`` belongs to the problem's own b.
    The optimal policy is a mixture: with probability ``weights[k]`` the policy greedy for ``prices[k]`` (1+m,) is played.
    ``error`` is how much value and Slater gap move when the cells are halved in number (nan if that was not asked for).
    """

    value: float
    dual: Array
    slater_gap: float
    weights: Array
    prices: Array
    V_g: Array
    cells: int
    error: float

    def __repr__(self) -> str:
        """A one-line summary."""
        dual = np.round(self.dual, 6).tolist()
        return f"<LinearOptimum: value {self.value:.6g}, dual {dual}, Slater gap {self.slater_gap:.6g}, {self.cells} cells>"


def solve(
    problem: LinearCMDP, tighten: float | ArrayLike = 0.0, *, cells: int | None = None, check: bool = False
) -> LinearOptimum:
    """The optimum under the thresholds b + ``tighten``, on a grid of ``cells`` along each axis."""
    zeta = np.asarray(tighten, dtype=np.float64)
    if zeta.shape not in ((), (problem.n_constraints,)) or not (np.isfinite(zeta) & (zeta >= 0.0)).all():
        raise InputError(f"tighten is {tighten!r}; expected a number, at least 0, or one for each constraint")
    grid = quadrature(problem, cells)
    m, b = problem.n_constraints, problem.b + zeta
    gap, _, _, _ = _generate(grid, problem.b, 0.0)
    room = gap if not zeta.any() else _generate(grid, b, 0.0)[0]
    if room < -1e-9:
        raise InfeasibleError(
            f"no policy of {problem.name!r} meets V_g ≥ {np.round(b, 6).tolist()}: the worst slack is {room:.6g} at best"
        )
    value, dual, weights, prices = _generate(grid, b - 1e-12 if room < 1e-10 else b, 1.0)
    V = weights @ np.stack([grid.greedy(price)[0] for price in prices])
    error = float("nan")
    if check:
        coarse = solve(problem, tighten, cells=max(2, grid.cells // 2))
        error = max(abs(coarse.value - value), abs(coarse.slater_gap - gap))
    return LinearOptimum(value, dual[:m], gap, weights, prices, V[1:], grid.cells, error)


def evaluate(problem: LinearCMDP, policy: Any, *, cells: int | None = None) -> tuple[float, Array]:
    """V_r and V_g (m,) of a policy from the start: a plan of a learner, or a function (step, states (n,D)) ↦ (n,A)."""
    grid = quadrature(problem, cells)
    V = grid.values(_on_grid(problem, grid, policy))
    return float(V[0]), V[1:]


def _on_grid(problem: LinearCMDP, grid: Quadrature, policy: Any) -> Policy:
    """A policy of encoded states; plans of a learner with the problem's features need not encode them again."""
    if hasattr(policy, "at") and policy.features is problem.features:
        chances: Policy = policy.chances
        return chances
    ask = policy.probabilities if hasattr(policy, "probabilities") else policy

    def table(h: int, phi: Array) -> Array:
        states = problem.start[None] if len(phi) == 1 else grid.points
        pi = np.asarray(ask(h, states), dtype=np.float64)
        if pi.shape != (len(states), problem.n_actions):
            raise InputError(f"policy gives shape {pi.shape} at step {h}; expected {(len(states), problem.n_actions)}")
        if not (pi >= -1e-9).all() or np.abs(pi.sum(axis=1) - 1.0).max() > 1e-6:
            raise InputError(f"policy at step {h} is not a distribution over actions at every state")
        return pi

    return table


_GRIDS: weakref.WeakKeyDictionary[LinearCMDP, dict[int | None, Quadrature]] = weakref.WeakKeyDictionary()


def quadrature(problem: LinearCMDP, cells: int | None = None) -> Quadrature:
    """The grid of a problem, made once."""
    grids = _GRIDS.setdefault(problem, {})
    if cells not in grids:
        grids[cells] = Quadrature(problem, cells)
    return grids[cells]


def _generate(grid: Quadrature, b: Array, reward: float) -> tuple[float, Array, Array, Array]:
    """Column generation: the value of the best mixture, the dual, and the mixture's weights and prices.

    With ``reward`` = 1 the mixture maximises V_r subject to V_g ≥ b; with 0 it maximises the worst slack.
    """
    m = len(b)
    prices = [*np.eye(1 + m), np.concatenate([[reward], np.ones(m)])]
    values = np.stack([grid.greedy(price)[0] for price in prices])
    enough = AGREEMENT * grid.problem.horizon
    for _ in range(MAX_ROUNDS):
        weights, Y, value = _best(values, b, reward)
        price = np.concatenate([[reward], Y])
        new = grid.greedy(price)[0]
        bound = float(new @ price - Y @ b)
        if bound <= value + enough * max(1.0, float(Y.sum())) or (np.abs(values - new).max(axis=1) < 1e-13).any():
            keep = weights > 0.0
            return value, Y, weights[keep], np.stack(prices)[keep]
        values, prices = np.concatenate([values, new[None]]), [*prices, price]
    raise OracleError(
        f"no optimum of {grid.problem.name!r} after {MAX_ROUNDS} rounds; bound and value differ by {bound - value:.3g}"
    )


def _best(values: Array, b: Array, reward: float) -> tuple[Array, Array, float]:
    """The master; while no mixture is feasible, the dual is large enough to find one."""
    if reward and _slack(values, b) < 0.0:
        weights, Y, _ = master(values, b, 0.0)
        return weights, 1e6 * Y, -np.inf
    return master(values, b, reward)


def _slack(values: Array, b: Array) -> float:
    """The worst slack of the best mixture of known policies."""
    weights, _, _ = master(values, b, 0.0)
    return float((weights @ values[:, 1:] - b).min())
