"""Admission control of a queue, written as a plain Gymnasium environment; a limit on the waiting.

python examples/admission_queue.py [--episodes 500]

The limit is met by the mean over episodes while the agent goes on learning. Its plans alternate about the limit: a single one,
which ``evaluate`` plays, may wait more than the limit allows.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np

import noregret as nr
from noregret.agent import Evaluation


class Queue(gymnasium.Env[int, int]):
    """Jobs arrive with probability 0.6; action 1 admits them, for a reward of 1. The server finishes one with chance 0.5."""

    observation_space, action_space = gymnasium.spaces.Discrete(11), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        """An empty queue."""
        super().reset(seed=seed)
        self.jobs, self.time = 0, 0
        return self.jobs, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """One slot: an arrival, perhaps admitted; a departure; each waiting job costs a tenth."""
        admitted = action == 1 and self.jobs < 10 and self.np_random.random() < 0.6
        self.jobs += int(admitted)
        self.jobs -= int(self.jobs > 0 and self.np_random.random() < 0.5)
        self.time += 1
        return self.jobs, float(admitted), False, self.time == 20, {"cost": self.jobs / 10}


def main(episodes: int = 500) -> nr.Agent:
    """Learn to admit as many as a mean total cost of 2 allows."""
    agent = nr.Agent(Queue(), limit=2.0, horizon=20, constraint_names=["waiting"])
    agent.learn(episodes)
    print(agent.summary())
    late = slice(-(episodes // 4), None)
    print("\nthe last quarter, by all plans it had:", Evaluation.of(agent.objectives, agent.rewards[late], agent.values[late]))
    print("admission probability by queue length:", np.round([agent.probabilities(x, 10)[1] for x in range(11)], 2))
    return agent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=500)
    main(parser.parse_args().episodes)
