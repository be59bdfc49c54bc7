"""NPG-PD, CRPO and CSPDA on a simulator, literally: dense counts, plain loops, random numbers made of whole ones."""

from __future__ import annotations

import numpy as np

from noregret.problems.base import TabularCMDP
from tests.reference.tables import Array, Tables
from tests.reference.world import draw, reward_at, utility_at

BITS = (1 << 64) - 1


class Stream:
    """SplitMix64, begun by two uniforms."""

    def __init__(self, u: float, v: float) -> None:
        self.state = (int(u * 2**32) << 32) + int(v * 2**32)

    def next(self) -> float:
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & BITS
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
        return float(((z ^ (z >> 31)) >> 11) + 0.5) / 2**53


class Simulated(Tables):
    """What the three have in common: the draws, dense counts of all of them, Q by rollouts or on the counts."""

    def __init__(self, problem: TabularCMDP, draws: int, printed: bool) -> None:
        super().__init__(problem.spec)
        self.problem, self.draws, self.printed, self.drawn = problem, draws, printed, 0
        self.by_next = np.zeros((self.H, self.S, self.A, self.S))
        self.sums = np.zeros((self.H, self.S, self.A, self.J))

    def simulate(self, h: int, x: int, a: int) -> tuple[int, Array]:
        p = self.problem
        u = [self.stream.next() for _ in range(1 if p.noise is None else 1 + self.J)]
        y = draw(p.P[h, x, a], u[0])
        seen = np.array([reward_at(p, h, x, a, y)] + [utility_at(p, i, h, x, a, y) for i in range(self.J - 1)])
        if p.noise is not None:
            seen = (np.array(u[1:]) < seen).astype(float)
        self.drawn += 1
        return y, seen

    def pairs(self) -> list[tuple[int, int, int]]:
        return [(int(h), int(x), int(a)) for h, x, a in np.argwhere(self.available)]

    def take_draws(self) -> None:
        for h, x, a in self.pairs():
            for _ in range(self.draws):
                y, seen = self.simulate(h, x, a)
                self.by_next[h, x, a, y] += 1
                self.sums[h, x, a] += seen

    def means(self) -> tuple[Array, Array]:
        """p̂ (H,S,A,S) and the mean of what was seen (H,S,A,J); 0 at pairs that are not available."""
        n = np.maximum(self.by_next.sum(axis=3), 1.0)[..., None]
        return self.by_next / n, self.sums / n

    def evaluate(self) -> None:
        """Q (H,S,A,J) and V (H+1,S,J) of the policy."""
        self.Q, self.V = np.zeros((self.H, self.S, self.A, self.J)), np.zeros((self.H + 1, self.S, self.J))
        if self.printed:
            for h, x, a in self.pairs():
                for _ in range(self.draws):
                    s, b = x, a
                    for t in range(h, self.H):
                        if t > h:
                            b = draw(self.policy[t, s], self.stream.next())
                        s, seen = self.simulate(t, s, b)
                        self.Q[h, x, a] += seen / self.draws
        else:
            self.take_draws()
            p, mean = self.means()
        for h in reversed(range(self.H)):
            if not self.printed:
                self.Q[h] = mean[h] + p[h] @ self.V[h + 1]
            self.V[h] = (self.policy[h][..., None] * self.Q[h]).sum(axis=1)

    def improve(self, direction: Array, alpha: float) -> None:
        """π ← ∝ π exp(α direction), (H,S,A)."""
        weights = np.where(self.available, self.policy * np.exp(alpha * direction), 0.0)
        self.policy = weights / weights.sum(axis=2, keepdims=True)


class ReferenceNPGPD(Simulated):
    def __init__(self, problem: TabularCMDP, draws: int, printed: bool, *, alpha: float, eta: float, xi: float) -> None:
        super().__init__(problem, draws, printed)
        self.alpha, self.eta, self.xi = alpha, eta, xi

    def plan(self, uniforms: Array) -> Array:
        self.stream = Stream(uniforms[0], uniforms[1])
        self.evaluate()
        return self.policy

    def step(self) -> None:
        self.improve(self.Q[..., 0] + self.Q[..., 1:] @ self.Y, self.alpha)
        lack = self.b - np.array([self.value(self.V, i) for i in range(self.J - 1)])
        self.Y = np.clip(self.Y + self.eta * lack, 0.0, self.xi)


class ReferenceCRPO(Simulated):
    def __init__(self, problem: TabularCMDP, draws: int, printed: bool, *, alpha: float, tol: float) -> None:
        super().__init__(problem, draws, printed)
        self.alpha, self.tol, self.steps = alpha, tol, np.zeros(self.J)

    def plan(self, uniforms: Array) -> Array:
        self.stream, self.u = Stream(uniforms[0], uniforms[1]), uniforms[2]
        self.evaluate()
        return self.policy

    def step(self) -> None:
        violated = [i for i in range(self.J - 1) if self.value(self.V, i) < self.b[i] - self.tol]
        j = 1 + violated[int(self.u * len(violated))] if violated else 0
        self.improve(self.Q[..., j], self.alpha)
        self.steps[j] += 1
        self.Y = self.steps[1:] / max(self.steps[0], 1)


class ReferenceCSPDA(Simulated):
    def __init__(
        self, problem: TabularCMDP, draws: int, printed: bool, *,
        alpha: float, eta: float, eta_v: float, xi: float, kappa: float, spread: float,
    ) -> None:  # fmt: skip
        super().__init__(problem, draws, printed)
        self.alpha, self.eta, self.eta_v, self.xi, self.kappa, self.spread = alpha, eta, eta_v, xi, kappa, spread
        self.even = self.available / self.available.sum(axis=(1, 2), keepdims=True)
        self.x, self.v = self.even.copy(), np.zeros((self.H + 1, self.S))
        self.all = [self.x]

    def plan(self, uniforms: Array) -> Array:
        self.stream = Stream(uniforms[0], uniforms[1])
        self.slope, self.flow = np.zeros_like(self.x), np.zeros((self.H + 1, self.S))
        self.reached, self.flow[0] = np.zeros(self.J - 1), self.start
        if self.printed:
            for h in range(self.H):
                chances = (1 - self.spread) * self.x[h] + self.spread * self.even[h]
                for _ in range(self.draws):
                    s, a = divmod(draw(chances.ravel(), self.stream.next()), self.A)
                    y, seen = self.simulate(h, s, a)
                    gain = seen[0] + self.Y @ seen[1:] + self.v[h + 1, y] - self.v[h, s]
                    self.slope[h, s, a] += gain / chances[s, a] / self.draws
                    self.flow[h + 1, y] += self.x[h, s, a] / chances[s, a] / self.draws
                    self.reached += self.x[h, s, a] / chances[s, a] * seen[1:] / self.draws
        else:
            self.take_draws()
            p, mean = self.means()
            for h in range(self.H):
                self.slope[h] = mean[h, ..., 0] + mean[h, ..., 1:] @ self.Y + p[h] @ self.v[h + 1] - self.v[h][:, None]
                self.flow[h + 1] = np.einsum("sa,say->y", self.x[h], p[h])
                self.reached += np.einsum("sa,sai->i", self.x[h], mean[h, ..., 1:])
        average = np.mean(self.all, axis=0)
        return average / average.sum(axis=2, keepdims=True)

    def step(self) -> None:
        lack = self.flow[:-1] - self.x.sum(axis=2)
        weights = np.where(self.available, self.x * np.exp(self.alpha * self.slope), 0.0)
        self.x = weights / weights.sum(axis=(1, 2), keepdims=True)
        top = np.arange(self.H, 0, -1)[:, None] * (1 + (self.J - 1) * self.xi)
        self.v[:-1] = np.clip(self.v[:-1] - self.eta_v * lack, 0.0, top)
        self.Y = np.clip(self.Y + self.eta * (self.b + self.kappa - self.reached), 0.0, self.xi)
        self.all.append(self.x)
