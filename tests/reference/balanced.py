"""``price_step="balanced"`` of ``primal-dual-lsvi``, written slowly: every mean formed anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tests.reference.algorithm1 import Plan
from tests.reference.practical import ReferencePractical


class ReferenceBalanced(ReferencePractical):
    """The practical form with targets that fall with the price, prices that move together, and a soft-max as sharp as pays."""

    def __init__(self, phi: ArrayLike, H: int, b: ArrayLike, *, price_step: str, **others: Any) -> None:
        assert price_step == "balanced"
        super().__init__(phi, H, b, **others)
        self.scheduled, self.sharp = self.alpha, 1.0
        self.losses: list[float] = []  # S of every episode
        self.swings: list[float] = []  # F of every episode
        self.slopes: list[np.ndarray] = []  # how V_g answers the prices, of every episode
        self.lacks = np.zeros(self.m)  # of the episode before
        self.begun = -1 if self.m > 1 else None  # the episode in which a pair was first seen to pay two different numbers
        self.paid: dict[Any, set[Any]] = {}

    def plan(self) -> Plan:
        self.alpha = self.scheduled * self.sharp
        return super().plan()

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        plan, loss, slope = self.plan(), 0.0, np.zeros((self.m, self.m))
        sharp = self.alpha * (np.sqrt(len(self.episodes) + 1) if self.schedule == "anytime" else 1.0)
        for h, s in enumerate(np.array(states)[: self.H]):
            composite = plan.Q_r[h, s] + self.Y @ plan.Q_g[:, h, s]
            loss += composite[self.available[h, s]].max() - plan.policy[h, s] @ composite
            off = plan.Q_g[:, h, s] - (plan.Q_g[:, h, s] @ plan.policy[h, s])[:, None]
            slope += sharp * (off * plan.policy[h, s]) @ off.T
        self.losses.append(loss)
        self.slopes.append(slope)
        for h, (s, a) in enumerate(zip(np.array(states), np.array(actions), strict=False)):
            seen = self.paid.setdefault((0 if self.share_of_steps == "all" else h, s, a), set())
            seen.add((rewards[h], *np.reshape(utilities, (self.m, -1))[:, h]))
            if self.begun is None and self.noise_bonus and len(seen) > 1:
                self.begun = len(self.episodes)
        self.first, self.most_gain = int(np.array(states)[0]), 1.0 if self.begun is None else 16.0
        super().observe(states, actions, rewards, utilities)

    def threshold(self, i: int) -> float:
        assert self.last is not None
        target = float(self.b[i] + self.zeta * max(1 - self.Y[i], 0))
        if self.Y[i] > 1:
            target -= np.log(self.Y[i]) * max(self.last.V_g[i, 0, self.first] - self.dual_values[i, 0, self.first], 0)
        return target

    def moved(self, steps: np.ndarray, units: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        k, before = len(self.episodes), self.Y
        counts = (before > 0) | (self.lack > 0)
        self.swings.append(0.125 * float(((1 + before) * np.abs(self.lack - self.lacks))[counts].sum()) if k > 0 else 0.0)
        self.lacks = self.lack.copy()
        if self.begun is None:
            return super().moved(steps, units, lengths)
        measured = [(t, max(0.05 if t < 32 else 0.2, 1 / (t + 1))) for t in range(k + 1) if t < 32 or t % 4 == 0]
        since = [(t, weight) for t, weight in measured if t > self.begun]
        J = running([(self.slopes[t], weight) for t, weight in since], np.zeros((self.m, self.m)))
        lengths, Y = lengths * np.where(self.lack < 0, 1 + before, 1.0) / units, before.copy()
        for _ in range(8):
            for i in range(self.m):
                left = steps[i] - sum(J[i, j] * (Y[j] - before[j]) for j in range(self.m) if j != i)
                Y[i] = np.clip(before[i] + left / (1 / lengths[i] + J[i, i]), 0.0, float(self.xi))
        if k > 10 and k == measured[-1][0]:
            soft = running([(self.losses[t], weight) for t, weight in since], 0.0)
            swing = running([(self.swings[t], max(0.05, 1 / (t + 1))) for t in range(k + 1) if t >= self.begun], 0.0)
            ratio = np.clip(np.log((soft + 1e-9) / (swing + 1e-9)), -1, 1)
            self.sharp = float(np.clip(self.sharp * np.exp((0.05 if k < 32 else 0.2) * ratio), 1e-3, 1.0))
        return Y


def running(values: list[tuple[Any, float]], total: Any) -> Any:
    """The running mean in which each value has its weight when it comes, and the earlier ones share the rest.

    Args:
        values: each with its weight.
        total: zero, of the shape of a value.
    """
    for value, weight in values:
        total = (1 - weight) * total + weight * value
    return total
