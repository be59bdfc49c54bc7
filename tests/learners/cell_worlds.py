"""Tiny worlds for minds, and the loop that plays them; nothing here is an environment of Gymnasium."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from noregret.agent.minds.protocol import Mind, PlayedEpisode
from noregret.problems.worlds import WorldSpec


class World(Protocol):
    spec: WorldSpec

    def reset(self, random: np.random.Generator) -> Any: ...

    def step(self, action: int) -> tuple[Any, float, list[float], bool]:
        """The next observation, the reward, the values of all constraints, whether the episode ends."""

    def mask(self) -> np.ndarray | None: ...


class Line:
    """A point on [0,1]: it stays or moves by 0.1 to either side. Reward is where it is; moving costs 1; above 0.95 it may end.

    Args:
        limit: on moves.
        ends: whether the right edge ends the episode.
        utility: whether the total of 1 - moves is to stay above ``limit`` in place of a cost.
        walled: whether masks forbid moves out of [0,1].
    """

    def __init__(self, limit: float, *, ends: bool = False, utility: bool = False, walled: bool = False) -> None:
        self.spec = WorldSpec(20, 3, 0, 1, np.array([limit]), not utility, ("moves",))
        self.ends, self.utility, self.walled = ends, utility, walled

    def reset(self, random: np.random.Generator) -> np.ndarray:
        self.x = 0.05 * random.random()
        return np.array([self.x])

    def step(self, action: int) -> tuple[np.ndarray, float, list[float], bool]:
        assert not (self.walled and not self.mask()[action]), "a masked action was played"
        self.x = min(max(self.x + 0.1 * (action - 1), 0.0), 1.0)
        cost = float(action != 1)
        return np.array([self.x]), self.x, [1.0 - cost if self.utility else cost], self.ends and self.x > 0.95

    def mask(self) -> Any:
        return np.array([self.x >= 0.1, True, self.x <= 0.9]) if self.walled else None


class Shop:
    """Two things to buy with two budgets: action 1 earns 1 and costs of the first kind, action 2 earns 1 and of the second."""

    def __init__(self, first: float, second: float) -> None:
        self.spec = WorldSpec(20, 3, 0, 1, np.array([first, second]), True, ("a", "b"))

    def reset(self, random: np.random.Generator) -> np.ndarray:
        self.random = random
        return np.array([random.random()])

    def step(self, action: int) -> tuple[np.ndarray, float, list[float], bool]:
        return np.array([self.random.random()]), float(action > 0), [float(action == 1), float(action == 2)], False

    def mask(self) -> None:
        return None


class Ring:
    """Numbers 0..n-1 in a ring: forward slips now and then. Reward at 0's left neighbour, where the episode may end."""

    def __init__(self, n: int, limit: float, *, slip: float = 0.0, ends: bool = False) -> None:
        self.spec = WorldSpec(12, 2, n, 0, np.array([limit]), True, ("steps",))
        self.n, self.slip, self.ends = n, slip, ends

    def reset(self, random: np.random.Generator) -> int:
        self.s, self.random = 0, random
        return 0

    def step(self, action: int) -> tuple[int, float, list[float], bool]:
        moved = action == 1 and self.random.random() >= self.slip
        self.s = (self.s + moved) % self.n
        last = self.s == self.n - 1
        return self.s, float(last), [float(action)], self.ends and last

    def mask(self) -> None:
        return None


class Hidden:
    """Nothing to see: the observation never changes. Action 1 earns 1, and costs 1 if the step before was action 1 too."""

    def __init__(self, limit: float) -> None:
        self.spec = WorldSpec(20, 2, 0, 1, np.array([limit]), True, ("echo",))

    def reset(self, random: np.random.Generator) -> np.ndarray:
        self.before = 1
        return np.zeros(1)

    def step(self, action: int) -> tuple[np.ndarray, float, list[float], bool]:
        cost, self.before = float(action == 1 and self.before == 1), action
        return np.zeros(1), float(action), [cost], False

    def mask(self) -> None:
        return None


def play(mind: Mind, world: World, episodes: int, seed: int = 0) -> np.ndarray:
    """(episodes, 1+m) the raw totals of each episode."""
    totals, H = [], world.spec.horizon
    for k in range(episodes):
        random = np.random.default_rng([seed, k, 7])
        mind.ready()
        observations, masks = [world.reset(random)], [world.mask()]
        actions, rewards, values, ended = [], [], [], False
        while len(actions) < H and not ended:
            chances = mind.chances(len(actions), observations[-1], masks[-1])
            assert abs(chances.sum() - 1.0) < 1e-9 and (masks[-1] is None or (chances[~masks[-1]] == 0.0).all())
            action = min(int(np.searchsorted(np.cumsum(chances), random.random(), side="right")), len(chances) - 1)
            observation, reward, value, ended = world.step(action)
            observations.append(observation)
            masks.append(world.mask())
            actions.append(action)
            rewards.append(reward)
            values.append(value)
        could = None if masks[0] is None else np.array(masks)
        mind.learn(PlayedEpisode(np.array(observations), np.array(actions), np.array(rewards), np.array(values), ended, could))
        totals.append([sum(rewards), *np.sum(values, axis=0)])
    return np.array(totals)
