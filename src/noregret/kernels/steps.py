"""Small steps that several algorithms share, one formula in one place."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.flat import row
from noregret.kernels.gram.base import spread
from noregret.kernels.jit import jit

#: Episodes that miss a threshold by less than this on average make shorter steps of the dual.
LEAST_MISS = 0.01
#: The least gain of a dual whose estimate is corrected.
LEAST_GAIN = 0.05
#: The least gain of any other.
NO_GAIN = 1e-4


@jit
def dual_move(y: float, lack: float, eta: float, xi: float) -> float:
    """clip(y + η·lack, 0, ξ): the price (or queue) of a constraint that lacks b − V_g."""
    return max(min(y + eta * lack, xi), 0.0)


@jit
def pace(k: int, anytime: bool) -> float:
    """√k for the anytime schedule (k counts from 0), else 1."""
    return np.sqrt(k + 1.0) if anytime else 1.0


@jit
def damped(gain: float, before: float, lack: float, least: float) -> float:
    """The gain of a dual step: halved when the sign of b − V_g turned, to no less than ``least``; else half more, up to 1.

    Args:
        gain: the one of the last step.
        before: b − V_g at the last step.
        lack: b − V_g now.
        least: what it is at least.
    """
    return max(0.5 * gain, least) if before * lack < 0.0 else min(1.5 * gain, 1.0)


@jit
def within(lack: float, room: float) -> float:
    """A lack as far as ``room`` goes, either way, in units of the room where that is below 1: a dual without wind-up."""
    return max(min(lack, room), -room) / min(room, 1.0)


@jit
def total(observed: Any, i: int) -> float:
    """G_i, the sum of utility i over an episode, of what was observed (H,1+m)."""
    G: float = 0.0
    for h in range(len(observed)):
        G += observed[h, 1 + i]
    return G


@partial(jit, inline=True)
def dual_step(dual: Any, rule: Any, V: Any, s: int, observed: Any, share: float) -> None:
    """Y_i ← clip(Y_i + η_k (b_i − V_{g_i,1}(s)), 0, ξ), and count the episode: Alg. 1, l. 16.

    A dual with a ``memory`` looks at the utility G_i of the episode played. There c_i is the running mean of G_i − V_{g_i,1},
    and q_i that of (b_i − G_i)². Both have weights ∝ k³: the last fourth of the episodes counts most. The step is

        Y_i ← clip(Y_i + η_k lack_i/√q_i, 0, ξ),    lack_i = b_i − G_i, or b_i − V_{g_i,1} − c_i where ``rule.corrected``,

    so its length is η_k whatever the unit of the utility is, and with η_k = 1/√k the price is at most about 2√k: it cannot
    wind up by more than the evidence so far. V_g may be wrong for ever; when Y comes to rest, the mean of G_i is b_i.

    Where there is ``rule.room`` ρ_i, the lack b_i − V_{g_i,1} counts up to ρ_i either way, and is divided by min(ρ_i, 1). A
    start in which nothing is known then raises the price by no more than as many episodes with room lower it. Where the room
    is less than 1, as for a limit of 0.02 falls, the price comes down all the same.

    With ``damping`` there is a gain that ends oscillation. The soft-max policy answers a dual that moved by ΔY with ΔV_g of up
    to α·Var(Q_g)·ΔY, so a step that is too long overshoots for ever. When the sign of b − V_g turns, the gain halves; while it
    stays, the gain grows by half, up to 1. Where G alone is looked at, the gain stays 1: the sign of b − G is mostly noise. The
    gain of ``corrected`` is at least ``LEAST_GAIN``: an estimate that swings unevenly must not stop the integral.

    Args:
        dual: has Y, ``gain``, ``lack`` (m,), ``memory`` (2,m) or (0,m), and ``k``, how many episodes there were.
        rule: has b, η, ξ, ``room`` (m,) or (0,), ``eta_anytime``, ``damping`` and ``corrected``.
        V: (H+1,J,S); the last m objectives are those that the dual looks at.
        s: the first state.
        observed: (H,1+m) the reward and the utilities of each step of the episode.
        share: how much of the policy was played.
    """
    Y, gain, lack, memory = dual.Y, dual.gain, dual.lack, dual.memory
    eta, xi = share * rule.eta[0] / pace(dual.k[0], rule.eta_anytime), rule.xi[0]
    first = V.shape[1] - len(Y)
    for i in range(len(Y)):
        before = lack[i]
        lack[i] = rule.b[i] - V[0, first + i, s]
        step = lack[i]
        if len(rule.room) > 0:
            step = within(lack[i], rule.room[i])
        if len(memory) > 0:
            missed, rate = rule.b[i] - total(observed, i), 4.0 / (dual.k[0] + 4.0)
            memory[0, i] += rate * (lack[i] - missed - memory[0, i])  # G − V_g
            memory[1, i] += rate * (missed * missed - memory[1, i])
            lack[i] -= memory[0, i]
            step = (lack[i] if rule.corrected else missed) / max(np.sqrt(memory[1, i]), LEAST_MISS)
        if rule.damping and (rule.corrected or len(memory) == 0):
            gain[i] = damped(gain[i], before, lack[i], LEAST_GAIN if rule.corrected else NO_GAIN)
        Y[i] = dual_move(Y[i], step, gain[i] * eta, xi)
    dual.k[0] += 1


class Pace(NamedTuple):
    """The options of Algorithm 1 for other learners with a dual step; each array is empty where its option is off.

    Attributes:
        gain: (m,) the gain of each step, with ``damping``.
        lack: (m,) the last b − V_g, with ``damping``.
        room: (m,) the most that a lack counts, with ``anti_windup``.
        k: (1,) episodes so far, with a schedule that is "anytime".
        alpha_anytime: whether the steps of the policy are divided by √k.
        eta_anytime: whether those of the dual are.
        prior: what an untried pair gives to the dual's own estimate, as a share of the cap.
    """

    gain: Any
    lack: Any
    room: Any
    k: Any
    alpha_anytime: bool
    eta_anytime: bool
    prior: float


@jit
def paced(number: float, own: Any, anytime: bool) -> float:
    """A step's length: the number itself, or divided by √k."""
    return number / pace(own.k[0], True) if anytime else number


@jit
def dual_step_from(Y: Any, b: Any, V: Any, start: Any, own: Any, numbers: Any) -> None:
    """Y_i ← clip(Y_i + η (b_i + ε − Σ_s start(s) V_{g_i,1}(s)), 0, ξ), and count the episode.

    Args:
        Y: (m,) changed in place.
        b: (m,) thresholds.
        V: (H+1,J,S); the last m objectives are those that the dual looks at.
        start: (S,) the distribution of the first state.
        own: the options (:class:`Pace`), as in :func:`dual_step`.
        numbers: η, ξ and ε.
    """
    eta, xi, eps = numbers
    first, length = V.shape[1] - len(Y), paced(eta, own, own.eta_anytime)
    for i in range(len(Y)):
        lack, gain = b[i] + eps - start_value(V, first + i, start), 1.0
        if len(own.gain) > 0:
            gain = own.gain[i] = damped(own.gain[i], own.lack[i], lack, NO_GAIN)
            own.lack[i] = lack
        Y[i] = dual_move(Y[i], within(lack, own.room[i]) if len(own.room) > 0 else lack, gain * length, xi)
    if len(own.k) > 0:
        own.k[0] += 1


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
