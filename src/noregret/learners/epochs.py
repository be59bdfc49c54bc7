r"""What ``primal-dual-lsvi`` does at episodes 2, 4, 8, ..., when it does not know K or γ.

**Unknown K** (``restart="doubling"``). Episodes 2^i to 2^{i+1} − 1 are played as a run of K = 2^i episodes of its own: α, η and
whatever else the preset computes from K (ζ, ξ, the theorem's β) are set for that K, and Y starts at 0. ``restart_data="kept"``
keeps Λ and the sums; ``"dropped"`` forgets them too, which is the trick as proofs use it. The parts' √2^i add up to at most
√2/(√2 − 1) ≈ 3.4 times √K. The number of episodes asked for has no influence on any of them.

**Unknown γ** (``xi="estimate"``). The Slater gap is a saddle point over weights w on the simplex,

    γ = max_π min_i (V_{g_i} − b_i) = min_w max_π Σ_i w_i (V_{g_i} − b_i),

and for each w a greedy backward pass on Σ_i w_i Q_{g_i}, with the bonus, gives an optimistic inner maximum (the pass of l. 4-12
with α = ∞ and a price of ``GREEDY``·w that drowns the reward, which then decides between equals). The estimate γ̂ is
the least over ``ROUNDS`` steps of multiplicative weights (one pass where m = 1), an upper bound while the Q are optimistic.
Then ξ = 2H/γ̂ (4H/γ̂ with the ζ of Theorem 2), at most what it was at the start: 2H√K, or 2H/γ for a given γ. That is also the
fallback when γ̂ ≤ 0. α and η move along where the preset computes them from ξ. As γ̂ ≥ γ, ξ may be below 2H/γ until the bonus is
small; half of 2H/γ is enough for the optimal dual to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.jit import jit
from noregret.kernels.steps import start_value
from noregret.learners.presets import Constants
from noregret.problems.base import Array, Spec

#: Steps of multiplicative weights, where there are several constraints.
ROUNDS = 64
#: What utilities are multiplied by, so that the reward does not count.
GREEDY = 1e9
#: K = 2^i up to here has constants ready.
LONGEST = 48


class Epochs(NamedTuple):
    """Beside the state of Algorithm 1; empty arrays where the option is off."""

    numbers: Array  # (n,3+m+J) for K = 2^i: α, η, ξ, tightened thresholds, β; n = 0 without restarts
    dropped: bool  # whether a restart forgets the data
    factor: float  # ξ = factor/γ̂; 0 where ξ is not estimated
    moves: Array  # (2,) whether α and η move with ξ
    most: Array  # (1,) the largest ξ
    gap: Array  # (1,) γ̂, 0 before the first estimate
    b: Array  # (m,) thresholds, not tightened
    start: Array  # (S,)
    Q: Array  # (H,J,S,A) and (H+1,J,S): scratch of the greedy pass
    V: Array
    policy: Array  # (H,S,A)
    prices: Array  # (m,) w times ``GREEDY``


def epochs(spec: Spec, chosen: Constants, J: int, for_length: Callable[[int], tuple[Constants, Array]]) -> Epochs:
    """The part of the state that restarts and estimates need; ``for_length`` gives constants and β (J,) for K episodes."""
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    numbers = np.zeros((0, 3 + m + J))
    if chosen.restart == "doubling":
        rows = []
        for i in range(LONGEST):
            c, beta = for_length(2**i)
            rows.append(np.concatenate([[c.alpha, c.eta, c.xi], spec.thresholds + c.zeta, beta]))
        numbers = np.array(rows)
    estimated = chosen.xi_rule == "estimate"
    n = S if estimated else 0
    return Epochs(
        numbers=numbers,
        dropped=chosen.restart_data == "dropped",
        factor=(4.0 if chosen.theorem_2 else 2.0) * H if estimated else 0.0,
        moves=np.array([float("alpha" in chosen.xi_sets.split()), float("eta" in chosen.xi_sets.split())]),
        most=np.array([chosen.xi]),
        gap=np.zeros(1),
        b=spec.thresholds.copy(),
        start=spec.start.copy(),
        Q=np.zeros((H, J, n, A)),
        V=np.zeros((H + 1, J, n)),
        policy=np.zeros((H, n, A)),
        prices=np.zeros(m),
    )


@jit
def restart(one: Epochs, k: int, alpha: Any, eta: Any, xi: Any, b: Any, beta: Any) -> None:
    """Set the numbers of a run of K = k+1 = 2^i episodes."""
    i, m = 0, len(b)
    while k > 0:
        k //= 2
        i += 1
    row = one.numbers[min(i, len(one.numbers) - 1)]
    alpha[0], eta[0], xi[0], one.most[0] = row[0], row[1], row[2], row[2]
    for j in range(m):
        b[j] = row[3 + j]
    for j in range(len(beta)):
        beta[j] = row[3 + m + j]


@jit
def untried(
    Q: Any, V: Any, policy: Any, available: Any, beta: Any, m: int, pessimistic: bool, cap: Any, span_floor: float,
    floor: float, lam: float,
) -> None:  # fmt: skip
    """Q (H,J,S,A), V (H+1,J,S) and policy where nothing was seen; states never visited at a step keep them.

    Only the bonus counts, and ties give the uniform policy.
    """
    H, J, S, A = Q.shape
    for h in range(H):
        for j in range(J):
            scale = cap[h] if j > m and not pessimistic else span_floor if span_floor >= 0.0 else 1.0
            value = max(min(beta[j] * scale / np.sqrt(lam), cap[h]), floor)
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


@jit
def weigh(one: Epochs, rounds: int, H: int) -> None:
    """Take in a greedy pass: γ̂ becomes the least so far, and w moves towards the constraints with little slack.

    ``rounds`` = 0 begins anew, with equal weights.
    """
    prices, m = one.prices, len(one.prices)
    if rounds == 0:
        prices[:] = GREEDY / m
        one.gap[0] = np.inf
        return
    step = np.sqrt(8.0 * np.log(max(m, 2)) / rounds) / H
    total = value = 0.0
    for i in range(m):
        slack = start_value(one.V, 1 + i, one.start) - one.b[i]
        value += prices[i] / GREEDY * slack
        prices[i] *= np.exp(-step * slack)
        total += prices[i]
    for i in range(m):
        prices[i] *= GREEDY / total
    one.gap[0] = min(one.gap[0], value)


@jit
def use_gap(one: Epochs, H: int, alpha: Any, eta: Any, xi: Any, Y: Any) -> None:
    """ξ = factor/γ̂, where α and η move along."""
    before, m = xi[0], len(Y)
    xi[0] = min(one.factor / one.gap[0], one.most[0]) if one.gap[0] > 0.0 else one.most[0]
    if one.moves[0] > 0.0:  # α ∝ 1/(1 + m(ξ+H))
        alpha[0] *= (1.0 + m * (before + H)) / (1.0 + m * (xi[0] + H))
    if one.moves[1] > 0.0:  # η ∝ ξ
        eta[0] *= xi[0] / before
    for i in range(m):
        Y[i] = min(Y[i], xi[0])
