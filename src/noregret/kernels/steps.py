"""Small steps that several algorithms share, one formula in one place."""

from __future__ import annotations

from typing import Any

from noregret.kernels.jit import jit


@jit
def truncate(Q: Any, s: int, floor: float, cap: float) -> None:
    """Q_j(s,a) ← min{Q_j(s,a), cap}, and at least ``floor``, for Q (J,S,A)."""
    for j in range(len(Q)):
        for a in range(Q.shape[2]):
            Q[j, s, a] = max(min(Q[j, s, a], cap), floor)


@jit
def dual_step(Y: Any, b: Any, V_g: Any, eta: float, xi: float) -> None:
    """Y_i ← clip(Y_i + η (b_i − V_gi), 0, ξ)."""
    for i in range(len(Y)):
        Y[i] = max(min(Y[i] + eta * (b[i] - V_g[i]), xi), 0.0)
