"""Policies that need no learning, on the worlds of `worlds.py`: what any learner has to be compared with.

    python benchmarks/trivial.py                # every constant action, uniform, and the policies of a line that a world names

Each is played for 200 fresh episodes, or as many as the world judges by. Each policy is one JSON line.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from world_runs import TRIVIAL, Job, Run, make_missing, options, result
from worlds import WORLDS, World, make_discrete

EPISODES = 200
UNIFORM = "uniform"
FIRST = 10_000  # seed of the first episode


def policies(world: World, actions: int) -> dict[str, Callable[[Any], int]]:
    """By what they do: of an observation, the number of an action."""
    draw = np.random.default_rng(FIRST)
    constant = {
        "do nothing" if a == world.nothing else f"always action {a}": functools.partial(lambda a, x: a, a)
        for a in range(actions)
    }
    return {UNIFORM: lambda x: int(draw.integers(actions)), **constant, **world.lines, **world.rules}


def count(name: str) -> int:
    """Episodes that a policy is played for."""
    return WORLDS[name].fresh or EPISODES


def totals(env: Any, policy: Callable[[Any], int], episodes: int) -> np.ndarray:
    """Reward and cost of each episode, raw."""
    found = np.zeros((episodes, 2))
    for k in range(episodes):
        x, _ = env.reset(seed=FIRST + k)
        ended = False
        while not ended:
            x, r, terminated, truncated, info = env.step(policy(x))
            found[k] += (r, info["cost"])
            ended = terminated or truncated
    return found


def play(job: Job) -> Run:
    """Play one policy in one world."""
    world = WORLDS[job.world]
    env = make_discrete(world)
    began = time.process_time()
    curve = totals(env, policies(world, int(env.action_space.n))[job.who], job.episodes)
    return result(job, curve, time.process_time() - began, fresh=curve)


def main() -> None:
    """Play what was asked for and is not in the file yet."""
    asked = options(__doc__ or "", TRIVIAL).parse_args()
    for name in asked.worlds:
        make_missing(asked.out, jobs(name), play)


def jobs(name: str) -> list[Job]:
    """One for each policy of a world; the number of its actions is known once it is made, so none where it cannot be."""
    from worlds import missing

    world = WORLDS[name]
    if why := missing(world):
        print(f"{name}: left out, {why}", flush=True)
        return []
    return [Job(name, who, None, FIRST, count(name)) for who in policies(world, int(make_discrete(world).action_space.n))]


if __name__ == "__main__":
    main()
