"""A learner from elsewhere: its own state and bodies, nothing of it known to noregret. Follows the last good action."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from noregret.kernels.dispatch import register as register_kernels
from noregret.learners.base import Learner


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

    def __init__(self, spec: Any, *, episodes: int, preset: str, features: Any, slater_gap: Any, patience: float = 0.5) -> None:
        H, S, A = spec.available.shape
        self.spec, self.episodes, self.preset = spec, episodes, preset
        self.constants, self.explain = {"patience": patience}, {"patience": "given"}
        self._state = HabitState(
            policy=np.zeros((H, S, A)), Y=np.zeros(spec.n_constraints), habit=np.full((H, S), -1),
            available=spec.available.copy(), patience=float(patience),
        )  # fmt: skip


register_kernels(HabitState, plan, update)
