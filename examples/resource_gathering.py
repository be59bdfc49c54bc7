"""mo-gymnasium's resource-gathering: collect gold and gems, with a limit on the risk of being killed.

    python examples/resource_gathering.py [--episodes 3000]

The reward is a vector (killed: -1, gold, gem). We maximise gold + gem; the utility is the first entry, whose total is minus the
probability of being killed: at least -0.1.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import mo_gymnasium

import noregret as nr

HORIZON = 20


class Fields(gymnasium.ObservationWrapper[Any, Any, Any]):
    """The 25 fields and what is carried, as one number."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Discrete(100)

    def observation(self, observation: Any) -> int:
        """Field and load."""
        row, column, gold, gem = (int(v) for v in observation)
        return ((row * 5 + column) * 2 + gold) * 2 + gem


def main(episodes: int = 3000) -> nr.Agent:
    """Learn and evaluate."""
    env = gymnasium.wrappers.TimeLimit(Fields(mo_gymnasium.make("resource-gathering-v0").unwrapped), HORIZON)
    agent = nr.Agent(
        env, threshold=-0.1, reward_weights=[0, 1, 1], utility_weights=[[1, 0, 0]], constraint_names=["survival"]
    )  # fmt: skip
    agent.learn(episodes)
    print(agent.summary())
    print(agent.evaluate(500))
    return agent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=3000)
    main(parser.parse_args().episodes)
