"""The regularised primal-dual learners, literally: Müller et al. 2024, and Kitamura et al. 2024 with fading steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables


class ReferenceRegularized(Tables):
    """Steps and regularisation are functions of k, from 0; ``bonus(n, p̂)`` gives that of reward and of a utility."""

    def __init__(self, spec: Spec, *, alpha: Any, eta: Any, tau: Any, xi: float, bonus: Any) -> None:
        super().__init__(spec)
        self.alpha, self.eta, self.tau, self.xi, self.bonus, self.k = alpha, eta, tau, xi, bonus, 0

    def plan(self) -> tuple[Array, Array, Array]:
        n, by_next, sums = self.counts()
        tau = self.tau(self.k)
        Q, V = np.zeros((self.H, self.S, self.A, self.J)), np.zeros((self.H + 1, self.S, self.J))
        for h in reversed(range(self.H)):
            top = np.full(self.J, self.H - h, dtype=float)
            top[0] *= 1 + tau * np.log(self.A)
            for x in range(self.S):
                for a in range(self.A):
                    Q[h, x, a] = top
                    if n[h, x, a] > 0:
                        p_hat = by_next[h, x, a] / n[h, x, a]
                        of_reward, of_utility = self.bonus(n[h, x, a], p_hat)
                        extra = np.full(self.J, of_utility)
                        extra[0] = of_reward
                        Q[h, x, a] = np.clip(sums[h, x, a] / n[h, x, a] + extra + p_hat @ V[h + 1], 0, top)
                for a in np.flatnonzero(self.policy[h, x]):
                    V[h, x] += self.policy[h, x, a] * Q[h, x, a]
                    V[h, x, 0] -= tau * self.policy[h, x, a] * np.log(self.policy[h, x, a])
        self.Q, self.V = Q, V
        return self.policy.copy(), Q, V

    def observe(self, *episode: Any) -> None:
        tau, alpha, eta = self.tau(self.k), self.alpha(self.k), self.eta(self.k)
        for h in range(self.H):
            for x in range(self.S):
                may = self.available[h, x]
                weight = max(1 - alpha * tau, 0.0) * np.log(self.policy[h, x, may]) + alpha * self.composite(self.Q, h, x)[may]
                weight = np.exp(weight - weight.max())
                self.policy[h, x, may] = weight / weight.sum()
        for i in range(self.J - 1):
            lack = self.b[i] - self.value(self.V, i)
            self.Y[i] = np.clip(max(1 - eta * tau, 0.0) * self.Y[i] + eta * lack, 0, self.xi)
        self.k += 1
        self.keep(*episode)
