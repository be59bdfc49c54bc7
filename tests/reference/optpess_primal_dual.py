"""OptPess-PrimalDual, literally (Liu et al. 2021, in utility form)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables


class ReferenceOptPess(Tables):
    def __init__(self, spec: Spec, *, bonus_scale: float, eps: float, eps_cap: float, eta: float, p: float, tries: int) -> None:
        super().__init__(spec)
        self.scale, self.eps, self.eps_cap, self.eta = bonus_scale, eps, eps_cap, eta
        self.delta = p / (16 * self.S**2 * self.A * self.H)
        self.tries, self.Z, self.k = tries, np.zeros(self.J - 1), 1

    def plan(self) -> tuple[Array, Array, Array]:
        n, by_next, sums = self.counts()
        self.Y = self.Z / (self.eta * np.sqrt(self.k))
        Q, V = np.zeros((self.H, self.S, self.A, self.J)), np.zeros((self.H + 1, self.S, self.J))
        for h in reversed(range(self.H)):
            for x in range(self.S):
                for a in range(self.A):
                    if n[h, x, a] < self.tries:
                        Q[h, x, a] = self.H - h
                        continue
                    beta = np.sqrt(np.log(self.k / self.delta) / n[h, x, a])
                    mean = (sums[h, x, a] + by_next[h, x, a] @ V[h + 1]) / n[h, x, a]
                    Q[h, x, a] = np.clip(mean + self.scale * (1 + self.S * self.H) * beta, 0, self.H - h)
                self.policy[h, x] = self.greedy(Q, h, x)
                V[h, x] = self.policy[h, x] @ Q[h, x]
        self.V = V
        return self.policy, Q, V

    def observe(self, *episode: Any) -> None:
        log = np.log(self.k / self.delta)
        eps = self.eps * (log + 1) / np.sqrt(self.k * log)
        for i in range(self.J - 1):
            self.Z[i] = max(self.Z[i] + self.b[i] + min(eps, self.eps_cap) - self.value(self.V, i), 0)
        self.k += 1
        self.keep(*episode)
