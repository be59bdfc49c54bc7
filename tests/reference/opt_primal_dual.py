"""OptPrimalDual-CMDP, literally (Efroni, Mannor, Pirotta 2020, Algorithm 4, in utility form)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables, radius


class ReferenceOptPrimalDual(Tables):
    def __init__(self, spec: Spec, *, K: int, bonus_scale: float, alpha: float, eta: float, xi: float, p: float) -> None:
        super().__init__(spec)
        self.scale, self.alpha, self.eta, self.xi = bonus_scale, alpha, eta, xi
        self.L_p = np.log(6 * self.S * self.A * self.H * K / p)
        self.L_l = 2 * np.log(6 * self.S * self.A * self.H * self.J * K / p)
        self.weights = np.log(np.where(self.policy > 0, self.policy, 1.0))

    def plan(self) -> tuple[Array, Array, Array]:
        n, by_next, sums = self.counts()
        Q, V = np.zeros((self.H, self.S, self.A, self.J)), np.zeros((self.H + 1, self.S, self.J))
        for h in reversed(range(self.H)):
            for x in range(self.S):
                for a in range(self.A):
                    if n[h, x, a] == 0:
                        Q[h, x, a] = self.H - h
                        continue
                    p_hat = by_next[h, x, a] / n[h, x, a]
                    bonus = np.sqrt(self.L_l / n[h, x, a])
                    bonus += self.H * sum(radius(p, n[h, x, a], self.L_p) for p in p_hat)
                    Q[h, x, a] = sums[h, x, a] / n[h, x, a] + self.scale * bonus + p_hat @ V[h + 1]
                    Q[h, x, a] = np.clip(Q[h, x, a], 0, self.H - h)
                V[h, x] = self.policy[h, x] @ Q[h, x]
        self.Q, self.V = Q, V
        return self.policy, Q, V

    def observe(self, *episode: Any) -> None:
        for h in range(self.H):
            for x in range(self.S):
                self.weights[h, x] += self.alpha * np.where(self.available[h, x], self.composite(self.Q, h, x), 0.0)
                top = self.weights[h, x][self.available[h, x]].max()
                self.policy[h, x] = np.where(self.available[h, x], np.exp(self.weights[h, x] - top), 0.0)
                self.policy[h, x] /= self.policy[h, x].sum()
        for i in range(self.J - 1):
            self.Y[i] = np.clip(self.Y[i] + self.eta * (self.b[i] - self.value(self.V, i)), 0, self.xi)
        self.keep(*episode)
