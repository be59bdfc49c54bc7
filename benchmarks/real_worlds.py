"""The agent on environments that people have: reward and cost of the last 50 episodes, every seed, with PPO beside it.

    python benchmarks/real_worlds.py --features auto            # our agent, nothing given but environment, cost and limit
    python benchmarks/real_worlds.py --features hand            # the same with features chosen by hand
    python benchmarks/ppo_lagrangian.py                         # PPO with a Lagrangian penalty (pip install stable-baselines3)
    python benchmarks/real_worlds.py --table                    # the table of what was measured

Runs that the file has already are not made again. A run that is broken off is made again from its beginning.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from worlds import WORLDS, World, make

HERE = Path(__file__).parent
OURS, THEIRS = HERE / "real_worlds.jsonl", HERE / "ppo_lagrangian.jsonl"
LAST = 50  # episodes that a row is the mean of


def by_hand(world: World) -> Any:
    """Features that someone who knows the world would choose: Fourier features of its coordinates, scaled by hand."""
    import noregret as nr

    boxes = {
        "MountainCar-v0": ([-1.2, -0.07], [0.6, 0.07], 3, 4),
        "CartPole-v1": ([-2.4, -2.0, -0.21, -2.0], [2.4, 2.0, 0.21, 2.0], 2, 2),
        "Acrobot-v1": ([-1, -1, -1, -1, -6.0, -10.0], [1, 1, 1, 1, 6.0, 10.0], 3, 1),
        "Pendulum-v1": ([-1, -1, -8], [1, 1, 8], 5, 3),
    }
    if world.env not in boxes:
        return None
    low, high, actions, order = boxes[world.env]
    return nr.features.Fourier(low, high, n_actions=actions, order=order)


def play(name: str, seed: int, features: str) -> dict[str, Any]:
    """Learn one world with one seed, and say what every part of it gave."""
    import noregret as nr

    world = WORLDS[name]
    given: dict[str, Any] = {"actions": world.grid} if world.grid else {}
    if features == "hand":
        given["features"] = by_hand(world)
        given |= {"reward_range": (-17.0, 0.0) if world.grid else (-1.0, 1.0)}
    agent = nr.Agent(make(world), limit=world.limit, utility="cost", seed=seed, **given)
    began = time.process_time()
    agent.learn(world.episodes, progress_bar=False)
    seconds = time.process_time() - began
    curve = np.column_stack([agent.history.rewards, agent.history.values[:, 0]])
    quarter = len(curve) // 4
    return {
        "world": name, "who": f"noregret, features {features}", "rate": None, "seed": seed, "episodes": world.episodes,
        "reward": float(curve[-LAST:, 0].mean()), "cost": float(curve[-LAST:, 1].mean()), "seconds": seconds,
        "first": [float(v) for v in curve[:quarter].mean(0)],
    }  # fmt: skip


def read(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """All runs of some files; a file that is not there has none."""
    return [json.loads(line) for path in paths if path.exists() for line in path.read_text().splitlines()]


def best_rate(runs: list[dict[str, Any]], world: World) -> list[dict[str, Any]]:
    """The runs of the best rate: of those with a mean cost within 5% of the limit the most reward; if none, the least cost."""
    by_rate = defaultdict(list)
    for run in runs:
        by_rate[run["rate"]].append(run)
    means = {r: (np.mean([x["reward"] for x in xs]), np.mean([x["cost"] for x in xs])) for r, xs in by_rate.items()}
    within = [r for r in means if means[r][1] <= 1.05 * world.limit]
    return by_rate[max(within, key=lambda r: means[r][0]) if within else min(means, key=lambda r: means[r][1])]


def interval(values: list[float]) -> str:
    """The mean and half the width of its 95% interval by Student's t."""
    from noregret.metrics import mean_interval

    if len(values) < 2:
        return f"{values[0]:.4g}"
    found = mean_interval(np.array(values))
    return f"{float(found.mean):.4g} ± {float(found.high - found.mean):.2g}"


def table(runs: list[dict[str, Any]]) -> str:
    """One row a world and system: mean and interval, then every seed."""
    rows = [
        "| world | system | episodes | reward | cost | every seed: reward / cost | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, world in WORLDS.items():
        says = world.says.replace("|", "\\|")
        wanted = "" if world.reward is None else f"reward ≥ {world.reward:g}, "
        wanted += f"cost ≤ {world.most:g}"
        rows.append(f"| **{name}**, {says} | *wanted* | {world.episodes} | | | {wanted} | |")
        groups = defaultdict(list)
        for run in runs:
            if run["world"] == name:
                groups[run["who"], run["episodes"]].append(run)
        for (who, episodes), found in sorted(groups.items(), key=lambda item: (item[0][1], item[0][0])):
            chosen = sorted(best_rate(found, world), key=lambda run: run["seed"])
            rate = "" if chosen[0]["rate"] is None else f", rate {chosen[0]['rate']:g}"
            each = ", ".join(f"{run['reward']:.4g} / {run['cost']:.3g}" for run in chosen)
            reward, cost = (interval([run[key] for run in chosen]) for key in ("reward", "cost"))
            seconds = np.mean([run["seconds"] for run in chosen])
            rows.append(f"| | {who}{rate} | {episodes} | {reward} | {cost} | {each} | {seconds:.0f} |")
    return "\n".join(rows)


def main() -> None:
    """Run what was asked for and is not in the file yet, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--features", default="auto", choices=["auto", "hand"])
    parser.add_argument("--out", type=Path, default=OURS)
    parser.add_argument("--ppo", type=Path, default=THEIRS)
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if asked.table:
        print(table(read([asked.out, asked.ppo])))
        return
    have = {(d["world"], d["who"], d["seed"]) for d in read([asked.out])}
    for seed in asked.seeds:
        for name in asked.worlds:
            if (name, f"noregret, features {asked.features}", seed) in have:
                continue
            if asked.features == "hand" and by_hand(WORLDS[name]) is None:
                continue  # observations that are numbers need no features
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = play(name, seed, asked.features)
            with asked.out.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(
                f"{name} seed {seed}: reward {found['reward']:.1f}, cost {found['cost']:.4g}, {found['seconds']:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
