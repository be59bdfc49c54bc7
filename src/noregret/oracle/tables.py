r"""The oracle of a problem with finitely many states: exact optimum, dual, Slater gap and values of policies.

The optimum of a constrained problem is a linear program over occupancies q_h(x,a) ≥ 0, the probabilities of being in x
and taking a at step h:

.. math::  V^* = \max_q \langle q, r\rangle \quad\text{s.t.}\quad q \text{ flows from } \mu \text{ through } P,\;
           \langle q, g_i\rangle \ge b_i,\; i = 1..m.

It is solved by column generation (:mod:`noregret.oracle.columns`), each policy priced by one backward induction. The average
occupancy of the best mixture is that of an optimal Markov policy, π_h(a|x) = q_h(x,a) / Σ_a q_h(x,a).

Where a problem has a step limit, only policies that keep it are looked at (:mod:`noregret.oracle.steps`).

Nothing is returned unchecked: the policy is evaluated by a forward pass, which must agree with the backward one, meet
the constraints and meet the dual bound, each to 1e-8.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InfeasibleError, OracleError
from noregret.oracle.base import AGREEMENT, FEASIBLE, NO_ROOM, RELAX, Oracle, Solution, with_room
from noregret.oracle.columns import Mixture, Pool
from noregret.oracle.starts import PerStart, Starts, resolve
from noregret.oracle.steps import safe_choices
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.checks import policy_table
from noregret.problems.policies import markov_policy

Actions = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class TableOptimum(Solution):
    """The exact solution of a problem with finitely many states.

    ``policy`` and its ``occupancy`` are (H,S,A), and ``V_g`` are the policy's utilities. States that the policy never reaches
    have uniform actions.
    """

    policy: Array
    occupancy: Array


class TableOracle(Oracle[TableOptimum]):
    """The oracle of finitely many states. A policy is written as its actions (H,S).

    With a step limit the actions are those of ``choices``, the world in which one chooses among safe ways to draw an action.
    Without one that is the problem itself.
    """

    problem: TabularCMDP
    damped, enough, solution = True, 1e-13, TableOptimum

    def __init__(self, problem: TabularCMDP) -> None:
        self.problem, self.choices = problem, problem
        self._ways: Array | None = None
        if problem.step_limit is not None:
            self.choices, self._ways = safe_choices(problem)
        #: (H,S,A,1+m): reward and utilities side by side.
        self.costs = np.concatenate([self.choices.r[..., None], np.moveaxis(self.choices.g, 0, -1)], axis=-1)

    def in_actions(self, table: Array) -> Array:
        """Turn a policy or an occupancy of ``choices`` into one of the problem, (H,S,A)."""
        return table if self._ways is None else np.asarray(np.einsum("hsn,hsna->hsa", table, self._ways))

    def first(self, reward: float) -> tuple[Actions, Array]:
        """Give the best policy for the reward, then the best for each utility, then the worst for each utility."""
        m = self.problem.n_constraints
        weights = np.concatenate([np.eye(1 + m), -np.eye(1 + m)[1:]])
        ties = np.zeros_like(weights)
        ties[0, 1:] = ties[1:, 0] = 1.0
        return _backward(self.choices, self.costs, weights, ties)

    def best(self, prices: Array) -> tuple[Actions, Array]:
        """Find the best policy for each row of prices, all in one backward induction."""
        return _backward(self.choices, self.costs, prices)

    def evaluate(self, policy: object) -> tuple[float, Array]:
        """Compute the exact V_r and V_g (m,) of any policy (H,S,A)."""
        return _values(self.problem, occupancy(self.problem, np.asarray(policy)))

    def starts(self, asked: object) -> Starts | None:
        """Turn the user's starts (None, "drawn", a state, or a sequence of states) into first states of episodes."""
        return resolve(self, asked)

    def per_start(self, tighten: float | ArrayLike = 0.0) -> PerStart:
        """Find the optimum from each state that mu gives weight to; see :func:`per_start`."""
        problem, S = self.problem, self.problem.n_states
        states = np.flatnonzero(problem.mu)
        optima = PerStart(states, np.full(S, np.nan), np.full((S, problem.n_constraints), np.nan), np.full(S, np.nan))
        for s in map(int, states):
            alone = TableOracle(problem.replace(mu=s))
            if (gap := Pool(alone).slater_gap(problem.b)) <= FEASIBLE:
                raise InfeasibleError(f"start state {s}: the Slater gap is {gap:.9g}; expected one above 0 from every start")
            optima.slater_gaps[s], best = gap, alone.solve(tighten)
            optima.values[s], optima.duals[s] = best.value, best.dual
        return optima

    def mix(self, pool: Pool, mixture: Mixture) -> tuple[float, Array, tuple[object, ...]]:
        """Find the Markov policy of a mixture and its occupancy; a forward pass confirms V_r and V_g."""
        problem, weights = self.choices, mixture.weights
        tidy = np.where(weights > FEASIBLE, weights, 0.0)  # drop traces that the relaxed thresholds let in
        tidy /= tidy.sum()
        if np.abs((tidy - weights) @ pool.values).max() <= NO_ROOM:
            weights = tidy
        q = np.zeros_like(problem.r)
        for k in np.flatnonzero(weights):
            q += weights[k] * _forward(problem, _one_hot(problem, pool.policies[k]))
        policy = markov_policy(q, problem.available)
        q = _forward(problem, policy)
        V_r, V_g = _values(problem, q)
        mixed = weights @ pool.values
        off = float(np.abs(np.concatenate([[V_r], V_g]) - mixed).max())
        if not off <= AGREEMENT:
            raise OracleError(f"the policy found for {problem.name!r} is off the mixture's values {mixed} by {off:.3g}")
        return V_r, V_g, (self.in_actions(policy), self.in_actions(q))

    def look(self, pool: Pool, zeta: Array) -> None:
        """Warn of a constraint that every policy meets."""
        ranges = _reachable(pool)
        implied = self._ways is not None  # a step limit says more than the threshold that follows from it
        for i in () if implied else np.flatnonzero(self.problem.b + zeta <= ranges[:, 0] + RELAX):
            text = f"constraint {_describe(self.problem, int(i), ranges, zeta)}: every policy meets it, so it cannot bind"
            warnings.warn(text, UserWarning, stacklevel=4)

    def why_infeasible(self, pool: Pool, zeta: Array, gap: float, room: float) -> str:
        """Name the constraint that is out of reach, or say that each is within reach but not all together.

        Args:
            pool: the policies found so far.
            zeta: (m,) what was added to the thresholds.
            gap: the Slater gap of the problem's own thresholds.
            room: the worst slack that any policy has.
        """
        ranges, b = _reachable(pool), self.problem.b + zeta
        amount = f"{zeta[0]:.9g}" if (zeta == zeta[0]).all() else str(zeta.tolist())
        said = f"tighten is {amount}, beyond the Slater gap {gap:.9g}: " if gap >= -FEASIBLE else ""
        out = [i for i in range(len(zeta)) if b[i] > ranges[i, 1] + FEASIBLE]
        parts = "; ".join(_describe(self.problem, i, ranges, zeta) for i in out or range(len(zeta)))
        if out:
            return f"{said}no policy meets the constraints: {parts}"
        return f"{said}each constraint can be met alone but not all together, they miss by {-room:.9g}: {parts}"


# --- what only finite states have ---------------------------------------------------------------------------------


def per_start(problem: TabularCMDP, tighten: float | ArrayLike = 0.0) -> PerStart:
    """Find the optimum from each state that mu gives weight to.

    Raises:
        InfeasibleError: from one of these states no policy exceeds all thresholds; the message names the state.
    """
    return TableOracle(problem).per_start(tighten)


def occupancy(problem: TabularCMDP, policy: ArrayLike) -> Array:
    """Compute the probabilities q (H,S,A) of being in state x and taking action a at step h."""
    return _forward(problem, policy_table(policy, problem.available))


def slater_gap(problem: TabularCMDP) -> float:
    """Compute the Slater gap γ = max_π min_i (V_{g_i} - b_i): by how much one policy can exceed all thresholds.

    It is positive if the problem is strictly feasible and negative if the problem is infeasible.

    >>> import noregret as nr
    >>> round(nr.oracle.slater_gap(nr.problems.load("job-scheduling")), 6)
    0.499791
    """
    return Pool(TableOracle(problem)).slater_gap(problem.b)


def reachable(problem: TabularCMDP) -> Array:
    """Compute the least and the largest value of each utility, (m,2), over all policies."""
    return _reachable(Pool(TableOracle(problem)))


def safest(problem: TabularCMDP) -> Array:
    """Find a policy (H,S,A) with the largest worst slack min_i (V_{g_i} - b_i) and, among those, the largest reward.

    Such a policy exists also when the problem is infeasible. With one constraint it is deterministic in every state that it
    reaches.
    """
    truth = TableOracle(problem)
    pool = Pool(truth)
    gap, room = pool.slater_gap(problem.b), 0.0
    if problem.n_constraints == 1:  # the policy of largest utility; its ties went to the reward
        mixture = Mixture(np.eye(len(pool.values))[1], np.zeros(1), gap)
    else:
        try:
            mixture = pool.generate(with_room(problem.b + gap, 0.0), reward=1.0)
        except OracleError:  # one mixture may be all that is left, and HiGHS cannot always tell it from none
            room = 1e-7 * max(1.0, abs(gap))
            mixture = pool.generate(problem.b + gap - room, reward=1.0)
        if (mixture.weights @ pool.values[:, 1:] - problem.b).min() < gap - room - AGREEMENT:
            raise OracleError(f"the safest policy of {problem.name!r} misses the Slater gap {gap:.9g}")
    return np.asarray(truth.mix(pool, mixture)[2][0], dtype=np.float64)


def greedy(problem: TabularCMDP, dual: float | ArrayLike = 0.0, reward: float = 1.0) -> tuple[Array, float, Array]:
    """Find a deterministic policy that maximises ``reward``·V_r + ``dual``·V_g.

    Args:
        problem: the world.
        dual: the weight of the utilities, one number or one per constraint.
        reward: the weight of the reward.

    Returns:
        The policy (H,S,A), its V_r and its V_g (m,).
    """
    Y = np.broadcast_to(np.asarray(dual, dtype=np.float64), (problem.n_constraints,))
    truth = TableOracle(problem)
    actions, values = truth.best(np.concatenate([[reward], Y])[None])
    return truth.in_actions(_one_hot(truth.choices, actions[0])), float(values[0, 0]), values[0, 1:]


def _reachable(pool: Pool) -> Array:
    """The least and largest utilities (m,2), from the policies that a pool of tables begins with."""
    m = pool.values.shape[1] - 1
    V_g = pool.values[: 1 + 2 * m, 1:]
    return np.stack([V_g[1 + m :].diagonal(), V_g[1 : 1 + m].diagonal()], axis=1)


# --- dynamic programming ------------------------------------------------------------------------------------------


def _backward(problem: TabularCMDP, costs: Array, weights: Array, ties: Array | None = None) -> tuple[Actions, Array]:
    """For each row of ``weights`` (n,1+m) a deterministic policy maximising its sum of (V_r, V_g).

    All n policies and all 1+m values of each go through one pass over P. Ties go to the first action, or to the one
    that is best for ``ties`` (n,1+m). Returns the actions (n,H,S) and the values (n,1+m).
    """
    H, S, A = problem.r.shape
    n, width = weights.shape
    V = np.zeros((S, n, width))
    actions = np.empty((n, H, S), dtype=np.intp)
    near = 1e-14 * H
    for h in reversed(range(H)):
        Q = (problem.P[h].reshape(S * A, S) @ V.reshape(S, -1)).reshape(S, A, n, width) + costs[h][:, :, None]
        L = np.where(problem.available[h][..., None], (Q * weights).sum(axis=3), -np.inf)
        if ties is not None:
            L = np.where(L >= L.max(axis=1, keepdims=True) - near, (Q * ties).sum(axis=3), -np.inf)
        best = L.argmax(axis=1)  # (S,n)
        V = np.take_along_axis(Q, best[:, None, :, None], axis=1)[:, 0]
        actions[:, h] = best.T
    return actions, np.tensordot(problem.mu, V, axes=1)


def _forward(problem: TabularCMDP, policy: Array) -> Array:
    """The occupancy of a policy that is known to be valid."""
    H, S, A = policy.shape
    q = np.empty_like(policy)
    d = problem.mu
    for h in range(H):
        q[h] = d[:, None] * policy[h]
        flat, P = q[h].reshape(-1), problem.P[h].reshape(S * A, S)
        live = np.flatnonzero(flat)
        d = flat[live] @ P[live] if 3 * len(live) < S * A else flat @ P
    return q


def _values(problem: TabularCMDP, q: Array) -> tuple[float, Array]:
    return float(np.vdot(q, problem.r)), np.array([np.vdot(q, g) for g in problem.g])


def _one_hot(problem: TabularCMDP, actions: Actions) -> Array:
    return np.asarray(np.eye(problem.n_actions)[actions])


def _describe(problem: TabularCMDP, i: int, ranges: Array, zeta: Array) -> str:
    """A constraint as its author stated it, with what policies can reach; a "<=" one speaks of its cost, H - V_g."""
    low, high = (float(v) for v in ranges[i])
    limit, step, words, what = float(problem.limits()[i]), float(zeta[i]), "at least", "utilities"
    if problem.senses[i] == "<=":
        low, high, step, words, what = problem.horizon - high, problem.horizon - low, -step, "at most", "costs"
    tightened = f" (tightened to {limit + step:.9g})" if step else ""
    name = problem.constraint_names[i]
    return f"{name!r} asks for {words} {limit:.9g}{tightened}, policies reach {what} from {low:.9g} to {high:.9g}"
