"""Policies that move by mirror descent, and what a given policy is worth."""

from __future__ import annotations

from functools import partial

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.softmax import entropy
from noregret.kernels.types import Array, Bounds, Logits, Where


@partial(jit, inline=True)
def policy_value(where: Where, h: int, tables: Logits) -> None:
    """V_j,h(s) = Σ_a π_h(a|s) Q_j,h(s,a) for the active states of ``where``; Q (H,J,S,A), V (H+1,J,S)."""
    Q, V, policy, g = tables.Q, tables.V, tables.policy, row(where.actives, h)
    for i in range(where.actives[g]):
        s = where.active[g, i]
        for j in range(Q.shape[1]):
            value = 0.0
            for a in range(Q.shape[3]):
                value += policy[h, s, a] * Q[h, j, s, a]
            V[h, j, s] = value


@partial(jit, inline=True)
def mirror_step(
    where: Where, h: int, tables: Logits, Y: Array, alpha: float, theta: float, keep: float = 1.0, reward: float = 1.0
) -> None:
    """π_h(a|s) ← ∝ ((1−θ) π_h(a|s) + θ/A_s)^keep exp(α (Q_r + Σ_i Y_i Q_gi)) over the A_s available actions.

    The weights are kept as logarithms in ``tables.logits`` (H,S,A), largest 0: a probability too small for a float is not lost
    when θ = 0. ``keep`` is 1 but for a policy whose entropy is worth τ: that forgets, keep = 1 − ατ. ``reward`` is the weight
    of Q_r, 0 in a step for constraints alone.
    """
    Q, policy, logits, available, g = tables.Q, tables.policy, tables.logits, tables.available, row(where.actives, h)
    J, A = 1 + len(Y), Q.shape[3]  # further objectives have no say
    for i in range(where.actives[g]):
        s = where.active[g, i]
        allowed = 0
        for a in range(A):
            allowed += available[h, s, a]
        best = -np.inf
        for a in range(A):
            if available[h, s, a]:
                composite = reward * Q[h, 0, s, a]
                for j in range(1, J):
                    composite += Y[j - 1] * Q[h, j, s, a]
                if theta > 0.0:
                    logits[h, s, a] = np.log((1.0 - theta) * policy[h, s, a] + theta / allowed)
                logits[h, s, a] = keep * logits[h, s, a] + alpha * composite
                best = max(best, logits[h, s, a])
        total = 0.0
        for a in range(A):
            if available[h, s, a]:
                logits[h, s, a] -= best
                policy[h, s, a] = np.exp(logits[h, s, a])
                total += policy[h, s, a]
        for a in range(A):
            policy[h, s, a] /= total


@partial(jit, inline=True)
def soft_value(where: OneHotGram, h: int, tables: Logits, tau: float, cap: Bounds) -> None:
    """V_j,h(s) = Σ_a π_h(a|s) Q_j,h(s,a), where the reward's has τ times the entropy of π_h(s) beside it, for all states.

    Args:
        where: which states were visited, ``known``.
        h: the step.
        tables: has Q (H,J,S,A), V (H+1,J,S), the policy and its weights. Q_r of a state never visited is set to its cap.
        tau: τ, what a unit of entropy is worth.
        cap: the most that Q_r may be, and the most that each Q_g may be, which is no more.
    """
    Q, V, policy, g = tables.Q, tables.V, tables.policy, row(where.known, h)
    top, most = cap
    _, J, S, A = Q.shape
    for s in range(S):
        soft = tau * entropy(policy, h, s) if tau > 0.0 else 0.0
        if not where.known[g, s]:
            for a in range(A):
                Q[h, 0, s, a] = top
            V[h, 0, s] = top + soft
            continue
        for j in range(J):
            value = 0.0
            for a in range(A):
                if j > 0:
                    Q[h, j, s, a] = min(Q[h, j, s, a], most)
                value += policy[h, s, a] * Q[h, j, s, a]
            V[h, j, s] = value + soft if j == 0 else value
