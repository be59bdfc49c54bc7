"""The soft-max policy on the composite Q, and the values it gives. Alg. 1, l. 10-12."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.kernels.jit import jit

#: exp(x) is exactly 0 in float64 below this.
UNDERFLOW = -745.2


@jit
def soft_max(Q: Any, s: int, Y: Any, alpha: float, available: Any, probabilities: Any) -> None:
    """π(a|s) ∝ exp(α (Q_r + Σ_i Y_i Q_gi)) over the available actions, for Q (1+m,S,A).

    Exact for any α·Q: the maximum is subtracted first, so nothing overflows and the best action has weight exactly
    1; α = ∞ is the uniform policy over the maximisers.
    """
    A = len(probabilities)
    best = -np.inf
    for a in range(A):
        if available[a]:
            composite = Q[0, s, a]
            for i in range(len(Y)):
                composite += Y[i] * Q[1 + i, s, a]
            probabilities[a] = composite
            best = max(best, composite)
    total = 0.0
    for a in range(A):
        weight = 0.0
        if available[a]:
            if probabilities[a] == best:
                weight = 1.0
            else:
                exponent = alpha * (probabilities[a] - best)
                if exponent > UNDERFLOW:
                    weight = np.exp(exponent)
        probabilities[a] = weight
        total += weight
    if total != 1.0:
        for a in range(A):
            probabilities[a] /= total


@jit
def expected(Q: Any, s: int, probabilities: Any, V: Any) -> None:
    """V_j(s) = Σ_a π(a|s) Q_j(s,a) for every objective, for Q (1+m,S,A) and V (1+m,S)."""
    for j in range(len(V)):
        total = 0.0
        for a in range(len(probabilities)):
            if probabilities[a] > 0.0:
                total += probabilities[a] * Q[j, s, a]
        V[j, s] = total
