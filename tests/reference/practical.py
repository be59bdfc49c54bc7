"""The options of ``primal-dual-lsvi`` that depart from Algorithm 1, written as slowly and plainly as the algorithm itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tests.reference.algorithm1 import Episode, Plan, ReferenceAlgorithm1, softmax


class ReferencePractical(ReferenceAlgorithm1):
    """Algorithm 1 with a bonus by span, other estimates for the dual, damping and anytime schedules."""

    def __init__(
        self,
        phi: ArrayLike,
        H: int,
        b: ArrayLike,
        *,
        utility_bonus: float = 1.0,
        bonus: str = "constant",
        span_floor: float = 0.0,
        dual_estimate: str = "optimistic",
        dual_prior: float = 0.0,
        pessimism: float = 0.0,
        safe: Any = None,
        start: Any = None,
        damping: bool = False,
        alpha_schedule: str = "fixed",
        eta_schedule: str = "fixed",
        anti_windup: bool = False,
        share: str = "nothing",
        **printed: Any,
    ) -> None:
        super().__init__(phi, H, b, **printed)
        self.utility_bonus, self.bonus, self.span_floor = utility_bonus, bonus, span_floor
        self.dual_estimate, self.dual_prior, self.damping = dual_estimate, dual_prior, damping
        self.alpha_schedule, self.eta_schedule, self.share_of_steps = alpha_schedule, eta_schedule, share
        self.room = np.minimum(self.b, H - self.b).clip(0.01) if anti_windup else np.full(self.m, np.inf)
        self.pessimism, self.safe, self.start, self.share = pessimism, safe, start, 1.0
        self.gain, self.lack = np.ones(self.m), np.zeros(self.m)
        self.missed: list[list[tuple[float, float]]] = [[] for _ in range(self.m)]  # b − V_g and b − G of every episode

    def plan(self) -> Plan:
        if self.last is not None:
            return self.last
        H, m, phi = self.H, self.m, self.phi
        S, A, d = phi.shape
        k = len(self.episodes) + 1
        alpha = self.alpha * (np.sqrt(k) if self.alpha_schedule == "anytime" else 1.0)
        Q, V = np.zeros((1 + 2 * m, H, S, A)), np.zeros((1 + 2 * m, H + 1, S))  # r, utilities, and these without a bonus
        policy = np.zeros((H, S, A))
        for h in reversed(range(H)):
            together = [(e, t) for e in self.episodes for t in range(H) if self.share_of_steps != "nothing" or t == h]
            features = np.array([phi[e.states[t], e.actions[t]] for e, t in together]).reshape(-1, d)
            Lambda_inv = np.linalg.inv(self.lam * np.eye(d) + features.T @ features)
            for j in range(1 + 2 * m):
                i = j - 1 if j <= m else j - m - 1
                seen = [V[j, h + 1, e.states[t + 1]] for e, t in together]
                observed = [e.rewards[t] if j == 0 else e.utilities[i, t] for e, t in together]
                if self.share_of_steps == "transitions":
                    observed = [0.0 for _ in together]
                w = Lambda_inv @ features.T @ (np.array(observed) + np.array(seen))
                if j > m and self.dual_estimate == "pessimistic":
                    spread = max(max(seen) - min(seen) if seen else 0.0, self.span_floor)
                    beta = -self.pessimism * self.beta * self.utility_bonus * spread
                elif j > m:
                    beta = self.dual_prior * (H if self.cap == "H" else H - h) * np.sqrt(self.lam)
                else:
                    beta = self.beta * (self.utility_bonus if j else 1.0)
                    if self.bonus in ("span", "variance"):
                        beta *= max(max(seen) - min(seen) if seen else 0.0, self.span_floor)
                for s in range(S):
                    for a in range(A):
                        norm = np.sqrt(phi[s, a] @ Lambda_inv @ phi[s, a])
                        width = beta * norm
                        if self.bonus == "variance" and j <= m:
                            own = [v for v, (e, t) in zip(seen, together, strict=True) if (e.states[t], e.actions[t]) == (s, a)]
                            mean = sum(own) * norm**2
                            deviation = np.sqrt(sum((v - mean) ** 2 for v in own) * norm**2)
                            width = self.beta * (self.utility_bonus if j else 1.0) * deviation * norm + beta * norm**2
                        pay = self.pay(j, h, phi[s, a]) if self.share_of_steps == "transitions" else 0.0
                        Q[j, h, s, a] = self.clip(pay + w @ phi[s, a] + width, h)
            for s in range(S):
                composite = Q[0, h, s] + sum(self.Y[i] * Q[1 + i, h, s] for i in range(m))
                policy[h, s] = softmax(composite, alpha, self.available[h, s])
                V[:, h, s] = Q[:, h, s] @ policy[h, s]
        self.dual_values = V[1 : 1 + m] if self.dual_estimate in ("optimistic", "observed") else V[1 + m :]
        if self.safe is not None:
            policy = self.certified_mixture(policy)
        self.last = Plan(Q[0], Q[1 : 1 + m], V[0], V[1 : 1 + m], policy)
        return self.last

    def pay(self, j: int, h: int, phi: np.ndarray) -> float:
        """What step h pays in objective j, from its own samples, with a bonus of its own: at most 1."""
        i = j - 1 if j <= self.m else j - self.m - 1
        features = np.array([self.phi[e.states[h], e.actions[h]] for e in self.episodes]).reshape(-1, len(phi))
        observed = np.array([e.rewards[h] if j == 0 else e.utilities[i, h] for e in self.episodes])
        Lambda_inv = np.linalg.inv(self.lam * np.eye(len(phi)) + features.T @ features)
        if j > self.m:
            beta = self.dual_prior * np.sqrt(self.lam)
        else:
            beta = self.beta * (self.utility_bonus if j else 1.0) * (self.span_floor if self.bonus == "span" else 1 / self.H)
        value = phi @ Lambda_inv @ features.T @ observed + beta * np.sqrt(phi @ Lambda_inv @ phi)
        return float(max(min(value, 1.0), 0.0))

    def certified_mixture(self, target: np.ndarray) -> np.ndarray:
        """The mixture with the largest share of ``target``, to seven halvings, whose pessimistic values reach b + ζ."""
        low, high = 0.0, 1.0
        if (self.pessimistic(target) >= self.b + float(self.zeta)).all():
            low = 1.0
        for _ in range(7 if low == 0.0 else 0):
            middle = (low + high) / 2
            if (self.pessimistic((1 - middle) * self.safe + middle * target) >= self.b + float(self.zeta)).all():
                low = middle
            else:
                high = middle
        self.share = low
        return (1 - low) * self.safe + low * target

    def pessimistic(self, policy: np.ndarray) -> np.ndarray:
        """Values of a policy by the same regressions, with the bonus taken off."""
        H, m, phi = self.H, self.m, self.phi
        S, A, d = phi.shape
        V = np.zeros((m, H + 1, S))
        for h in reversed(range(H)):
            features = np.array([phi[e.states[h], e.actions[h]] for e in self.episodes]).reshape(-1, d)
            Lambda_inv = np.linalg.inv(self.lam * np.eye(d) + features.T @ features)
            for i in range(m):
                seen = [V[i, h + 1, e.states[h + 1]] for e in self.episodes]
                w = Lambda_inv @ features.T @ (np.array([e.utilities[i, h] for e in self.episodes]) + np.array(seen))
                spread = max(max(seen) - min(seen) if seen else 0.0, self.span_floor)
                for s in range(S):
                    for a in range(A):
                        norm = np.sqrt(phi[s, a] @ Lambda_inv @ phi[s, a])
                        q = self.clip(w @ phi[s, a] - self.pessimism * self.beta * self.utility_bonus * spread * norm, h)
                        V[i, h, s] += policy[h, s, a] * q
        return V[:, 0] @ self.start

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        self.plan()
        x = np.array(states)
        eta = self.share * float(self.eta) / (np.sqrt(len(self.episodes) + 1) if self.eta_schedule == "anytime" else 1.0)
        for i in range(self.m):
            lack = self.b[i] + float(self.zeta) - self.dual_values[i, 0, x[0]]
            step, least = max(min(lack, self.room[i]), -self.room[i]) / min(self.room[i], 1.0), 1e-4
            if self.dual_estimate in ("observed", "corrected"):
                self.missed[i].append((lack, self.b[i] + float(self.zeta) - float(np.sum(utilities, axis=-1).reshape(-1)[i])))
                estimated, observed = np.array(self.missed[i]).T
                t = np.arange(1, len(observed) + 1)
                weights = t * (t + 1) * (t + 2)
                lack = lack - np.average(estimated - observed, weights=weights)
                step = lack if self.dual_estimate == "corrected" else observed[-1]
                step, least = step / max(np.sqrt(np.average(observed**2, weights=weights)), 0.01), 0.05
            if self.damping and self.dual_estimate != "observed":
                turned = lack * self.lack[i] < 0
                self.gain[i] = max(self.gain[i] / 2, least) if turned else min(self.gain[i] * 1.5, 1.0)
            self.lack[i] = lack
            self.Y[i] = max(min(self.Y[i] + self.gain[i] * eta * step, float(self.xi)), 0.0)
        self.episodes.append(Episode(x, np.array(actions), np.array(rewards), np.array(utilities)))
        self.last = None
