"""FrozenLake as Gymnasium has it, slippery, with a limit on falling into holes.

    python examples/frozen_lake.py [--episodes 2000]

Reward 1 at the goal. Cost: 1 for falling into a hole; at most 0.2 an episode. The fields are numbers, so what follows each pair
of field and move is counted, and an episode costs the same at any time.

The limit is met by the mean over episodes while the agent goes on learning: plans that fall in 0.15 and in 0.25 of their
episodes earn the same here, and it alternates between such plans. One of them alone, which ``evaluate`` plays, may lie on
either side of the limit.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium

import noregret as nr
from noregret.agent import Evaluation

HORIZON = 100


def fallen(observation: Any, action: int, following: Any, reward: Any, info: Any) -> float:
    """1 for a step onto a hole of the 4x4 lake."""
    return float(int(following) in (5, 7, 11, 12))


def main(episodes: int = 2000) -> nr.Agent:
    """Learn, and tell how the last quarter of the episodes went."""
    env = gymnasium.wrappers.TimeLimit(gymnasium.make("FrozenLake-v1").unwrapped, HORIZON)
    agent = nr.Agent(env, limit=0.2, utility=fallen, constraint_names=["falls"])
    agent.learn(episodes)
    late = slice(-(episodes // 4), None)
    print(agent.summary())
    print("\nthe last quarter, by all plans it had:", Evaluation.of(agent.objectives, agent.rewards[late], agent.values[late]))
    return agent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2000)
    main(parser.parse_args().episodes)
