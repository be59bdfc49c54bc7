"""What the worlds of `worlds.py` are made of: wrappers, costs, environments of other packages, and policies of a line or two.

Nothing here imports noregret, and a package is imported when an environment of it is made.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import logging
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np

Env = gym.Env[Any, Any]
Costs = Callable[[Any, Any, Any, float, dict[str, Any]], float]  # of observation, action, next observation, reward, info


class Costly(gym.Wrapper[Any, Any, Any, Any]):
    """Puts the cost of each step in ``info["cost"]``."""

    def __init__(self, env: Env, cost: Costs) -> None:
        super().__init__(env)
        self._cost, self._last = cost, None

    def reset(self, **options: Any) -> Any:
        """Begin an episode, and remember its first observation."""
        self._last, info = self.env.reset(**options)
        return self._last, info

    def step(self, action: Any) -> Any:
        """Take a step and add its cost."""
        y, r, terminated, truncated, info = self.env.step(action)
        info = dict(info, cost=float(self._cost(self._last, action, y, float(r), info)))
        self._last = y
        return y, float(r), terminated, truncated, info


class Summed(gym.Wrapper[Any, Any, Any, Any]):
    """The sum of some parts of a vector reward; the vector is in ``info["vector"]``."""

    def __init__(self, env: Any, parts: Sequence[int]) -> None:
        super().__init__(env)
        self._parts = list(parts)

    def step(self, action: Any) -> Any:
        """Take a step and add up its rewards."""
        y, r, terminated, truncated, info = self.env.step(action)
        vector = np.asarray(r, dtype=float)
        return y, float(vector[self._parts].sum()), terminated, truncated, dict(info, vector=vector)


class Points(gym.ActionWrapper[Any, Any, Any]):
    """Numbered points in place of a continuous action."""

    def __init__(self, env: Env, points: np.ndarray) -> None:
        super().__init__(env)
        self._points, self.action_space = points, gym.spaces.Discrete(len(points))

    def action(self, action: Any) -> Any:
        """The point of a number."""
        return self._points[int(action)].astype(self.env.action_space.dtype)


class Noisy(gym.ObservationWrapper[Any, Any, Any]):
    """Adds normal noise to observations that are vectors."""

    def __init__(self, env: Env, scale: float) -> None:
        super().__init__(env)
        self._scale = scale

    def observation(self, observation: Any) -> Any:
        """What is seen in place of the observation."""
        return (observation + self.unwrapped.np_random.normal(0.0, self._scale, observation.shape)).astype(np.float32)


class OneOf(gym.ActionWrapper[Any, Any, Any]):
    """A number for each binary action of a Dict, of which at most one is taken at a time; 0 is none of them."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._names = list(env.action_space)
        self.action_space = gym.spaces.Discrete(len(self._names) + 1)

    def action(self, action: Any) -> Any:
        """The names of what is done."""
        return {self._names[int(action) - 1]: 1} if action else {}


def grid(space: Any, points: int | Sequence[float]) -> np.ndarray:
    """All combinations of evenly spaced points of each dimension, or of the points given."""
    if not isinstance(points, int):
        return np.array(points, dtype=float)[:, None]
    axes = [np.linspace(low, high, points) for low, high in zip(space.low, space.high, strict=True)]
    return np.array(list(itertools.product(*axes)))


# --- environments of other packages ----------------------------------------------------------------------------------------


def own(name: str, **options: Any) -> Callable[[], Any]:
    """One of Gymnasium's own, without its time limit."""
    return lambda: gym.make(name, **options).unwrapped


def mo(name: str, *parts: int, **options: Any) -> Callable[[], Any]:
    """One of MO-Gymnasium, with the sum of these parts of its reward."""

    def build() -> Any:
        import mo_gymnasium

        return Summed(mo_gymnasium.make(name, **options).unwrapped, parts)

    return build


def research(name: str) -> Callable[[], Any]:
    """One of or-gymnasium."""

    def build() -> Any:
        import or_gymnasium

        or_gymnasium.register_envs()
        return gym.make(name, disable_env_checker=True).unwrapped

    return build


def knapsack() -> Any:
    """The online knapsack of or-gymnasium with the same 200 items always; there, each one made draws its own, unseeded."""
    env = research("Knapsack-v3")()
    draw = np.random.default_rng(0)
    env.item_weights, env.item_values = draw.integers(1, 100, size=env.N), draw.integers(0, 100, size=env.N)
    env.item_probs = np.full(env.N, 1.0 / env.N)
    return env


def rddl(name: str, instance: str) -> Callable[[], Any]:
    """An instance of the RDDL repository. Its parser prints, and leaves ``importlib.util`` to others to import."""

    def build() -> Any:
        assert importlib.util
        logging.getLogger("pyRDDLGym").setLevel(logging.ERROR)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            import pyRDDLGym

            return OneOf(pyRDDLGym.make(name, instance))

    return build


def minigrid(name: str) -> Callable[[], Any]:
    """One of MiniGrid: a Dict of an image of 7 x 7 cells and a direction, without the text, which is no number."""

    def build() -> Any:
        import minigrid  # noqa: F401

        return gym.wrappers.FilterObservation(gym.make(name).unwrapped, ["image", "direction"])

    return build


def sticky(name: str, share: float) -> Callable[[], Any]:
    """One of Gymnasium's own in which the last action is repeated with this probability."""
    return lambda: gym.wrappers.StickyAction(gym.make(name).unwrapped, share)


# --- costs of a step -------------------------------------------------------------------------------------------------------


def push(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for an action that is not the middle one of three, which does nothing."""
    return float(a != 1)


def far(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 when the cart is more than half a unit from the middle."""
    return float(abs(y[0]) > 0.5)


def force(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """The sum of the sizes of a continuous action."""
    return float(np.abs(a).sum())


def half(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """Half of the size of a continuous action, which is at most 2."""
    return force(x, a, y, r, info) / 2.0


def hundreds(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """What is ordered, in hundreds of units."""
    return force(x, a, y, r, info) / 100.0


def hole(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 when the ice broke: the holes of the map of 8x8."""
    return float(int(y) in (19, 29, 35, 41, 42, 46, 49, 52, 54, 59))


def below(least: float) -> Costs:
    """1 for a reward of at most this, by which some environments charge a mistake."""
    return lambda x, a, y, r, info: float(r <= least)


def bust(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for a hand above 21."""
    return float(y[0] > 21)


def step(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for every step: time."""
    return 1.0


def acted(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for an action that is not number 0."""
    return float(a != 0)


def among(*actions: int) -> Costs:
    """1 for one of these actions."""
    return lambda x, a, y, r, info: float(int(a) in actions)


def part(number: int, factor: float = 1.0) -> Costs:
    """A part of the vector reward."""
    return lambda x, a, y, r, info: factor * float(info["vector"][number])


def woods(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """1 for a step that begins in the woods."""
    return float(np.asarray(x).item() == 1)


def dropped(x: Any, a: Any, y: Any, r: float, info: dict[str, Any]) -> float:
    """The bottles that fell to the ground."""
    return max(0.0, float(np.sum(y["bottles_dropped"])) - float(np.sum(x["bottles_dropped"])))


# --- policies of a line or two: of an observation, as numbers of actions ---------------------------------------------------


def with_speed(speed: int, back: int, on: int) -> Callable[[Any], int]:
    """Push the way it moves."""
    return lambda x: on if x[speed] > 0.0 else back


def upright(angle: int, rate: int, actions: int) -> Callable[[Any], int]:
    """Push to the side to which the pole falls."""
    return lambda x: (actions - 1) * int(x[angle] + x[rate] > 0.0)


def hit_below(total: int) -> Callable[[Any], int]:
    """Hit below this total, else stand."""
    return lambda x: int(x[0] < total)


def half_the_demand(x: Any) -> int:
    """Order half of the mean demand, rounded down to a multiple of 25."""
    return int(x[4] / 2.0 // 25.0)


def reboot_if(stopped: int) -> Callable[[Any], int]:
    """Reboot the first computer that stands still, once this many do."""

    def choose(x: Any) -> int:
        still = [i for i, name in enumerate(x) if not x[name]]
        return still[0] + 1 if len(still) >= stopped else 0

    return choose


def first_fit(x: Any) -> int:
    """Put the item into the fullest bin that has room, else open one."""
    size = int(x[-1])
    return max((level for level in range(1, 10 - size) if x[level] > 0), default=0)


def land(x: Any) -> int:
    """The rule that Gymnasium itself brings for its lander."""
    from gymnasium.envs.box2d.lunar_lander import heuristic

    return int(heuristic(SimpleNamespace(unwrapped=SimpleNamespace(continuous=False)), x))
