"""Steps that share their transitions while each has rewards and utilities of its own: a world with a timetable.

Let Λ be the regression of all steps together (``moves``) and Λ_h that of step h alone (``means``). The estimate is

    Q_j,h(x,a) = clip( j̃_h(x,a) + ⟨Λ⁻¹ Σ_τ φ_τ V_{j,h+1}(x'_τ), φ⟩ + β_j ‖φ‖_{Λ⁻¹}, floor, cap ),
    j̃_h(x,a) = clip( ⟨Λ_h⁻¹ Σ_τ φ_τ j_τ, φ⟩ + β'_j ‖φ‖_{Λ_h⁻¹}, 0, 1 ),

where the first sum runs over the transitions of all steps and the second over those of step h. What a step pays is known from
its own samples only, and is from 0 to 1. So a step where a pair was never tried hopes for 1, not for all that is left. β' is
``own`` (:func:`~noregret.learners.parts.rule.own_bonus`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.gram.base import Tables, clear, each, estimate_from, everyone, learn, norm, spread, sweep_tables, teach
from noregret.kernels.jit import jit

Array = NDArray[np.float64]


class TimetableGram(NamedTuple):
    """Two Grams of the same kind, OneHotGram or TableGram."""

    lam: float
    moves: Any  # shared by all steps, with nothing observed
    means: Any  # of each step
    active: NDArray[np.uint32]  # (1,S) all states
    actives: NDArray[np.uint32]  # (1,) S
    pay: Tables  # j̃ in its Q, and V = 0
    own: Array  # (J,) β'
    nothing: Array  # (H,1+m) zeros


def timetable_gram(moves: Any, means: Any, pay: Tables, own: Array, observed: int) -> TimetableGram:
    """Make a Gram without data.

    Args:
        moves: a Gram that all steps share.
        means: one of the same kind that they do not.
        pay: zeros, with J objectives.
        own: (J,) β', of what a step pays.
        observed: how many objectives are observed, 1 + m.
    """
    gram = TimetableGram(moves.lam, moves, means, *everyone(pay.Q.shape[2]), pay, own, nothing=np.zeros((len(pay.Q), observed)))
    hope(gram)
    return gram


@jit
def hope(gram: TimetableGram) -> None:
    """What a step pays where it was never tried: β'/√λ, from 0 to 1."""
    for j in range(len(gram.own)):
        gram.pay.Q[:, j] = max(min(gram.own[j] / np.sqrt(gram.lam), 1.0), 0.0)


def _learn(gram: Any, states: Any, actions: Any, observed: Any) -> None:
    learn(gram.moves, states, actions, gram.nothing)
    learn(gram.means, states, actions, observed)


def _estimate(gram: Any, start: int, h: int, tables: Any, beta: Any, bounds: Any) -> None:
    Q, pay, floor, cap = tables.Q, gram.pay.Q, bounds[0], bounds[1]
    estimate_from(gram.means, start, h, gram.pay, gram.own, (0.0, 1.0))
    for j in range(start, Q.shape[1]):
        Q[h, j] = each(beta, j) / np.sqrt(gram.lam)  # of states never visited
    estimate_from(gram.moves, start, h, tables, beta, (-np.inf, np.inf))
    for j in range(start, Q.shape[1]):
        for s in range(Q.shape[2]):
            for a in range(Q.shape[3]):
                Q[h, j, s, a] = max(min(pay[h, j, s, a] + Q[h, j, s, a], cap), floor)


def _spread(gram: Any, h: int, tables: Any, j: int) -> Any:
    return spread(gram.moves, h, tables, j)


def _norm(gram: Any, h: int, s: int, a: int) -> Any:
    return norm(gram.moves, h, s, a)


def _clear(gram: Any) -> None:
    clear(gram.moves)
    clear(gram.means)
    hope(gram)


teach(TimetableGram, learn=_learn, sweep=sweep_tables, estimate=_estimate, spread=_spread, norm=_norm, clear=_clear)
