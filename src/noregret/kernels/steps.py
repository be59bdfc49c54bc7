"""Small steps that several algorithms share, one formula in one place."""

from __future__ import annotations

from typing import Any

from noregret.kernels.jit import jit


@jit
def dual_step(Y: Any, b: Any, V: Any, s: int, eta: float, xi: float) -> None:
    """Y_i ← clip(Y_i + η (b_i − V_{g_i,1}(s)), 0, ξ), for V (H+1,1+m,S)."""
    for i in range(len(Y)):
        Y[i] = max(min(Y[i] + eta * (b[i] - V[0, 1 + i, s]), xi), 0.0)
