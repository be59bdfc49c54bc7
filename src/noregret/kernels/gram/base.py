"""What a Gram can do, whatever its features: learn an episode, estimate a step. Alg. 1, l. 5-12.

At step h the regression of objective j on features φ has

    Λ_h = λI + Σ_τ φ_τ φ_τᵀ,   w_j = Λ_h⁻¹ Σ_τ φ_τ (j_τ + V_j(x'_τ)),   estimate(x,a) = ⟨w_j, φ(x,a)⟩ + β ‖φ(x,a)‖_{Λ_h⁻¹}.

The sum over past episodes τ is never formed: Σ_τ φ_τ V(x'_τ) = Σ_{x'} M[x'] V(x') over the distinct next states x', with M[x']
the sum of the features that led to x'.

Steps may share what they learn. The arrays of a Gram begin with an axis of length H, or of length 1 when all steps have one
regression; :func:`~noregret.kernels.compiler.flat.row` finds the entry of a step. Each array has its own such axis, so that
sums of rewards may stay apart where counts are shared.

The functions here have one body for each type of Gram, chosen when the caller is compiled. A Gram also has the fields
``active`` and ``actives``: the states whose estimate may differ from that of a state never visited.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import types

from noregret.kernels.compiler.jit import add_body, by_type, jit, overload
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import (
    Array,
    Bonus,
    Bounds,
    Flags,
    Gram,
    GramOfStates,
    Integers,
    Places,
    PlanTables,
    SweepRule,
    ValueTables,
)

if TYPE_CHECKING:
    from noregret.kernels.gram.dense import Visited

#: What n^-1/2 is multiplied by in :func:`faded`: with 1/4 left the bonus is whole up to n = 11, and half of it at n = 100.
FADE = 2.5


class Tables(NamedTuple):
    """What a plan fills: J objectives, the reward first, at every step, state and action."""

    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A)
    available: Flags  # (H,S,A)
    bonus: Array  # (1,J) β of the step at hand


class States(NamedTuple):
    """Which states of a step are looked at: the first ``actives`` of ``active``; both may have one row for all steps."""

    active: Places | Integers
    actives: Places | Integers

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        n = self.active.shape[1]
        return {"active": (0, n - 1), "actives": (0, n)}


def everyone(S: int) -> States:
    """All states, at every step."""
    return States(np.arange(S, dtype=np.uint32)[None], np.array([S], dtype=np.uint32))


@by_type
def learn(gram: Gram, states: Integers | Array | Visited, actions: Integers, observed: Array) -> None:
    """Take in an episode, states (H+1,), actions (H,), observed (H,J): Alg. 1, l. 5 for the next one."""


@by_type
def sweep(gram: Gram, h: int, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
    """One step of the backward pass, Alg. 1, l. 5-12: estimate Q, truncate it, take the soft-max, evaluate V.

    Args:
        gram: the data.
        h: the step; V of step h+1 is ready.
        tables: what is filled, with the β of this step in ``bonus``.
        rule: has the truncation, ``floor`` and ``cap`` (H,).
        Y: prices (m,).
        alpha: inverse temperature.
    """


def estimate(gram: Gram, h: int, tables: ValueTables, beta: Bonus, bounds: Bounds) -> None:
    """Q_j,h(x,a) ← clip(⟨w_j,φ⟩ + β_j‖φ‖, floor, cap) from V_j,h+1: Alg. 1, l. 6-9.

    Args:
        gram: the data.
        h: the step.
        tables: has V (H+1,J,S) and Q (H,J,S,A). There may be more objectives than the 1 + m observed ones: those from 1 + m on
            are the utilities once more, with a β of their own.
        beta: a number, or one for each objective (J,), or these, c (J,) of the bonus for noise, whether that is on, and what
            is left of β‖φ‖ where much is known.
        bounds: floor and cap.
    """
    estimate_from(gram, 0, h, tables, beta, bounds)


@by_type
def estimate_from(gram: Gram, start: int, h: int, tables: ValueTables, beta: Bonus, bounds: Bounds) -> None:
    """:func:`estimate` for the objectives from ``start`` on."""


@by_type
def spread(gram: Gram, h: int, tables: ValueTables, j: int) -> float:
    """How far V_j,h+1 spreads (max − min) over the next states seen at step h; 0 when none was."""
    return np.nan


@by_type
def norm(gram: Gram, h: int, s: int, a: int) -> float:
    """‖φ(s,a)‖ in the norm of Λ_h⁻¹."""
    return np.nan


def each(beta: Bonus, j: int) -> float:
    """Entry j of β; β itself when it is a number."""
    if isinstance(beta, tuple):
        return float(beta[0][j])
    return float(beta[j] if isinstance(beta, np.ndarray) else beta)


def of_noise(beta: Bonus, j: int) -> float:
    """c_j of the bonus for noise; 0 where β comes without it, or nothing varies."""
    return float(beta[1][j]) if isinstance(beta, tuple) and beta[2] else 0.0


def of_late(beta: Bonus) -> float:
    """What is left of β‖φ‖ where much is known; all of it where β comes without it."""
    return float(beta[3]) if isinstance(beta, tuple) else 1.0


@partial(jit, inline=True)
def faded(norm: float, late: float) -> float:
    """‖φ‖ min(1, late + FADE·‖φ‖): the norm that β is multiplied by, less and less of it where more is known."""
    return norm * min(1.0, late + FADE * norm)


@by_type
def uneven(gram: Gram) -> bool:
    """Whether any pair was seen to pay two different numbers; False where nobody looks at noise."""
    return False


@by_type
def doubts(gram: GramOfStates, h: int) -> bool:
    """Bring the D of step h up to date (:mod:`noregret.kernels.gram.noise`); False where no pair was ever seen to vary."""
    return False


def sweep_tables(gram: GramOfStates, h: int, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
    """Do what :func:`sweep` says for a Gram whose states are numbered: the lines of Alg. 1 one after the other."""
    estimate(gram, h, tables, (tables.bonus[0], rule.noise, False, rule.late), (rule.floor, rule.cap[h]))  # l. 5-9
    soft_max(gram, h, tables, Y, alpha)  # l. 10-12


@jit
def run_learn(gram: Gram, states: Integers | Array | Visited, actions: Integers, observed: Array) -> None:
    """:func:`learn`, called from Python."""
    learn(gram, states, actions, observed)


@overload(estimate)
def _(gram, h, tables, beta, bounds):  # type: ignore[no-untyped-def]
    return estimate


@overload(each)
def _(beta, j):  # type: ignore[no-untyped-def]
    if isinstance(beta, types.BaseTuple):
        return lambda beta, j: beta[0][j]
    return (lambda beta, j: beta) if isinstance(beta, types.Number) else (lambda beta, j: beta[j])


@overload(of_noise)
def _(beta, j):  # type: ignore[no-untyped-def]
    if isinstance(beta, types.BaseTuple):
        return lambda beta, j: beta[1][j] if beta[2] else 0.0
    return lambda beta, j: 0.0


@overload(of_late)
def _(beta):  # type: ignore[no-untyped-def]
    if isinstance(beta, types.BaseTuple):
        return lambda beta: beta[3]
    return lambda beta: 1.0


_TAUGHT: dict[str, Callable[..., object]] = {
    "learn": learn,
    "sweep": sweep,
    "estimate": estimate_from,
    "spread": spread,
    "norm": norm,
    "doubts": doubts,
    "uneven": uneven,
}


def teach(kind: type, **bodies: Callable[..., object]) -> None:
    """Give a type of Gram its bodies of the functions above, by name; a function without a body may not be called for it."""
    for name, body in bodies.items():
        add_body(_TAUGHT[name], kind, body)
