"""What the least-squares learners share when they are made: features, the empty regression, and its constants.

All of them regress on φ with ridge λ and add β‖φ‖_{Λ⁻¹}. In a state never visited at a step only the bonus counts, so with
one-hot features its estimates are the same for all actions and never change.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from noregret.features import is_one_hot
from noregret.kernels.gram.base import Tables
from noregret.kernels.gram.one_hot import OneHotGram, one_hot_gram
from noregret.kernels.gram.table import TableGram, table_gram
from noregret.kernels.gram.timetable import timetable_gram
from noregret.kernels.steps import untried
from noregret.learners.base import Asked, Learner
from noregret.learners.choices import Choices
from noregret.learners.parts.rule import Rule, assemble, own_bonus
from noregret.learners.presets import Cap, Constants
from noregret.problems.base import Array, Spec, check_features

#: The parameters of :func:`regression`.
REGRESSION = ("lam", "beta", "cap", "lower_clip", "bonus_scale", "p", "share")


def feature_map(spec: Spec, features: ArrayLike | None) -> tuple[Array | None, int, str]:
    """The table φ (S,A,d), or None for one-hot; its dimension d; and how to call it."""
    S, A = spec.n_states, spec.n_actions
    phi = spec.features if features is None else check_features(features, S, A)
    if phi is None or is_one_hot(phi):
        return None, S * A, "one-hot"
    return phi, int(phi.shape[2]), f"table, d={phi.shape[2]}"


def empty_gram(
    spec: Spec, phi: Array | None, J: int, lam: float, estimates: int | None = None, shared: bool = False
) -> OneHotGram | TableGram:
    """Λ = λI and no data, for J objectives; ``estimates`` are regressed, by default as many.

    Args:
        spec: has the horizon and the numbers of states and actions.
        phi: φ (S,A,d); None for one-hot features.
        J: how many objectives are observed, the reward first.
        lam: λ, the ridge parameter.
        estimates: how many objectives are regressed with a table φ; None for J.
        shared: whether all steps have one regression.
    """
    if phi is None:
        return one_hot_gram(spec.horizon, spec.n_states, spec.n_actions, J, lam, shared=shared)
    return table_gram(phi, spec.horizon, J, lam, estimates, shared)


def sharing_gram(spec: Spec, phi: Array | None, lam: float, rule: Rule, share: str) -> Any:
    """The empty regression of a rule's objectives, whose steps share what ``share`` says.

    Args:
        spec: what is known of the problem.
        phi: φ (S,A,d); None for one-hot features.
        lam: λ, the ridge parameter.
        rule: has β of each objective.
        share: "nothing", "transitions" or "all".
    """
    observed, J = 1 + spec.n_constraints, len(rule.beta)
    if share != "transitions":
        return empty_gram(spec, phi, observed, lam, J, share == "all")
    moves, means = (empty_gram(spec, phi, observed, lam, J, each) for each in (True, False))
    return timetable_gram(moves, means, empty_tables(spec, J), own_bonus(rule), observed)


def empty_tables(spec: Spec, J: int) -> Tables:
    """Zeros, for J objectives."""
    H, S, A = spec.horizon, spec.n_states, spec.n_actions
    return Tables(
        Q=np.zeros((H, J, S, A)), V=np.zeros((H + 1, J, S)), policy=np.zeros((H, S, A)), available=spec.available.copy(),
        bonus=np.zeros((1, J)),
    )  # fmt: skip


class Start(NamedTuple):
    """What the states of these learners share before the first episode."""

    gram: Any  # OneHotGram, TableGram or TimetableGram
    tables: Tables
    rule: Rule


class LeastSquaresLearner(Learner):
    """A learner that regresses on φ. A subclass names its ``parameters`` and makes its state in ``_start``."""

    sharing: ClassVar[tuple[str, ...]] = ("transitions", "all")

    def _begin(self, asked: Asked) -> Any:
        choices = Choices(self.name, self.preset, asked.slater_gap, asked.params, self.parameters)
        self.phi, self.dimension, called = feature_map(self.spec, asked.features)
        state = self._start(choices)
        choices.done()
        self.constants, self.explain = choices.values | {"features": called}, choices.why
        return state

    def _start(self, choices: Choices) -> Any:
        """The state before the first episode."""
        raise TypeError(f"{type(self).__name__} has no _start")

    def _regression(self, choices: Choices, J: int, *, theory: tuple[float, str], practical: float) -> Start:
        """β, λ and the truncation: as printed (λ = 1, cap H), or in practice λ = (β/H)² and what the steps left give; α = ∞.

        Args:
            choices: what was given, by preset.
            J: objectives that are estimated, the reward first.
            theory: β as printed but for the factor ``bonus_scale``, and how that is written.
            practical: the same in practice.
        """
        spec, H = self.spec, self.spec.horizon
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (1.0, "see beta"))
        chosen = (scale * practical, f"bonus_scale·{practical:g}, chosen")
        beta = choices.number("beta", (scale * theory[0], f"bonus_scale·{theory[1]}"), chosen)
        untried_is_H = ((beta / H) ** 2 or 1.0, "(β/H)², so that an untried pair is worth exactly H")
        lam = choices.number("lam", (1.0, "λ = 1, as printed"), untried_is_H, above=0.0)
        reason = "as printed" if choices.theory else "what H-h+1 steps can give"
        cap = cast(Cap, choices.word("cap", "H" if choices.theory else "H-h+1", ("H", "H-h+1"), reason))
        clip = choices.flag("lower_clip", False, True, "as printed" if choices.theory else "values are ≥ 0")
        rule = assemble(Constants(lam=lam, beta=beta, alpha=np.inf, eta=0.0, xi=0.0, cap=cap, lower_clip=clip), spec)
        rule, tables = rule._replace(beta=rule.beta[:J].copy()), empty_tables(spec, J)
        untried(tables, rule, lam)  # where nothing was seen only the bonus counts
        return Start(sharing_gram(spec, self.phi, lam, rule, choices.share(self.sharing, spec.share)), tables, rule)
