r"""Algorithm 1 of the paper, literally: explicit matrices, a loop over every past episode, nothing kept that helps.

Numbering. ``paper.tex`` loads ``\usepackage[noend]{algorithmic}`` (l. 27) and numbers every line (``[1]``, l. 265).
With ``noend`` an ``\ENDFOR`` prints nothing and takes no number, so the printed algorithm has 16 lines:

     1  initialisation                     9  Q_g
     2  for episodes k = 1..K             10  policy π (soft-max)
     3    receive x_1^k                   11  V_r
     4    for steps h = H..1              12  V_g
     5      Λ                             13    for steps h = 1..H
     6      w_r                           14      compute Q_r, Q_g, π at x_h^k
     7      w_g                           15      take a_h^k, observe x_{h+1}^k
     8      Q_r                           16    dual variable Y

which is what the paper's text refers to: steps 4-12, 8-12, 10, 11-12, 13-15 and "line 16" for the dual (l. 295-317).

What the pseudo-code does not say, each a parameter whose default is the printed form: ``zeta`` (b + ζ for b, l. 1254),
``cap`` ("H-h+1" in place of H in lines 8 and 9), ``lower_clip`` (the same lines clipped at 0 from below), ``available``
(lines 10-12 over the available actions only), and m constraints (a vector Y, and the composite Q_r + Σ_i Y_i Q_{g,i}).
The soft-max subtracts the largest exponent, which cancels; α = ∞ is uniform over the exact ties of the maximum.
Arrays count steps from 0, so the paper's H - h + 1 is H - h here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Plan(NamedTuple):
    """The tables of one episode. Q is by formula everywhere, also at actions that are not available."""

    Q_r: Array  # (H,S,A)
    Q_g: Array  # (m,H,S,A)
    V_r: Array  # (H+1,S)
    V_g: Array  # (m,H+1,S)
    policy: Array  # (H,S,A), zero at actions that are not available


class Episode(NamedTuple):
    states: NDArray[np.int64]  # (H+1,)
    actions: NDArray[np.int64]  # (H,)
    rewards: Array  # (H,)
    utilities: Array  # (m,H)


class ReferenceAlgorithm1:
    """One run: ``plan()`` is lines 3-12, ``observe(...)`` stores what lines 13-15 saw and does line 16."""

    def __init__(
        self,
        phi: ArrayLike,
        H: int,
        b: ArrayLike,
        *,
        lam: float,
        beta: float,
        alpha: float,
        eta: ArrayLike,
        xi: ArrayLike,
        zeta: ArrayLike = 0.0,
        cap: str = "H",
        lower_clip: bool = False,
        available: ArrayLike | None = None,
    ) -> None:
        if cap not in ("H", "H-h+1"):
            raise ValueError(f"cap is {cap!r}; expected 'H' or 'H-h+1'")
        self.phi = np.array(phi, dtype=np.float64)  # (S,A,d)
        self.H = H
        self.b = np.atleast_1d(np.array(b, dtype=np.float64))  # (m,)
        self.m = len(self.b)
        self.lam, self.beta, self.alpha = lam, beta, alpha
        self.eta, self.xi, self.zeta = np.asarray(eta, float), np.asarray(xi, float), np.asarray(zeta, float)
        self.cap, self.lower_clip = cap, lower_clip
        S, A, _ = self.phi.shape
        self.available = np.broadcast_to(np.ones((S, A), bool) if available is None else available, (H, S, A))
        self.Y = np.zeros(self.m)  # Alg. 1, l. 1: Y_1 = 0 (and w = 0: without episodes every sum below is empty)
        self.episodes: list[Episode] = []
        self.last: Plan | None = None

    def plan(self) -> Plan:
        """The policy of the next episode and the values it comes from; the same until an episode is observed."""
        if self.last is not None:
            return self.last
        H, m, phi = self.H, self.m, self.phi
        S, A, d = phi.shape
        Q_r, Q_g = np.zeros((H, S, A)), np.zeros((m, H, S, A))
        V_r, V_g = np.zeros((H + 1, S)), np.zeros((m, H + 1, S))
        policy = np.zeros((H, S, A))
        for h in reversed(range(H)):  # Alg. 1, l. 4
            Lambda = self.lam * np.eye(d)  # Alg. 1, l. 5
            for tau in self.episodes:
                f = phi[tau.states[h], tau.actions[h]]
                Lambda = Lambda + np.outer(f, f)
            Lambda_inv = np.linalg.inv(Lambda)

            target = np.zeros(d)  # Alg. 1, l. 6
            for tau in self.episodes:
                f = phi[tau.states[h], tau.actions[h]]
                target = target + f * (tau.rewards[h] + V_r[h + 1, tau.states[h + 1]])
            w_r = Lambda_inv @ target

            w_g = np.zeros((m, d))  # Alg. 1, l. 7
            for i in range(m):
                target = np.zeros(d)
                for tau in self.episodes:
                    f = phi[tau.states[h], tau.actions[h]]
                    target = target + f * (tau.utilities[i, h] + V_g[i, h + 1, tau.states[h + 1]])
                w_g[i] = Lambda_inv @ target

            for s in range(S):
                for a in range(A):
                    bonus = self.beta * np.sqrt(phi[s, a] @ Lambda_inv @ phi[s, a])
                    Q_r[h, s, a] = self.clip(w_r @ phi[s, a] + bonus, h)  # Alg. 1, l. 8
                    for i in range(m):
                        Q_g[i, h, s, a] = self.clip(w_g[i] @ phi[s, a] + bonus, h)  # Alg. 1, l. 9

                composite = Q_r[h, s].copy()
                for i in range(m):
                    composite += self.Y[i] * Q_g[i, h, s]
                policy[h, s] = softmax(composite, self.alpha, self.available[h, s])  # Alg. 1, l. 10
                V_r[h, s] = sum(policy[h, s, a] * Q_r[h, s, a] for a in range(A))  # Alg. 1, l. 11
                for i in range(m):
                    V_g[i, h, s] = sum(policy[h, s, a] * Q_g[i, h, s, a] for a in range(A))  # Alg. 1, l. 12
        self.last = Plan(Q_r, Q_g, V_r, V_g, policy)
        return self.last

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        """Store the episode that ``plan()`` played (Alg. 1, l. 13-15), then move the dual variable."""
        x, a = np.array(states), np.array(actions)
        r, g = np.array(rewards, dtype=np.float64), np.array(utilities, dtype=np.float64)
        H, m = self.H, self.m
        if (x.shape, a.shape, r.shape, g.shape) != ((H + 1,), (H,), (H,), (m, H)):
            raise ValueError(f"shapes are {x.shape}, {a.shape}, {r.shape}, {g.shape}; expected {H=}, {m=}")
        V_g = self.plan().V_g
        eta, xi, zeta = (np.broadcast_to(value, m) for value in (self.eta, self.xi, self.zeta))
        Y = np.zeros(m)
        for i in range(m):  # Alg. 1, l. 16
            Y[i] = max(min(self.Y[i] + eta[i] * (self.b[i] + zeta[i] - V_g[i, 0, x[0]]), xi[i]), 0.0)
        self.Y = Y
        self.episodes.append(Episode(x, a, r, g))
        self.last = None

    def clip(self, q: float, h: int) -> float:
        q = min(q, float(self.H if self.cap == "H" else self.H - h))
        return max(q, 0.0) if self.lower_clip else q


def softmax(x: Array, alpha: float, available: NDArray[np.bool_]) -> Array:
    """exp(α x_a)/Σ exp(α x_a') over the available actions; for α = ∞ uniform over those with the largest x."""
    largest = max(x[a] for a in range(len(x)) if available[a])
    weights = np.zeros(len(x))
    for a in range(len(x)):
        if available[a]:
            weights[a] = float(x[a] == largest) if np.isinf(alpha) else np.exp(alpha * (x[a] - largest))
    return weights / weights.sum()
