"""Reward-free exploration and the game of its second phase, literally (Miryoosefi, Jin 2022, in Lagrangian form)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.least_squares import History

Array = NDArray[np.float64]


class ReferenceRewardFree(History):
    """W of phase 1; p̂, r̂ and ĝ of phase 2; the game on them."""

    def __init__(self, spec: Any, phi: Array, *, lam: float, beta: float) -> None:
        super().__init__(phi, spec.horizon, lam, spec.available)
        self.spec, self.beta = spec, beta

    def explore(self) -> Array:
        """Greedy on W, evenly where it ties."""
        S, A, _ = self.phi.shape
        W, policy = np.zeros((self.H + 1, S)), np.zeros((self.H, S, A))
        for h in reversed(range(self.H)):
            inverse, w = self.inverse(h), self.weights(h, [W[h + 1, tau.states[h + 1]] for tau in self.episodes])
            for s in range(S):
                value = np.full(A, -np.inf)
                for a in np.flatnonzero(self.available[h, s]):
                    f = self.phi[s, a]
                    value[a] = max(min(w @ f + self.beta * np.sqrt(f @ inverse @ f), self.H - h), 0.0)
                W[h, s] = value.max()
                tied = value >= value.max() - 1e-12
                policy[h, s] = tied / tied.sum()
        return policy

    def model(self) -> tuple[Array, Array]:
        """p̂ (H,S,A,S), and the means of reward and utilities (H,S,A,1+m) within [0,1]."""
        S, A, _ = self.phi.shape
        m = self.spec.n_constraints
        P, worth = np.zeros((self.H, S, A, S)), np.zeros((self.H, S, A, 1 + m))
        for h in range(self.H):
            for x in range(S):
                P[h, :, :, x] = self.phi @ self.weights(h, [float(tau.states[h + 1] == x) for tau in self.episodes])
            for j in range(1 + m):
                seen = [tau.rewards[h] if j == 0 else tau.utilities[j - 1, h] for tau in self.episodes]
                worth[h, :, :, j] = np.clip(self.phi @ self.weights(h, seen), 0.0, 1.0)
        return P, worth

    def game(self, *, rounds: int, eta: float, xi: float) -> tuple[Array, Array]:
        """The mixture of all rounds as one policy, and the mean of the prices."""
        P, worth = self.model()
        S, A, _ = self.phi.shape
        m, start = self.spec.n_constraints, self.spec.start
        Y, mean, mass = np.zeros(m), np.zeros(m), np.zeros((self.H, S, A))
        for _ in range(rounds):
            V, choice = np.zeros((self.H + 1, S, 1 + m)), np.zeros((self.H, S), int)
            for h in reversed(range(self.H)):
                for s in range(S):
                    Q = worth[h, s] + P[h, s] @ V[h + 1]
                    composite = np.where(self.available[h, s], Q[:, 0] + Q[:, 1:] @ Y, -np.inf)
                    choice[h, s] = int(np.argmax(composite))
                    V[h, s] = Q[choice[h, s]]
            here = start.copy()
            for h in range(self.H):
                there = np.zeros(S)
                for s in np.flatnonzero(here > 0.0):
                    mass[h, s, choice[h, s]] += here[s]
                    there += here[s] * P[h, s, choice[h, s]]
                here = there
            mean += Y / rounds
            Y = np.clip(Y + eta * (self.spec.thresholds - start @ V[0, :, 1:]), 0.0, xi)
        policy = np.zeros((self.H, S, A))
        for h in range(self.H):
            for s in range(S):
                total = mass[h, s].sum()
                if total > 1e-12 * rounds:
                    policy[h, s] = mass[h, s] / total
                else:
                    policy[h, s, choice[h, s]] = 1.0
        return policy, mean
