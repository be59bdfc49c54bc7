"""The soft-max policy on the composite Q, and the values it gives. Alg. 1, l. 10-12."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.kernels.jit import jit

#: exp(x) is exactly 0 in float64 below this.
UNDERFLOW = -745.2


@jit
def soft_max(Q: Any, h: int, s: int, Y: Any, alpha: float, available: Any, policy: Any) -> None:
    """π_h(a|s) ∝ exp(α (Q_r + Σ_i Y_i Q_gi)) over the available actions, for Q (H,1+m,S,A).

    Exact for any α·Q: the maximum is subtracted first, so nothing overflows and the best action has weight exactly
    1; α = ∞ is the uniform policy over the maximisers.
    """
    A = policy.shape[2]
    best = -np.inf
    for a in range(A):
        if available[h, s, a]:
            composite = Q[h, 0, s, a]
            for i in range(len(Y)):
                composite += Y[i] * Q[h, 1 + i, s, a]
            policy[h, s, a] = composite
            best = max(best, composite)
    total = 0.0
    for a in range(A):
        weight = 0.0
        if available[h, s, a]:
            below = policy[h, s, a] - best
            if below == 0.0:
                weight = 1.0
            elif alpha * below > UNDERFLOW:
                weight = np.exp(alpha * below)
        policy[h, s, a] = weight
        total += weight
    if total != 1.0:
        for a in range(A):
            policy[h, s, a] /= total


@jit
def expected(Q: Any, h: int, s: int, policy: Any, V: Any) -> None:
    """V_j,h(s) = Σ_a π_h(a|s) Q_j,h(s,a) for every objective, for Q (H,1+m,S,A) and V (H+1,1+m,S)."""
    for j in range(V.shape[1]):
        total = 0.0
        for a in range(policy.shape[2]):
            if policy[h, s, a] > 0.0:
                total += policy[h, s, a] * Q[h, j, s, a]
        V[h, j, s] = total
