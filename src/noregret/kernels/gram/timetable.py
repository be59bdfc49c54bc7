"""Steps that share their transitions while each has rewards and utilities of its own: a world with a timetable.

Let Λ be the regression of all steps together (``moves``) and Λ_h that of step h alone (``means``). The estimate is

    Q_j,h(x,a) = clip( j̃_h(x,a) + ⟨Λ⁻¹ Σ_τ φ_τ V_{j,h+1}(x'_τ), φ⟩ + β_j ‖φ‖_{Λ⁻¹}, floor, cap ),
    j̃_h(x,a) = clip( ⟨Λ_h⁻¹ Σ_τ φ_τ j_τ, φ⟩ + β'_j ‖φ‖_{Λ_h⁻¹}, 0, 1 ),

where the first sum runs over the transitions of all steps and the second over those of step h. What a step pays is known from
its own samples only, and is from 0 to 1. So a step where a pair was never tried hopes for 1, not for all that is left. β' is
``own`` (:func:`~noregret.learners.lsvi.bonus.own_bonus`). The bonus for noise is part of j̃, and both ‖φ‖ fade
where the rule says so (:func:`~noregret.kernels.gram.base.faded`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import fill
from noregret.kernels.gram.base import (
    Tables,
    doubts,
    each,
    estimate_from,
    everyone,
    learn,
    norm,
    of_late,
    spread,
    sweep_tables,
    teach,
    uneven,
)
from noregret.kernels.gram.net import NumberedGram
from noregret.kernels.types import Array, Bonus, Bounds, Integers, Places, ValueTables


class TimetableGram(NamedTuple):
    """Two Grams of the same kind, OneHotGram or TableGram."""

    lam: float
    moves: NumberedGram  # shared by all steps, with nothing observed
    means: NumberedGram  # of each step
    active: Places | Integers  # (1,S) all states
    actives: Places | Integers  # (1,) S
    pay: Tables  # j̃ in its Q, and V = 0
    own: Array  # (J,) β'
    noise: Array  # (J,) c, of the bonus for what a step pays
    nothing: Array  # (H,1+m) zeros


def timetable_gram(
    moves: NumberedGram, means: NumberedGram, pay: Tables, own: tuple[Array, Array], observed: int
) -> TimetableGram:
    """Make a Gram without data.

    Args:
        moves: a Gram that all steps share.
        means: one of the same kind that they do not.
        pay: zeros, with J objectives.
        own: (J,) β' of what a step pays, and (J,) c of its noise.
        observed: how many objectives are observed, 1 + m.
    """
    gram = TimetableGram(
        moves.lam, moves, means, *everyone(pay.Q.shape[2]), pay, *own, nothing=np.zeros((len(pay.Q), observed))
    )
    gram.pay.Q[:] = (gram.own / np.sqrt(gram.lam)).clip(0.0, 1.0)[:, None, None]  # where a step was never tried
    return gram


def _learn(gram: TimetableGram, states: Integers, actions: Integers, observed: Array) -> None:
    learn(gram.moves, states, actions, gram.nothing)
    learn(gram.means, states, actions, observed)


def _estimate(gram: TimetableGram, start: int, h: int, tables: ValueTables, beta: Bonus, bounds: Bounds) -> None:
    Q, pay, floor, cap = tables.Q, gram.pay.Q, bounds[0], bounds[1]
    own = (gram.own, gram.noise, doubts(gram.means, h), of_late(beta))
    estimate_from(gram.means, start, h, gram.pay, own, (0.0, 1.0))
    for j in range(start, Q.shape[1]):
        fill(Q[h, j], each(beta, j) / np.sqrt(gram.lam))  # of states never visited
    estimate_from(gram.moves, start, h, tables, beta, (-np.inf, np.inf))
    for j in range(start, Q.shape[1]):
        for s in range(Q.shape[2]):
            for a in range(Q.shape[3]):
                Q[h, j, s, a] = max(min(pay[h, j, s, a] + Q[h, j, s, a], cap), floor)


def _spread(gram: TimetableGram, h: int, tables: ValueTables, j: int) -> float:
    return spread(gram.moves, h, tables, j)


def _norm(gram: TimetableGram, h: int, s: int, a: int) -> float:
    return norm(gram.moves, h, s, a)


def _uneven(gram: TimetableGram) -> bool:
    return uneven(gram.means)


teach(TimetableGram, learn=_learn, sweep=sweep_tables, estimate=_estimate, spread=_spread, norm=_norm, uneven=_uneven)
