"""Policies that do not learn: ``uniform``, and any given table (the runner's ``optimal`` and ``safest``)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import unknown_name
from noregret.kernels.dispatch import register as register_kernels
from noregret.learners.base import Learner
from noregret.learners.registry import register
from noregret.problems.base import Array, Spec


class FixedState(NamedTuple):
    """A policy that never changes, and a dual that stays 0."""

    policy: Array  # (H,S,A)
    Y: Array  # (m,)


def plan(state: Any) -> None:
    """The policy stands."""


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Nothing is learned."""


class FixedPolicy(Learner):
    """Plays one policy for ever."""

    name: ClassVar[str] = "fixed"
    promise: ClassVar[tuple[str, str] | None] = None
    parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, spec: Spec, policy: ArrayLike, episodes: int, name: str = "fixed") -> None:
        self.spec, self.episodes, self.preset, self.constants, self.explain = spec, episodes, "-", {}, {}
        self._state = FixedState(policy=np.array(policy, dtype=np.float64, order="C"), Y=np.zeros(spec.n_constraints))


@register
class Uniform(FixedPolicy):
    """``uniform``: every available action with the same probability."""

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "plays every available action with the same probability; a floor for comparison"

    def __init__(
        self,
        spec: Spec,
        *,
        episodes: int,
        preset: str = "practical",
        features: ArrayLike | None = None,
        slater_gap: float | None = None,
        **params: Any,
    ) -> None:
        for key in params:
            raise unknown_name("parameter of uniform", key, ())
        super().__init__(spec, spec.available / spec.available.sum(axis=2, keepdims=True), episodes)


register_kernels(FixedState, plan, update)
