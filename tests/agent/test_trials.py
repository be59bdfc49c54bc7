"""Constant actions are tried early, and no plan stays that is clearly worse than the best of them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import noregret as nr
from noregret.agent.minds.soft_cells.contest import PlanContest
from noregret.agent.minds.soft_cells.dual import Aim
from noregret.agent.minds.soft_cells.trials import ConstantTrials

CONTEST = PlanContest(10.0, Aim(np.array([-1.0]), np.array([1.0]), np.zeros(1), np.full(1, 20.0), np.zeros(1)))

GOOD = np.tile([6.0, 0.0], (8, 1))  # totals of a plan


class Steady(gymnasium.Env[Any, int]):
    """Pays 1 at the end if nothing but action 2 was played: no observation tells, so no model of them can know."""

    observation_space = spaces.Box(-1.0, 1.0, (2,))
    action_space = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steady, self.h = True, 0
        return self._seen(), {}

    def _seen(self) -> Any:
        return self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)

    def step(self, action: int) -> Any:
        self.h += 1
        self.steady &= action == 2
        done = self.h == 8
        reward = float(done and self.steady) - 0.05 * (action == 2)
        return self._seen(), reward, False, done, {"cost": float(action == 3)}


def test_the_agent_is_not_worse_than_the_best_constant_action(tmp_path: Any) -> None:
    agent = nr.Agent(Steady(), cost="cost", limit=2.0, horizon=8, seed=0).learn(120, progress_bar=False)
    assert np.mean(agent.rewards[-40:]) > 0.4  # always 2 brings 0.6; plans alone brought 0
    agent.save(tmp_path / "a.npz")
    again = nr.Agent.load(tmp_path / "a.npz")
    assert again.learner.arrays()["trials/who"].tolist() == agent.learner.arrays()["trials/who"].tolist()
    x = np.zeros(2, dtype=np.float32)
    np.testing.assert_array_equal(again.probabilities(x, 0), agent.probabilities(x, 0))
    mind: Any = agent.learner
    np.testing.assert_array_equal(mind.policy(mind.plan()).chances(0, x), mind.chances(0, x))


def test_every_action_once_then_the_best_again_then_none() -> None:
    trials = ConstantTrials(3, 2)
    brought = {0: (1.0, 0.0), 1: (9.0, -5.0), 2: (5.0, 0.0)}
    turns = []
    for episode in range(60):
        if (action := trials.due(episode, CONTEST, GOOD)) >= 0:
            turns.append((episode, action))
            trials.add(action, np.array(brought[action]))
    assert [action for _, action in turns] == [0, 1, 2, 2, 0, 2, 0], "what breaks the limit is not tried again"
    assert [episode for episode, _ in turns] == [5, 9, 13, 17, 21, 25, 29]
    later = [episode for episode in range(60, 90) if trials.due(episode, CONTEST, GOOD - 6.0) == 2]
    assert later == [65, 73, 81, 89], "while it looks better than the plan, it is tried on"
    best = trials.best(CONTEST)
    assert best is not None and best[0] == 2 and len(best[1]) == 3
    copy = ConstantTrials(3, 2)
    copy.restore(trials.arrays())
    assert all((a == b).all() for a, b in zip(copy.totals, trials.totals, strict=True))


def test_of_many_actions_some_are_tried() -> None:
    trials = ConstantTrials(1000, 2)
    turns = [action for episode in range(1000) if (action := trials.due(episode, CONTEST, GOOD)) >= 0]
    assert len(set(turns)) == 30 and min(turns) == 0 and max(turns) == 999
