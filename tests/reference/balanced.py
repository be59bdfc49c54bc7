"""``price_step="balanced"`` of ``primal-dual-lsvi``, written slowly: every mean formed anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tests.reference.algorithm1 import Plan
from tests.reference.practical import ReferencePractical


class ReferenceBalanced(ReferencePractical):
    """The practical form with prices that come down faster, a tightening that falls with them, a soft-max as sharp as pays."""

    def __init__(self, phi: ArrayLike, H: int, b: ArrayLike, *, price_step: str, **others: Any) -> None:
        assert price_step == "balanced"
        super().__init__(phi, H, b, **others)
        self.scheduled, self.sharp = self.alpha, 1.0
        self.losses: list[float] = []  # S of every episode
        self.swings: list[float] = []  # F of every episode
        self.lacks = np.zeros(self.m)  # of the episode before
        self.begun = -1 if self.m > 1 else None  # the episode in which a pair was first seen to pay two different numbers
        self.paid: dict[Any, set[Any]] = {}

    def plan(self) -> Plan:
        self.alpha = self.scheduled * self.sharp
        return super().plan()

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        plan, loss = self.plan(), 0.0
        for h, s in enumerate(np.array(states)[: self.H]):
            composite = plan.Q_r[h, s] + self.Y @ plan.Q_g[:, h, s]
            loss += composite[self.available[h, s]].max() - plan.policy[h, s] @ composite
        self.losses.append(loss)
        for h, (s, a) in enumerate(zip(np.array(states), np.array(actions), strict=False)):
            seen = self.paid.setdefault((0 if self.share_of_steps == "all" else h, s, a), set())
            seen.add((rewards[h], *np.reshape(utilities, (self.m, -1))[:, h]))
            if self.begun is None and self.noise_bonus and len(seen) > 1:
                self.begun = len(self.episodes)
        super().observe(states, actions, rewards, utilities)

    def threshold(self, i: int) -> float:
        return float(self.b[i] + self.zeta * max(1 - self.Y[i], 0))

    def moved(self, steps: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        k, Y = len(self.episodes), self.Y.copy()
        counts = (Y > 0) | (self.lack > 0)
        self.swings.append(0.125 * float(((1 + Y) * np.abs(self.lack - self.lacks))[counts].sum()) if k > 0 else 0.0)
        self.lacks = self.lack.copy()
        if self.begun is None:
            return super().moved(steps, lengths)
        measured = [t for t in range(k + 1) if t < 32 or t % 4 == 0]
        if k > 10 and k in measured:
            soft = [(self.losses[t], max(0.05 if t < 32 else 0.2, 1 / (t + 1))) for t in measured if t > self.begun]
            swing = [(self.swings[t], max(0.05, 1 / (t + 1))) for t in range(k + 1) if t >= self.begun]
            ratio = np.clip(np.log((running(soft) + 1e-9) / (running(swing) + 1e-9)), -1, 1)
            self.sharp = float(np.clip(self.sharp * np.exp((0.05 if k < 32 else 0.2) * ratio), 1e-3, 1.0))
        return super().moved(steps, lengths * np.where(self.lack < 0, 1 + Y, 1.0))


def running(values: list[tuple[float, float]]) -> float:
    """The running mean in which each value has its weight when it comes, and the earlier ones share the rest."""
    total = 0.0
    for value, weight in values:
        total = (1 - weight) * total + weight * value
    return total
