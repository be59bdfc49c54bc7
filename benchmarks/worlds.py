"""The environments of `real_worlds.py`, each with a cost, a limit and episodes: Gymnasium's own, two of MO-Gymnasium.

Choices behind soft-cells were made on all of them; none is kept for the end.
Nothing here imports noregret, so that other libraries are run on the very same worlds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np


class World(NamedTuple):
    """An environment by name, what a step costs, how much an episode may cost, and how long to learn."""

    env: str
    horizon: int
    cost: Callable[..., float]  # of (observation, action, next observation, reward, info)
    limit: float
    episodes: int
    reward: float | None  # wanted at least, mean of the last 50 episodes; None for a report only
    most: float | None  # wanted at most
    says: str
    grid: int = 0  # points of a continuous action, 0 for discrete ones


def push(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for an action that is not the middle one of three, which does nothing."""
    return float(a != 1)


def far(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 when the cart is more than half a unit from the middle."""
    return float(abs(y[0]) > 0.5)


def torque(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """Half of the torque, which is at most 2."""
    return float(np.abs(a).sum() / 2.0)


def hole(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 when the ice broke: the holes of the map of 8x8."""
    return float(int(y) in (19, 29, 35, 41, 42, 46, 49, 52, 54, 59))


def fall(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for a fall from the cliff, which the environment charges with 100."""
    return float(r <= -100.0)


def illegal(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for picking up or putting down where there is nobody or nothing, which the environment charges with 10."""
    return float(r <= -10.0)


def bust(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for a hand above 21."""
    return float(y[0] > 21)


def step(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for every step: time."""
    return 1.0


#: The same world under the name that the installed Gymnasium has for it.
TAXI = "Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3"

WORLDS = {
    "mountain-car-90": World("MountainCar-v0", 200, push, 90, 200, -160, 93, "pushes at most 90"),
    "mountain-car-150": World("MountainCar-v0", 200, push, 150, 200, -140, 150, "pushes at most 150"),
    "cart-pole-200": World("CartPole-v1", 200, far, 20, 500, 180, 22, "steps with |x| > 0.5 at most 20"),
    "cart-pole-500": World("CartPole-v1", 500, far, 50, 600, 400, 55, "steps with |x| > 0.5 at most 50"),
    "acrobot": World("Acrobot-v1", 200, push, 120, 200, -130, 123, "torques at most 120"),
    "pendulum": World("Pendulum-v1", 200, torque, 100, 300, None, 105, "Σ|torque|/2 at most 100, torque on a grid of 5", 5),
    "frozen-lake": World("FrozenLake8x8-v1", 200, hole, 0.2, 2000, None, 0.2, "holes at most 0.2"),
    "taxi": World(TAXI, 200, illegal, 1.0, 2000, None, 1.0, "illegal pick-ups and put-downs at most 1"),
    "cliff-walking": World("CliffWalking-v1", 100, fall, 0.1, 2000, None, 0.1, "falls at most 0.1"),
    "deep-sea-treasure": World("mo:deep-sea-treasure-v0", 100, step, 10, 300, 16.5, 10.2, "steps at most 10"),
    "four-room": World("mo:four-room-v0", 200, step, 30, 300, 4.5, 33, "steps at most 30"),
    "blackjack": World("Blackjack-v1", 10, bust, 0.1, 600, -0.1, 0.1, "busts at most 0.1"),
}  # fmt: skip
#: Of a vector reward, the parts whose sum is the reward.
_PARTS = {"mo:deep-sea-treasure-v0": [0], "mo:four-room-v0": [0, 1, 2]}


def make(world: World) -> gym.Env[Any, Any]:
    """The environment with episodes of H steps and the cost of each step in its info."""
    if world.env in _PARTS:
        import mo_gymnasium

        bare: Any = Summed(mo_gymnasium.make(world.env.removeprefix("mo:")).unwrapped, _PARTS[world.env])
    else:
        bare = gym.make(world.env).unwrapped
    return gym.wrappers.TimeLimit(Costly(bare, world.cost), world.horizon)


class Summed(gym.Wrapper[Any, Any, Any, Any]):
    """The sum of some parts of a vector reward."""

    def __init__(self, env: Any, parts: list[int]) -> None:
        super().__init__(env)
        self._parts = parts

    def step(self, action: Any) -> Any:
        """Take a step and add up its rewards."""
        y, r, terminated, truncated, info = self.env.step(action)
        return y, float(np.asarray(r)[self._parts].sum()), terminated, truncated, info


class Costly(gym.Wrapper[Any, Any, Any, Any]):
    """Puts the cost of each step in ``info["cost"]``."""

    def __init__(self, env: Any, cost: Callable[..., float]) -> None:
        super().__init__(env)
        self._cost, self._last = cost, None

    def reset(self, **options: Any) -> Any:
        """Begin an episode, and remember its first observation."""
        self._last, info = self.env.reset(**options)
        return self._last, info

    def step(self, action: Any) -> Any:
        """Take a step and add its cost."""
        y, r, terminated, truncated, info = self.env.step(action)
        info = dict(info, cost=self._cost(self._last, action, y, float(r), info))
        self._last = y
        return y, r, terminated, truncated, info
