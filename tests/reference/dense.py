"""Algorithm 1 on states that are vectors, literally: every past episode kept, every sum and inverse made anew."""

from __future__ import annotations

import numpy as np

from tests.reference.algorithm1 import softmax


class ReferenceDense:
    """``plan()`` makes w and Λ⁻¹ of all steps (l. 4-12); ``at(h, x)`` gives Q (J,A), π (A,), V (J,) at any state (l. 14)."""

    def __init__(self, phi, H, A, b, *, lam, beta, alpha, eta, xi, zeta=0.0, cap="H-h+1", lower_clip=True, absorbing=None):
        self.phi = phi  # a state ↦ (A,d)
        self.H, self.A, self.b = H, A, np.atleast_1d(np.asarray(b, dtype=float))
        self.m = len(self.b)
        self.lam, self.beta, self.alpha, self.eta, self.xi, self.zeta = lam, beta, alpha, eta, xi, zeta
        self.cap, self.lower_clip = cap, lower_clip
        self.absorbing = absorbing
        self.Y = np.zeros(self.m)
        self.episodes = []  # (states, actions, observed (L,J))
        self.stand_in = {}  # (h, episode) ↦ the state whose value stands for that episode's state at h

    def plan(self):
        H, J = self.H, 1 + self.m
        d = self.phi(self.probe).shape[1] if hasattr(self, "probe") else None
        if self.episodes:
            d = self.phi(self.episodes[0][0][0]).shape[1]
        self.w, self.inverse = np.zeros((H, J, d)), np.zeros((H, d, d))
        for h in reversed(range(H)):
            Lambda, target = self.lam * np.eye(d), np.zeros((J, d))
            for k, (x, a, seen) in enumerate(self.episodes):
                if h >= len(a):
                    continue
                f = self.phi(x[h])[a[h]]
                Lambda += np.outer(f, f)
                if h + 1 < len(a):
                    V = self.at(h + 1, self.stand_in.get((h + 1, k), x[h + 1]))[2]
                elif len(a) < H:  # an early end: H - L steps in a state of known worth
                    V = (H - len(a)) * np.asarray(self.absorbing)
                else:
                    V = np.zeros(J)
                target += np.outer(seen[h] + V, f)
            self.inverse[h] = np.linalg.inv(Lambda)
            self.w[h] = target @ self.inverse[h]

    def at(self, h, x):
        Q = np.zeros((1 + self.m, self.A))
        f = self.phi(x)
        for a in range(self.A):
            bonus = self.beta * np.sqrt(f[a] @ self.inverse[h] @ f[a])
            for j in range(1 + self.m):
                q = min(self.w[h, j] @ f[a] + bonus, float(self.H if self.cap == "H" else self.H - h))
                Q[j, a] = max(q, 0.0) if self.lower_clip else q
        policy = softmax(Q[0] + self.Y @ Q[1:], self.alpha, np.ones(self.A, dtype=bool))
        return Q, policy, Q @ policy

    def observe(self, states, actions, observed):
        V = self.at(0, states[0])[2]
        self.Y = np.clip(self.Y + self.eta * (self.b + self.zeta - V[1:]), 0.0, self.xi)
        self.episodes.append((states, actions, observed))
