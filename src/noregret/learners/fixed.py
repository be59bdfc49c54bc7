"""Policies that do not learn: ``uniform``, and any given table (the runner's ``optimal`` and ``safest``)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.types import Array, Integers
from noregret.learners.base import Learner
from noregret.learners.presets import Constants, Resolved
from noregret.learners.registry import register


class FixedState(NamedTuple):
    """A policy that never changes, and a dual that stays 0."""

    policy: Array  # (H,S,A)
    Y: Array  # (m,)


def plan(state: FixedState) -> None:
    """The policy stands."""


def update(state: FixedState, states: Integers, actions: Integers, observed: Array) -> None:
    """Nothing is learned.

    Args:
        state: the learner's own, which stays as it is.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """


class FixedPolicy(Learner):
    """Plays one policy for ever: ``policy`` (H,S,A), under the name ``called``."""

    name = "fixed"
    promise = None
    table = Constants()
    things: ClassVar[tuple[str, ...]] = ("policy", "called")

    def begin(self, c: Resolved) -> FixedState:
        """The policy, which has no preset."""
        return self.playing(self.handed.get("policy"))

    def playing(self, policy: ArrayLike | None) -> FixedState:
        """The state of a policy (H,S,A), under the name that was given; it has no preset."""
        self.preset = "-"
        self.name = self.handed.get("called") or self.name  # type: ignore[misc]
        return FixedState(policy=np.array(policy, dtype=np.float64, order="C"), Y=np.zeros(self.spec.n_constraints))


@register
class Uniform(FixedPolicy):
    """``uniform``: every available action with the same probability."""

    name = "uniform"
    summary = "plays every available action with the same probability; a floor for comparison"
    things = ()

    def begin(self, c: Resolved) -> FixedState:
        """The uniform policy."""
        available = self.spec.available
        return self.playing(available / available.sum(axis=2, keepdims=True))


register_kernels(FixedState, plan, update)
