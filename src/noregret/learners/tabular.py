"""What the learners on tables share: tables before the first episode, and options of Algorithm 1 for those with a price.

A tabular learner knows states only by number. It takes no features, also where the problem has some.
"""

from __future__ import annotations

from functools import partial
from typing import TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.features import is_one_hot
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import estimate_from
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.empirical import UNTRIED
from noregret.kernels.steps.primal_dual import PriceRule
from noregret.kernels.types import Flags, Priced
from noregret.learners.base import GivenFeatures, Learner, SomeSpec
from noregret.learners.lsvi.dual import room
from noregret.learners.presets import Resolved
from noregret.problems.base import Array, Spec, check_features

#: The words of ``alpha_schedule`` and ``eta_schedule``: the same step in all episodes, or divided by √k in episode k.
SCHEDULES = ("fixed", "anytime")

#: The words of ``dual_estimate``: V_g with its bonus, as printed, or an estimate without, half of the cap where none was tried.
ESTIMATES = ("optimistic", "plain")


class TabularLearner(Learner):
    """A learner on tables: it refuses features other than one-hot."""

    @classmethod
    def sizes(cls, spec: SomeSpec, episodes: int, features: GivenFeatures) -> dict[str, float]:
        """The numbers that formulas may name, once the features are refused or one-hot.

        Args:
            spec: what is known of the problem.
            episodes: K.
            features: φ as given; only one-hot ones are taken.
        """
        known = cast(Spec, spec)
        if features is not None and not is_one_hot(check_features(cast(ArrayLike, features), known.n_states, known.n_actions)):
            from noregret.learners.registry import fitting

            raise InputError(
                f"features are given; {cls.name} works on tables and takes none (or one-hot); expected one that takes "
                f"features, such as {fitting('features')}"
            )
        return super().sizes(spec, episodes, features)


class Filled(TypedDict):
    """The tables of a state before the first episode."""

    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S)
    policy: Array  # (H,S,A)


def tables(spec: Spec, top: Array) -> Filled:
    """Q, V and policy when nothing was tried: ``top`` (H,) or (H,J) everywhere, the uniform policy; J is 1 + m unless given."""
    H, S, A = spec.horizon, spec.n_states, spec.n_actions
    top = np.repeat(top[:, None], 1 + spec.n_constraints, axis=1) if top.ndim == 1 else top
    J = top.shape[1]
    V = np.zeros((H + 1, J, S))
    V[:H] = top[:, :, None]
    Q = np.broadcast_to(top[:, :, None, None], (H, J, S, A)).copy()
    return {"Q": Q, "V": V, "policy": spec.available / spec.available.sum(axis=2, keepdims=True)}


class KnownFields(TypedDict):
    """The fields of a state that only repeat the problem."""

    start: Array  # (S,)
    available: Flags  # (H,S,A)


def known_of(spec: Spec) -> KnownFields:
    """The first state's distribution and the available actions, copied for a state."""
    return {"start": spec.start.copy(), "available": spec.available.copy()}


def steps_left(spec: Spec) -> Array:
    """H − h + 1 for h = 1..H: the most the values can be."""
    return np.arange(spec.horizon, 0.0, -1.0)


def prices(spec: Spec, c: Resolved, eta: float, xi: float) -> PriceRule:
    """The constants of a dual step, with the options of Algorithm 1 (:mod:`noregret.learners.lsvi.dual`) that the table has.

    Args:
        spec: has the horizon and the thresholds.
        c: the constants.
        eta: η.
        xi: ξ.
    """
    return PriceRule(
        b=spec.thresholds.copy(),
        room=room(spec).clip(0.01) if c.values.get("anti_windup") else np.zeros(0),
        eta=np.array([eta]),
        xi=np.array([xi]),
        eta_anytime=c.values.get("eta_schedule") == "anytime",
        damping=bool(c.values.get("damping")),
        corrected=False,
        prior=0.5 if c.values.get("dual_estimate") == "plain" else 0.0,
    )


def dual_tables(spec: Spec, top: Array, rule: PriceRule) -> Filled:
    """:func:`tables`, with the utilities once more where the dual has an estimate of its own.

    Args:
        spec: what is known of the problem.
        top: (H,) the most that values can be at each step.
        rule: the constants of the dual.
    """
    m = spec.n_constraints
    plain = [rule.prior * steps_left(spec)] * (m if rule.prior > 0.0 else 0)
    return tables(spec, np.stack([*[top] * (1 + m), *plain], axis=1))


@partial(jit, inline=True)
def estimate_plain(model: OneHotGram, h: int, state: Priced, cap: float) -> None:
    """The dual's own objectives, where there are any: means without a bonus, ``prior`` of the cap at a pair never tried.

    Args:
        model: the empirical model.
        h: the step.
        state: has Q, V, Y and the constants of its dual, ``prices``.
        cap: what the steps left can give.
    """
    estimate_from(model, 1 + len(state.Y), h, state, state.prices.prior * cap / UNTRIED, (0.0, cap))
