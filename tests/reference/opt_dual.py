"""OptDual-CMDP, literally (Efroni, Mannor, Pirotta 2020, Algorithm 3, in utility form)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables, radius


def best_in_box(lower: Array, upper: Array, v: Array) -> Array:
    """The distribution between lower and upper that maximises ⟨p, v⟩; of equal v the first goes first."""
    p = lower.copy()
    left = 1.0 - lower.sum()
    for x in sorted(range(len(v)), key=lambda x: (-v[x], x)):
        more = min(upper[x] - lower[x], left)
        p[x] += more
        left -= more
    return p


class ReferenceOptDual(Tables):
    def __init__(self, spec: Spec, *, K: int, bonus_scale: float, eta: float, truncate: bool, p: float, tries: int) -> None:
        super().__init__(spec)
        self.scale, self.eta, self.truncate, self.tries = bonus_scale, eta, truncate, tries
        self.L_p = np.log(6 * self.S * self.A * self.H * K / p)
        self.L_l = 2 * np.log(6 * self.S * self.A * self.H * self.J * K / p)

    def plan(self) -> tuple[Array, Array, Array]:
        n, by_next, sums = self.counts()
        Q, V = np.zeros((self.H, self.S, self.A, self.J)), np.zeros((self.H + 1, self.S, self.J))
        for h in reversed(range(self.H)):
            v = V[h + 1, :, 0] + V[h + 1, :, 1:] @ self.Y
            for x in range(self.S):
                for a in range(self.A):
                    if n[h, x, a] < self.tries:
                        Q[h, x, a] = (self.H - h) * (1 if self.truncate else (1 + self.scale * np.sqrt(self.L_l)) * (1 + 1e-9))
                        continue
                    p_hat = by_next[h, x, a] / n[h, x, a]
                    rho = self.scale * np.array([radius(p, n[h, x, a], self.L_p) for p in p_hat])
                    p = best_in_box(np.clip(p_hat - rho, 0, 1), np.clip(p_hat + rho, 0, 1), v)
                    Q[h, x, a] = sums[h, x, a] / n[h, x, a] + self.scale * np.sqrt(self.L_l / n[h, x, a]) + p @ V[h + 1]
                    if self.truncate:
                        Q[h, x, a] = np.clip(Q[h, x, a], 0, self.H - h)
                self.policy[h, x] = self.greedy(Q, h, x)
                V[h, x] = self.policy[h, x] @ Q[h, x]
        self.V = V
        return self.policy, Q, V

    def observe(self, *episode: Any) -> None:
        for i in range(self.J - 1):
            self.Y[i] = max(self.Y[i] + self.eta * (self.b[i] - self.value(self.V, i)), 0)
        self.keep(*episode)
