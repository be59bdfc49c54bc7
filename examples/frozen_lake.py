"""FrozenLake through Gymnasium, with a limit on falling into holes.

    python examples/frozen_lake.py [--episodes 5000]

Reward 1 at the goal. Cost: 1 for falling into a hole; at most 0.3 an episode. One-hot features of the 16 fields, so equal next
states are merged and the cost of an episode does not grow.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium

import noregret as nr

HORIZON = 30


def fallen(observation: Any, action: int, following: Any, reward: Any, info: Any) -> float:
    """1 for a step onto a hole of the 4x4 lake."""
    return float(int(following) in (5, 7, 11, 12))


def main(episodes: int = 5000) -> nr.Agent:
    """Learn, evaluate, save and load."""
    env = gymnasium.wrappers.TimeLimit(gymnasium.make("FrozenLake-v1", is_slippery=False).unwrapped, HORIZON)
    agent = nr.Agent(env, limit=0.3, utility=fallen, episodes=episodes, constraint_names=["falls"], preset="simple", beta=0.1)
    agent.learn(episodes)
    print(agent.summary())
    print(agent.evaluate(100))
    return agent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=5000)
    main(parser.parse_args().episodes)
