"""Rounding the regression to a fixed net, so that only finitely many estimates exist.

With net radius ε in dimension d, every coordinate of w is rounded to a multiple of s_w = ε/√d, which moves w by at most ε/2,
and every entry of A = β²Λ⁻¹ to a multiple of s_A = ε²/(2d), which moves it by at most ε²/4 in Frobenius norm; then

    estimate(x,a) = ⟨w̃,φ⟩ ± √max(φᵀÃφ, 0)        with the sign of β

is within ε of the unrounded one for ‖φ‖ ≤ 1. With one-hot features only the diagonal of A is not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.kernels.gram import OneHotGram, TableGram
from noregret.kernels.jit import Bodies, jit, overload

_round_estimate = Bodies("round_estimate")


@jit
def nearest(x: Any, step: float) -> Any:
    """The multiple of ``step`` nearest to x."""
    return step * np.rint(x / step)


def round_estimate(
    gram: Any, h: int, bonus: Any, net_weight: float, net_square: float, floor: float, cap: float, Q: Any
) -> None:
    """Q_j,h ← clip(⟨w̃_j,φ⟩ ± √(φᵀÃ_jφ), floor, cap) with A_j = bonus_j²Λ⁻¹; Q is ⟨w_j,φ⟩ before, by ``estimate`` without β."""
    _round_estimate(gram)(gram, h, bonus, net_weight, net_square, floor, cap, Q)  # type: ignore[misc]


@overload(round_estimate)
def _(gram, h, bonus, net_weight, net_square, floor, cap, Q):  # type: ignore[no-untyped-def]
    return _round_estimate(gram)


def _round_one_hot(
    gram: Any, h: int, bonus: Any, net_weight: float, net_square: float, floor: float, cap: float, Q: Any
) -> None:
    for i in range(gram.actives[h]):
        s = gram.active[h, i]
        for a in range(Q.shape[3]):
            for j in range(Q.shape[1]):
                square = nearest(bonus[j] * bonus[j] * gram.fit[h, s, a, 0], net_square)
                value = nearest(Q[h, j, s, a], net_weight) + np.copysign(np.sqrt(max(square, 0.0)), bonus[j])
                Q[h, j, s, a] = max(min(value, cap), floor)


def _round_table(gram: Any, h: int, bonus: Any, net_weight: float, net_square: float, floor: float, cap: float, Q: Any) -> None:
    d, SA = gram.phi.shape
    A = Q.shape[3]
    square, w = gram.line, gram.work[0]
    for j in range(Q.shape[1]):
        if j == 0 or bonus[j] != bonus[j - 1]:
            square[:] = 0.0
            for i in range(d):
                for k in range(d):
                    entry = nearest(bonus[j] * bonus[j] * gram.Lambda_inv[h, i, k], net_square)
                    if entry != 0.0:
                        for row in range(SA):
                            square[row] += entry * gram.phi[i, row] * gram.phi[k, row]
        for i in range(d):
            w[i] = nearest(gram.w[h, j, i], net_weight)
        for row in range(SA):
            value = np.copysign(np.sqrt(max(square[row], 0.0)), bonus[j])
            for i in range(d):
                value += w[i] * gram.phi[i, row]
            Q[h, j, row // A, row % A] = max(min(value, cap), floor)


_round_estimate.add(OneHotGram, _round_one_hot)
_round_estimate.add(TableGram, _round_table)
