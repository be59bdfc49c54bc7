"""MountainCar with RBF features and a limit on effort.

    python examples/mountain_car.py [--episodes 3000]

Reward: the height reached, in [0,1] a step. Cost: 1 for each step the engine pushes; at most 40 of 100 steps. The features are
random Fourier features of a Gaussian kernel, fitted on random play.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noregret as nr

HORIZON = 100


class Height(gymnasium.RewardWrapper[Any, Any]):
    """Reward how high the car is, from 0 in the valley to 1 at the flag."""

    def reward(self, reward: Any) -> float:
        """The height of the current position."""
        position = self.unwrapped.state[0]  # type: ignore[attr-defined]
        return float(np.clip((np.sin(3 * position) + 1) / 2, 0, 1))


def effort(observation: Any, action: int, following: Any, reward: Any, info: Any) -> float:
    """1 when the engine pushes either way."""
    return float(action != 1)


def main(episodes: int = 3000) -> nr.Agent:
    """Learn, evaluate, and ask whether the features are good enough."""
    env = gymnasium.wrappers.TimeLimit(Height(gymnasium.make("MountainCar-v0").unwrapped), HORIZON)
    features = make_pipeline(StandardScaler(), RBFSampler(gamma=0.5, n_components=40, random_state=0))
    agent = nr.Agent(
        env, features=features, limit=40, utility=effort, episodes=episodes, constraint_names=["effort"], replan="doubling",
        merge_tol=0.02, preset="simple", beta=0.1,
    )  # fmt: skip
    agent.learn(episodes)
    print(agent.summary())
    print(agent.evaluate(20))
    print(agent.adequacy(50))
    return agent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=3000)
    main(parser.parse_args().episodes)
