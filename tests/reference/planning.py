"""The learners that plan by a linear program, literally: the program as printed, over z_h(x,a,x'), solved by HiGHS.

Each class writes its paper's formulas down for one pair of a step: what the pair is worth to each objective, the bounds of its
transition probabilities, and whether the episode ends there. ``plan`` solves the program when the paper's schedule says so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from noregret.problems.base import Spec
from tests.reference.tables import Array, Tables, radius


class Entries:
    """A sparse matrix, written entry by entry."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.right: list[float] = []

    def add(self, terms: list[tuple[int, float]], right: float) -> None:
        for column, value in terms:
            self.rows.append(len(self.right))
            self.columns.append(column)
            self.values.append(value)
        self.right.append(right)

    def matrix(self, n: int) -> Any:
        return coo_matrix((self.values, (self.rows, self.columns)), shape=(len(self.right), n)).tocsr()


class Program:
    """max Σ z f_r s.t. Σ z f_i ≥ b_i, flow, lower·Σ_y z ≤ z ≤ upper·Σ_y z; at a pair that ends, nothing flows on."""

    def __init__(self, worth: Array, lower: Array, upper: Array, ends: Any, spec: Spec) -> None:
        self.worth, self.lower, self.upper, self.ends, self.spec = worth, lower, upper, ends, spec
        self.H, self.S, self.A, self.J = worth.shape

    def at(self, h: int, x: int, a: int, y: int) -> int:
        return ((h * self.S + x) * self.A + a) * self.S + y

    def solve(self, policy: Array | None = None, elastic: bool = False) -> Any:
        """With ``policy`` the best model for it; with ``elastic`` the least that the constraints can lack together."""
        return linprog(*self.arrays(policy, elastic), method="highs")

    def arrays(self, policy: Array | None = None, elastic: bool = False) -> tuple[Any, ...]:
        """What ``linprog`` takes."""
        H, S, A, at = self.H, self.S, self.A, self.at
        n, m = H * S * A * S, self.J - 1
        equal, below = Entries(), Entries()
        for h in range(H):
            for x in range(S):
                out = [(at(h, x, a, y), 1.0) for a in range(A) for y in range(S)]
                come = (
                    []
                    if h == 0
                    else [(at(h - 1, w, a, x), -1.0) for w in range(S) for a in range(A) if not self.ends[h - 1, w, a]]
                )
                equal.add(out + come, self.spec.start[x] if h == 0 else 0.0)
                for a in range(A):
                    here = [(at(h, x, a, y), 1.0) for y in range(S)]
                    if policy is not None:
                        equal.add(here + [(column, -policy[h, x, a] * value) for column, value in out], 0.0)
                    for y in range(S) if not self.ends[h, x, a] else ():
                        upper, lower = self.upper[h, x, a, y], self.lower[h, x, a, y]
                        below.add([(at(h, x, a, y), 1.0)] + [(column, -upper) for column, _ in here], 0.0)
                        below.add([(at(h, x, a, y), -1.0)] + [(column, lower) for column, _ in here], 0.0)
        pairs = list(np.ndindex(H, S, A))
        for i in range(m):
            terms = [(at(*pair, y), -self.worth[(*pair, 1 + i)]) for pair in pairs for y in range(S)]
            below.add(terms + ([(n + i, -1.0)] if elastic else []), -self.spec.thresholds[i])
        size = n + m if elastic else n
        cost = np.zeros(size)
        if elastic:
            cost[n:] = 1.0
        else:
            cost[:n] = [-self.worth[(*pair, 0)] for pair in pairs for _ in range(S)]
        bounds = [(0.0, None if self.spec.available[pair] else 0.0) for pair in pairs for _ in range(S)] + [(0.0, None)] * (
            size - n
        )
        return cost, below.matrix(size), below.right, equal.matrix(size), equal.right, bounds


class ReferencePlanning(Tables):
    """Data, schedule and program."""

    boxed = False
    share = "nothing"
    tries = 1

    def __init__(self, spec: Spec, *, K: int, replan: str, bonus_scale: float = 0.0, p: float = 0.1, **more: Any) -> None:
        super().__init__(spec)
        self.spec, self.K, self.replan, self.scale, self.p, self.m = spec, K, replan, bonus_scale, p, self.J - 1
        vars(self).update(more)
        self.boxed = more.get("anywhere", self.boxed)
        self.last = np.zeros((self.H, self.S, self.A))  # counts at the last plan

    def pair(self, n: float, p_hat: Array, mean: Array, times: float) -> tuple[Any, Any, Any]:
        """For transitions seen n times and means of so many ``times``: worth (J,), lower (S,) and upper (S,)."""
        raise TypeError("a subclass says it")

    def hopeful(self, j: int) -> bool:
        return True

    def tried(self, n: float) -> float:
        """Visits, none as long as they are too few to count."""
        return n if n >= self.tries else 0

    def shared(self) -> tuple[Array, Array, Array, Array]:
        """Visits of transitions, transitions, visits of means, sums: of the step, or of all that learn together."""
        n, by_next, sums = self.counts()
        together = (self.share != "nothing",) * 2 + (self.share == "all",) * 2
        found = [
            np.broadcast_to(array.sum(axis=0), array.shape) if added else array
            for array, added in zip((n, by_next, n, sums), together, strict=True)
        ]
        return found[0], found[1], found[2], found[3]

    def program(self) -> Program:
        n, by_next, times, sums = self.shared()
        worth, lower = np.zeros((self.H, self.S, self.A, self.J)), np.zeros((self.H, self.S, self.A, self.S))
        upper, ends = lower.copy(), np.zeros((self.H, self.S, self.A), dtype=bool)
        for h, x, a in np.ndindex(self.H, self.S, self.A):
            seen, means = self.tried(n[h, x, a]), self.tried(times[h, x, a])
            p_hat, mean = by_next[h, x, a] / max(seen, 1), sums[h, x, a] / max(means, 1)  # n v 1, as the papers have it
            found = self.pair(max(seen, 1), p_hat * (seen > 0), mean * (means > 0), max(means, 1))
            worth[h, x, a], lower[h, x, a], upper[h, x, a] = found
            if means == 0:  # more, where that is optimistic
                more = 1.0 if self.boxed or seen > 0 else self.H - h
                worth[h, x, a] += [more if self.hopeful(j) else 0.0 for j in range(self.J)]
            if seen == 0:
                lower[h, x, a], upper[h, x, a], ends[h, x, a] = 0.0, 1.0, not self.boxed
        self.last = times.copy()
        return Program(worth, lower, upper, ends, self.spec)

    def wants(self) -> str:
        """What is played next: "plan" anew, "stand" by the last plan, or the "safe" policy."""
        played = len(self.episodes)
        if self.replan == "always" or (played == 0 and self.replan != "rounds"):
            return "plan"
        if self.replan in ("doubling", "squares"):
            n = self.shared()[2]
            if self.replan == "squares" and played in [i * i for i in range(played + 1)]:
                return "plan"
            return "plan" if ((n >= np.maximum(2 * self.last, 1)) & (n > self.last)).any() else "stand"
        if self.replan == "epochs":
            length = math.ceil((self.K * self.H) ** (1 / 3) / self.H)
            return "plan" if played % length == 0 else "stand"
        kinds = [kind for i in range(played + 1) for kind in ["safe", "plan", *["stand"] * i][: 1 + i]]
        return kinds[played]

    def box(self, p_hat: Array, rho: Array) -> tuple[Array, Array]:
        return np.clip(p_hat - self.scale * rho, 0, 1), np.clip(p_hat + self.scale * rho, 0, 1)

    def logs(self) -> tuple[float, float]:
        """Efroni's L_p and L_l."""
        base = 6 * self.S * self.A * self.H * self.K / self.p
        return np.log(base), 2 * np.log(base * (self.m + 1))


class UCRLOptLP(ReferencePlanning):
    boxed = True

    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        L_p, L_l = self.logs()
        return mean + self.scale * np.sqrt(L_l / times), *self.box(p_hat, np.array([radius(p, n, L_p) for p in p_hat]))


class OptCMDPBonus(ReferencePlanning):
    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        L_p, L_l = self.logs()
        bonus = np.sqrt(L_l / times) + self.H * sum(radius(p, n, L_p) for p in p_hat)
        return mean + self.scale * bonus, p_hat, p_hat


class UCCFH(ReferencePlanning):
    boxed = True

    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        plans = self.S * self.A * self.H * np.log2(2 * self.K)
        L = np.log(4 / (self.p / (2 * self.S * plans)))
        rho = np.full(self.S, np.sqrt(L / (2 * n)))
        if n > 1:
            rho = np.minimum(rho, np.sqrt(2 * p_hat * (1 - p_hat) * L / n) + 7 * L / (3 * (n - 1)))
        return mean + self.scale * np.sqrt(L / (2 * times)), *self.box(p_hat, rho)


class ConRL(ReferencePlanning):
    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        bonus = self.H * np.sqrt(2 * np.log(8 * self.S * self.A * self.H * (self.m + 1) * self.K**2 / self.p) / times)
        return mean + self.scale * bonus, p_hat, p_hat


class CMDPRL(ReferencePlanning):
    boxed = True

    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        L = np.log(self.S * self.A * self.H * self.K * self.H / self.p)
        return mean + self.scale * np.sqrt(L / times), *self.box(p_hat, np.full(self.S, np.sqrt(L / n)))


class Pessimistic(ReferencePlanning):
    safe_policy: Array

    def hopeful(self, j: int) -> bool:
        return j == 0


class CUCRL(Pessimistic):
    boxed = True

    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        L = np.log(self.S * self.A * self.H * (1 + self.m) * np.pi**2 * self.K**2 / (3 * self.p))
        bonus = self.scale * np.sqrt(L / (2 * times))
        return mean + bonus * np.array([1, *[-1] * self.m]), p_hat, p_hat


class DOPE(Pessimistic):
    boxed = True
    C_r: float
    C_g: float

    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        rho = np.array([radius(p, n, np.log(2 * self.S * self.A * self.H * self.K / self.p)) for p in p_hat])
        means = np.sqrt(self.logs()[1] / times)
        worth = mean + self.scale * np.array([means + self.C_r * rho.sum(), -means - self.C_g * rho.sum()])
        return worth, *self.box(p_hat, rho)


class OptPessLP(Pessimistic):
    C_r: float
    C_g: float

    def pair(self, n, p_hat, mean, times):  # type: ignore[no-untyped-def]
        beta = np.sqrt(np.log(16 * self.S**2 * self.A * self.H * self.K / self.p) / times)
        return mean + self.scale * beta * np.array([self.C_r, -self.C_g]), p_hat, p_hat

    def certain(self, program: Program, gap: float) -> bool:
        """Whether π₀ has V_g̃ > b + γ/2 on p̂, where nothing comes after an untried pair."""
        V = np.zeros(self.S)
        for h in reversed(range(self.H)):
            p = np.where(program.ends[h][..., None], 0.0, program.lower[h])
            V = (self.safe_policy[h] * (program.worth[h, :, :, 1] + p @ V)).sum(axis=1)
        return bool(self.start @ V > self.b[0] + gap / 2)


class Draws:
    """The generator and the distributions of posterior sampling, in plain integers: SplitMix64, polar, Marsaglia and Tsang."""

    MASK = (1 << 64) - 1

    def __init__(self, u: float, v: float) -> None:
        self.state = (int(u * 2**32) << 32) + int(v * 2**32)

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        z ^= z >> 31
        return ((z >> 11) + 0.5) / 2**53

    def normal(self) -> float:
        while True:
            x, y = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            if 0 < x * x + y * y < 1:
                return x * math.sqrt(-2 * math.log(x * x + y * y) / (x * x + y * y))

    def gamma(self, shape: float) -> float:
        if shape < 1:
            return self.gamma(shape + 1) * self.uniform() ** (1 / shape)
        d = shape - 1 / 3
        while True:
            x = self.normal()
            v = (1 + x / math.sqrt(9 * d)) ** 3
            if v > 0 and math.log(self.uniform()) < x * x / 2 + d - d * v + d * math.log(v):
                return d * v


class PosteriorSampling(ReferencePlanning):
    prior: float
    uniforms: tuple[float, float]

    def program(self) -> Program:
        n, by_next, times, sums = self.shared()
        draws = Draws(*self.uniforms)
        p = np.zeros((self.H, self.S, self.A, self.S))
        for pair in np.ndindex(self.H if self.share == "nothing" else 1, self.S, self.A):
            known = self.tried(n[pair]) > 0
            drawn = np.array([draws.gamma(self.prior + seen * known) for seen in by_next[pair]])
            p[pair] = drawn / drawn.sum()
        p[1:] = p[1:] if self.share == "nothing" else p[0]
        worth = np.zeros((self.H, self.S, self.A, self.J))
        for pair in np.ndindex(self.H, self.S, self.A):
            worth[pair] = sums[pair] / times[pair] if self.tried(times[pair]) else [draws.uniform() for _ in range(self.J)]
        self.last = times.copy()
        return Program(worth, p, p, np.zeros((self.H, self.S, self.A), dtype=bool), self.spec)
