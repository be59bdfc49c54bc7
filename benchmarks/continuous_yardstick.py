"""The yardstick for continuous states: Algorithm 1 in NumPy, with ‖φ‖² of every next state by matrix products.

Arrays are laid out once, Λ⁻¹ is kept by rank-one updates, and each step of a plan is a handful of products over everything
seen: F Λ⁻¹, its row-wise product with F, F w_j, the soft-max, Φᵀ V. It is what one writes first in NumPy.
"""

from __future__ import annotations

import numpy as np


class NumpyAlgorithm1:
    """One utility, joint features φ(x,a) in R^d, room for K episodes."""

    def __init__(self, H, A, d, K, b, *, lam, beta, alpha, eta, xi):
        self.H, self.A, self.d, self.k = H, A, d, 0
        self.b, self.beta, self.alpha, self.eta, self.xi, self.Y = b, beta, alpha, eta, xi, 0.0
        self.F = np.zeros((H, K, A, d))  # features of the state of step h, all actions
        self.Phi = np.zeros((H, K, d))  # those of the action taken
        self.seen = np.zeros((H, K, 2))
        self.Lambda_inv = np.repeat(np.eye(d)[None] / lam, H, axis=0)
        self.w = np.zeros((H, 2, d))

    def plan(self):
        """Alg. 1, l. 4-12."""
        k, A, d = self.k, self.A, self.d
        V = np.zeros((k, 2))
        for h in reversed(range(self.H)):
            target = self.Phi[h, :k].T @ (self.seen[h, :k] + V)
            self.w[h] = (self.Lambda_inv[h] @ target).T
            if h > 0:
                F = self.F[h, :k].reshape(k * A, d)
                Q, policy = self._values(h, F)
                V = (policy[:, :, None] * Q).sum(axis=1)

    def _values(self, h, F):
        square = ((F @ self.Lambda_inv[h]) * F).sum(axis=1)
        bonus = self.beta * np.sqrt(np.maximum(square, 0.0))
        Q = np.clip(F @ self.w[h].T + bonus[:, None], 0.0, self.H - h).reshape(-1, self.A, 2)
        composite = Q[:, :, 0] + self.Y * Q[:, :, 1]
        weights = np.exp(self.alpha * (composite - composite.max(axis=1, keepdims=True)))
        return Q, weights / weights.sum(axis=1, keepdims=True)

    def observe(self, rows, actions, observed):
        """Features (H,A,d) of the states visited, actions (H,), observed (H,2)."""
        k, steps = self.k, np.arange(self.H)
        Q, policy = self._values(0, rows[0])
        self.Y = float(np.clip(self.Y + self.eta * (self.b - (policy @ Q[0, :, 1])[0]), 0.0, self.xi))
        self.F[:, k], self.Phi[:, k], self.seen[:, k] = rows, rows[steps, actions], observed
        for h in range(self.H):
            phi = self.Phi[h, k]
            u = self.Lambda_inv[h] @ phi
            self.Lambda_inv[h] -= np.outer(u, u) / (1.0 + phi @ u)
        self.k += 1
