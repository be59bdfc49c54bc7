r"""Prices that come down faster than they go up, and a soft-max that is as sharp as pays: ``price_step`` "balanced".

Let C = Q_r + Σ_i Y_i Q_{g_i} be the composite and π its soft-max with inverse temperature α.

**The step** of price i is η_k gain_i u_i step_i, with u_i = 1 + Y_i where the lack b_i − V_{g_i} is below 0, else 1. A price
that is too high costs Y_i of reward for each unit of utility, and one that is too low costs one unit.

**The tightening** of constraint i is ζ(1 − Y_i), and 0 from Y_i = 1 on: in an episode it costs Y_iζ of reward, and saves at
most ζ of violation. It is so from the first episode, in every world.

**The sharpness.** The soft-max loses S = Σ_h ( max_a C − ⟨π, C⟩ ) in an episode, at the states x_h visited. S falls as α grows.
A sharp policy moves V_g from one episode to the next: by the steps of the prices, and by estimates that move with noise. That
costs about F = SHARE · Σ_i (1 + Y_i) |lack_i − lack_i before|, which grows with α. F sums over the constraints that have a
price or lack something. S + F is about least where both are equal. So α_k is that of the schedule times a factor a ≤ 1, which
moves by

    a ← a · exp( κ clip( log(S̄/F̄), −1, 1 ) ),

where S̄ and F̄ are running means. With one constraint the step and the sharpness begin when some pair was seen to pay two
different numbers; before, the step is the printed one. None of this is proven. ``docs/practical.md`` says what was measured.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import uneven
from noregret.kernels.types import Array, Flags, Gram, Integers, Policies

#: S is measured in every one of the first episodes, and then in one of this many; a moves in the same episodes.
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


class Balance(NamedTuple):
    """What being soft and what swinging was seen to cost, and the sharpness that follows."""

    sharp: Array  # (1,) a, the factor of α
    means: Array  # (2,) S̄ and F̄
    begun: Flags  # (1,) whether it counts
    b: Array  # (m,) the thresholds, not tightened


def even(b: Array) -> Balance:
    """Nothing was seen yet of the prices of constraints with thresholds b."""
    return Balance(np.ones(1), np.zeros(2), np.array([len(b) > 1]), np.array(b))


@jit
def tightened(balance: Balance, b: Array, i: int, y: float) -> float:
    """b_i + ζ(1 − Y_i), at least b_i, where ``b`` holds b_i + ζ: what tightening costs, Y_iζ, is at most what it can save."""
    return float(b[i] - min(y, 1.0) * (b[i] - balance.b[i]))


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


@partial(jit, inline=True)
def wake(balance: Balance | None, gram: Gram) -> None:
    """Note whether some pair was seen to pay two different numbers."""
    if balance is not None and not balance.begun[0]:
        balance.begun[0] = uneven(gram)


@partial(jit, inline=True)
def follow(balance: Balance | None, k: int, Y: Array, tables: Policies, states: Integers) -> None:
    """Take in the loss S along an episode, if this is one that is measured.

    Args:
        balance: the balance, which is changed in place; None where there is none.
        k: episodes before this one.
        Y: (m,) the prices that the episode was planned with.
        tables: Q and the policy of the plan.
        states: (H+1,) the states visited.
    """
    if balance is not None and balance.begun[0] and (k < FIRST or k % EVERY == 0):
        measure(balance, k, Y, tables, states)


@partial(jit, references=False)
def measure(balance: Balance, k: int, Y: Array, tables: Policies, states: Integers) -> None:
    """Do what :func:`follow` says."""
    Q, policy, available, soft = tables.Q, tables.policy, tables.available, 0.0
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
    balance.means[0] += max(RATE * EVERY if k >= FIRST else RATE, 1.0 / (k + 1.0)) * (soft - balance.means[0])


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
