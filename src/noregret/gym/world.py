r"""Any Gymnasium environment as episodes of at most H steps with a reward and m utilities.

Where the utilities come from (``utility=``):

- "utility": ``info["utility"]``; "cost": ``info["cost"]``;
- "tuple": the third of a step's six results, as in safety-gymnasium: observation, reward, cost, terminated, truncated, info;
- "vector": a reward that is a vector, as in mo-gymnasium: ``reward_weights`` makes the reward of it (the first entry by
  default) and ``utility_weights`` (m, n) the utilities (the other entries);
- a function (observation, action, next observation, reward, info) of the user's, all as the environment has them; it returns
  one number or m of them;
- None: the first of "tuple", "vector", "utility", "cost" that the first step shows and that is of the right kind: costs for
  ``limit``, utilities for ``threshold``, a vector for either. An environment that only shows the other kind is refused.

Observations and actions of a Discrete space that starts at n are n, n+1, ... for the environment and its user, and 0, 1, ...
for the learner; ``starts`` says by how much they differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError, unknown_name
from noregret.features.base import show
from noregret.gym.objectives import Objectives
from noregret.problems.base import Array

SOURCES = ("tuple", "vector", "utility", "cost")


class Outcome(NamedTuple):
    """What a step gave: the next observation, the raw reward and raw values (m,), and whether the episode ended or was cut."""

    observation: Any
    reward: float
    values: Array
    terminated: bool
    truncated: bool


class World:
    """An environment with discrete actions, its utilities and its mapping to [0,1].

    Args:
        env: a Gymnasium environment.
        objectives: horizon, ranges and limits.
        utility: where utilities come from; see the head of this module.
        reward_weights: (n,) weights of a vector reward.
        utility_weights: (m,n) weights of a vector reward.
        overrun: "error" refuses an episode that goes on after H steps; "cut" ends it there.
    """

    def __init__(
        self,
        env: Any,
        objectives: Objectives,
        *,
        utility: str | Callable[..., Any] | None = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        overrun: str = "error",
    ) -> None:
        space = env.action_space
        if not is_discrete(space):
            raise InputError(f"action space is {space}; expected Discrete actions")
        if isinstance(utility, str) and utility not in SOURCES:
            raise unknown_name("utility source", utility, SOURCES)
        if overrun not in ("error", "cut"):
            raise unknown_name("overrun", overrun, ("error", "cut"))
        self.env, self.objectives, self.utility, self.overrun = env, objectives, utility, overrun
        self.n_actions, self.starts = int(space.n), (first_state(env), int(space.start))
        self.reward_weights = None if reward_weights is None else np.ravel(reward_weights).astype(np.float64)
        self.utility_weights = None if utility_weights is None else np.atleast_2d(np.asarray(utility_weights, dtype=np.float64))
        self._source: str | Callable[..., Any] | None = utility
        self._x: Any = None

    def reset(self, seed: int) -> Any:
        """Start an episode, all of whose randomness comes from the seed, and return the first observation."""
        observation, _ = self.env.reset(seed=seed)
        self._x = observation
        return self._plain(observation)

    def step(self, h: int, action: int) -> Outcome:
        """Take an action at step h and return what the environment gave, in raw numbers."""
        action += self.starts[1]
        results = self.env.step(action)
        if len(results) not in (5, 6):
            raise InputError(f"step {h}: the environment returned {len(results)} results; expected 5, or 6 with a cost")
        observation, reward, *_, terminated, truncated, _ = results
        values = self._values(h, action, results)
        if np.ndim(reward):
            reward = self._weigh(h, reward, "reward_weights", 0)
        self._x = observation
        return Outcome(self._plain(observation), float(reward), values, bool(terminated), bool(truncated))

    def _find(self, h: int, results: tuple[Any, ...]) -> str:
        """Where the utilities are, from what a step returned."""
        info, costs = results[-1], self.objectives.costs
        shown = {
            "tuple": len(results) == 6, "vector": np.ndim(results[1]) > 0, "utility": "utility" in info, "cost": "cost" in info
        }  # fmt: skip
        found = [name for name in SOURCES if shown[name]]
        for name in found:
            if name == "vector" or (name == "utility") != costs:
                self._source = name
                return name
        if found:
            kind, given, other = ("utility", "limit", "threshold") if costs else ("cost", "threshold", "limit")
            raise InputError(
                f"step {h}: the environment shows a {kind}, and {given}= is for the opposite; expected {other}=, or "
                f"utility={found[0]!r} to take it for what {given}= is for"
            )
        raise InputError(
            f"step {h}: the environment shows no utility; expected info['utility'], info['cost'], a cost in the step, a vector "
            f"reward, or a function as utility="
        )

    def _weigh(self, h: int, reward: Any, name: str, default: int | slice) -> Any:
        """A vector reward times the weights called ``name``; without these the entries ``default`` of the vector."""
        vector, weights = np.ravel(reward).astype(np.float64), getattr(self, name)
        if weights is None:
            return vector[default]
        if weights.shape[-1] != len(vector):
            raise InputError(f"step {h}: reward has {len(vector)} entries; expected {weights.shape[-1]}, as {name}")
        return weights @ vector

    def _values(self, h: int, action: int, results: tuple[Any, ...]) -> Array:
        source = self._source if self._source is not None else self._find(h, results)
        observation, reward, third, *_, info = results
        if callable(source):
            found = source(self._x, action, observation, reward, info)
        elif source == "vector":
            found = self._weigh(h, reward, "utility_weights", slice(1, None))
        elif source == "tuple":
            found = third
        elif source in info:
            found = info[source]
        else:
            raise InputError(f"step {h}: info has no {source!r}; expected it at every step (found {sorted(map(str, info))})")
        try:
            return np.atleast_1d(np.asarray(found, dtype=np.float64)).ravel()
        except (TypeError, ValueError):
            raise InputError(f"step {h}: utility is {found!r}; expected numbers") from None

    def _plain(self, observation: Any) -> NDArray[Any]:
        return plain(observation, self.starts[0])


def is_discrete(space: Any) -> bool:
    """Tell whether a space is Discrete: n values from a start on (MultiBinary has an n and no start)."""
    return hasattr(space, "n") and hasattr(space, "start")


def first_state(env: Any) -> int:
    """Give the least observation of an environment with Discrete observations; 0 for any other."""
    return int(env.observation_space.start) if is_discrete(env.observation_space) else 0


def plain(observation: Any, first: int) -> NDArray[Any]:
    """Turn an observation into an array of numbers; from a single number ``first`` is subtracted."""
    if isinstance(observation, dict | tuple):
        raise InputError(
            f"observation {show(list(observation))} is a {type(observation).__name__}; expected numbers (wrap the env "
            f"in gymnasium.wrappers.FlattenObservation)"
        )
    x = np.asarray(observation)
    return np.asarray(x - first) if first and x.ndim == 0 else x


def sample_states(env: Any, n: int = 1000, seed: int = 0, steps: int = 1000) -> NDArray[Any]:
    """Collect about n observations of random play as a learner sees them, to fit a transformer on.

    Args:
        env: a Gymnasium environment with Discrete actions.
        n: how many observations.
        seed: of all randomness.
        steps: the most steps of an episode.

    Returns:
        The observations, along the first axis.

    >>> import noregret as nr
    >>> sample_states(nr.gym.make_env("job-scheduling"), n=20).shape
    (20,)
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    found: list[Any] = []
    first, least = int(getattr(env.action_space, "start", 0)), first_state(env)
    while len(found) < n:
        observation, _ = env.reset(seed=int(rng.integers(2**31)))
        found.append(plain(observation, least))
        for _ in range(steps):
            results = env.step(first + int(rng.integers(env.action_space.n)))
            found.append(plain(results[0], least))
            if results[-3] or results[-2] or len(found) >= n:
                break
    return np.asarray(found)
