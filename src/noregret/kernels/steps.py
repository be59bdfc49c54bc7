"""Small steps that several algorithms share, one formula in one place."""

from __future__ import annotations

from typing import Any

from noregret.kernels.gram import spread
from noregret.kernels.jit import jit


@jit
def dual_move(y: float, lack: float, eta: float, xi: float) -> float:
    """clip(y + η·lack, 0, ξ): the price (or queue) of a constraint that lacks b − V_g."""
    return max(min(y + eta * lack, xi), 0.0)


@jit
def dual_step(Y: Any, b: Any, V: Any, s: int, eta: float, xi: float) -> None:
    """Y_i ← clip(Y_i + η (b_i − V_{g_i,1}(s)), 0, ξ), for V (H+1,1+m,S)."""
    for i in range(len(Y)):
        Y[i] = dual_move(Y[i], b[i] - V[0, 1 + i, s], eta, xi)


@jit
def adaptive_dual_step(
    Y: Any, b: Any, V: Any, first: int, s: int, eta: float, xi: float, damping: bool, gain: Any, lack: Any
) -> None:
    """:func:`dual_step` with the m objectives of V from ``first`` on and, if wanted, a gain that damps oscillation.

    The soft-max policy answers a dual that moved by ΔY with ΔV_g of up to α·Var(Q_g)·ΔY, so a step that is too long overshoots
    for ever. When the sign of b − V_g turns, the gain halves; while it stays, the gain grows by half, up to 1.
    """
    for i in range(len(Y)):
        before = lack[i]
        lack[i] = b[i] - V[0, first + i, s]
        if damping:
            gain[i] = max(0.5 * gain[i], 1e-4) if before * lack[i] < 0.0 else min(1.5 * gain[i], 1.0)
        Y[i] = dual_move(Y[i], lack[i], gain[i] * eta, xi)


@jit
def dual_step_from(Y: Any, b: Any, V: Any, start: Any, eta: float, xi: float) -> None:
    """:func:`dual_step` with Σ_s start(s) V_{g_i,1}(s), the value from a start distribution."""
    for i in range(len(Y)):
        Y[i] = dual_move(Y[i], b[i] - start_value(V, 1 + i, start), eta, xi)


@jit
def start_value(V: Any, j: int, start: Any) -> float:
    """Σ_s start(s) V_{j,1}(s)."""
    value = 0.0
    for s in range(len(start)):
        if start[s] > 0.0:
            value += start[s] * V[0, j, s]
    return value


@jit
def step_bonus(
    gram: Any, h: int, V: Any, beta: Any, m: int, pessimistic: bool, cap: float, span_floor: float, out: Any
) -> None:
    """Fill ``out`` (J,) with the β of each objective at step h.

    ``beta`` (J,) is multiplied by the spread of the next values, at least ``span_floor``, unless that is negative; and after
    the first 1 + m objectives, where it is what an untried direction is worth, by the cap, unless they are pessimistic.
    """
    for j in range(len(out)):
        scale = 1.0
        if j > m and not pessimistic:
            scale = cap
        elif span_floor >= 0.0:
            scale = max(spread(gram, h, V, j), span_floor)
        out[j] = beta[j] * scale
