"""What the literal tabular learners share: every episode kept, and dense counts made from them each time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.problems.base import Spec

Array = NDArray[np.float64]


class Tables:
    """Episodes so far, and n(h,x,a,x'), the sums of what was observed (H,S,A,J), and the uniform policy."""

    def __init__(self, spec: Spec) -> None:
        self.H, self.S, self.A, self.J = spec.horizon, spec.n_states, spec.n_actions, 1 + spec.n_constraints
        self.b, self.start, self.available = spec.thresholds, spec.start, spec.available
        self.episodes: list[tuple[NDArray[np.int64], NDArray[np.int64], Array]] = []
        self.policy = np.zeros((self.H, self.S, self.A))
        for h in range(self.H):
            for x in range(self.S):
                self.policy[h, x, self.available[h, x]] = 1.0 / self.available[h, x].sum()
        self.Y = np.zeros(self.J - 1)

    def keep(self, states: NDArray[np.int64], actions: NDArray[np.int64], rewards: Array, utilities: Array) -> None:
        self.episodes.append((states.copy(), actions.copy(), np.column_stack([rewards, utilities.T])))

    def counts(self) -> tuple[Array, Array, Array]:
        """n (H,S,A), n by next state (H,S,A,S), sums (H,S,A,J)."""
        by_next, sums = np.zeros((self.H, self.S, self.A, self.S)), np.zeros((self.H, self.S, self.A, self.J))
        for states, actions, observed in self.episodes:
            for h in range(self.H):
                by_next[h, states[h], actions[h], states[h + 1]] += 1
                sums[h, states[h], actions[h]] += observed[h]
        return by_next.sum(axis=3), by_next, sums

    def composite(self, Q: Array, h: int, x: int) -> Array:
        """Q_r + Σ Y_i Q_gi at a state, −∞ where an action does not exist; Q (H,S,A,J)."""
        return np.where(self.available[h, x], Q[h, x, :, 0] + Q[h, x, :, 1:] @ self.Y, -np.inf)

    def greedy(self, Q: Array, h: int, x: int) -> Array:
        """Uniform over the exact maximisers."""
        value = self.composite(Q, h, x)
        best = (value == value.max()).astype(float)
        return best / best.sum()

    def value(self, V: Array, i: int) -> float:
        """V_{g_i,1} from the start distribution; V (H+1,S,J)."""
        return float(sum(self.start[x] * V[0, x, 1 + i] for x in range(self.S)))


def radius(p: float, n: float, L: float) -> float:
    return float(2 * np.sqrt(p * (1 - p) * L / n) + 14 / 3 * L / n)
