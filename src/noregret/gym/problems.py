"""Our problems as Gymnasium environments.

A step returns the usual five, ``info["utility"]`` (m,) and ``info["cost"]`` = 1 - utility (a number when m = 1), both in
[0,1]. An episode ends by truncation after H steps. Where a problem has action masks, ``info["action_mask"]`` shows the next
one; an action that is not available leaves the state as it is and earns nothing. The uniforms of an episode are drawn at its
reset, laid out as in :mod:`noregret.kernels.worlds.world`, so that the compiled world can be fed the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces

from noregret.errors import InputError
from noregret.kernels.worlds import world as worlds
from noregret.problems import load
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.kinds import of_kind
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.registry import Problem

Seen = TypeVar("Seen")


class _ProblemEnv(gymnasium.Env[Seen, int]):
    """What the environments of both kinds of problem share: the count of steps and what a step returns."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, problem: Problem, render_mode: str | None = None) -> None:
        self.problem, self.render_mode = problem, render_mode
        self.action_space = spaces.Discrete(problem.n_actions)  # type: ignore[assignment]  # its numbers are np.int64
        self._h: int | None = None

    def _begin(self, seed: int | None) -> None:
        gymnasium.Env.reset(self, seed=seed)
        self._h = 0

    def _check(self, action: int) -> int:
        if self._h is None or self._h >= self.problem.horizon:
            raise InputError(f"step {self._h} of an episode of {self.problem.horizon}; expected reset() first")
        if not self.action_space.contains(action) and not self.action_space.contains(np.int64(action)):
            raise InputError(f"action is {action!r} at step {self._h}; expected 0..{self.problem.n_actions - 1}")
        return int(action)

    def _results(self, observation: Seen, seen: Array) -> tuple[Seen, float, bool, bool, dict[str, object]]:
        assert self._h is not None
        self._h += 1
        cost = float(1.0 - seen[1]) if len(seen) == 2 else 1.0 - seen[1:]
        info = self._info() | {"utility": seen[1:].copy(), "cost": cost}
        return observation, float(seen[0]), False, self._h == self.problem.horizon, info

    def _info(self) -> dict[str, object]:
        return {}


class TabularEnv(_ProblemEnv[np.int64]):
    """A :class:`~noregret.problems.base.TabularCMDP`; observations are states 0..S-1."""

    problem: TabularCMDP

    def __init__(self, problem: TabularCMDP, render_mode: str | None = None) -> None:
        super().__init__(problem, render_mode)
        self.observation_space = spaces.Discrete(problem.n_states)
        self._world = worlds.compile_world(problem)
        self._width, self._seen = worlds.draw_width(self._world), np.zeros((1, 1 + problem.n_constraints))

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[np.int64, dict[str, object]]:
        """Start an episode at a state drawn from the problem's start distribution."""
        self._begin(seed)
        self._u = self.np_random.random(worlds.world_width(self.problem))
        self._x = int(worlds.draw(self._world.start_cumulative, 0, self.problem.n_states, self._u[0]))
        return np.int64(self._x), self._info()

    def step(self, action: int) -> tuple[np.int64, float, bool, bool, dict[str, object]]:
        """Take an action and return observation, reward, terminated, truncated and info."""
        a, h, x, world = self._check(action), self._h or 0, self._x, self._world
        self._x = int(worlds.follow(world, h, (x, a), self._u, 1 + self._width * h, self._seen))
        return self._results(np.int64(self._x), self._seen[0].copy())

    def _info(self) -> dict[str, object]:
        if self.problem.available.all():
            return {}
        h = min(self._h or 0, self.problem.horizon - 1)
        return {"action_mask": self.problem.available[h, self._x].astype(np.int8)}


class LinearEnv(_ProblemEnv[Array]):
    """A :class:`~noregret.problems.linear_continuous.LinearCMDP`; observations are points of R^D."""

    problem: LinearCMDP

    def __init__(self, problem: LinearCMDP, render_mode: str | None = None) -> None:
        super().__init__(problem, render_mode)
        self.observation_space = spaces.Box(-np.inf, np.inf, (problem.state_dimension,), dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Array, dict[str, object]]:
        """Start an episode at the problem's start state."""
        self._begin(seed)
        self._u = self.np_random.random((self.problem.horizon, self.problem.uniforms))
        self._x = np.array(self.problem.start)
        return self._x.copy(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, object]]:
        """Take an action and return observation, reward, terminated, truncated and info."""
        a, h = self._check(action), self._h or 0
        phi = self.problem.features.encode(self._x[None])[0, a]
        self._x, seen = self.problem.step(h, phi, self._u[h])
        return self._results(self._x.copy(), seen)


def make_env(problem: str | TabularCMDP | LinearCMDP, render_mode: str | None = None) -> TabularEnv | LinearEnv:
    """Make the Gymnasium environment of a problem, or of the text that names one.

    >>> import noregret as nr
    >>> env = nr.gym.make_env("job-scheduling")
    >>> observation, info = env.reset(seed=0)
    >>> int(observation), int(env.action_space.n)
    (9, 2)
    """
    made = load(problem) if isinstance(problem, str) else problem
    return of_kind(made, ENVIRONMENTS)(made, render_mode)


#: The environment of each kind of problem.
ENVIRONMENTS: dict[type, Callable[..., TabularEnv | LinearEnv]] = {TabularCMDP: TabularEnv, LinearCMDP: LinearEnv}
