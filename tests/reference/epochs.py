"""What happens at episodes 2^i, literally: a restart for an unknown K, an estimate of the Slater gap for an unknown γ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tests.reference.practical import ReferencePractical


class ReferenceEpochs(ReferencePractical):
    """``numbers(K)`` gives alpha, eta, xi, zeta and beta for K episodes; without it there is no restart."""

    def __init__(
        self, *args: Any, numbers: Callable[[int], dict[str, float]] | None = None, dropped: bool = False,
        start: ArrayLike | None = None, factor: float = 0.0, rounds: int = 64, **constants: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **constants)
        self.numbers, self.dropped, self.factor, self.rounds = numbers, dropped, factor, rounds
        self.start, self.played, self.gap, self.most = np.asarray(start, dtype=float), 0, np.nan, float(self.xi)
        if numbers is not None:
            vars(self).update(numbers(1))

    def observe(self, *episode: ArrayLike) -> None:
        super().observe(*episode)
        self.played += 1
        if np.log2(self.played + 1) % 1 != 0:
            return
        if self.numbers is not None:
            vars(self).update(self.numbers(self.played + 1))
            self.most = self.xi
            self.Y, self.gain, self.lack = np.zeros(self.m), np.ones(self.m), np.zeros(self.m)
            if self.dropped:
                self.episodes = []
        if self.factor:
            self.gap = self.estimated_gap()
            self.xi = min(self.factor / self.gap, self.most) if self.gap > 0 else self.most
            self.Y = np.minimum(self.Y, self.xi)

    def estimated_gap(self) -> float:
        """min_w max_π Σ w_i (V_gi - b_i), by multiplicative weights."""
        w, found = np.ones(self.m) / self.m, []
        rounds = 1 if self.m == 1 else self.rounds
        for _ in range(rounds):
            slack = self.start @ self.greedy(w) - self.b
            found.append(w @ slack)
            w = w * np.exp(-np.sqrt(8 * np.log(max(self.m, 2)) / rounds) / self.H * slack)
            w = w / w.sum()
        return min(found)

    def greedy(self, w: np.ndarray) -> np.ndarray:
        """V_g (S,m) at the first step of the policy that is greedy on Σ w_i Q_gi; the reward decides between equals."""
        S, A, d = self.phi.shape
        V = np.zeros((S, 1 + self.m))
        for h in reversed(range(self.H)):
            features = np.array([self.phi[e.states[h], e.actions[h]] for e in self.episodes]).reshape(-1, d)
            inverse = np.linalg.inv(self.lam * np.eye(d) + features.T @ features)
            Q = np.zeros((S, A, 1 + self.m))
            for j in range(1 + self.m):
                seen = [V[e.states[h + 1], j] for e in self.episodes]
                observed = [e.rewards[h] if j == 0 else e.utilities[j - 1, h] for e in self.episodes]
                weight = inverse @ features.T @ (np.array(observed) + np.array(seen))
                beta = self.beta * (self.utility_bonus if j else 1.0)
                if self.bonus == "span":
                    beta *= max(max(seen) - min(seen) if seen else 0.0, self.span_floor)
                for s in range(S):
                    for a in range(A):
                        f = self.phi[s, a]
                        Q[s, a, j] = self.clip(f @ weight + beta * np.sqrt(f @ inverse @ f), h)
            V = np.zeros((S, 1 + self.m))
            for s in range(S):
                price = Q[s, :, 0] + 1e9 * Q[s, :, 1:] @ w
                best = [a for a in range(A) if self.available[h, s, a] and price[a] == price[self.available[h, s]].max()]
                V[s] = Q[s, best].mean(axis=0)
        return V[:, 1:]
