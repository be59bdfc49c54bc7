"""The options of ``primal-dual-lsvi`` that depart from Algorithm 1, written as slowly and plainly as the algorithm itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret.features import is_one_hot
from tests.reference.algorithm1 import Episode, Plan, ReferenceAlgorithm1, softmax
from tests.reference.noise import of_pairs


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
        late_bonus: float = 1.0,
        dual_estimate: str = "optimistic",
        dual_prior: float = 0.0,
        pessimism: float = 0.0,
        damping: bool = False,
        schedule: str = "fixed",
        anti_windup: bool = False,
        share: str = "nothing",
        noise_bonus: float = 0.0,
        retry_bonus: float = 0.0,
        **printed: Any,
    ) -> None:
        super().__init__(phi, H, b, **printed)
        self.utility_bonus, self.bonus, self.span_floor = utility_bonus, bonus, span_floor
        self.dual_estimate, self.dual_prior, self.damping = dual_estimate, dual_prior, damping
        self.schedule, self.share_of_steps = schedule, share
        self.room = np.minimum(self.b, H - self.b).clip(0.01) if anti_windup else np.full(self.m, np.inf)
        self.late_bonus, self.pessimism, self.noise_bonus, self.retry_bonus = late_bonus, pessimism, noise_bonus, retry_bonus
        self.gain, self.lack, self.most_gain = np.ones(self.m), np.zeros(self.m), 1.0
        self.missed: list[list[tuple[float, float]]] = [[] for _ in range(self.m)]  # b − V_g and b − G of every episode

    def plan(self) -> Plan:
        if self.last is not None:
            return self.last
        H, m, phi = self.H, self.m, self.phi
        S, A, d = phi.shape
        k = len(self.episodes) + 1
        alpha = self.alpha * (np.sqrt(k) if self.schedule == "anytime" else 1.0)
        Q, V = np.zeros((1 + 2 * m, H, S, A)), np.zeros((1 + 2 * m, H + 1, S))  # r, utilities, and these without a bonus
        policy = np.zeros((H, S, A))
        for h in reversed(range(H)):
            together = [(e, t) for e in self.episodes for t in range(H) if self.share_of_steps != "nothing" or t == h]
            features = np.array([phi[e.states[t], e.actions[t]] for e, t in together]).reshape(-1, d)
            Lambda_inv = np.linalg.inv(self.lam * np.eye(d) + features.T @ features)
            doubt = self.doubt(h)
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
                        width = beta * norm * min(1.0, self.late_bonus + 2.5 * norm)
                        if self.bonus == "variance" and j <= m:
                            own = [v for v, (e, t) in zip(seen, together, strict=True) if (e.states[t], e.actions[t]) == (s, a)]
                            deviation = self.deviation(own, norm**2)
                            width = self.beta * (self.utility_bonus if j else 1.0) * deviation * norm + beta * norm**2
                            width = np.hypot(width, self.retry_bonus * self.again(seen, deviation, phi[s], a, Lambda_inv))
                        if self.share_of_steps == "transitions":
                            pay = self.pay(j, h, phi[s, a], doubt[s, a])
                        else:
                            pay, width = 0.0, self.joined(width, j, doubt[s, a])
                        Q[j, h, s, a] = self.clip(pay + w @ phi[s, a] + width, h)
            for s in range(S):
                composite = Q[0, h, s] + sum(self.Y[i] * Q[1 + i, h, s] for i in range(m))
                policy[h, s] = softmax(composite, alpha, self.available[h, s])
                V[:, h, s] = Q[:, h, s] @ policy[h, s]
        self.dual_values = V[1 : 1 + m] if self.dual_estimate in ("optimistic", "observed") else V[1 + m :]
        self.dual_Q = Q[1 : 1 + m] if self.dual_estimate in ("optimistic", "observed") else Q[1 + m :]
        self.last = Plan(Q[0], Q[1 : 1 + m], V[0], V[1 : 1 + m], policy)
        return self.last

    @staticmethod
    def deviation(own: list[float], inverse: float) -> float:
        """σ of the next values of a pair, as far as they differ from the first one; each weighs 1/(n+λ)."""
        off = np.array(own) - own[0] if own else np.zeros(1)
        return float(np.sqrt(max((off**2).sum() * inverse - (off.sum() * inverse) ** 2, 0.0)))

    @staticmethod
    def again(seen: list[float], deviation: float, phi: np.ndarray, a: int, Lambda_inv: np.ndarray) -> float:
        """E of action a in a state with features phi (A,d): what the mean of next values may be off by, with a logarithm."""
        spread = max(seen) - min(seen) if seen else 0.0
        visits = [1.0 / (phi[b] @ Lambda_inv @ phi[b]) for b in range(len(phi))]
        L = np.log(sum(visits) / visits[a])
        return float(deviation * np.sqrt(2 * L / visits[a]) + 0.5 * spread * L / visits[a])

    def doubt(self, h: int) -> np.ndarray:
        """D (S,A,1+m) of the noise of what step h pays; steps that share all they learn share that too."""
        H, m = self.H, self.m
        visits = [[(e, t) for e in self.episodes for t in range(H) if self.share_of_steps == "all" or t == g] for g in range(H)]
        paid = [
            [(e.states[t], e.actions[t], np.array([e.rewards[t], *e.utilities.reshape(m, H)[:, t]])) for e, t in step]
            for step in visits
        ]
        if not self.noise_bonus or not self.episodes:
            return np.zeros((*self.phi.shape[:2], 1 + m))
        doubt = of_pairs(self.phi, self.lam, paid, h)
        if is_one_hot(self.phi):  # a state never visited keeps what it was worth without data
            doubt[[s for s in range(len(doubt)) if s not in {state for state, *_ in paid[h]}]] = 0.0
        return doubt

    def joined(self, width: float, j: int, doubt: np.ndarray) -> float:
        """√(B² + (c_j D_j)²), with the sign of B; the plain estimate of the dual has none."""
        c = self.noise_bonus
        if j > self.m:
            c *= self.pessimism if self.dual_estimate == "pessimistic" else 0.0
        return float(np.copysign(np.hypot(width, c * doubt[j if j <= self.m else j - self.m]), width))

    def pay(self, j: int, h: int, phi: np.ndarray, doubt: np.ndarray) -> float:
        """What step h pays in objective j, from its own samples, with a bonus of its own: at most 1."""
        i = j - 1 if j <= self.m else j - self.m - 1
        features = np.array([self.phi[e.states[h], e.actions[h]] for e in self.episodes]).reshape(-1, len(phi))
        observed = np.array([e.rewards[h] if j == 0 else e.utilities[i, h] for e in self.episodes])
        Lambda_inv = np.linalg.inv(self.lam * np.eye(len(phi)) + features.T @ features)
        if j > self.m:
            beta = self.dual_prior * np.sqrt(self.lam)
        else:
            beta = self.beta * (self.utility_bonus if j else 1.0) * (self.span_floor if self.bonus == "span" else 1 / self.H)
        norm = np.sqrt(phi @ Lambda_inv @ phi)
        width = self.joined(beta * norm * min(1.0, self.late_bonus + 2.5 * norm), j, doubt)
        value = phi @ Lambda_inv @ features.T @ observed + width
        return float(max(min(value, 1.0), 0.0))

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        self.plan()
        x = np.array(states)
        eta = float(self.eta) / (np.sqrt(len(self.episodes) + 1) if self.schedule == "anytime" else 1.0)
        steps, units = np.zeros(self.m), np.zeros(self.m)
        for i in range(self.m):
            lack = self.threshold(i) - self.dual_values[i, 0, x[0]]
            step, unit, least = max(min(lack, self.room[i]), -self.room[i]), min(self.room[i], 1.0), 1e-4
            if self.dual_estimate in ("observed", "corrected"):
                self.missed[i].append((lack, self.threshold(i) - float(np.sum(utilities, axis=-1).reshape(-1)[i])))
                estimated, observed = np.array(self.missed[i]).T
                t = np.arange(1, len(observed) + 1)
                weights = t * (t + 1) * (t + 2)
                lack = lack - np.average(estimated - observed, weights=weights)
                step = lack if self.dual_estimate == "corrected" else observed[-1]
                unit, least = max(np.sqrt(np.average(observed**2, weights=weights)), 0.01), 0.05
            if self.damping and self.dual_estimate != "observed":
                turned = lack * self.lack[i] < 0
                self.gain[i] = max(self.gain[i] / 2, least) if turned else min(self.gain[i] * 1.5, self.most_gain)
            self.lack[i], steps[i], units[i] = lack, step, unit
        self.Y = self.moved(steps, units, self.gain * eta)
        self.episodes.append(Episode(x, np.array(actions), np.array(rewards), np.array(utilities)))
        self.last = None

    def threshold(self, i: int) -> float:
        """What the utility i of an episode should be."""
        return float(self.b[i] + self.zeta)

    def moved(self, steps: np.ndarray, units: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The prices after steps of these lengths, each in a unit of its own."""
        return np.clip(self.Y + lengths * steps / units, 0.0, float(self.xi))
