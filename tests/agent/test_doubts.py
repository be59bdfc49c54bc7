"""The agent knows when its model is wrong: rewards that depend on the step, and plans that bring something else."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import noregret as nr
from noregret.agent.minds.soft_cells.doubts import BINS, PAIRS, Doubts


class Clock(gymnasium.Env[Any, int]):
    """Pays 2 early in the episode and -1 late, whatever is done, and half for action 1; or for action 1 only."""

    observation_space = spaces.Box(-1.0, 1.0, (2,))
    action_space = spaces.Discrete(3)

    def __init__(self, ticks: bool) -> None:
        self.ticks = ticks

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.h = 0
        return self._seen(), {}

    def _seen(self) -> Any:
        return self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)

    def step(self, action: int) -> Any:
        self.h += 1
        reward = 0.5 * (action == 1) + self.ticks * (2.0 if self.h <= 8 else -1.0)
        return self._seen(), reward, False, self.h == 16, {"cost": float(action == 2)}


def test_a_reward_that_depends_on_the_step_is_noticed() -> None:
    said = [
        nr.Agent(Clock(ticks), cost="cost", limit=4.0, horizon=16, seed=0).learn(50, progress_bar=False).summary()
        for ticks in (True, False)
    ]
    assert "warning: the reward depends on the step of the episode" in said[0]
    assert "depends on the step" not in said[1] and "models explained" in said[1]


def doubts(expected: float, came: Any) -> Doubts:
    out = Doubts()
    out.pairs = np.column_stack([np.full(len(came), expected), came])
    return out


def test_plans_that_bring_something_else_for_long() -> None:
    luck = np.random.default_rng(0).normal(0.0, 1.0, PAIRS)
    assert doubts(10.0, 5.0 + luck).off(10.0)
    assert not doubts(10.0, 5.0 + luck[:19]).off(10.0), "not for long"
    assert not doubts(10.0, 5.0 + luck).off(40.0), "not by much, as returns go"
    assert not doubts(10.0, 9.9 + luck).off(0.1), "luck explains it"
    assert "10 on average" in doubts(10.0, 5.0 + luck).describe(10.0)[-1]


def test_shares_of_variance() -> None:
    out = Doubts()
    assert out.missed == out.by_step == 0.0 and out.describe(1.0) == []
    misses = np.repeat(np.linspace(-1.0, 1.0, BINS), 20).reshape(BINS, 20) + np.tile([0.5, -0.5], 10)
    out.bins = np.column_stack([np.full(BINS, 20.0), misses.sum(axis=1), (misses**2).sum(axis=1)])
    rewards = 2.0 * misses.ravel()
    out.rewards = np.array([rewards.sum(), (rewards**2).sum()])
    assert np.isclose(out.missed, 0.25)
    assert np.isclose(out.by_step, np.linspace(-1.0, 1.0, BINS).var() / misses.var())
