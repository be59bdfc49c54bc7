r"""How much of a policy may be played with a stated confidence that the constraint is met in every episode of the run.

Let π_q play π with probability q and the safe policy π_s otherwise, at every step and state, and let utilities lie in
[0,1]. There are two lower bounds of V_g^{π_q}. Each holds in all K episodes, for all q and π at once, with probability at
least 1 − p/2.

*By coupling.* With probability (1−q)^H every action of π_q is one of π_s, so V_g^{π_q} ≥ (1−q)^H V_g^{π_s}. Every episode
that was played with a share q' and (1−q')^H ≥ 1/2 says something of π_s: for its sum of utilities G,

    X = G/(2H) · Π_h π_s(a_h|x_h)/π_{q'}(a_h|x_h)   lies in [0,1] and has the conditional mean V_g^{π_s}/(2H).

The empirical Bernstein bound for such a sequence, at all times t at once (Waudby-Smith and Ramdas 2024, Theorem 2), is

    mean ≥ ( Σ λ_t X_t − log(2m/p) − Σ (X_t − μ̂_{t−1})² (−log(1−λ_t) − λ_t) ) / Σ λ_t

with any λ_t in (0,1) that is chosen before X_t. The largest bound so far is used.

*By the counts*, for one-hot features. For every n ≤ K and (h,x,a), with L = log(2(m+1)HSAK/p), the mean of n utilities is
off by at most √(L/(2n)) (Hoeffding), and P̂V is off by at most max V·√((S log 2 + L)/(2n)) for all V ≥ 0 at once (Weissman
et al. 2003). Taking both off at every step, and 0 where nothing is known, gives a value that the truth does not go below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import estimate_from
from noregret.kernels.steps.safety import HALVINGS, mix, safety, teach
from noregret.kernels.steps.safety import certified as reaches
from noregret.kernels.types import Array, GramOfStates, Integers, Policies, SweepRule
from noregret.problems.base import Spec


class Certified(NamedTuple):
    """What ``Safety`` has, for 1 + m objectives, and what is known of the safe policy."""

    policy: Array  # (H,S,A)
    start: Array  # (S,)
    share: Array  # (1,)
    Q: Array  # (H,1+m,S,A)
    V: Array  # (H+1,1+m,S)
    bonus: Array  # (1,1+m)
    b: Array  # (m,) thresholds, as they are
    moments: Array  # (m,3) t, Σ X, Σ (X − μ̂)²
    sums: Array  # (m,3) Σ λ, Σ λX, Σ (X − μ̂)² (−log(1−λ) − λ)
    least: Array  # (m,) V_g^{π_s} is at least this
    log: float  # log(2m/p)
    noise: float  # of the mean of one utility
    width: float  # of the next values, for a largest one of 1
    counted: bool  # whether the counts are used


def certified(policy: Array, spec: Spec, K: int, p: float, counts: tuple[float, bool]) -> Certified:
    """No data yet.

    Args:
        policy: the safe policy.
        spec: has sizes, thresholds and the start.
        K: the number of episodes.
        p: the probability that some episode violates.
        counts: λ, with which n + λ stands for n, and whether features are one-hot.
    """
    H, S, A = policy.shape
    m, (lam, counted) = len(spec.thresholds), counts
    L = math.log(2.0 * (m + 1) * H * S * A * K / p)
    ridge = math.sqrt(1.0 + lam)
    return Certified(
        **safety(policy, spec.start, H, 1 + m)._asdict(),
        b=spec.thresholds.copy(),
        moments=np.zeros((m, 3)),
        sums=np.zeros((m, 3)),
        least=np.zeros(m),
        log=math.log(2.0 * m / p),
        noise=ridge * math.sqrt(L / 2.0),
        width=ridge * math.sqrt((S * math.log(2.0) + L) / 2.0),
        counted=counted,
    )


@jit
def weigh(certified: Certified, policy: Array, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in an episode that was played with ``policy``, the mixture of the share."""
    H, m = len(actions), len(certified.least)
    if (1.0 - certified.share[0]) ** H < 0.5:
        return
    ratio = 1.0
    for h in range(H):
        ratio *= certified.policy[h, states[h], actions[h]] / policy[h, states[h], actions[h]]
    for i in range(m):
        total = 0.0
        for h in range(H):
            total += observed[h, 1 + i]
        X = min(max(ratio * total / (2.0 * H), 0.0), 1.0)
        t, mean = certified.moments[i, 0], (0.5 + certified.moments[i, 1]) / (certified.moments[i, 0] + 1.0)
        variance = (0.25 + certified.moments[i, 2]) / (t + 1.0)
        lam = min(math.sqrt(2.0 * certified.log / (variance * (t + 1.0) * math.log(t + 2.0))), 0.5)
        certified.sums[i, 0] += lam
        certified.sums[i, 1] += lam * X
        certified.sums[i, 2] += (X - mean) ** 2 * (-math.log(1.0 - lam) - lam)
        certified.moments[i, 0] += 1.0
        certified.moments[i, 1] += X
        certified.moments[i, 2] += (X - (0.5 + certified.moments[i, 1]) / (t + 2.0)) ** 2
        bound = 2.0 * H * (certified.sums[i, 1] - certified.log - certified.sums[i, 2]) / certified.sums[i, 0]
        certified.least[i] = max(certified.least[i], bound)


@jit
def coupled_share(least: Array, b: Array, H: int) -> float:
    """The largest q with (1−q)^H V_g^{π_s} ≥ b for every constraint; a hair less, for rounding."""
    share = 1.0
    for i in range(len(b)):
        if b[i] > 0.0:
            share = min(share, 1.0 - (b[i] / least[i]) ** (1.0 / H) if least[i] > b[i] else 0.0)
    return max(share - 1e-12, 0.0) if share < 1.0 else 1.0


@jit
def counted_values(certified: Certified, gram: GramOfStates, target: Array, share: float, cap: Array) -> None:
    """Fill V with lower bounds of the values of a mixture."""
    safe, Q, V, bonus = certified.policy, certified.Q, certified.V, certified.bonus
    for h in range(len(Q) - 1, -1, -1):
        for j in range(1, Q.shape[1]):
            bonus[0, j] = -(certified.noise + certified.width * V[h + 1, j].max())
        estimate_from(gram, 1, h, certified, bonus[0], (0.0, cap[h]))
        g = row(gram.actives, h)
        for k in range(gram.actives[g]):
            s = gram.active[g, k]
            for j in range(1, Q.shape[1]):
                value = 0.0
                for a in range(Q.shape[3]):
                    value += ((1.0 - share) * safe[h, s, a] + share * target[h, s, a]) * Q[h, j, s, a]
                V[h, j, s] = value


@jit
def confident_share(certified: Certified, gram: GramOfStates, target: Array, cap: Array) -> float:
    """The largest share that one of the two bounds certifies, by the counts to a halving."""
    low, high = coupled_share(certified.least, certified.b, len(target)), 1.0
    if not certified.counted or low == 1.0:
        return low
    counted_values(certified, gram, target, low, cap)
    if not reaches(certified.V, 1, certified.b, certified.start):
        return low
    for turn in range(1 + HALVINGS):
        share = 0.5 * (low + high) if turn > 0 else 1.0
        counted_values(certified, gram, target, share, cap)
        if reaches(certified.V, 1, certified.b, certified.start):
            low = share
        else:
            high = share
        if low == 1.0:
            break
    return low


def _stay(gram: GramOfStates, safety: Certified, tables: Policies, rule: SweepRule, policy: Array) -> None:
    """Play the largest share that is certified."""
    safety.share[0] = confident_share(safety, gram, tables.policy, rule.cap)
    mix(safety, tables.policy, policy)


def _watch(safety: Certified, policy: Array, states: Integers, actions: Integers, observed: Array) -> None:
    """Every episode says something of the safe policy."""
    weigh(safety, policy, states, actions, observed)


teach(Certified, _stay, _watch)
