"""The agent knows when its model is wrong: rewards that depend on the step, and plans that bring something else."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import noregret as nr
from noregret.agent.curve import Curve
from noregret.agent.minds.soft_cells.doubts import BINS, PAIRS, Doubts
from noregret.gym import Objectives


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


def warned(came: list[float], expected: float, before: list[float], limit: float) -> bool:
    curve = Curve(Objectives.make(10, limit=limit))
    curve.values = [np.array([v]) for v in before + came]
    curve.estimates = [np.array([np.nan])] * len(before) + [np.array([expected])] * len(came)
    return bool(curve.doubts())


def test_rare_costs_that_luck_kept_away_speak_against_nothing() -> None:
    """A fall in 120 episodes was expected, none came in 50, and the agent said that its model is wrong."""
    assert not warned([0.0] * 50, 0.0081, [1.0], 0.05)
    assert not warned([0.0] * 49 + [1.0], 0.1, [1.0], 0.1)
    assert warned([0.0] * 50, 0.5, [1.0], 0.05)
    assert warned([0.0, 1.0] * 25, 0.015, [], 0.2)
    assert warned([40.0] * 20, 26.0, [], 15.0), "nothing is rare here"


def test_a_limit_that_no_episode_met_is_said_to_be_one() -> None:
    """Whoever asks for less than anything costs was told "not met" and that the model is wrong."""
    for kind, said in (
        ("limit", "none of all 30 met it, the cheapest cost 5"),
        ("threshold", "none of all 30 met it, the best"),
    ):
        curve = Curve(Objectives.make(10, **{kind: 2.0 if kind == "limit" else 9.0}))
        curve.rewards, curve.estimates = [0.0] * 30, [np.array([1.0])] * 30
        curve.values = [np.array([5.0 + i % 3]) for i in range(30)]
        assert curve.verdicts()[0].startswith("not met") and said in curve.verdicts()[0]
        assert "1 on average, with what was hoped for, and 6 came" in curve.doubts()[0]
        curve.values[0] = np.array([2.0 if kind == "limit" else 9.0])
        assert "none" not in curve.verdicts()[0] and "hoped" not in curve.doubts()[0]


def test_shares_of_variance() -> None:
    out = Doubts()
    assert out.missed == out.by_step == 0.0 and out.describe(1.0) == []
    misses = np.repeat(np.linspace(-1.0, 1.0, BINS), 20).reshape(BINS, 20) + np.tile([0.5, -0.5], 10)
    out.bins = np.column_stack([np.full(BINS, 20.0), misses.sum(axis=1), (misses**2).sum(axis=1)])
    rewards = 2.0 * misses.ravel()
    out.rewards = np.array([rewards.sum(), (rewards**2).sum()])
    assert np.isclose(out.missed, 0.25)
    assert np.isclose(out.by_step, np.linspace(-1.0, 1.0, BINS).var() / misses.var())
