"""A toy learner with a cache that only grows, for the tests of checkpoints: it plays by the next states it has seen."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.learners.base import Learner
from noregret.learners.registry import register


class GrowingState(NamedTuple):
    policy: Any  # (H,S,A)
    Y: Any  # (m,)
    count: Any  # (1,)
    seen: Any  # (K,) the state after the first step of each episode


def plan(state):
    n = state.count[0]
    share = 0.5
    if n > 0:
        share = (1.0 + state.seen[:n].sum() % 7) / 8.0
    state.policy[:, :, 0] = share
    state.policy[:, :, 1] = 1.0 - share


def update(state, states, actions, observed):
    state.seen[state.count[0]] = states[1] + 0.1 * actions[0]
    state.count[0] += 1


@register
class Growing(Learner):
    name: ClassVar[str] = "growing"

    def begin(self, c):
        policy, count = np.full((self.spec.horizon, self.spec.n_states, 2), 0.5), np.zeros(1, dtype=np.int64)
        return GrowingState(policy, np.zeros(self.spec.n_constraints), count, np.zeros(self.episodes))

    def append_only(self):
        return {"seen": (0, int(self._state.count[0]))}

    def state(self):
        state = super().state()
        return state | {"seen": state["seen"][: state["count"][0]]}

    def restore(self, state):
        whole = np.zeros(self.episodes)
        whole[: len(state["seen"])] = state["seen"]
        super().restore(state | {"seen": whole})


register_kernels(GrowingState, plan, update)
