"""Policies that do not learn: ``uniform``, and any given table (the runner's ``optimal`` and ``safest``)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from noregret.errors import unknown_name
from noregret.kernels.dispatch import register as register_kernels
from noregret.learners.base import Asked, Learner
from noregret.learners.registry import register
from noregret.problems.base import Array


class FixedState(NamedTuple):
    """A policy that never changes, and a dual that stays 0."""

    policy: Array  # (H,S,A)
    Y: Array  # (m,)


def plan(state: Any) -> None:
    """The policy stands."""


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
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
    parameters: ClassVar[tuple[str, ...]] = ("policy", "called")

    def _begin(self, asked: Asked) -> FixedState:
        for key in asked.params:
            if key not in self.parameters:
                raise unknown_name(f"parameter of {self.name}", key, self.parameters)
        self.preset = "-"
        self.name = asked.params.get("called", self.name)  # type: ignore[misc]
        policy = np.array(self._policy(asked), dtype=np.float64, order="C")
        return FixedState(policy=policy, Y=np.zeros(self.spec.n_constraints))

    def _policy(self, asked: Asked) -> Any:
        return asked.params["policy"]


@register
class Uniform(FixedPolicy):
    """``uniform``: every available action with the same probability."""

    name = "uniform"
    summary = "plays every available action with the same probability; a floor for comparison"
    parameters = ()

    def _policy(self, asked: Asked) -> Array:
        available: Array = self.spec.available / self.spec.available.sum(axis=2, keepdims=True)
        return available


register_kernels(FixedState, plan, update)
