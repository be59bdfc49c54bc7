"""Algorithm 1 on states that are vectors, literally: every past episode kept, every sum and inverse made anew."""

from __future__ import annotations

import numpy as np

from tests.reference.algorithm1 import softmax


class ReferenceDense:
    """``plan()`` makes w and Λ⁻¹ of all steps (l. 4-12); ``at(h, x)`` gives Q (J,A), π (A,), V (J,) at any state (l. 14).

    With ``share`` each step learns from the transitions of all steps. With a ``span_floor`` β is multiplied by the spread of
    the next values, an early end among them.
    """

    def __init__(
        self, phi, H, A, b, *, lam, beta, alpha, eta, xi, zeta=0.0, cap="H-h+1", lower_clip=True, absorbing=None, share=False,
        span_floor=None,
    ):  # fmt: skip
        self.phi = phi  # a state ↦ (A,d)
        self.H, self.A, self.b = H, A, np.atleast_1d(np.asarray(b, dtype=float))
        self.m = len(self.b)
        self.lam, self.beta, self.alpha, self.eta, self.xi, self.zeta = lam, beta, alpha, eta, xi, zeta
        self.cap, self.lower_clip, self.share, self.span_floor = cap, lower_clip, share, span_floor
        self.absorbing = absorbing
        self.Y = np.zeros(self.m)
        self.episodes = []  # (states, actions, observed (L,J), whether it ended by itself)
        self.stand_in = {}  # (h, episode) ↦ the state whose value stands for that episode's state at h

    def plan(self):
        H, J = self.H, 1 + self.m
        d = self.phi(self.probe).shape[1] if hasattr(self, "probe") else None
        if self.episodes:
            d = self.phi(self.episodes[0][0][0]).shape[1]
        self.w, self.inverse, self.scale = np.zeros((H, J, d)), np.zeros((H, d, d)), np.ones((H, J))
        for h in reversed(range(H)):
            Lambda, target, values = self.lam * np.eye(d), np.zeros((J, d)), []
            for k, (x, a, seen, ended) in enumerate(self.episodes):
                for t in range(len(a)) if self.share else range(h, min(h + 1, len(a))):
                    f = self.phi(x[t])[a[t]]
                    Lambda += np.outer(f, f)
                    V = np.zeros(J)
                    if h + 1 < H:
                        if ended and t + 1 == len(a):  # an early end: the steps left in a state of known worth
                            V = (H - h - 1) * np.asarray(self.absorbing)
                        else:
                            V = self.at(h + 1, self.stand_in.get((t + 1, k), x[t + 1]))[2]
                        values.append(V)
                    target += np.outer(seen[t] + V, f)
            self.inverse[h] = np.linalg.inv(Lambda)
            self.w[h] = target @ self.inverse[h]
            if self.span_floor is not None:
                self.scale[h] = np.maximum(np.ptp(values, axis=0) if values else 0.0, self.span_floor)

    def at(self, h, x):
        Q = np.zeros((1 + self.m, self.A))
        f = self.phi(x)
        for a in range(self.A):
            norm = np.sqrt(f[a] @ self.inverse[h] @ f[a])
            for j in range(1 + self.m):
                bonus = self.beta * self.scale[h, j] * norm
                q = min(self.w[h, j] @ f[a] + bonus, float(self.H if self.cap == "H" else self.H - h))
                Q[j, a] = max(q, 0.0) if self.lower_clip else q
        policy = softmax(Q[0] + self.Y @ Q[1:], self.alpha, np.ones(self.A, dtype=bool))
        return Q, policy, Q @ policy

    def observe(self, states, actions, observed, ended=None):
        V = self.at(0, states[0])[2]
        self.Y = np.clip(self.Y + self.eta * (self.b + self.zeta - V[1:]), 0.0, self.xi)
        self.episodes.append((states, actions, observed, len(actions) < self.H if ended is None else ended))
