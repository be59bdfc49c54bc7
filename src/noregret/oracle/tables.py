r"""The truth about a problem: its exact optimum, dual and Slater gap, and the exact values of any policy.

The optimum of a constrained problem is a linear program over occupancies q_h(x,a) ≥ 0, the probabilities of being in x
and taking a at step h:

.. math::  V^* = \max_q \langle q, r\rangle \quad\text{s.t.}\quad q \text{ flows from } \mu \text{ through } P,\;
           \langle q, g_i\rangle \ge b_i,\; i = 1..m.

The vertices of the flow polytope are the deterministic policies, so only the point (V_r, V_g) of each matters, and the
program is solved by column generation (Dantzig and Wolfe). The master, over the K policies found so far, is tiny:

.. math::  \max_{w \ge 0} \sum_k w_k V_r^k \quad\text{s.t.}\quad \sum_k w_k V_{g_i}^k \ge b_i,\; \sum_k w_k = 1.

Its dual Y prices the next policy by backward induction, which also bounds the optimum from above for any Y ≥ 0:

.. math::  V^* \le \max_\pi V_{r + Y \cdot g}^\pi - Y \cdot b.

When bound and master meet, Y is an optimal dual and the average occupancy of the mixture is that of an optimal Markov
policy, π_h(a|x) = q_h(x,a) / Σ_a q_h(x,a). The Slater gap, max_π min_i (V_{g_i} - b_i), is found in the same way with a
master that maximises t subject to Σ_k w_k V_{g_i}^k - t ≥ b_i; its duals are weights on the simplex.

Nothing is returned unchecked: the policy is evaluated by a forward pass, which must agree with the backward one, meet
the constraints and meet the dual bound, each to 1e-8. Learners may not import this module.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.blas import one_thread
from noregret.errors import InfeasibleError, InputError, OracleError
from noregret.oracle import quadrature as linear_oracle
from noregret.oracle.mixtures import master as _master
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.checks import policy_table
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.policies import markov_policy

Actions = NDArray[np.intp]

#: How closely primal, dual and evaluation must agree; relative to the sum of the duals where that exceeds 1.
AGREEMENT = 1e-8
#: A threshold beyond the best policy by at most this much is met: it is rounding, as in ``tighten=slater_gap(p)``.
FEASIBLE = 1e-9
#: With less room than ``NO_ROOM`` the master's thresholds are lowered by ``RELAX``, so that it does not tell policies
#: apart by the last bits of their utilities.
NO_ROOM, RELAX = 1e-10, 1e-12
MAX_ROUNDS = 5000


@dataclass(frozen=True, eq=False)
class Optimum:
    """The exact solution of a problem.

    ``value`` is V* for the ``thresholds`` b + ``tighten``; ``dual`` an optimal dual of them (not unique where V* has a
    kink in b). ``slater_gap`` is that of the problem's own b, also when tightened. ``policy`` and its ``occupancy`` are
    (H,S,A), and ``V_g`` are the policy's utilities. States that the policy never reaches have uniform actions.
    """

    value: float
    dual: Array
    slater_gap: float
    policy: Array
    occupancy: Array
    V_g: Array
    thresholds: Array
    tighten: Array

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<Optimum: value {self.value:.6g}, dual {np.round(self.dual, 6).tolist()}, Slater gap {self.slater_gap:.6g}>"


@dataclass(frozen=True, eq=False)
class PerStart:
    """The optimum from each of ``states``: values (S,), duals (S,m), slater_gaps (S,); entries of other states are nan."""

    states: NDArray[np.int64]
    values: Array
    duals: Array
    slater_gaps: Array


# --- what the rest of the library calls ---------------------------------------------------------------------------


@overload
def solve(problem: TabularCMDP, tighten: float | ArrayLike = 0.0) -> Optimum: ...
@overload
def solve(problem: LinearCMDP, tighten: float | ArrayLike = 0.0) -> linear_oracle.LinearOptimum: ...
def solve(problem: TabularCMDP | LinearCMDP, tighten: float | ArrayLike = 0.0) -> Optimum | linear_oracle.LinearOptimum:
    """The exact optimum under the thresholds b + ``tighten``.

    Args:
        problem: the world; a linear CMDP on R^D is solved by quadrature (:mod:`noregret.oracle.quadrature`).
        tighten: ζ ≥ 0, one number or one per constraint.

    Returns:
        The :class:`Optimum`. Its ``slater_gap`` belongs to the original b; that of the tightened problem is smaller by
        ζ if ζ is one number.

    Raises:
        InfeasibleError: no policy meets the constraints, or ``tighten`` is beyond the Slater gap.
        OracleError: the result failed its own checks.

    Warns:
        UserWarning: a constraint is met by every policy.
    """
    if isinstance(problem, LinearCMDP):
        return linear_oracle.solve(problem, tighten)
    if not isinstance(problem, TabularCMDP):
        raise InputError(f"problem is {problem!r}; expected a problem (problems.load makes one from a name)")
    zeta = _tightening(tighten, problem.n_constraints)
    b = problem.b + zeta
    pool = _Pool(problem)
    gap = pool.slater_gap(problem.b)
    room = gap - float(zeta[0]) if (zeta == zeta[0]).all() else pool.slater_gap(b)
    if room < -FEASIBLE:
        raise InfeasibleError(_why_infeasible(problem, pool.reachable(), zeta, gap, room))
    for i in np.flatnonzero(b <= pool.reachable()[:, 0] + RELAX):
        text = f"constraint {_describe(problem, int(i), pool.reachable(), zeta)}: every policy meets it, so it cannot bind"
        warnings.warn(text, UserWarning, stacklevel=2)

    with one_thread():
        weights, dual = pool.generate(_with_room(b, room), reward=1.0)
        policy, q, V_r, V_g = pool.mixture(weights)
    free = float(pool.values[:, 0].max())
    dual = np.where((dual < RELAX) | (free - V_r <= NO_ROOM), 0.0, dual)  # free: the reward without constraints
    _check(problem, b, dual, V_r, V_g)
    return Optimum(V_r, dual, gap, policy, q, V_g, b, zeta)


def per_start(problem: TabularCMDP, tighten: float | ArrayLike = 0.0) -> PerStart:
    """The optimum from each state that mu gives weight to; a start whose Slater gap is not above 0 is refused by name."""
    S, states = problem.n_states, np.flatnonzero(problem.mu)
    found = PerStart(states, np.full(S, np.nan), np.full((S, problem.n_constraints), np.nan), np.full(S, np.nan))
    for s in map(int, states):
        if (gap := slater_gap(alone := problem.replace(mu=s))) <= FEASIBLE:
            raise InfeasibleError(f"start state {s}: the Slater gap is {gap:.9g}; expected one above 0 from every start")
        found.slater_gaps[s], best = gap, solve(alone, tighten)
        found.values[s], found.duals[s] = best.value, best.dual
    return found


def evaluate(problem: TabularCMDP | LinearCMDP, policy: Any) -> tuple[float, Array]:
    """The exact V_r and V_g (m,) of any policy (H,S,A), from the start distribution; on R^D by quadrature, of a plan."""
    if isinstance(problem, LinearCMDP):
        return linear_oracle.evaluate(problem, policy)
    if not isinstance(problem, TabularCMDP):
        raise InputError(f"problem is {problem!r}; expected a problem (problems.load makes one from a name)")
    return _values(problem, _forward(problem, policy_table(policy, problem.available)))


def occupancy(problem: TabularCMDP, policy: ArrayLike) -> Array:
    """The probabilities q (H,S,A) of being in x and taking a at step h."""
    return _forward(problem, policy_table(policy, problem.available))


def slater_gap(problem: TabularCMDP) -> float:
    """γ = max_π min_i (V_{g_i} - b_i): positive if strictly feasible, negative if infeasible."""
    return _Pool(problem).slater_gap(problem.b)


def reachable(problem: TabularCMDP) -> Array:
    """(m,2): the least and the largest V_{g_i} of any policy."""
    return _Pool(problem).reachable()


def safest(problem: TabularCMDP) -> Array:
    """A policy (H,S,A) with the largest worst slack min_i (V_{g_i} - b_i) and, among those, the largest reward.

    It exists also when the problem is infeasible. With one constraint it is deterministic in every state it reaches.
    """
    pool = _Pool(problem)
    if problem.n_constraints == 1:
        weights = np.zeros(len(pool.values))
        weights[1] = 1.0  # the policy of largest utility; its ties went to the reward
    else:
        gap = pool.slater_gap(problem.b)
        room = 0.0
        try:
            weights, _ = pool.generate(_with_room(problem.b + gap, 0.0), reward=1.0)
        except OracleError:  # one mixture may be all that is left, and HiGHS cannot always tell it from none
            room = 1e-7 * max(1.0, abs(gap))
            weights, _ = pool.generate(problem.b + gap - room, reward=1.0)
        if (weights @ pool.values[:, 1:] - problem.b).min() < gap - room - AGREEMENT:
            raise OracleError(f"the safest policy of {problem.name!r} misses the Slater gap {gap:.9g}")
    return pool.mixture(weights)[0]


def greedy(problem: TabularCMDP, dual: float | ArrayLike = 0.0, reward: float = 1.0) -> tuple[Array, float, Array]:
    """A deterministic policy (H,S,A) that maximises ``reward``·V_r + ``dual``·V_g; its V_r and V_g (m,)."""
    Y = np.broadcast_to(np.asarray(dual, dtype=np.float64), (problem.n_constraints,))
    actions, values = _backward(problem, _costs(problem), np.concatenate([[reward], Y])[None])
    return _one_hot(problem, actions[0]), float(values[0, 0]), values[0, 1:]


# --- column generation --------------------------------------------------------------------------------------------


class _Pool:
    """The deterministic policies found so far: ``actions[k]`` (H,S) with ``values[k]`` = (V_r, V_g)."""

    def __init__(self, problem: TabularCMDP) -> None:
        self.problem, self.costs = problem, _costs(problem)
        m = problem.n_constraints
        self.values: Array = np.empty((0, 1 + m))
        self.actions: list[Actions] = []
        self.seen: set[bytes] = set()
        # Policy 0 is the best for reward, 1..m for each utility; then come the worst ones.
        weights = np.concatenate([np.eye(1 + m), -np.eye(1 + m)[1:]])
        ties = np.zeros_like(weights)
        ties[0, 1:] = ties[1:, 0] = 1.0
        self.add(*_backward(problem, self.costs, weights, ties), always=True)

    def add(self, actions: Actions, values: Array, always: bool = False) -> bool:
        """Keep the policies that are new; say whether there were any."""
        new = [k for k, a in enumerate(actions) if always or a.tobytes() not in self.seen]
        self.seen |= {actions[k].tobytes() for k in new}
        self.actions += [actions[k] for k in new]
        self.values = np.concatenate([self.values, values[new]])
        return bool(new)

    def reachable(self) -> Array:
        m = self.problem.n_constraints
        V_g = self.values[: 1 + 2 * m, 1:]
        return np.stack([V_g[1 + m :].diagonal(), V_g[1 : 1 + m].diagonal()], axis=1)

    def slater_gap(self, b: Array) -> float:
        if len(b) == 1:
            return float(self.values[1, 1] - b[0])
        with one_thread():
            weights, _ = self.generate(b, reward=0.0)
        return float((weights @ self.values[:, 1:] - b).min())

    def generate(self, b: Array, reward: float) -> tuple[Array, Array]:
        """Add policies until the best mixture is optimal; return its weights and the dual.

        With ``reward`` = 1 the mixture maximises V_r subject to V_g ≥ b; with 0 it maximises the worst slack. Beside
        the master's dual Y a point half-way to the best dual so far is priced, in the same pass: that damps the
        swings of Y that column generation is known for.
        """
        best, best_bound = np.zeros(len(b)), np.inf
        for _ in range(MAX_ROUNDS):
            weights, Y, value = _master(self.values, b, reward)
            duals = np.stack([Y, (Y + best) / 2.0])[: 1 if np.isinf(best_bound) else 2]
            prices = np.concatenate([np.full((len(duals), 1), reward), duals], axis=1)
            actions, values = _backward(self.problem, self.costs, prices)
            bounds = (values * prices).sum(axis=1) - duals @ b
            k = int(bounds.argmin())
            if bounds[k] < best_bound:
                best, best_bound = duals[k], float(bounds[k])
            done = value + 1e-13 * self.problem.horizon * max(1.0, float(Y.sum()))
            if bounds[0] <= done:
                return weights, Y
            if best_bound <= done or not self.add(actions, values):  # nothing new: at the level of rounding
                return weights, best
        raise OracleError(f"no optimum of {self.problem.name!r} after {MAX_ROUNDS} rounds of column generation")

    def mixture(self, weights: Array) -> tuple[Array, Array, float, Array]:
        """The Markov policy of a mixture, its occupancy, V_r and V_g, confirmed by a forward pass."""
        problem = self.problem
        tidy = np.where(weights > FEASIBLE, weights, 0.0)  # drop traces that the relaxed thresholds let in
        tidy /= tidy.sum()
        if np.abs((tidy - weights) @ self.values).max() <= NO_ROOM:
            weights = tidy
        q = np.zeros_like(problem.r)
        for k in np.flatnonzero(weights):
            q += weights[k] * _forward(problem, _one_hot(problem, self.actions[k]))
        policy = markov_policy(q, problem.available)
        q = _forward(problem, policy)
        V_r, V_g = _values(problem, q)
        mixed = weights @ self.values
        off = float(np.abs(np.concatenate([[V_r], V_g]) - mixed).max())
        if not off <= AGREEMENT:
            raise OracleError(f"the policy found for {problem.name!r} is off the mixture's values {mixed} by {off:.3g}")
        return policy, q, V_r, V_g


def _check(problem: TabularCMDP, b: Array, dual: Array, V_r: float, V_g: Array) -> None:
    """Primal feasibility and duality gap, from the evaluated policy and a fresh backward induction."""
    short = float((b - V_g).max())
    if not short <= AGREEMENT:
        raise OracleError(f"the policy found for {problem.name!r} misses a threshold by {short:.3g}")
    _, best_r, best_g = greedy(problem, dual)
    gap = best_r + float(dual @ (best_g - b)) - V_r
    if not abs(gap) <= AGREEMENT * max(1.0, float(dual.sum())):
        raise OracleError(f"the optimum of {problem.name!r} has a duality gap of {gap:.3g} at dual {dual}")


def _with_room(b: Array, room: float) -> Array:
    return b if room >= NO_ROOM else b + (min(room, 0.0) - RELAX)


# --- dynamic programming ------------------------------------------------------------------------------------------


def _costs(problem: TabularCMDP) -> Array:
    """(H,S,A,1+m): reward and utilities side by side."""
    return np.concatenate([problem.r[..., None], np.moveaxis(problem.g, 0, -1)], axis=-1)


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


# --- input and messages -------------------------------------------------------------------------------------------


def _tightening(tighten: float | ArrayLike, m: int) -> Array:
    try:
        zeta = np.array(tighten, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"tighten is not a number for each constraint: {error}") from None
    if zeta.shape not in ((), (m,)):
        raise InputError(f"tighten has shape {zeta.shape}; expected a number or ({m},), one for each constraint")
    if not (np.isfinite(zeta) & (zeta >= 0.0)).all():
        raise InputError(
            f"tighten is {zeta.tolist()}; expected finite numbers, at least 0 (to loosen, replace the problem's b)"
        )
    return np.array(np.broadcast_to(zeta, (m,)))


def _describe(problem: TabularCMDP, i: int, ranges: Array, zeta: Array) -> str:
    """A constraint as its author stated it, with what policies can reach; a "<=" one speaks of its cost, H - V_g."""
    low, high = (float(v) for v in ranges[i])
    limit, step, words, what = float(problem.limits()[i]), float(zeta[i]), "at least", "utilities"
    if problem.senses[i] == "<=":
        low, high, step, words, what = problem.horizon - high, problem.horizon - low, -step, "at most", "costs"
    tightened = f" (tightened to {limit + step:.9g})" if step else ""
    name = problem.constraint_names[i]
    return f"{name!r} asks for {words} {limit:.9g}{tightened}, policies reach {what} from {low:.9g} to {high:.9g}"


def _why_infeasible(problem: TabularCMDP, ranges: Array, zeta: Array, gap: float, room: float) -> str:
    """Which constraint is out of reach, or that all are within reach but not together."""
    amount = f"{zeta[0]:.9g}" if (zeta == zeta[0]).all() else str(zeta.tolist())
    said = f"tighten is {amount}, beyond the Slater gap {gap:.9g}: " if gap >= -FEASIBLE else ""
    out = [i for i in range(len(zeta)) if problem.b[i] + zeta[i] > ranges[i, 1] + FEASIBLE]
    parts = "; ".join(_describe(problem, i, ranges, zeta) for i in out or range(len(zeta)))
    if out:
        return f"{said}no policy meets the constraints: {parts}"
    return f"{said}each constraint can be met alone but not all together, they miss by {-room:.9g}: {parts}"
