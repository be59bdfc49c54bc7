"""MountainCar as Gymnasium has it, with a limit on pushing: nothing is given but the environment, the cost and the limit.

    python examples/mountain_car.py [--episodes 200] [--gif car.gif]

The reward is -1 a step until the flag, which random play does not reach in 200 steps. Each push of the engine costs 1, and an
episode may cost 90. The best play without a limit pushes at every step, about 105 of them, so the limit binds.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium

import noregret as nr


def push(observation: Any, action: int, following: Any, reward: Any, info: Any) -> float:
    """1 when the engine pushes either way."""
    return float(action != 1)


def main(episodes: int = 200, gif: str | None = None) -> nr.Agent:
    """Learn, evaluate, and film one episode if asked for."""
    env = gymnasium.make("MountainCar-v0", render_mode="rgb_array")
    agent = nr.Agent(env, limit=90, utility=push, constraint_names=["pushes"])
    agent.learn(episodes)
    print(agent.summary())
    print(agent.evaluate(50))
    if gif:
        agent.record(gif)
    return agent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--gif", help="a file to film an episode to")
    asked = parser.parse_args()
    main(asked.episodes, asked.gif)
