"""PPO of stable-baselines3 with a Lagrangian penalty on the worlds of `worlds.py`: what most people would reach for first.

    pip install stable-baselines3
    python benchmarks/ppo_lagrangian.py --worlds mountain-car-90 --seeds 0 1 --rates 0.01 0.03 0.1 --times 1

The agent earns r − Y·c. After each episode Y ← [Y + rate·(C − limit)/limit]₊, in units of (spread of returns)/limit, so one
rate means the same in every world. Observations and rewards are normalised, as that library's collection of tuned agents has it
for most of these worlds; what is no vector of numbers is made one (one number of n becomes n zeros and ones). Four environments
run side by side, 128 steps each, ten epochs, γ = 0.99. Each run is one JSON line.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np

from world_runs import THEIRS, Job, Run, make_missing, options, result
from worlds import WORLDS, World, make_discrete

WHO = "ppo-lagrangian"


class Price:
    """Y and what it learns from: all environments of a run share one."""

    def __init__(self, world: World, rate: float) -> None:
        self.world, self.rate, self.Y = world, rate, 0.0
        self.history: list[tuple[float, float]] = []
        self._least, self._most = np.inf, -np.inf

    @property
    def scale(self) -> float:
        """Reward that a unit of cost is worth at Y = 1."""
        return max(self._most - self._least if self.history else 0.0, 1.0) / max(self.world.limit, 1e-9)

    def ended(self, reward: float, cost: float) -> None:
        """Count an episode and move the price."""
        self.history.append((reward, cost))
        self._least, self._most = min(self._least, reward), max(self._most, reward)
        self.Y = max(0.0, self.Y + self.rate * (cost - self.world.limit) / self.world.limit)


class Flat(gym.ObservationWrapper[Any, Any, Any]):
    """Any observation as one vector of numbers."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        size = gym.spaces.flatdim(env.observation_space)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def observation(self, observation: Any) -> Any:
        """The vector."""
        if isinstance(observation, dict):
            observation = {key: _plain(part) for key, part in observation.items()}
        return np.asarray(gym.spaces.flatten(self.env.observation_space, observation), dtype=np.float32)


def _plain(part: Any) -> Any:
    """A bool as the number that it stands for."""
    return int(part) if isinstance(part, (bool, np.bool_)) else part


class Penalised(gym.Wrapper[Any, Any, Any, Any]):
    """The reward less the price of the cost."""

    def __init__(self, env: gym.Env[Any, Any], price: Price) -> None:
        super().__init__(env)
        self.price, self.total = price, np.zeros(2)

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        self.total = np.zeros(2)
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Take a step; what the episode gave is counted at its end."""
        y, r, terminated, truncated, info = self.env.step(int(action))
        self.total += (float(r), info["cost"])
        penalised = float(r) - self.price.Y * self.price.scale * info["cost"]
        if terminated or truncated:
            self.price.ended(*self.total)
        return y, penalised, terminated, truncated, info


def play(job: Job) -> Run:
    """Learn one world and say what every episode gave, in raw units."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    world = WORLDS[job.world]
    set_random_seed(job.seed)
    price = Price(world, float(job.rate or 0.0))
    env = VecNormalize(DummyVecEnv([lambda: Penalised(Flat(make_discrete(world)), price) for _ in range(4)]), gamma=0.99)
    env.seed(job.seed)
    agent = PPO("MlpPolicy", env, n_steps=128, batch_size=128, n_epochs=10, gamma=0.99, seed=job.seed, device="cpu")
    began = time.process_time()
    agent.learn(10**9, callback=lambda *_: len(price.history) < job.episodes)
    seconds = time.process_time() - began
    return result(job, price.history[: job.episodes], seconds, evaluated(agent, env, world) if world.fresh else None)


def evaluated(agent: Any, env: Any, world: World) -> np.ndarray:
    """Reward and cost of fresh episodes with what was learned."""
    from trivial import totals

    def choose(x: Any) -> int:
        return int(agent.predict(env.normalize_obs(x), deterministic=False)[0])

    return totals(Flat(make_discrete(world)), choose, world.fresh)


def main() -> None:
    """Run what was asked for and is not in the file yet."""
    parser = options(__doc__ or "", THEIRS)
    parser.add_argument("--rates", nargs="+", type=float, default=[0.01, 0.03, 0.1])
    parser.add_argument("--times", type=int, default=1, help="times as many episodes as our agent gets")
    asked = parser.parse_args()
    jobs = [
        Job(name, WHO, rate, seed, asked.times * WORLDS[name].episodes)
        for name in asked.worlds for seed in asked.seeds for rate in asked.rates
    ]  # fmt: skip
    make_missing(asked.out, jobs, play)


if __name__ == "__main__":
    main()
