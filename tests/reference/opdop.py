"""OPDOP, literally (Ding et al. 2021): the variant for tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables


class ReferenceOPDOP(Tables):
    """A round in the paper's order: policy step with (Q,Y) of the last round, dual step with its V, evaluation."""

    def __init__(self, spec: Spec, *, beta: float, lam: float, alpha: float, theta: float, eta: float, xi: float) -> None:
        super().__init__(spec)
        self.beta, self.lam = beta, lam
        self.alpha, self.theta, self.eta, self.xi = alpha, theta, eta, xi
        self.Q = np.zeros((self.H, self.S, self.A, self.J))
        self.V = np.zeros((self.H + 1, self.S, self.J))
        self.V[0, :, 1:] = self.b  # the paper's V_g of episode 0, so that its first dual step does nothing
        self.planned = False

    def plan(self) -> tuple[Array, Array, Array]:
        if not self.planned:
            for h in range(self.H):
                for x in range(self.S):
                    allowed = self.available[h, x]
                    mixed = np.where(allowed, (1 - self.theta) * self.policy[h, x] + self.theta / allowed.sum(), 0.0)
                    value = self.composite(self.Q, h, x)
                    weights = mixed * np.exp(self.alpha * (value - value.max()))
                    self.policy[h, x] = weights / weights.sum()
            self.Y = np.clip(self.Y + self.eta * (self.b - [self.value(self.V, i) for i in range(self.J - 1)]), 0, self.xi)
            self.Q, self.V = self.evaluate()
            self.planned = True
        return self.policy, self.Q, self.V

    def evaluate(self) -> tuple[Array, Array]:
        n, by_next, sums = self.counts()
        Q, V = np.zeros_like(self.Q), np.zeros_like(self.V)
        for h in reversed(range(self.H)):
            for x in range(self.S):
                for a in range(self.A):
                    if n[h, x, a] == 0:
                        Q[h, x, a] = self.H - h
                        continue
                    total = n[h, x, a] + self.lam
                    mean = (sums[h, x, a] + by_next[h, x, a] @ V[h + 1]) / total
                    Q[h, x, a] = np.clip(mean + 2 * self.beta / np.sqrt(total), 0, self.H - h)
                V[h, x] = self.policy[h, x] @ Q[h, x]
        return Q, V

    def observe(self, *episode: Any) -> None:
        self.keep(*episode)
        self.planned = False
