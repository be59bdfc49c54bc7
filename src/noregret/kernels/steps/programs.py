r"""The best policy under constraints in the best model of a box: an exact linear program, solved in the compiled loop.

Each pair of a step is worth f_j(x,a) to objective j (the reward, then the m utilities), and its next state has any p with
lower ≤ p ≤ lower + room that hands out ``rest`` beyond ``lower``: a box of models, one model where ``rest`` is 0, and the end
of the episode where all are 0. The program over occupancies z_h(x,a,x'), which the papers call extended,

    max Σ z f_r   subject to   Σ z f_i ≥ b_i,  flow from the start,  lower ≤ z_h(x,a,·)/Σ_x' z_h(x,a,x') ≤ lower + room

has HS²A variables and twice as many rows. Its vertices without the m constraints are deterministic policies, each in a model
of the box, and one backward induction finds the best of them for prices Y: the row of every pair takes the p that maximises
⟨p, v⟩ (:mod:`noregret.kernels.steps.box` says how). So the program is solved by the simplex method over such vertices (Dantzig
and Wolfe): a basis of 1 + m columns, an entering column by backward induction, a pivot in a matrix (1+m)×(1+m). A basis that
misses b_i pays ``top``, far above any price, for what it lacks, so the program is always feasible; what is still lacking at
the end says that the printed one is not, and the policy then lacks as little as any.

The first column is that for the prices of the last plan. All that is kept between two plans is in arrays, so that a run that
is stopped and resumed plans with the same bits; a solver that keeps a basis for itself could not promise that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import put, row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.steps.box import sort_next
from noregret.kernels.steps.primal_dual import start_value
from noregret.kernels.types import Array, Flags, Integers

#: Kinds of columns: a policy in a model, what a constraint has beyond its threshold, what it lacks.
POLICY, BEYOND, LACK = 0, 1, 2

#: Pivots of a plan at most, for each row of the basis; some ten are usual.
PIVOTS = 100

#: The price of what a constraint lacks, in the largest reward that an episode can have.
PENALTY = 1e6

#: What a feasible program may lack, by rounding and by the finite penalty.
LACKING = 1e-6


class Rows(NamedTuple):
    """What each pair is worth and where it may lead; G = H steps, or 1 when all share what they learn."""

    worth: Array  # (H,S,A,J)
    lower: Array  # (G,S,A,S)
    room: Array  # (G,S,A,S)
    rest: Array  # (G,S,A)
    order: Integers  # (H,S) next states by decreasing v
    value: Array  # (S,) v

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        return {"order": (0, len(self.value) - 1)}


class Basis(NamedTuple):
    """A basis of the simplex method: 1 + m columns, and what a pivot needs."""

    inverse: Array  # (1+m,1+m)
    cost: Array  # (1+m,)
    kind: Integers  # (1+m,)
    q: Array  # (1+m,H,S,A) occupancies of the policies
    column: Array  # (1+m,) the column that enters
    ratio: Array  # (1+m,) the same in terms of the basis
    duals: Array  # (1+m,)
    choice: Integers  # (H,S) the greedy actions for the last prices
    V: Array  # (H+1,J,S) their values
    mass: Array  # (2,S)
    found: Array  # (2+m,) V_r and V_gi of the solution, and what the constraints lack together

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        return {"choice": (0, self.q.shape[3] - 1), "kind": (POLICY, LACK)}


def rows(H: int, S: int, A: int, J: int, *, shared: bool = False) -> Rows:
    """Make rows that are worth nothing and end the episode."""
    G = 1 if shared else H
    return Rows(
        worth=np.zeros((H, S, A, J)),
        lower=np.zeros((G, S, A, S)),
        room=np.zeros((G, S, A, S)),
        rest=np.zeros((G, S, A)),
        order=np.tile(np.arange(S), (H, 1)),
        value=np.zeros(S),
    )


def basis(H: int, S: int, A: int, m: int) -> Basis:
    """Make room for a basis."""
    n = 1 + m
    return Basis(
        inverse=np.zeros((n, n)),
        cost=np.zeros(n),
        kind=np.zeros(n, dtype=np.int64),
        q=np.zeros((n, H, S, A)),
        column=np.zeros(n),
        ratio=np.zeros(n),
        duals=np.zeros(n),
        choice=np.zeros((H, S), dtype=np.int64),
        V=np.zeros((H + 1, n, S)),
        mass=np.zeros((2, S)),
        found=np.zeros(n + 1),
    )


@jit
def expected(rows: Rows, h: int, s: int, a: int, v: Array) -> float:
    """⟨p, v⟩ for the p of a row that hands out what is left in the order of its step."""
    g = row(rows.rest, h)
    lower, room, order = rows.lower[g, s, a], rows.room[g, s, a], rows.order[h]
    total, left = 0.0, rows.rest[g, s, a]
    for x in range(len(v)):
        total += lower[x] * v[x]
    for place in range(len(v)):
        if left <= 0.0:
            break
        x = order[place]
        p = min(room[x], left)
        left -= p
        total += p * v[x]
    return total


@jit
def price(rows: Rows, available: Flags, Y: Array, basis: Basis) -> None:
    """Find the best policy and model for prices Y, from the last step to the first: fills ``choice`` and ``V``."""
    worth, V = rows.worth, basis.V
    H, S, A, J = worth.shape
    for h in range(H - 1, -1, -1):
        sort_next(rows, h, V, Y)
        for s in range(S):
            best = -np.inf
            for a in range(A):
                if available[h, s, a]:
                    composite = worth[h, s, a, 0] + expected(rows, h, s, a, rows.value)
                    for i in range(J - 1):
                        composite += Y[i] * worth[h, s, a, 1 + i]
                    if composite > best:
                        best, basis.choice[h, s] = composite, a
            a = basis.choice[h, s]
            for j in range(J):
                V[h, j, s] = worth[h, s, a, j] + expected(rows, h, s, a, V[h + 1, j])


@jit
def occupy(rows: Rows, start: Array, basis: Basis, slot: int) -> None:
    """Fill the occupancies of a column with those of the policy and the model that were priced last."""
    q = basis.q[slot]
    H, S, _ = q.shape
    q[:] = 0.0
    here, there = basis.mass[0], basis.mass[1]
    put(here, start)
    for h in range(H):
        there[:] = 0.0
        for s in range(S):
            if here[s] <= 0.0:
                continue
            a, g = basis.choice[h, s], row(rows.rest, h)
            q[h, s, a] = here[s]
            left = rows.rest[g, s, a]
            for x in range(S):
                there[x] += here[s] * rows.lower[g, s, a, x]
            for place in range(S):
                if left <= 0.0:
                    break
                x = rows.order[h, place]
                p = min(rows.room[g, s, a, x], left)
                left -= p
                there[x] += here[s] * p
        here, there = there, here


@jit
def enter(b: Array, start: Array, basis: Basis) -> float:
    """Make the policy that was priced last the entering column (1, V_g − b); returns its V_r."""
    basis.column[0] = 1.0
    for i in range(len(b)):
        basis.column[1 + i] = start_value(basis.V, 1 + i, start) - b[i]
    return start_value(basis.V, 0, start)


@jit
def begin(rows: Rows, start: Array, b: Array, top: float, basis: Basis) -> None:
    """Begin with one policy, that which was priced last, and what each constraint has beyond or lacks."""
    basis.inverse[:] = 0.0
    basis.cost[0], basis.kind[0], basis.inverse[0, 0] = enter(b, start, basis), POLICY, 1.0
    for i in range(1, 1 + len(b)):
        beyond = basis.column[i] >= 0.0
        sign = -1.0 if beyond else 1.0
        basis.kind[i], basis.cost[i] = (BEYOND, 0.0) if beyond else (LACK, -top)
        basis.inverse[i, i], basis.inverse[i, 0] = sign, -sign * basis.column[i]
    occupy(rows, start, basis, 0)


@jit
def enter_slack(top: float, basis: Basis) -> int:
    """Make the column of a constraint enter whose price is below 0 or above ``top``; returns its kind, or POLICY for none."""
    duals, column = basis.duals, basis.column
    most, which, kind = 1e-10 + 1e-13 * top, 0, POLICY
    for i in range(1, len(duals)):
        if duals[i] > most:
            most, which, kind = duals[i], i, BEYOND
        if -duals[i] - top > most:
            most, which, kind = -duals[i] - top, i, LACK
    if kind != POLICY:
        column[:] = 0.0
        column[which] = -1.0 if kind == BEYOND else 1.0
    return kind


@jit
def pivot(basis: Basis) -> int:
    """Put the entering column in the place of the one that runs out first; returns the place, or -1 if none does."""
    inverse, ratio, column = basis.inverse, basis.ratio, basis.column
    n = len(column)
    leaves, least = -1, np.inf
    for k in range(n):
        ratio[k] = 0.0
        for i in range(n):
            ratio[k] += inverse[k, i] * column[i]
        if ratio[k] > 1e-11:
            share = max(inverse[k, 0], 0.0) / ratio[k]
            if share < least or (share == least and ratio[k] > ratio[leaves]):
                leaves, least = k, share
    if leaves >= 0:
        for i in range(n):
            inverse[leaves, i] /= ratio[leaves]
        for k in range(n):
            if k != leaves:
                for i in range(n):
                    inverse[k, i] -= ratio[k] * inverse[leaves, i]
    return leaves


@jit
def solve(rows: Rows, start: Array, b: Array, available: Flags, Y: Array, basis: Basis) -> bool:
    """Solve the program, from the prices ``Y`` on, which become its own; whether the constraints can be met.

    The solution is in ``basis``: see :func:`mixture`.

    Args:
        rows: the program's.
        start: (S,) the distribution of the first state.
        b: (m,) thresholds.
        available: (H,S,A) which actions there are.
        Y: (m,) prices, at least 0.
        basis: room to work in.
    """
    m, duals, found = len(b), basis.duals, basis.found
    top = PENALTY * (1.0 + len(rows.worth) * np.abs(rows.worth[:, :, :, 0]).max())
    price(rows, available, Y, basis)
    begin(rows, start, b, top, basis)
    for _ in range(PIVOTS * (1 + m)):
        duals[:] = 0.0
        for k in range(1 + m):
            for i in range(1 + m):
                duals[i] += basis.cost[k] * basis.inverse[k, i]
        for i in range(m):
            Y[i] = min(-duals[1 + i], top) if duals[1 + i] < 0.0 else 0.0
        kind, cost = enter_slack(top, basis), 0.0
        if kind == LACK:
            cost = -top
        elif kind == POLICY:
            price(rows, available, Y, basis)
            cost = enter(b, start, basis)
            gain, size = cost - duals[0], 1.0 + abs(cost) + abs(duals[0])
            for i in range(1, 1 + m):
                gain -= duals[i] * basis.column[i]
                size += abs(duals[i] * basis.column[i])
            if gain <= 1e-11 * size:
                break
        leaves = pivot(basis)
        if leaves < 0:
            break
        basis.cost[leaves], basis.kind[leaves] = cost, kind
        if kind == POLICY:
            occupy(rows, start, basis, leaves)
    found[:] = 0.0
    for k in range(1 + m):
        share = max(basis.inverse[k, 0], 0.0)
        if basis.kind[k] == LACK:
            found[1 + m] += share
        elif basis.kind[k] == POLICY:
            for h in range(len(rows.worth)):
                for s in range(rows.worth.shape[1]):
                    for a in range(rows.worth.shape[2]):
                        for j in range(1 + m):
                            found[j] += share * basis.q[k, h, s, a] * rows.worth[h, s, a, j]
    return bool(found[1 + m] <= LACKING)


@jit
def mixture(basis: Basis, policy: Array) -> None:
    """π_h(a|x) = q_h(x,a)/Σ_a q_h(x,a) for the occupancies of the solution; the greedy action where it never comes."""
    H, S, A = policy.shape
    for h in range(H):
        for s in range(S):
            total = 0.0
            for a in range(A):
                policy[h, s, a] = 0.0
                for k in range(len(basis.kind)):
                    if basis.kind[k] == POLICY:
                        policy[h, s, a] += max(basis.inverse[k, 0], 0.0) * basis.q[k, h, s, a]
                total += policy[h, s, a]
            for a in range(A):
                if total > 1e-12:
                    policy[h, s, a] /= total
                else:
                    policy[h, s, a] = 1.0 if a == basis.choice[h, s] else 0.0


@jit
def utilities_of(rows: Rows, policy: Array, basis: Basis) -> None:
    """Evaluate a policy for every utility with p = lower: what is left to hand out is lost; fills ``V``."""
    worth, V = rows.worth, basis.V
    H, S, A, J = worth.shape
    for h in range(H - 1, -1, -1):
        g = row(rows.rest, h)
        for s in range(S):
            for j in range(1, J):
                V[h, j, s] = 0.0
                for a in range(A):
                    if policy[h, s, a] > 0.0:
                        value = worth[h, s, a, j]
                        for x in range(S):
                            value += rows.lower[g, s, a, x] * V[h + 1, j, x]
                        V[h, j, s] += policy[h, s, a] * value
