r"""Prices that neither swing nor crawl, and a soft-max that is as sharp as pays: ``price_step`` "balanced".

Let C = Q_r + Σ_i Y_i Q_{g_i} be the composite and π its soft-max with inverse temperature α.

**The target** of V_{g_i} is t_i. An estimate wrong by e costs an episode e of violation on one side, and Y_i e of reward
on the other. So the target errs to the cheaper side, the more the less is known:

    t_i = b_i + ζ max(1 − Y_i, 0) − log(max(Y_i, 1)) [V_{g_i} with the bonus − V_{g_i} without]₊.

Up to a price of 1 that is the tightening. Above 1 it is b_i less the quantile Y_i/(1 + Y_i) of a logistic error whose scale is
what the bonus adds. It is so from the first episode, in every world.

**The step.** Prices move all together, by the lack t − V_g that is expected after the move and not by the one before it:

    Y'_i = clip( Y_i + η_k gain_i u_i [ lack_i − Σ_j J_ij (Y'_j − Y_j) ], 0, ξ ).

J is how V_g answers the prices, a running mean of α Σ_h Cov_{π_h(x_h)}( Q_{g_i}, Q_{g_j} ) at the states visited: where the
prices move C by ΔY·Q_g, the soft-max moves V_g by JΔY. The solution Y' is found by rounds over the prices. Where J is small
that is the printed step, where it is large a Newton step, so a long step does not overshoot. So the gain, which halves when
the sign of the lack turns and grows by half while it stays, may grow to ``MOST_GAIN``: a price with far to go does not crawl.
u_i is 1 + Y_i where the lack is below 0, else 1.

**The sharpness.** The soft-max loses S = Σ_h ( max_a C − ⟨π, C⟩ ) in an episode, at the states x_h visited. S falls as α grows.
A sharp policy moves V_g from one episode to the next: by the steps of the prices, and by estimates that move with noise. That
costs about F = SHARE · Σ_i (1 + Y_i) |lack_i − lack_i before|, which grows with α. F sums over the constraints that have a
price or lack something. S + F is about least where both are equal. So α_k is that of the schedule times a factor a ≤ 1, which
moves by

    a ← a · exp( κ clip( log(S̄/F̄), −1, 1 ) ),

where S̄ and F̄ are running means.

With one constraint the step and the sharpness begin when some pair was seen to pay two different numbers; before, the step is
the printed one. None of this is proven. ``docs/practical.md`` says what was measured.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import uneven
from noregret.kernels.types import Array, Flags, Gram, Integers, Policies

#: S and J are measured in every one of the first episodes, and then in one of this many; a moves in the same episodes.
EVERY = 4
#: The first episodes.
FIRST = 32
#: The weight of an episode in the running means.
RATE = 0.05
#: κ of one episode.
KAPPA = 0.05
#: The least factor of α.
LEAST = 1e-3
#: What a change of the lack costs, as a share of it.
SHARE = 0.125
#: Episodes before the factor of α moves.
WAIT = 10
#: The gain of a price grows to this.
MOST_GAIN = 16.0
#: Rounds over several prices in which the step is solved for.
ROUNDS = 8


class Balance(NamedTuple):
    """What being soft and what swinging was seen to cost, how utilities answer prices, and what follows for both."""

    sharp: Array  # (1,) a, the factor of α
    means: Array  # (2,) S̄ and F̄
    begun: Flags  # (1,) whether it counts
    b: Array  # (m,) the thresholds, not tightened
    slope: Array  # (m,m) J
    move: Array  # (3,m) of the step at hand: the prices before it, the lacks, and the lengths


def even(b: Array) -> Balance:
    """Nothing was seen yet of the prices of constraints with thresholds b."""
    m = len(b)
    return Balance(np.ones(1), np.zeros(2), np.array([m > 1]), np.array(b), np.zeros((m, m)), np.zeros((3, m)))


@jit
def target(balance: Balance, b: Array, i: int, y: float, doubt: float) -> float:
    """t_i at price ``y``, where ``b`` holds b_i + ζ and the bonus adds ``doubt`` to V_g."""
    if y > 1.0:
        return float(balance.b[i] - np.log(y) * max(doubt, 0.0))
    return float(b[i] - y * (b[i] - balance.b[i]))


@jit
def factor(balance: Balance | None) -> float:
    """The factor of α: 1 where nothing is measured."""
    if balance is not None:
        return float(balance.sharp[0])
    return 1.0


@jit
def forget(balance: Balance | None) -> None:
    """Nothing was seen yet."""
    if balance is not None:
        balance.sharp[:] = 1.0
        balance.means[:] = 0.0
        balance.slope[:] = 0.0


@partial(jit, inline=True)
def wake(balance: Balance | None, gram: Gram) -> None:
    """Note whether some pair was seen to pay two different numbers."""
    if balance is not None and not balance.begun[0]:
        balance.begun[0] = uneven(gram)


@partial(jit, inline=True)
def follow(balance: Balance | None, k: int, Y: Array, alpha: float, tables: Policies, states: Integers) -> None:
    """Take in the loss S along an episode, and how V_g answers the prices there, if this is one that is measured.

    Args:
        balance: the balance, which is changed in place; None where there is none.
        k: episodes before this one.
        Y: (m,) the prices that the episode was planned with.
        alpha: the sharpness that it was planned with.
        tables: Q and the policy of the plan.
        states: (H+1,) the states visited.
    """
    if balance is not None and balance.begun[0] and (k < FIRST or k % EVERY == 0):
        measure(balance, k, Y, alpha, tables, states)


@partial(jit, references=False)
def measure(balance: Balance, k: int, Y: Array, alpha: float, tables: Policies, states: Integers) -> None:
    """Do what :func:`follow` says."""
    Q, policy, available, slope, soft = tables.Q, tables.policy, tables.available, balance.slope, 0.0
    rate = max(RATE * EVERY if k >= FIRST else RATE, 1.0 / (k + 1.0))
    slope *= 1.0 - rate
    for h in range(len(Q)):
        s, best, mean = states[h], -np.inf, 0.0
        for a in range(Q.shape[3]):
            if available[h, s, a]:
                composite = Q[h, 0, s, a]
                for i in range(len(Y)):
                    composite += Y[i] * Q[h, 1 + i, s, a]
                best = max(best, composite)
                mean += policy[h, s, a] * composite
        soft += best - mean
        for i in range(len(Y)):
            mean = 0.0
            for a in range(Q.shape[3]):
                mean += policy[h, s, a] * Q[h, 1 + i, s, a]
            for a in range(Q.shape[3]):
                for j in range(len(Y)):
                    slope[i, j] += rate * alpha * policy[h, s, a] * (Q[h, 1 + i, s, a] - mean) * Q[h, 1 + j, s, a]
    balance.means[0] += rate * (soft - balance.means[0])


@jit
def swung(y: float, before: float, lack: float) -> float:
    """What one constraint adds to F of an episode."""
    return SHARE * (1.0 + y) * abs(lack - before) if y > 0.0 or lack > 0.0 else 0.0


@partial(jit, inline=True)
def sharpen(balance: Balance, swing: float, k: int) -> None:
    """Move the factor of α to where being soft costs what swinging does.

    Args:
        balance: changed in place.
        swing: F of this episode.
        k: episodes before this one.
    """
    balance.means[1] += max(RATE, 1.0 / (k + 1.0)) * (swing - balance.means[1])
    if k > WAIT and (k < FIRST or k % EVERY == 0):
        ratio = max(min(np.log((balance.means[0] + 1e-9) / (balance.means[1] + 1e-9)), 1.0), -1.0)
        balance.sharp[0] = max(min(balance.sharp[0] * np.exp((KAPPA if k < FIRST else KAPPA * EVERY) * ratio), 1.0), LEAST)
