"""Value-targeted regression: the expected next value, learned from the values that were current when a pair was visited.

For one-hot ψ(x,a,x') the features of objective j at (x,a) are the vector V_{j,h+1} itself, in a block of its own:

    Λ = λI + Σ_τ V^τ V^τᵀ,    w = Λ⁻¹ Σ_τ V^τ V^τ(x'_τ),    estimate = ⟨w, V⟩ + β ‖V‖_{Λ⁻¹}

over the visits τ of (x,a) at step h, with the V^τ of that time. Plain sums, so nothing old is evaluated again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.flat import row
from noregret.kernels.inverse import REFRESH, add_row, from_factor, inverse_factor
from noregret.kernels.jit import jit

Array = NDArray[np.float64]


class Targets(NamedTuple):
    """One S×S block for every step, objective and pair; G = H steps, or 1 when all share what they learn."""

    Lambda: Array  # (G,J,S,A,S,S)
    Lambda_inv: Array  # (G,J,S,A,S,S)
    moment: Array  # (G,J,S,A,S) Σ V^τ V^τ(x'_τ)
    w: Array  # (G,J,S,A,S)
    work: Array  # (2,S) scratch


def targets(H: int, S: int, A: int, J: int, lam: float, *, shared: bool = False) -> Targets:
    """Make the regression without data: Λ = λI in every block."""
    H = 1 if shared else H
    eye = np.broadcast_to(np.eye(S), (H, J, S, A, S, S))
    return Targets(
        Lambda=lam * eye, Lambda_inv=eye / lam, moment=np.zeros((H, J, S, A, S)), w=np.zeros((H, J, S, A, S)),
        work=np.zeros((2, S)),
    )  # fmt: skip


@jit
def learn_targets(blocks: Any, visits: Any, states: Any, actions: Any, V: Any) -> None:
    """Take in an episode and the V (H+1,J,S) that it was planned with; ``visits`` (G,S,A) already count this episode."""
    J, S = V.shape[1], V.shape[2]
    value, u = blocks.work[0], blocks.work[1]
    for h in range(len(actions)):
        s, a, s_next, g = states[h], actions[h], states[h + 1], row(visits, h)
        for j in range(J):
            Lambda, Lambda_inv = blocks.Lambda[g, j, s, a], blocks.Lambda_inv[g, j, s, a]
            moment, w = blocks.moment[g, j, s, a], blocks.w[g, j, s, a]
            for k in range(S):
                value[k] = V[h + 1, j, k]
            add_row(Lambda, Lambda_inv, value, u)
            if visits[g, s, a] % REFRESH == 0:
                from_factor(inverse_factor(Lambda), Lambda_inv)
            for k in range(S):
                moment[k] += value[k] * value[s_next]
            for i in range(S):
                w[i] = 0.0
                for k in range(S):
                    w[i] += Lambda_inv[i, k] * moment[k]


@jit
def estimate_targets(blocks: Any, model: Any, h: int, tables: Any, beta: float, bounds: Any) -> None:
    """Q_j,h(s,a) ← clip(mean of j + β(n+λ)^-1/2 + ⟨w, V_j,h+1⟩ + β‖V_j,h+1‖_{Λ⁻¹}, floor, cap) for the pairs tried."""
    Q, V, (floor, cap) = tables.Q, tables.V, bounds
    J, S, A = Q.shape[1], Q.shape[2], Q.shape[3]
    fit, g = model.fit, row(model.fit, h)
    for i in range(model.actives[g]):
        s = model.active[g, i]
        for a in range(A):
            if model.visits[g, s, a] == 0.0:
                continue
            for j in range(J):
                expected = square = 0.0
                for k in range(S):
                    expected += blocks.w[g, j, s, a, k] * V[h + 1, j, k]
                    part = 0.0
                    for other in range(S):
                        part += blocks.Lambda_inv[g, j, s, a, k, other] * V[h + 1, j, other]
                    square += part * V[h + 1, j, k]
                width = beta * (np.sqrt(fit[g, s, a, 0]) + np.sqrt(max(square, 0.0)))
                Q[h, j, s, a] = max(min(fit[g, s, a, 2 + j] * fit[g, s, a, 0] + expected + width, cap), floor)
