"""PPO of stable-baselines3 with a Lagrangian penalty on the worlds of `worlds.py`: what most people would reach for first.

    pip install stable-baselines3
    python benchmarks/ppo_lagrangian.py --worlds mountain-car-90 --seeds 0 1 --rates 0.01 0.03 0.1 --times 1

The agent earns r − Y·c. After each episode Y ← [Y + rate·(C − limit)/limit]₊, in units of (spread of returns)/limit, so one
rate means the same in every world. Observations and rewards are normalised, as that library's collection of tuned agents has it
for most of these worlds. Four environments run side by side, 128 steps each, ten epochs, γ = 0.99. Each run is one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from worlds import WORLDS, World, make


class Price:
    """Y and what it learns from: all environments of a run share one."""

    def __init__(self, world: World, rate: float, episodes: int) -> None:
        self.world, self.rate, self.episodes, self.Y = world, rate, episodes, 0.0
        self.history: list[tuple[float, float]] = []

    @property
    def scale(self) -> float:
        """Reward that a unit of cost is worth at Y = 1."""
        returns = [reward for reward, _ in self.history]
        spread = max(returns) - min(returns) if returns else 0.0
        return max(spread, 1.0) / max(self.world.limit, 1e-9)

    def ended(self, reward: float, cost: float) -> None:
        """Count an episode and move the price."""
        self.history.append((reward, cost))
        self.Y = max(0.0, self.Y + self.rate * (cost - self.world.limit) / self.world.limit)


class Penalised(gym.Wrapper[Any, Any, Any, Any]):
    """The reward less the price of the cost; a grid in place of a continuous action."""

    def __init__(self, env: gym.Env[Any, Any], price: Price) -> None:
        super().__init__(env)
        self.price, self.total = price, np.zeros(2)
        if isinstance(env.action_space, gym.spaces.Box):
            self.points = np.linspace(env.action_space.low, env.action_space.high, price.world.grid)
            self.action_space = gym.spaces.Discrete(price.world.grid)
        else:
            self.points = None

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        self.total = np.zeros(2)
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Take a step; what the episode gave is counted at its end."""
        action = int(action) if self.points is None else self.points[int(action)].astype(np.float32)
        y, r, terminated, truncated, info = self.env.step(action)
        self.total += (float(r), info["cost"])
        penalised = float(r) - self.price.Y * self.price.scale * info["cost"]
        if terminated or truncated:
            self.price.ended(*self.total)
        return y, penalised, terminated, truncated, info


def play(name: str, rate: float, seed: int, episodes: int) -> dict[str, Any]:
    """Learn one world and say what every episode gave, in raw units."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    world = WORLDS[name]
    set_random_seed(seed)
    price = Price(world, rate, episodes)
    env = VecNormalize(DummyVecEnv([lambda: Penalised(make(world), price) for _ in range(4)]), gamma=0.99)
    env.seed(seed)
    agent = PPO("MlpPolicy", env, n_steps=128, batch_size=128, n_epochs=10, gamma=0.99, seed=seed, device="cpu")
    began = time.process_time()
    agent.learn(10**9, callback=lambda *_: len(price.history) < episodes)
    curve = np.array(price.history[:episodes])
    return {
        "world": name, "who": "ppo-lagrangian", "rate": rate, "seed": seed, "episodes": episodes,
        "reward": float(curve[-50:, 0].mean()), "cost": float(curve[-50:, 1].mean()), "seconds": time.process_time() - began,
        "first": [float(v) for v in curve[: len(curve) // 4].mean(0)],
    }  # fmt: skip


def main() -> None:
    """Run what was asked for and is not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--rates", nargs="+", type=float, default=[0.01, 0.03, 0.1])
    parser.add_argument("--times", type=int, default=1, help="times as many episodes as our agent gets")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    asked = parser.parse_args()
    done = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    have = {(d["world"], d["rate"], d["seed"], d["episodes"]) for d in done}
    for seed in asked.seeds:
        for name in asked.worlds:
            for rate in asked.rates:
                episodes = asked.times * WORLDS[name].episodes
                if (name, rate, seed, episodes) in have:
                    continue
                found = play(name, rate, seed, episodes)
                with asked.out.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                print(f"{name} rate {rate:g} seed {seed}: reward {found['reward']:.1f}, cost {found['cost']:.2f}, "
                      f"{found['seconds']:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
