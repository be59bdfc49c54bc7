"""Rounding the regression to a fixed net, so that only finitely many estimates exist.

With net radius ε in dimension d, every coordinate of w is rounded to a multiple of s_w = ε/√d, which moves w by at most ε/2,
and every entry of A = β²Λ⁻¹ to a multiple of s_A = ε²/(2d), which moves it by at most ε²/4 in Frobenius norm; then

    estimate(x,a) = ⟨w̃,φ⟩ ± √max(φᵀÃφ, 0)        with the sign of β

is within ε of the unrounded one for ‖φ‖ ≤ 1. With one-hot features only the diagonal of A is not 0. The policy is the soft-max
for prices Y rounded to multiples of ε.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import add_body, by_type, jit
from noregret.kernels.gram.base import estimate, estimate_from, learn, spread, teach
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.gram.table import TableGram
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import Array, Bounds, Integers, Places, PlanTables, SweepRule

#: A Gram of counts or of a feature table.
NumberedGram = OneHotGram | TableGram


class NetGram(NamedTuple):
    """A Gram whose estimates are rounded to a net."""

    gram: NumberedGram
    lam: float  # of it
    active: Places  # of it
    actives: Places  # of it
    Y: Array  # (m,) rounded prices
    dual: float  # the steps of the net: of Y,
    weight: float  # of w, s_w
    square: float  # of β²Λ⁻¹, s_A

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        return self.gram.limits()


def net_gram(gram: NumberedGram, eps: float, d: int, m: int) -> NetGram:
    """The net of radius ``eps`` over a Gram of dimension d."""
    steps = float(eps), float(eps / np.sqrt(d)), float(eps**2 / (2.0 * d))
    return NetGram(gram, gram.lam, gram.active, gram.actives, np.zeros(m), *steps)


@jit
def nearest(x: float, step: float) -> float:
    """The multiple of ``step`` nearest to x."""
    return step * float(np.rint(x / step))


@by_type
def round_estimate(gram: NumberedGram, net: NetGram, h: int, tables: PlanTables, bounds: Bounds) -> None:
    """Q_j,h ← clip(⟨w̃_j,φ⟩ ± √(φᵀÃ_jφ), floor, cap) with A_j = β_j²Λ⁻¹; Q is ⟨w_j,φ⟩ before, by ``estimate`` without β."""


def _round_one_hot(gram: OneHotGram, net: NetGram, h: int, tables: PlanTables, bounds: Bounds) -> None:
    Q, bonus, floor, cap, g = tables.Q, tables.bonus[0], bounds[0], bounds[1], row(gram.fit, h)
    for i in range(gram.actives[g]):
        s = gram.active[g, i]
        for a in range(Q.shape[3]):
            for j in range(Q.shape[1]):
                square = nearest(bonus[j] * bonus[j] * gram.fit[g, s, a, 0], net.square)
                value = nearest(Q[h, j, s, a], net.weight) + np.copysign(np.sqrt(max(square, 0.0)), bonus[j])
                Q[h, j, s, a] = max(min(value, cap), floor)


def _round_table(gram: TableGram, net: NetGram, h: int, tables: PlanTables, bounds: Bounds) -> None:
    Q, bonus, floor, cap, g = tables.Q, tables.bonus[0], bounds[0], bounds[1], row(gram.Lambda_inv, h)
    d, SA = gram.phi.shape
    A = Q.shape[3]
    square, w = gram.line, gram.work[0]
    for j in range(Q.shape[1]):
        if j == 0 or bonus[j] != bonus[j - 1]:
            square[:] = 0.0
            for i in range(d):
                for k in range(d):
                    entry = nearest(bonus[j] * bonus[j] * gram.Lambda_inv[g, i, k], net.square)
                    if entry != 0.0:
                        for at in range(SA):
                            square[at] += entry * gram.phi[i, at] * gram.phi[k, at]
        for i in range(d):
            w[i] = nearest(gram.w[h, j, i], net.weight)
        for at in range(SA):
            value = np.copysign(np.sqrt(max(square[at], 0.0)), bonus[j])
            for i in range(d):
                value += w[i] * gram.phi[i, at]
            Q[h, j, at // A, at % A] = max(min(value, cap), floor)


add_body(round_estimate, OneHotGram, _round_one_hot)
add_body(round_estimate, TableGram, _round_table)


def _learn(gram: NetGram, states: Integers, actions: Integers, observed: Array) -> None:
    learn(gram.gram, states, actions, observed)


def _sweep(gram: NetGram, h: int, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
    """Alg. 1, l. 5-12, with the net: the bonus is part of what is rounded, so the regression comes without it."""
    for i in range(len(Y)):
        gram.Y[i] = nearest(Y[i], gram.dual)
    estimate(gram.gram, h, tables, 0.0, (-np.inf, np.inf))
    round_estimate(gram.gram, gram, h, tables, (rule.floor, rule.cap[h]))
    soft_max(gram.gram, h, tables, gram.Y, alpha)


def _spread(gram: NetGram, h: int, tables: PlanTables, j: int) -> float:
    return spread(gram.gram, h, tables, j)


def _estimate(gram: NetGram, start: int, h: int, tables: PlanTables, beta: float | Array, bounds: Bounds) -> None:
    estimate_from(gram.gram, start, h, tables, beta, bounds)


teach(NetGram, learn=_learn, sweep=_sweep, spread=_spread, estimate=_estimate)
