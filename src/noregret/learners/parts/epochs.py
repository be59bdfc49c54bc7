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

from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.gram.base import Tables, clear
from noregret.kernels.jit import jit
from noregret.kernels.steps import start_value, untried
from noregret.learners.parts.rule import ForLength, assemble
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
    prices: Array  # (m,) w times ``GREEDY``
    greedy: Tables  # scratch of the greedy pass


def epochs(spec: Spec, chosen: Constants, J: int, for_length: ForLength) -> Epochs:
    """The part of the state that restarts and estimates need; ``for_length`` gives the constants for K episodes.

    Args:
        spec: what is known of the problem.
        chosen: the constants at the start.
        J: the number of objectives, the reward first.
        for_length: a function that gives the constants for K episodes; called only for restarts.
    """
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    numbers = np.zeros((0, 3 + m + J))
    if chosen.restart == "doubling":
        rules = [assemble(for_length(2**i)[0], spec) for i in range(LONGEST)]
        numbers = np.array([np.concatenate([r.alpha, r.eta, r.xi, r.b, r.beta]) for r in rules])
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
        prices=np.zeros(m),
        greedy=Tables(
            Q=np.zeros((H, J, n, A)), V=np.zeros((H + 1, J, n)), policy=np.zeros((H, n, A)),
            available=spec.available[:, :n].copy(), bonus=np.zeros((1, J)),
        ),
    )  # fmt: skip


@jit
def restart(state: Any) -> None:
    """Set the numbers of a run of K = k+1 = 2^i episodes, and begin it."""
    one, rule, dual, i, k = state.epochs, state.rule, state.dual, 0, state.dual.k[0]
    m = len(rule.b)
    while k > 0:
        k //= 2
        i += 1
    row = one.numbers[min(i, len(one.numbers) - 1)]
    rule.alpha[0], rule.eta[0], rule.xi[0], one.most[0] = row[0], row[1], row[2], row[2]
    for j in range(m):
        rule.b[j] = row[3 + j]
    for j in range(len(rule.beta)):
        rule.beta[j] = row[3 + m + j]
    dual.Y[:] = 0.0
    dual.gain[:] = 1.0
    dual.lack[:] = 0.0
    if one.dropped:
        dual.memory[:] = 0.0
        clear(state.gram)
        state.safety.Q[:] = 0.0  # what was certified rested on the data
        state.safety.V[:] = 0.0
    untried(state.tables, rule, state.gram.lam)


@jit
def weigh(one: Epochs, rounds: int, H: int) -> None:
    """Take in a greedy pass: γ̂ becomes the least so far, and w moves towards the constraints with little slack.

    ``rounds`` = 0 begins anew, with equal weights.

    Args:
        one: changed in place; its ``greedy`` has the values of the pass.
        rounds: how many passes there are in all, or 0.
        H: the horizon.
    """
    prices, m = one.prices, len(one.prices)
    if rounds == 0:
        prices[:] = GREEDY / m
        one.gap[0] = np.inf
        return
    step = np.sqrt(8.0 * np.log(max(m, 2)) / rounds) / H
    total = value = 0.0
    for i in range(m):
        slack = start_value(one.greedy.V, 1 + i, one.start) - one.b[i]
        value += prices[i] / GREEDY * slack
        prices[i] *= np.exp(-step * slack)
        total += prices[i]
    for i in range(m):
        prices[i] *= GREEDY / total
    one.gap[0] = min(one.gap[0], value)


@jit
def use_gap(one: Epochs, rule: Any, Y: Any) -> None:
    """ξ = factor/γ̂, where α and η move along.

    Args:
        one: has the estimate γ̂, and what moves along.
        rule: the constants ξ, α and η, changed in place.
        Y: (m,) the dual variables, cut at the new ξ in place.
    """
    alpha, eta, xi, H, m = rule.alpha, rule.eta, rule.xi, len(rule.cap), len(Y)
    before = xi[0]
    xi[0] = min(one.factor / one.gap[0], one.most[0]) if one.gap[0] > 0.0 else one.most[0]
    if one.moves[0] > 0.0:  # α ∝ 1/(1 + m(ξ+H))
        alpha[0] *= (1.0 + m * (before + H)) / (1.0 + m * (xi[0] + H))
    if one.moves[1] > 0.0:  # η ∝ ξ
        eta[0] *= xi[0] / before
    for i in range(m):
        Y[i] = min(Y[i], xi[0])
