"""Small steps that several algorithms share, one formula in one place."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import types

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit, overload
from noregret.kernels.gram.base import spread
from noregret.kernels.steps.balance import MOST_GAIN, ROUNDS, Balance, factor, sharpen, swung, target
from noregret.kernels.types import COUNTS, Array, Bonuses, DualRule, Gram, Integers, SharpRule, SweepRule, ValueTables

#: Episodes that miss a threshold by less than this on average make shorter steps of the dual.
LEAST_MISS = 0.01
#: The least gain of a dual whose estimate is corrected.
LEAST_GAIN = 0.05
#: The least gain of any other.
NO_GAIN = 1e-4


class Dual(NamedTuple):
    """The dual variable and what its step remembers."""

    Y: Array  # (m,)
    gain: Array  # (m,)
    lack: Array  # (m,) last b − V_g
    memory: Array | None  # (2,m) running means of observed − estimated and of (b − observed)²; None: only the estimate counts
    k: Integers  # (1,) episodes so far
    balance: Balance | None = None  # of a soft-max too soft and prices that swing, where that is measured

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"k": COUNTS}


class PriceRule(NamedTuple):
    """The constants of a dual step, for learners that have no others in common with Algorithm 1."""

    b: Array  # (m,) thresholds
    room: Array  # (m,) the most that a lack counts; (0,) as printed
    eta: Array  # (1,) each
    xi: Array
    eta_anytime: bool
    damping: bool
    corrected: bool
    prior: float  # what an untried pair gives to the dual's own estimate, as a share of the cap; 0 where it has none


@jit
def dual_move(y: float, lack: float, eta: float, xi: float) -> float:
    """clip(y + η·lack, 0, ξ): the price (or queue) of a constraint that lacks b − V_g."""
    return max(min(y + eta * lack, xi), 0.0)


@jit
def pace(k: int, anytime: bool) -> float:
    """√k for the anytime schedule (k counts from 0), else 1."""
    return np.sqrt(k + 1.0) if anytime else 1.0


@jit
def sharpness(dual: Dual, rule: SharpRule) -> float:
    """α of the episode at hand: that of the schedule, times the factor that was measured."""
    return float(rule.alpha[0] * pace(dual.k[0], rule.alpha_anytime) * factor(dual.balance))


@jit
def damped(gain: float, before: float, lack: float, least: float, most: float) -> float:
    """The gain of a dual step: halved when the sign of b − V_g turned, else half more; from ``least`` to ``most``.

    Args:
        gain: the one of the last step.
        before: b − V_g at the last step.
        lack: b − V_g now.
        least: what it is at least.
        most: what it is at most.
    """
    return max(0.5 * gain, least) if before * lack < 0.0 else min(1.5 * gain, most)


@jit
def total(observed: Array, i: int) -> float:
    """G_i, the sum of utility i over an episode, of what was observed (H,1+m)."""
    G: float = 0.0
    for h in range(len(observed)):
        G += observed[h, 1 + i]
    return G


@partial(jit, inline=True)
def dual_step(dual: Dual, rule: DualRule, V: Array, start: int | Array, observed: Array, share: float) -> None:
    """Y_i ← clip(Y_i + η_k (b_i − V_{g_i,1}), 0, ξ), and count the episode: Alg. 1, l. 16, for every learner with a price.

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

    Where the dual has a ``balance``, b_i moves with the price, the prices move all together and α's factor moves too
    (:mod:`noregret.kernels.steps.balance`).

    Args:
        dual: the prices and what their step remembers, which are changed in place.
        rule: the constants.
        V: (H+1,J,S); the last m objectives are those that the dual looks at.
        start: the first state, or the distribution (S,) of the first state.
        observed: (H,1+m) the reward and the utilities of each step of the episode.
        share: how much of the policy was played.
    """
    move_prices(dual, dual.memory, dual.balance, rule, V, start, observed, share)


@partial(jit, inline=True)
def move_prices(
    dual: Dual,
    memory: Array | None,
    balance: Balance | None,
    rule: DualRule,
    V: Array,
    start: int | Array,
    observed: Array,
    share: float,
) -> None:
    """Do what :func:`dual_step` says; of what the dual does not have, ``memory`` or ``balance``, nothing is compiled.

    Args:
        dual: the prices.
        memory: that of the dual.
        balance: likewise.
        rule: the constants.
        V: (H+1,J,S).
        start: the first state, or its distribution.
        observed: (H,1+m).
        share: how much of the policy was played.
    """
    Y, gain, lack = dual.Y, dual.gain, dual.lack
    eta, xi = share * rule.eta[0] / pace(dual.k[0], rule.eta_anytime), rule.xi[0]
    first, swing, most = V.shape[1] - len(Y), 0.0, 1.0
    if balance is not None and balance.begun[0]:
        most = MOST_GAIN
    for i in range(len(Y)):
        before, value = lack[i], value_from(V, first + i, start)
        threshold = rule.b[i]
        if balance is not None:
            threshold = target(balance, rule.b, i, Y[i], value_from(V, 1 + i, start) - value)
        lack[i] = threshold - value
        step, unit = lack[i], 1.0
        if len(rule.room) > 0:
            step, unit = max(min(step, rule.room[i]), -rule.room[i]), min(rule.room[i], 1.0)
        if memory is not None:
            missed, rate = threshold - total(observed, i), 4.0 / (dual.k[0] + 4.0)
            memory[0, i] += rate * (lack[i] - missed - memory[0, i])  # G − V_g
            memory[1, i] += rate * (missed * missed - memory[1, i])
            lack[i] -= memory[0, i]
            step, unit = lack[i] if rule.corrected else missed, max(np.sqrt(memory[1, i]), LEAST_MISS)
        if rule.damping and (rule.corrected or memory is None):
            gain[i] = damped(gain[i], before, lack[i], LEAST_GAIN if rule.corrected else NO_GAIN, most)
        length = gain[i] * eta
        if balance is not None and balance.begun[0]:
            if dual.k[0] > 0:
                swing += swung(Y[i], before, lack[i])
            if lack[i] < 0.0:
                length *= 1.0 + Y[i]
            balance.move[0, i], balance.move[1, i], balance.move[2, i] = Y[i], step, length / unit
        else:
            Y[i] = dual_move(Y[i], step / unit, length, xi)
    if balance is not None and balance.begun[0]:
        settle(balance, Y, xi)
        sharpen(balance, swing, dual.k[0])
    dual.k[0] += 1


@jit
def settle(balance: Balance, Y: Array, xi: float) -> None:
    """Move all prices together: each by its lack as it will be after the move of all, which J foretells.

    Args:
        balance: has J, and the prices before, lacks and lengths of the step.
        Y: (m,) the prices, which are changed in place.
        xi: the most that they may be.
    """
    slope, move = balance.slope, balance.move
    for _ in range(ROUNDS if len(Y) > 1 else 1):
        for i in range(len(Y)):
            left = move[1, i]
            for j in range(len(Y)):
                if j != i:
                    left -= slope[i, j] * (Y[j] - move[0, j])
            Y[i] = dual_move(move[0, i], left, move[2, i] / (1.0 + move[2, i] * slope[i, i]), xi)


@jit
def start_value(V: Array, j: int, start: Array) -> float:
    """Σ_s start(s) V_{j,1}(s)."""
    value = 0.0
    for s in range(len(start)):
        if start[s] > 0.0:
            value += start[s] * V[0, j, s]
    return value


def value_from(V: Array, j: int, start: int | Array) -> float:
    """V_{j,1} of the first state, or its mean where there is a distribution of it."""
    return start_value(V, j, start) if isinstance(start, np.ndarray) else float(V[0, j, start])


@overload(value_from)
def _(V, j, start):  # type: ignore[no-untyped-def]
    if isinstance(start, types.Integer):
        return lambda V, j, start: V[0, j, start]
    return lambda V, j, start: start_value(V, j, start)


@partial(jit, inline=True)
def step_bonus(gram: Gram, h: int, tables: Bonuses, rule: SweepRule) -> None:
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


def untried(tables: ValueTables, rule: SweepRule, lam: float) -> None:
    """Fill Q (H,J,S,A) and V (H+1,J,S) as they are without data; a state never visited at a step keeps these.

    Without data every estimate is the bonus alone, so all actions tie.
    """
    m, least = len(rule.b), rule.span_floor
    for h in range(len(rule.cap)):
        cap = rule.cap[h]
        for j in range(len(rule.beta)):
            scale = cap if j > m and not rule.pessimistic else least if least >= 0.0 else 1.0
            value = max(min(rule.beta[j] * scale / np.sqrt(lam), cap), rule.floor)
            tables.V[h, j] = value
            tables.Q[h, j] = value


#: The same, called by compiled code.
untried_anew = jit(untried)
