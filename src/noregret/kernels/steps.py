"""Small steps that several algorithms share, one formula in one place."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from noregret.kernels.flat import row
from noregret.kernels.gram.base import spread
from noregret.kernels.jit import jit


@jit
def dual_move(y: float, lack: float, eta: float, xi: float) -> float:
    """clip(y + η·lack, 0, ξ): the price (or queue) of a constraint that lacks b − V_g."""
    return max(min(y + eta * lack, xi), 0.0)


@jit
def pace(k: int, anytime: bool) -> float:
    """√k for the anytime schedule (k counts from 0), else 1."""
    return np.sqrt(k + 1.0) if anytime else 1.0


@partial(jit, inline=True)
def dual_step(dual: Any, rule: Any, V: Any, s: int, share: float) -> None:
    """Y_i ← clip(Y_i + η_k (b_i − V_{g_i,1}(s)), 0, ξ), and count the episode: Alg. 1, l. 16.

    With ``damping`` there is a gain that ends oscillation. The soft-max policy answers a dual that moved by ΔY with ΔV_g of up
    to α·Var(Q_g)·ΔY, so a step that is too long overshoots for ever. When the sign of b − V_g turns, the gain halves; while it
    stays, the gain grows by half, up to 1.

    Args:
        dual: has Y, ``gain``, ``lack`` (m,) and ``k``, how many episodes there were.
        rule: has b, η, ξ, ``eta_anytime`` and ``damping``.
        V: (H+1,J,S); the last m objectives are those that the dual looks at.
        s: the first state.
        share: how much of the policy was played.
    """
    Y, gain, lack = dual.Y, dual.gain, dual.lack
    eta, xi = share * rule.eta[0] / pace(dual.k[0], rule.eta_anytime), rule.xi[0]
    first = V.shape[1] - len(Y)
    for i in range(len(Y)):
        before = lack[i]
        lack[i] = rule.b[i] - V[0, first + i, s]
        if rule.damping:
            gain[i] = max(0.5 * gain[i], 1e-4) if before * lack[i] < 0.0 else min(1.5 * gain[i], 1.0)
        Y[i] = dual_move(Y[i], lack[i], gain[i] * eta, xi)
    dual.k[0] += 1


@jit
def dual_step_from(Y: Any, b: Any, V: Any, start: Any, eta: float, xi: float) -> None:
    """Y_i ← clip(Y_i + η (b_i − Σ_s start(s) V_{g_i,1}(s)), 0, ξ), for V (H+1,1+m,S)."""
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


@partial(jit, inline=True)
def step_bonus(gram: Any, h: int, tables: Any, rule: Any) -> None:
    """Fill the row of ``tables.bonus`` for step h with the β of each objective.

    ``rule.beta`` (J,) is multiplied by the spread of the next values, at least ``span_floor``, unless that is negative; and
    after the first 1 + m objectives, where it is what an untried direction is worth, by the cap, unless they are pessimistic.
    """
    beta, bonus, m, floor = rule.beta, tables.bonus, len(rule.b), rule.span_floor
    moving = floor >= 0.0 or len(beta) > 1 + m  # else β is the same number at every step
    for j in range(len(beta) if moving or len(bonus) > 1 or h + 1 == len(rule.cap) else 0):
        scale = 1.0
        if j > m and not rule.pessimistic:
            scale = rule.cap[h]
        elif floor >= 0.0:
            scale = max(spread(gram, h, tables, j), floor)
        bonus[row(bonus, h), j] = beta[j] * scale


@jit
def untried(tables: Any, rule: Any, lam: float) -> None:
    """Fill Q (H,J,S,A), V (H+1,J,S) and policy as they are without data; a state never visited at a step keeps these.

    Without data every estimate is the bonus alone, so all actions tie and the policy is uniform.
    """
    Q, V, policy, available, m, least = tables.Q, tables.V, tables.policy, tables.available, len(rule.b), rule.span_floor
    H, J, S, A = Q.shape
    for h in range(H):
        cap = rule.cap[h]
        for j in range(J):
            scale = cap if j > m and not rule.pessimistic else least if least >= 0.0 else 1.0
            value = max(min(rule.beta[j] * scale / np.sqrt(lam), cap), rule.floor)
            for s in range(S):
                V[h, j, s] = value
                for a in range(A):
                    Q[h, j, s, a] = value
        for s in range(S):
            some = 0.0
            for a in range(A):
                some += available[h, s, a]
            for a in range(A):
                policy[h, s, a] = available[h, s, a] / some
