"""What the steps of a least-squares learner learn together: features, and the empty regression of each ``share``.

With ``share`` "nothing" every step has a Λ of its own, as printed. With "all" there is one Λ for all steps. With "transitions"
there is one for the next values, and H for what a step pays (:mod:`noregret.kernels.gram.timetable`).
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from noregret.features import is_one_hot
from noregret.kernels.gram.base import Tables
from noregret.kernels.gram.one_hot import OneHotGram, one_hot_gram
from noregret.kernels.gram.table import TableGram, table_gram
from noregret.kernels.gram.timetable import TimetableGram, timetable_gram
from noregret.learners.base import GivenFeatures
from noregret.learners.lsvi.bonus import own_bonus
from noregret.learners.lsvi.rule import Rule
from noregret.problems.base import Array, Spec, check_features


def feature_map(spec: Spec, features: GivenFeatures) -> tuple[Array | None, int, str]:
    """The table φ (S,A,d), or None for one-hot; its dimension d; and how to call it."""
    S, A = spec.n_states, spec.n_actions
    phi = spec.features if features is None else check_features(cast(ArrayLike, features), S, A)
    if phi is None or is_one_hot(phi):
        return None, S * A, "one-hot"
    return phi, int(phi.shape[2]), f"table, d={phi.shape[2]}"


def empty_gram(
    spec: Spec,
    phi: Array | None,
    J: int,
    lam: float,
    estimates: int | None = None,
    shared: bool = False,
    noise: bool = False,
    retry: bool = False,
) -> OneHotGram | TableGram:
    """Λ = λI and no data, for J objectives; ``estimates`` are regressed, by default as many.

    Args:
        spec: has the horizon and the numbers of states and actions.
        phi: φ (S,A,d); None for one-hot features.
        J: how many objectives are observed, the reward first.
        lam: λ, the ridge parameter.
        estimates: how many objectives are regressed with a table φ; None for J.
        shared: whether all steps have one regression.
        noise: whether the noise of what is observed is looked at.
        retry: whether it is looked at how rare pairs are, which counts can.
    """
    if phi is None:
        return one_hot_gram(spec.horizon, spec.n_states, spec.n_actions, J, lam, shared=shared, noise=noise, retry=retry)
    return table_gram(phi, spec.horizon, J, lam, estimates, shared, noise)


def sharing_gram(spec: Spec, phi: Array | None, lam: float, rule: Rule, share: str) -> OneHotGram | TableGram | TimetableGram:
    """The empty regression of a rule's objectives, whose steps share what ``share`` says.

    Args:
        spec: what is known of the problem.
        phi: φ (S,A,d); None for one-hot features.
        lam: λ, the ridge parameter.
        rule: has β of each objective, and c of its noise.
        share: "nothing", "transitions" or "all".
    """
    observed, J, noise = 1 + spec.n_constraints, len(rule.beta), bool(rule.noise.max() > 0.0)
    if share != "transitions":
        return empty_gram(spec, phi, observed, lam, J, share == "all", noise, bool(rule.retry.max() > 0.0))
    moves, means = (empty_gram(spec, phi, observed, lam, J, each, noise) for each in (True, False))
    return timetable_gram(moves, means, empty_tables(spec, J), (own_bonus(rule), rule.noise), observed)


def empty_tables(spec: Spec, J: int) -> Tables:
    """Zeros, for J objectives, and the uniform policy."""
    H, S, A = spec.horizon, spec.n_states, spec.n_actions
    return Tables(
        Q=np.zeros((H, J, S, A)),
        V=np.zeros((H + 1, J, S)),
        policy=spec.available / spec.available.sum(axis=2, keepdims=True),
        available=spec.available.copy(),
        bonus=np.zeros((1, J)),
    )
