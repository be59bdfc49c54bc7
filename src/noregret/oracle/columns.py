r"""Column generation (Dantzig and Wolfe): the best mixture of policies under constraints, for any kind of problem.

The optimum of a constrained problem is a linear program over occupancies. The vertices of its polytope are the deterministic
policies, so only the point (V_r, V_g) of each matters. The *master* is the tiny program over the K policies found so far:

.. math::  \max_{w \ge 0} \sum_k w_k V_r^k \quad\text{s.t.}\quad \sum_k w_k V_{g_i}^k \ge b_i,\; \sum_k w_k = 1.

Its dual Y prices the next policy, which also bounds the optimum from above for any Y ≥ 0:

.. math::  V^* \le \max_\pi V_{r + Y \cdot g}^\pi - Y \cdot b.

When bound and master meet, the mixture is optimal and Y is an optimal dual. The Slater gap, max_π min_i (V_{g_i} - b_i), is
found in the same way with a master that maximises t subject to Σ_k w_k V_{g_i}^k - t ≥ b_i; its duals are weights on the
simplex. All that is asked of a kind of problem is :class:`Pricing`: the best policy for given prices, and its values.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noregret._system.blas import one_thread
from noregret._system.interrupts import held
from noregret.errors import OracleError
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.linear_continuous import LinearCMDP

MAX_ROUNDS = 5000
#: HiGHS takes no tighter tolerances, so the master's rows are slacks times ``SCALE``: policies close in utility then
#: differ by more than a tolerance, and a threshold that is just within reach is not called infeasible.
HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SCALE = 1e4


class Pricing(Protocol):
    """What column generation asks of a kind of problem. Each kind writes its policies as arrays in its own way."""

    problem: TabularCMDP | LinearCMDP
    #: Whether a second price costs little, so that the swings of the dual are damped.
    damped: bool
    #: How closely the dual bound and the master must meet, times H.
    enough: float

    @abstractmethod
    def first(self, reward: float) -> tuple[NDArray[np.generic], Array]:
        """Give the policies to begin with, and their values (V_r, V_g) as rows (n,1+m).

        The first policy is the best for the reward. The next m are the best for one utility each. Others may follow.
        """

    @abstractmethod
    def best(self, prices: Array) -> tuple[NDArray[np.generic], Array]:
        """Find the best policy for each row of prices.

        Args:
            prices: (n,1+m) the worth of the reward and of each utility.

        Returns:
            n policies that maximise their row's sum of priced (V_r, V_g), and these values (n,1+m) without prices.
        """


class Mixture(NamedTuple):
    """Weights (K,) on the policies of a pool, an optimal dual (m,), and the master's value."""

    weights: Array
    dual: Array
    value: float


class Pool:
    """The policies found so far: ``policies[k]`` has the values ``values[k]`` = (V_r, V_g).

    Args:
        pricing: the kind of problem.
        reward: the price of the reward, 1; or 0 where the worst slack is maximised, for the Slater gap.
    """

    def __init__(self, pricing: Pricing, reward: float = 0.0) -> None:
        self.pricing = pricing
        policies, self.values = pricing.first(reward)
        self.policies = list(policies)
        self.seen = {policy.tobytes() for policy in policies}

    def add(self, policies: NDArray[np.generic], values: Array) -> bool:
        """Keep those policies that the pool does not have yet, and tell whether there were any."""
        new = [k for k, policy in enumerate(policies) if policy.tobytes() not in self.seen]
        self.seen |= {policies[k].tobytes() for k in new}
        self.policies += [policies[k] for k in new]
        self.values = np.concatenate([self.values, values[new]])
        return bool(new)

    def slack(self, b: Array) -> float:
        """Compute the worst slack V_g - b of the best mixture of the policies found so far."""
        return self._worst(master(self.values, b, 0.0)[0], b)

    def slater_gap(self, b: Array) -> float:
        """Compute max_π min_i (V_{g_i} - b_i), by policies that are added to the pool."""
        return float(self.values[1, 1] - b[0]) if len(b) == 1 else self._worst(self.generate(b, reward=0.0).weights, b)

    def _worst(self, weights: Array, b: Array) -> float:
        return float((weights @ self.values[:, 1:] - b).min())

    def generate(self, b: Array, reward: float) -> Mixture:
        """Add policies until the best mixture is optimal, and return it.

        The master's dual Y is known to swing. Where prices cost little, a second policy is therefore found in each round: for
        the prices half-way between Y and the best dual so far.

        Args:
            b: (m,) thresholds.
            reward: 1 to maximise V_r subject to V_g ≥ b, which some mixture of the pool must meet; 0 for the worst slack.

        Raises:
            OracleError: bound and master did not meet within ``MAX_ROUNDS`` rounds.
        """
        problem, damped = self.pricing.problem, self.pricing.damped
        best, best_bound = np.zeros(len(b)), np.inf
        with one_thread():
            for _ in range(MAX_ROUNDS):
                weights, Y, value = master(self.values, b, reward)
                duals = np.stack([Y, (Y + best) / 2.0])[: 2 if damped and np.isfinite(best_bound) else 1]
                prices = np.concatenate([np.full((len(duals), 1), reward), duals], axis=1)
                policies, values = self.pricing.best(prices)
                bounds = (values * prices).sum(axis=1) - duals @ b
                k = int(bounds.argmin())
                if bounds[k] < best_bound or not damped:
                    best, best_bound = duals[k], float(bounds[k])
                done = value + self.pricing.enough * problem.horizon * max(1.0, float(Y.sum()))
                if bounds[0] <= done:
                    return Mixture(weights, Y, value)
                if best_bound <= done or not self.add(policies, values):  # nothing new: at the level of rounding
                    return Mixture(weights, best, value)
        raise OracleError(f"no optimum of {problem.name!r} after {MAX_ROUNDS} rounds of column generation")


def master(values: Array, b: Array, reward: float) -> tuple[Array, Array, float]:
    """Find the best mixture of known policies by linear programming.

    The variables are the weights and t, which is 0 when the reward is maximised and the worst slack otherwise.

    Args:
        values: (K,1+m) the values (V_r, V_g) of each policy.
        b: (m,) thresholds.
        reward: 1 to maximise V_r subject to V_g ≥ b, 0 to maximise the worst slack.

    Returns:
        The weights (K,) of the mixture, the dual (m,) and the value that is maximised.

    Raises:
        OracleError: HiGHS found no solution.
    """
    with held():  # its compiled parts make an ImportError of a Ctrl-C
        from scipy.optimize import linprog  # a quarter of a second, so not at import

    K, m = len(values), len(b)
    objective = np.append(-reward * values[:, 0], reward - 1.0)
    short = np.column_stack([b[:, None] - values[:, 1:].T, np.ones(m)])
    total = np.append(np.ones(K), 0.0)[None]
    bounds = [(0.0, None)] * K + [(0.0, 0.0) if reward else (None, None)]
    for scale, presolve in ((SCALE, False), (SCALE, True), (1.0, False)):  # HiGHS gives up on few, on none in all ways
        options = HIGHS | {"presolve": presolve}
        solved = linprog(objective, scale * short, np.zeros(m), total, [1.0], bounds, method="highs-ds", options=options)
        if solved.status == 0:
            break
    else:
        raise OracleError(f"the master program over {K} policies was not solved: {solved.message}")
    weights = np.maximum(solved.x[:-1], 0.0)
    return weights / weights.sum(), np.maximum(-scale * solved.ineqlin.marginals, 0.0), -float(solved.fun)
