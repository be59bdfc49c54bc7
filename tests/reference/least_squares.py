"""The other least-squares learners, literally: every matrix built from the list of past episodes, every plan from nothing.

Each has ``plan()``, which gives the tables of the next episode, and ``observe(...)``. All share :class:`History`, the list of
episodes and the sums over it; nothing else is kept between episodes but the dual variable of the rounded one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.reference.algorithm1 import Episode, ReferenceAlgorithm1, softmax

Array = NDArray[np.float64]


class History:
    """Past episodes and the least squares on them."""

    def __init__(self, phi: ArrayLike, H: int, lam: float, available: NDArray[np.bool_]) -> None:
        self.phi, self.H, self.lam, self.available = np.array(phi, dtype=np.float64), H, lam, available
        self.episodes: list[Episode] = []

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        self.episodes.append(Episode(*(np.array(part) for part in (states, actions, rewards, utilities))))

    def inverse(self, h: int) -> Array:
        Lambda = self.lam * np.eye(self.phi.shape[2])
        for tau in self.episodes:
            f = self.phi[tau.states[h], tau.actions[h]]
            Lambda = Lambda + np.outer(f, f)
        return np.linalg.inv(Lambda)

    def weights(self, h: int, targets: list[float]) -> Array:
        """Λ⁻¹ Σ φ_τ target_τ."""
        total = np.zeros(self.phi.shape[2])
        for tau, target in zip(self.episodes, targets, strict=True):
            total = total + self.phi[tau.states[h], tau.actions[h]] * target
        return self.inverse(h) @ total


class ReferenceLSVIUCB(History):
    """Jin et al. 2020: Q ← min(⟨w,φ⟩ + β‖φ‖, cap), greedy; ties are shared evenly."""

    def __init__(self, phi, H, lam, available, *, beta, cap, lower_clip) -> None:  # type: ignore[no-untyped-def]
        super().__init__(phi, H, lam, available)
        self.beta, self.cap, self.lower_clip = beta, cap, lower_clip

    def plan(self) -> tuple[Array, Array]:
        S, A, _ = self.phi.shape
        Q, V, policy = np.zeros((self.H, S, A)), np.zeros((self.H + 1, S)), np.zeros((self.H, S, A))
        for h in reversed(range(self.H)):
            inverse = self.inverse(h)
            w = self.weights(h, [tau.rewards[h] + V[h + 1, tau.states[h + 1]] for tau in self.episodes])
            for s in range(S):
                for a in range(A):
                    f = self.phi[s, a]
                    q = min(w @ f + self.beta * np.sqrt(f @ inverse @ f), self.H if self.cap == "H" else self.H - h)
                    Q[h, s, a] = max(q, 0.0) if self.lower_clip else q
                best = max(Q[h, s, a] for a in range(A) if self.available[h, s, a])
                # Ties by the formula: equal up to the rounding of the two inverses.
                tied = [a for a in range(A) if self.available[h, s, a] and Q[h, s, a] >= best - 1e-12]
                policy[h, s, tied] = 1.0 / len(tied)
                V[h, s] = best
        return Q, policy


class ReferenceRounded(ReferenceAlgorithm1):
    """Algorithm 1 with a net of radius ε: w, β²Λ⁻¹ and Y rounded, the policy greedy on the rounded composite."""

    eps: float

    def plan(self):  # type: ignore[no-untyped-def, override]
        H, m, phi, eps = self.H, self.m, self.phi, self.eps
        S, A, d = phi.shape
        step_w, step_A = eps / np.sqrt(d), eps**2 / (2 * d)
        Y = [eps * np.round(y / eps) for y in self.Y]
        history = History(phi, H, self.lam, self.available)
        history.episodes = self.episodes
        Q, V, policy = np.zeros((1 + m, H, S, A)), np.zeros((1 + m, H + 1, S)), np.zeros((H, S, A))
        for h in reversed(range(H)):
            rounded_A = step_A * np.round(self.beta**2 * history.inverse(h) / step_A)
            for j in range(1 + m):
                seen = [tau.rewards[h] if j == 0 else tau.utilities[j - 1, h] for tau in self.episodes]
                targets = [seen[t] + V[j, h + 1, tau.states[h + 1]] for t, tau in enumerate(self.episodes)]
                rounded_w = step_w * np.round(history.weights(h, targets) / step_w)
                for s in range(S):
                    for a in range(A):
                        f = phi[s, a]
                        Q[j, h, s, a] = self.clip(rounded_w @ f + np.sqrt(max(f @ rounded_A @ f, 0.0)), h)
            for s in range(S):
                composite = Q[0, h, s] + sum(Y[i] * Q[1 + i, h, s] for i in range(m))
                policy[h, s] = softmax(np.round(composite, 11), np.inf, self.available[h, s])
                for j in range(1 + m):
                    V[j, h, s] = policy[h, s] @ Q[j, h, s]
        from tests.reference.algorithm1 import Plan

        self.last = Plan(Q[0], Q[1:], V[0], V[1:], policy)
        return self.last


class ReferenceBisection(ReferenceAlgorithm1):
    """Algorithm 1's plan, made anew for every price that the search tries."""

    start: Array
    top: float
    passes: int

    def plan(self):  # type: ignore[no-untyped-def, override]
        if self.margin(0.0) >= 0 or self.margin(self.top) < 0:
            return self.last
        low, high = 0.0, self.top
        for _ in range(self.passes):
            middle = (low + high) / 2
            low, high = (low, middle) if self.margin(middle) >= 0 else (middle, high)
        self.margin(high)
        return self.last

    def margin(self, price: float) -> float:
        self.last, self.Y = None, np.array([price])
        return float(self.start @ super().plan().V_g[0, 0] - self.b[0])

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        self.episodes.append(Episode(*(np.array(part) for part in (states, actions, rewards, utilities))))


class OPSEPlan(NamedTuple):
    Q_r: Array
    Q_plus: Array
    Q_g: Array
    policy: Array
    price: float
    safe: bool


class ReferenceOPSE(History):
    """Kitamura et al. 2025, Algorithm 2, told r and g (H,S,A) and a safe policy."""

    def __init__(self, phi, H, lam, available, *, r, g, safe_policy, b, start, C_r, C_plus, C_g, B, kappa, top, passes) -> None:  # type: ignore[no-untyped-def]
        super().__init__(phi, H, lam, available)
        self.r, self.g, self.safe_policy, self.b, self.start = r, g, safe_policy, b, start
        self.C_r, self.C_plus, self.C_g, self.B, self.kappa, self.top, self.passes = C_r, C_plus, C_g, B, kappa, top, passes

    def plan(self) -> OPSEPlan:
        plan, margin = self.plan_for(self.top)
        if margin < 0:
            return plan._replace(policy=self.safe_policy, safe=True)
        plan, margin = self.plan_for(0.0)
        if margin >= 0:
            return plan
        low, high = 0.0, self.top
        for _ in range(self.passes):
            middle = (low + high) / 2
            low, high = (low, middle) if self.plan_for(middle)[1] >= 0 else (middle, high)
        return self.plan_for(high)[0]

    def plan_for(self, price: float) -> tuple[OPSEPlan, float]:
        H, kappa = self.H, self.kappa
        S, A, _ = self.phi.shape
        Q_r, Q_plus, Q_g, policy = (np.zeros((H, S, A)) for _ in range(4))
        V_r, V_plus, V_g = (np.zeros((H + 1, S)) for _ in range(3))
        for h in reversed(range(H)):
            left = H - (h + 1)  # the paper's H - h
            inverse = self.inverse(h)
            w_r, w_plus, w_g = (
                self.weights(h, [V[h + 1, tau.states[h + 1]] for tau in self.episodes]) for V in (V_r, V_plus, V_g)
            )
            for s in range(S):
                for a in range(A):
                    f = self.phi[s, a]
                    norm = np.sqrt(f @ inverse @ f)
                    Q_r[h, s, a] = self.r[h, s, a] + np.clip(self.C_r * norm + w_r @ f, 0, left * (1 + kappa * np.log(A)))
                    Q_plus[h, s, a] = self.B * norm + np.clip(self.C_plus * norm + w_plus @ f, 0, self.B * left)
                    Q_g[h, s, a] = self.g[h, s, a] + np.clip(-self.C_g * norm + w_g @ f, 0, left)
                policy[h, s] = softmax(Q_r[h, s] + Q_plus[h, s] + price * Q_g[h, s], 1 / kappa, self.available[h, s])
                V_plus[h, s], V_g[h, s] = policy[h, s] @ Q_plus[h, s], policy[h, s] @ Q_g[h, s]
                for a in range(A):
                    if policy[h, s, a] > 0:
                        V_r[h, s] += policy[h, s, a] * (Q_r[h, s, a] - kappa * np.log(policy[h, s, a]))
        return OPSEPlan(Q_r, Q_plus, Q_g, policy, price, False), float(self.start @ V_g[0] - self.b)
