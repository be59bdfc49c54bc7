"""OPDOP, literally (Ding et al. 2021): the variant for tables, and the linear-kernel algorithm with explicit features."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables


class ReferenceOPDOP(Tables):
    """A round in the paper's order: policy step with (Q,Y) of the last round, dual step with its V, evaluation."""

    def __init__(
        self, spec: Spec, *, form: str, beta: float, lam: float, alpha: float, theta: float, eta: float, xi: float
    ) -> None:
        super().__init__(spec)
        self.form, self.beta, self.lam = form, beta, lam
        self.alpha, self.theta, self.eta, self.xi = alpha, theta, eta, xi
        self.Q = np.zeros((self.H, self.S, self.A, self.J))
        self.V = np.zeros((self.H + 1, self.S, self.J))
        self.past_values: list[Array] = []
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
                    for j in range(self.J):
                        if self.form == "tabular":
                            ahead = by_next[h, x, a] @ V[h + 1, :, j] / total
                            bonus = 2 * self.beta / np.sqrt(total)
                        else:
                            ahead, norm = self.regress(h, x, a, j, V[h + 1, :, j])
                            bonus = self.beta / np.sqrt(total) + self.beta * norm
                        Q[h, x, a, j] = np.clip(sums[h, x, a, j] / total + ahead + bonus, 0, self.H - h)
                V[h, x] = self.policy[h, x] @ Q[h, x]
        return Q, V

    def features(self, x: int, a: int, V: Array) -> Array:
        """φ_j(x,a) = Σ_x' ψ(x,a,x') V(x') with ψ = e_{(x,a,x')}, in S²A dimensions."""
        phi = np.zeros((self.S, self.A, self.S))
        phi[x, a] = V
        return phi.ravel()

    def regress(self, h: int, x: int, a: int, j: int, V: Array) -> tuple[float, float]:
        d = self.S * self.A * self.S
        Lambda, target = self.lam * np.eye(d), np.zeros(d)
        for (states, actions, _), past in zip(self.episodes, self.past_values, strict=True):
            phi = self.features(states[h], actions[h], past[h + 1, :, j])
            Lambda += np.outer(phi, phi)
            target += phi * past[h + 1, states[h + 1], j]
        phi = self.features(x, a, V)
        solved = np.linalg.solve(Lambda, phi)
        return float(solved @ target), float(np.sqrt(phi @ solved))

    def observe(self, *episode: Any) -> None:
        self.past_values.append(self.V)
        self.keep(*episode)
        self.planned = False
