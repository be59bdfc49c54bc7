"""What the least-squares learners share when they are made: features, the empty regression, and its constants.

All of them regress on φ with ridge λ and add β‖φ‖_{Λ⁻¹}. In a state never visited at a step only the bonus counts, so with
one-hot features its estimates are the same for all actions and never change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.features import is_one_hot
from noregret.kernels.gram import OneHotGram, TableGram, one_hot_gram, table_gram
from noregret.learners.presets import Choices
from noregret.learners.tabular import steps_left, tables
from noregret.problems.base import Array, Spec, check_features

#: The parameters of :func:`regression`.
REGRESSION = ("lam", "beta", "cap", "lower_clip", "bonus_scale", "p")


def feature_map(spec: Spec, features: ArrayLike | None) -> tuple[Array | None, int, str]:
    """The table φ (S,A,d), or None for one-hot; its dimension d; and how to call it."""
    S, A = spec.n_states, spec.n_actions
    phi = spec.features if features is None else check_features(features, S, A)
    if phi is None or is_one_hot(phi):
        return None, S * A, "one-hot"
    return phi, int(phi.shape[2]), f"table, d={phi.shape[2]}"


def empty_gram(spec: Spec, phi: Array | None, J: int, lam: float, estimates: int | None = None) -> OneHotGram | TableGram:
    """Λ = λI and no data, for J objectives; ``estimates`` are regressed, by default as many."""
    if phi is None:
        return one_hot_gram(spec.horizon, spec.n_states, spec.n_actions, J, lam)
    return table_gram(phi, spec.horizon, J, lam, estimates)


def caps(spec: Spec, cap: str) -> Array:
    """The upper truncation of each step: H, or the number of steps left."""
    return np.full(spec.horizon, float(spec.horizon)) if cap == "H" else steps_left(spec)


def one_constraint(learner: str, spec: Spec) -> None:
    """Refuse a problem with several constraints."""
    if spec.n_constraints != 1:
        raise InputError(f"the problem has {spec.n_constraints} constraints; {learner} is stated for 1, as its paper has it")


def regression(
    choices: Choices, spec: Spec, J: int, *, theory_beta: float, why_beta: str, practical_beta: float
) -> dict[str, Any]:  # fmt: skip
    """β, λ and the truncation: as printed (λ = 1, cap H), or in practice λ = (β/H)² and what the steps left can give.

    Returns the fields that the states of these learners share, for J objectives.
    """
    H = spec.horizon
    scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (1.0, "see beta"))
    practical = (scale * practical_beta, f"bonus_scale·{practical_beta:g}, chosen")
    beta = choices.number("beta", (scale * theory_beta, f"bonus_scale·{why_beta}"), practical)
    untried_is_H = ((beta / H) ** 2 or 1.0, "(β/H)², so that an untried pair is worth exactly H")
    lam = choices.number("lam", (1.0, "λ = 1, as printed"), untried_is_H, above=0.0)
    reason = "as printed" if choices.theory else "what H-h+1 steps can give"
    cap = caps(spec, choices.word("cap", "H" if choices.theory else "H-h+1", ("H", "H-h+1"), reason))
    clip = choices.flag("lower_clip", False, True, "as printed" if choices.theory else "values are ≥ 0")
    fields = {"available": spec.available.copy(), "cap": cap, "floor": 0.0 if clip else -np.inf, "beta": beta}
    worth = np.minimum(beta / np.sqrt(lam), cap)  # where nothing was seen only the bonus counts
    return fields | tables(spec, np.repeat(worth[:, None], J, axis=1))
