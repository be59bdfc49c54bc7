r"""An estimate of the Slater gap γ from the data, for ``primal-dual-lsvi`` with ``xi_rule="estimate"``; made at episodes 2^i.

The Slater gap is a saddle point over weights w on the simplex,

    γ = max_π min_i (V_{g_i} − b_i) = min_w max_π Σ_i w_i (V_{g_i} − b_i),

and for each w a greedy backward pass on Σ_i w_i Q_{g_i}, with the bonus, gives an optimistic inner maximum (the pass of l. 4-12
with α = ∞ and a price of ``GREEDY``·w that drowns the reward, which then decides between equals). The estimate γ̂ is
the least over ``ROUNDS`` steps of multiplicative weights (one pass where m = 1), an upper bound while the Q are optimistic.
Then ξ is what the formula of ξ says for γ̂, at most what it was at the start. That is also the fallback when γ̂ ≤ 0. α and η move
along where the preset computes them from ξ. As γ̂ ≥ γ, ξ may be below 2H/γ until the bonus is small; half of 2H/γ is enough for
the optimal dual to fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret._system.formulas import names_in
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import Tables
from noregret.kernels.steps.primal_dual import start_value
from noregret.learners.lsvi.rule import Rule
from noregret.learners.lsvi.sharing import empty_tables
from noregret.learners.lsvi.table import TABLE
from noregret.learners.presets import Resolved
from noregret.problems.base import Array, Spec

#: Steps of multiplicative weights, where there are several constraints.
ROUNDS = 64
#: What utilities are multiplied by, so that the reward does not count.
GREEDY = 1e9


class Gap(NamedTuple):
    """The estimate, and room to make it in."""

    factor: float  # ξ = factor/γ̂
    moves: Array  # (2,) whether α and η move with ξ
    most: Array  # (1,) the largest ξ
    gap: Array  # (1,) γ̂, 0 before the first estimate
    b: Array  # (m,) thresholds, not tightened
    start: Array  # (S,)
    prices: Array  # (m,) w times ``GREEDY``
    greedy: Tables  # scratch of the greedy pass


def estimate(c: Resolved, spec: Spec, J: int, factor: float) -> Gap | None:
    """No estimate yet; None where γ is not estimated, so that nothing of it is compiled.

    Args:
        c: the constants at the start.
        spec: what is known of the problem.
        J: the number of objectives, the reward first.
        factor: ξ of a problem with γ = 1.
    """
    if c.xi_rule != "estimate":
        return None
    moves = ["xi" in names_in(_own_formula(c, name)) for name in ("alpha", "eta")]
    return Gap(
        factor=factor,
        moves=np.array(moves, dtype=np.float64),
        most=np.array([c.xi]),
        gap=np.zeros(1),
        b=spec.thresholds.copy(),
        start=spec.start.copy(),
        prices=np.zeros(spec.n_constraints),
        greedy=empty_tables(spec, J),
    )


def _own_formula(c: Resolved, name: str) -> str:
    """The formula of a constant, where it is one of the table's: what moves with ξ is known for these alone."""
    formula = c.formulas.get(name, "0")
    return formula if formula in [entry for entry, _ in TABLE.rows[name].columns.values()] else "0"


@jit
def weigh(one: Gap, rounds: int, H: int) -> None:
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
def use_gap(one: Gap, rule: Rule, Y: Array) -> None:
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
