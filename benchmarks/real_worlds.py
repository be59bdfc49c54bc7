"""The agent on environments that people have: reward and cost of the last 50 episodes, every seed, others beside it.

    python benchmarks/real_worlds.py                            # our agent, nothing given but environment, cost and limit
    python benchmarks/real_worlds.py --features hand            # the same with features chosen by hand
    python benchmarks/trivial.py                                # constant actions, doing nothing, policies of a line
    python benchmarks/ppo_lagrangian.py                         # PPO with a Lagrangian penalty (pip install stable-baselines3)
    python benchmarks/real_worlds.py --page docs/real-worlds.md # the tables of that page from what was measured

Runs that a file has already are not made again. A run that is broken off is made again from its beginning.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from world_page import updated
from world_runs import OURS, THEIRS, TRIVIAL, Job, Run, make_missing, options, read, result
from worlds import CHOSEN, KEPT, WORLDS, make

#: Worlds with features that someone who knows them would choose: ends of their coordinates, actions, order of Fourier features.
BOXES = {
    "mountain-car-90": ([-1.2, -0.07], [0.6, 0.07], 3, 4),
    "mountain-car-150": ([-1.2, -0.07], [0.6, 0.07], 3, 4),
    "cart-pole-200": ([-2.4, -2.0, -0.21, -2.0], [2.4, 2.0, 0.21, 2.0], 2, 2),
    "acrobot": ([-1, -1, -1, -1, -6.0, -10.0], [1, 1, 1, 1, 6.0, 10.0], 3, 1),
    "pendulum": ([-1, -1, -8], [1, 1, 8], 5, 3),
}


def who(features: str) -> str:
    """What our runs are called."""
    return f"noregret, features {features}"


def play(job: Job) -> Run:
    """Learn one world with one seed, and say what every part of it gave."""
    import noregret as nr

    world = WORLDS[job.world]
    given: dict[str, Any] = {} if world.points is None else {"actions": world.points}
    if job.who == who("hand"):
        low, high, actions, order = BOXES[job.world]
        given["features"] = nr.features.Fourier(low, high, n_actions=actions, order=order)
        given["reward_range"] = (-17.0, 0.0) if world.points else (-1.0, 1.0)
    agent = nr.Agent(make(world), limit=world.limit, cost="cost", seed=job.seed, **given)
    began = time.process_time()
    agent.learn(job.episodes, progress_bar=False)
    seconds = time.process_time() - began
    curve = np.column_stack([agent.history.rewards, agent.history.values[:, 0]])
    if not world.fresh:
        return result(job, curve, seconds)
    fresh = agent.evaluate(world.fresh)
    return result(job, curve, seconds, np.column_stack([fresh.rewards, fresh.totals[:, 0]]))


def main() -> None:
    """Run what was asked for and is not in the file yet, or make the page."""
    parser = options(__doc__ or "", OURS)
    parser.add_argument("--features", default="auto", choices=["auto", "hand"])
    parser.add_argument("--role", choices=[CHOSEN, KEPT], help="only worlds of this role")
    parser.add_argument("--page", type=Path, help="the page whose tables are made")
    asked = parser.parse_args()
    if asked.page is not None:
        text = updated(asked.page.read_text("utf-8"), read([asked.out, THEIRS, TRIVIAL]))
        asked.page.write_text(text, "utf-8")
        return
    names = [name for name in asked.worlds if asked.role in (None, WORLDS[name].role)]
    if asked.features == "hand":
        names = [name for name in names if name in BOXES]
    jobs = [Job(name, who(asked.features), None, seed, WORLDS[name].episodes) for seed in asked.seeds for name in names]
    make_missing(asked.out, jobs, play)


if __name__ == "__main__":
    main()
