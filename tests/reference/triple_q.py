"""Triple-Q, literally (Wei, Liu, Ying 2022): values set while the episode is played, tables moved one step behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables


class ReferenceTripleQ(Tables):
    def __init__(
        self, spec: Spec, *, chi: float, eta: float, eps: float, bonus: float, bump: float, frame: int, top: Array,
        forget: bool, dual_estimate: str,
    ) -> None:  # fmt: skip
        super().__init__(spec)
        self.chi, self.eta, self.eps, self.bonus, self.bump, self.frame, self.top = chi, eta, eps, bonus, bump, frame, top
        self.forget, self.observed = forget, dual_estimate == "observed"
        self.Q = np.ones((self.H, self.S, self.A, self.J)) * top[:, None, None, None]
        self.N, self.Z, self.C_bar, self.k = np.zeros((self.H, self.S, self.A)), np.zeros(self.J - 1), np.zeros(self.J - 1), 0

    def plan(self) -> tuple[Array, Array, None]:
        self.Y = self.Z / self.eta
        for h in range(self.H):
            for x in range(self.S):
                self.policy[h, x] = self.greedy(self.Q, h, x)
        return self.policy, self.Q, None

    def observe(self, states: Any, actions: Any, rewards: Array, utilities: Array) -> None:
        observed = np.column_stack([rewards, utilities.T])
        V = np.zeros((self.H + 1, self.S, self.J))
        for h in range(self.H):
            V[h, states[h]] = self.Q[h, states[h], actions[h]]
        self.C_bar += observed[:, 1:].sum(axis=0) if self.observed else self.Q[0, states[0], actions[0], 1:]
        for h in range(self.H):
            x, a = states[h], actions[h]
            self.N[h, x, a] += 1
            t = self.N[h, x, a]
            rate = (self.chi + 1) / (self.chi + t)
            target = observed[h] + V[h + 1, states[h + 1]] + self.bonus * np.sqrt((self.chi + 1) / (self.chi + t))
            self.Q[h, x, a] = (1 - rate) * self.Q[h, x, a] + rate * target
        self.k += 1
        if self.k % self.frame == 0:
            self.N[:] = 0 if self.forget else self.N
            self.Q[..., 0] += self.bump
            for h in range(self.H):
                full = (self.Q[h] >= self.top[h]).any(axis=-1)
                self.Q[h][full] = self.top[h]
            self.Z = np.maximum(self.Z + self.b + self.eps - self.C_bar / self.frame, 0)
            self.C_bar[:] = 0
