"""The soft-max policy on the composite Q, and the values it gives. Alg. 1, l. 10-12."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from noregret.kernels.jit import jit

#: exp(x) is exactly 0 in float64 below this.
UNDERFLOW = -745.2


@partial(jit, inline=True)
def soft_max(Q: Any, h: int, active: Any, n: int, Y: Any, alpha: float, available: Any, policy: Any, V: Any) -> None:
    """π_h(a|s) ∝ exp(α (Q_r + Σ_i Y_i Q_gi)) over the available actions, and V_j,h(s) = Σ_a π_h(a|s) Q_j,h(s,a).

    For the first n active states of step h; Q (H,J,S,A), V (H+1,J,S), J at least 1 + m: further objectives are evaluated but
    have no say. Exact for any α·Q: the maximum is subtracted first, so nothing overflows and the best action has weight exactly
    1 before the weights are divided by their sum; α = ∞ is the uniform policy over the maximisers. What is not a number stays
    so, for the runner to find.
    """
    J, A = Q.shape[1], Q.shape[3]
    for i in range(n):
        s = active[h, i]
        if A == 2 and available[h, s, 0] and available[h, s, 1]:  # the same numbers without a search for the maximum
            gap = Q[h, 0, s, 1] - Q[h, 0, s, 0]
            for j in range(1, 1 + len(Y)):
                gap += Y[j - 1] * (Q[h, j, s, 1] - Q[h, j, s, 0])
            below = -alpha * abs(gap) if gap != 0.0 else 0.0
            weight = 0.0 if below <= UNDERFLOW else np.exp(below)
            better = 1.0 / (1.0 + weight)
            worse = weight / (1.0 + weight)
            if gap > 0.0:
                better, worse = worse, better
            policy[h, s, 0] = better
            policy[h, s, 1] = worse
            for j in range(J):
                V[h, j, s] = better * Q[h, j, s, 0] + worse * Q[h, j, s, 1]
            continue
        best = -np.inf
        for a in range(A):
            composite = -np.inf
            if available[h, s, a]:
                composite = Q[h, 0, s, a]
                for j in range(1, 1 + len(Y)):
                    composite += Y[j - 1] * Q[h, j, s, a]
            policy[h, s, a] = composite
            best = max(best, composite)
        total = 0.0
        for a in range(A):
            below = policy[h, s, a] - best
            weight = 1.0
            if below != 0.0:
                weight = 0.0 if alpha * below <= UNDERFLOW else np.exp(alpha * below)
            policy[h, s, a] = weight
            total += weight
        for j in range(J):
            V[h, j, s] = 0.0
        for a in range(A):
            policy[h, s, a] /= total
            for j in range(J):
                V[h, j, s] += policy[h, s, a] * Q[h, j, s, a]


@jit
def entropy(policy: Any, h: int, s: int) -> float:
    """−Σ_a π_h(a|s) log π_h(a|s)."""
    total = 0.0
    for a in range(policy.shape[2]):
        p = policy[h, s, a]
        if 0.0 < p < 1.0:
            total -= p * np.log(p)
    return total
