"""The soft-max policy on the composite Q, and the values it gives. Alg. 1, l. 10-12."""

from __future__ import annotations

from functools import partial

import numpy as np

from noregret.kernels.compiler.flat import flat, index, row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array, Policies, Where

#: exp(x) is exactly 0 in float64 below this.
UNDERFLOW = -745.2


@jit
def plain_soft_max(where: Where, h: int, tables: Policies, Y: Array, alpha: float) -> None:
    """Compute what :func:`soft_max` does, written plainly: for readers, and for tests that compare both."""
    Q, V, policy, available = tables.Q, tables.V, tables.policy, tables.available
    J, A = Q.shape[1], Q.shape[3]
    for i in range(where.actives[row(where.actives, h)]):
        s = where.active[row(where.active, h), i]
        best, total = -np.inf, 0.0
        for a in range(A):
            composite = Q[h, 0, s, a]
            for j in range(len(Y)):
                composite += Y[j] * Q[h, 1 + j, s, a]
            policy[h, s, a] = composite if available[h, s, a] else -np.inf
            best = max(best, policy[h, s, a])
        for a in range(A):
            below = policy[h, s, a] - best
            policy[h, s, a] = np.exp(alpha * below) if below != 0.0 else 1.0
            total += policy[h, s, a]
        for j in range(J):
            V[h, j, s] = 0.0
        for a in range(A):
            policy[h, s, a] /= total
            for j in range(J):
                V[h, j, s] += policy[h, s, a] * Q[h, j, s, a]


@partial(jit, inline=True)
def soft_max(where: Where, h: int, tables: Policies, Y: Array, alpha: float) -> None:
    """π_h(a|s) ∝ exp(α (Q_r + Σ_i Y_i Q_gi)) over the available actions, and V_j,h(s) = Σ_a π_h(a|s) Q_j,h(s,a).

    What :func:`plain_soft_max` does, twice as fast (``benchmarks/run.py``, one-hot). Exact for any α·Q: the maximum is
    subtracted first, so nothing overflows and the best action has weight exactly 1 before the weights are divided by their
    sum; α = ∞ is the uniform policy over the maximisers (with two actions: a tie is a difference, summed over the objectives,
    of exactly 0). What is not a number stays so, for the runner to find.

    Args:
        where: has ``active`` and ``actives``, the states to look at; a Gram, or :class:`~noregret.kernels.gram.States`.
        h: the step.
        tables: has Q (H,J,S,A), V (H+1,J,S), ``policy`` and ``available`` (H,S,A). J is at least 1 + m: further objectives are
            evaluated but have no say.
        Y: prices (m,).
        alpha: inverse temperature.
    """
    if tables.Q.shape[1] > 2:
        fast_soft_max(where, h, tables, Y, alpha, True)
    else:  # loops that are not there cannot make LLVM keep less in registers
        fast_soft_max(where, h, tables, Y, alpha, False)


@partial(jit, inline=True)
def fast_soft_max(where: Where, h: int, tables: Policies, Y: Array, alpha: float, more: bool) -> None:
    """Do what :func:`soft_max` says; ``more``, a constant at each call, is whether there are more than two objectives."""
    Q, V, active = tables.Q, tables.V, where.active
    J, S, A, m, step = index(Q.shape[1]), index(Q.shape[2]), index(Q.shape[3]), index(len(Y)), index(h)
    q, v, pi, may, here = flat(Q), flat(V), flat(tables.policy), flat(tables.available), index(row(active, h))
    one, two = index(1), index(2)
    price = Y[0] if m > 0 else 0.0
    for i in range(index(where.actives[row(where.actives, h)])):
        s = index(active[here, i])
        at_state = (step * S + s) * A  # of (h,s,0)
        at, other = (step * J * S + s) * A, S * A  # of (h,0,s,0), and from one objective to the next
        if A == 2 and may[at_state] and may[at_state + one]:  # no search for the maximum: equal to rounding
            gap = q[at + one] - q[at]
            if m > 0:  # most often there is one
                gap += price * (q[at + other + one] - q[at + other])
            if more:
                for j in range(two, m + one):
                    gap += Y[j - one] * (Q[step, j, s, 1] - Q[step, j, s, 0])
            below = -alpha * abs(gap) if gap != 0.0 else 0.0
            weight = 0.0 if below <= UNDERFLOW else np.exp(below)
            better = 1.0 / (1.0 + weight)
            worse = weight / (1.0 + weight)
            if gap > 0.0:
                better, worse = worse, better
            pi[at_state] = better
            pi[at_state + one] = worse
            v[step * J * S + s] = better * q[at] + worse * q[at + one]
            if J > 1:
                v[step * J * S + S + s] = better * q[at + other] + worse * q[at + other + one]
            if more:
                for j in range(two, J):
                    V[step, j, s] = better * Q[step, j, s, 0] + worse * Q[step, j, s, 1]
            continue
        best = -np.inf
        for a in range(A):
            composite = -np.inf
            if may[at_state + a]:
                composite = q[at + a]
                for j in range(one, m + one):
                    composite += Y[j - one] * q[at + j * other + a]
            pi[at_state + a] = composite
            best = max(best, composite)
        total = 0.0
        for a in range(A):
            below = pi[at_state + a] - best
            weight = 1.0
            if below != 0.0:
                weight = 0.0 if alpha * below <= UNDERFLOW else np.exp(alpha * below)
            pi[at_state + a] = weight
            total += weight
        for a in range(A):
            pi[at_state + a] /= total
        for j in range(J):
            value = 0.0
            for a in range(A):
                value += pi[at_state + a] * q[at + j * other + a]
            v[(step * J + j) * S + s] = value


@jit
def entropy(policy: Array, h: int, s: int) -> float:
    """−Σ_a π_h(a|s) log π_h(a|s)."""
    total = 0.0
    for a in range(policy.shape[2]):
        p = policy[h, s, a]
        if 0.0 < p < 1.0:
            total -= p * np.log(p)
    return total
