"""A learner from elsewhere: its own state and bodies, nothing of it known to noregret. Follows the last good action."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.learners.base import Learner
from noregret.learners.presets import Constants, Number, Resolved


class HabitState(NamedTuple):
    policy: np.ndarray  # (H,S,A)
    Y: np.ndarray  # (m,)
    habit: np.ndarray  # (H,S), −1 where there is none yet
    available: np.ndarray  # (H,S,A)
    patience: float


def plan(state: Any) -> None:
    H, S, A = state.policy.shape
    for h in range(H):
        for s in range(S):
            n = 0
            for a in range(A):
                n += state.available[h, s, a]
            for a in range(A):
                own = 1.0 if state.habit[h, s] == a else 0.0
                share = 1.0 / n if state.available[h, s, a] else 0.0
                state.policy[h, s, a] = share if state.habit[h, s] < 0 else 0.5 * own + 0.5 * share


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    for h in range(len(actions)):
        if observed[h, 0] > state.patience:
            state.habit[h, states[h]] = actions[h]


class Habit(Learner):
    name: ClassVar[str] = "habit"
    summary: ClassVar[str] = "does again what was rewarded"

    table: ClassVar[Constants] = Constants(Number("patience", every=(0.5, "chosen")))

    def begin(self, c: Resolved) -> HabitState:
        available = self.spec.available
        policy, habit = np.zeros(available.shape), np.full(available.shape[:2], -1)
        return HabitState(policy, np.zeros(self.spec.n_constraints), habit, available.copy(), c.patience)


register_kernels(HabitState, plan, update)
