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
for the learner; ``starts`` says by how much they differ. Which actions can be taken is read from ``info["action_mask"]`` of
reset and step, else from a method ``action_masks()`` of the environment or of one that it wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError, unknown_name
from noregret.gym.objectives import Objectives
from noregret.gym.spaces import Actions, Mask, Observations, check_mask, is_discrete, plain, spaces_of
from noregret.problems.base import Array

SOURCES = ("tuple", "vector", "utility", "cost")


class Outcome(NamedTuple):
    """What a step gave: the next observation, the raw reward and raw values (m,), and whether the episode ended or was cut.

    ``mask`` says which actions can be taken next; None for all.
    """

    observation: Any
    reward: float
    values: Array
    terminated: bool
    truncated: bool
    mask: Mask | None = None


class World:
    """An environment with numbered actions, its utilities and its masks.

    Args:
        env: a Gymnasium environment.
        objectives: horizon and limits.
        utility: where utilities come from; see the head of this module.
        reward_weights: (n,) weights of a vector reward.
        utility_weights: (m,n) weights of a vector reward.
        overrun: "error" refuses an episode that goes on after H steps; "cut" ends it there.
        actions: for a Box of actions, the points of a grid in each dimension, or the list of actions.
    """

    #: How many episodes are played side by side.
    size = 1

    def __init__(
        self,
        env: Any,
        objectives: Objectives,
        *,
        utility: str | Callable[..., Any] | None = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        overrun: str = "error",
        actions: Any = None,
    ) -> None:
        if isinstance(utility, str) and utility not in SOURCES:
            raise unknown_name("utility source", utility, SOURCES)
        if overrun not in ("error", "cut"):
            raise unknown_name("overrun", overrun, ("error", "cut"))
        self.env, self.objectives, self.utility, self.overrun = env, objectives, utility, overrun
        self.observation_space, space = spaces_of(env)
        self.actions = Actions.of(space, actions)
        self.n_actions, self.starts = self.actions.n, (first_state(self.observation_space), self.actions.first)
        #: What makes a learner's observation of the environment's: of step and observation.
        self.see: Callable[[int, Any], NDArray[Any]] = lambda step, observation: plain(observation, self.starts[0])
        #: Whether masks are looked at, and episodes that the environment cuts before the horizon are refused.
        self.masked, self.whole = True, True
        self.reward_weights = None if reward_weights is None else np.ravel(reward_weights).astype(np.float64)
        self.utility_weights = None if utility_weights is None else np.atleast_2d(np.asarray(utility_weights, dtype=np.float64))
        self._source: str | Callable[..., Any] | None = utility
        self._shown = mask_method(env)
        self._x: Any = None

    def flat(self) -> Observations:
        """Show a learner without features numbers or vectors from now on, and take episodes that are cut early."""
        self.see = found = Observations.of(self.observation_space)
        self.whole = False
        return found

    def reset(self, seed: int) -> Any:
        """Start an episode, all of whose randomness comes from the seed, and return the first observation."""
        return self.start(seed)[0]

    def start(self, seed: int) -> tuple[Any, Mask | None]:
        """:meth:`reset`, with the mask of the first step."""
        observation, info = self.env.reset(seed=seed)
        self._x = deepcopy(observation)  # an environment may write the next observation into the same array
        mask = self._mask(0, info, self._shown)
        check_mask(mask, 0)
        return self.see(0, self._x), mask

    def step(self, h: int, action: int) -> Outcome:
        """Take an action at step h and return what the environment gave, in raw numbers."""
        taken = self.actions.to_env(action)
        results = self.env.step(taken)
        outcome = self._read(h, taken, results, self._x, self._shown)
        self._x = deepcopy(results[0])
        return outcome

    def start_all(self, seeds: Sequence[int]) -> list[tuple[Any, Mask | None]]:
        """Start as many episodes as seeds are given, at most ``size``."""
        return [self.start(seed) for seed in seeds]

    def step_all(self, h: int, actions: Sequence[int | None]) -> list[Outcome | None]:
        """Take an action in each episode that goes on; None where it does not."""
        return [None if action is None else self.step(h, action) for action in actions]

    def _read(self, h: int, taken: Any, results: tuple[Any, ...], x: Any, shown: Callable[[], Any] | None) -> Outcome:
        """What the results of a step are, given the observation before."""
        if len(results) not in (5, 6):
            raise InputError(f"step {h}: the environment returned {len(results)} results; expected 5, or 6 with a cost")
        observation, reward, *_, terminated, truncated, info = results
        values = self._values(h, x, taken, results)
        if np.ndim(reward):
            reward = self._weigh(h, reward, "reward_weights", 0)
        reward, values = self.objectives.check(h, reward, values)
        over = bool(terminated) or bool(truncated) or h + 1 == self.objectives.horizon  # then nothing is to be done
        mask = None if over else self._mask(h + 1, info, shown)
        check_mask(mask, h + 1)
        return Outcome(self.see(h + 1, observation), reward, values, bool(terminated), bool(truncated), mask)

    def _mask(self, h: int, info: Any, shown: Callable[[], Any] | None) -> Mask | None:
        if not self.masked:
            return None
        given = info.get("action_mask")
        return self.actions.mask(shown() if given is None and shown is not None else given, h)

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

    def _values(self, h: int, x: Any, taken: Any, results: tuple[Any, ...]) -> Array:
        source = self._source if self._source is not None else self._find(h, results)
        observation, reward, third, *_, info = results
        if callable(source):
            counted = {"step": h} if getattr(source, "takes_step", False) else {}
            found = source(x, taken, observation, reward, info, **counted)
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


def mask_method(env: Any) -> Callable[[], Any] | None:
    """Give the method ``action_masks`` of an environment, or of the first one that it wraps and that has it."""
    layer = env
    while layer is not None:
        if callable(found := getattr(layer, "action_masks", None)):
            return found  # type: ignore[no-any-return]
        layer = getattr(layer, "__dict__", {}).get("env")
    return None


def first_state(space: Any) -> int:
    """Give the least observation of a Discrete space; 0 for any other."""
    return int(space.start) if is_discrete(space) else 0


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
    first, least = int(getattr(env.action_space, "start", 0)), first_state(env.observation_space)
    while len(found) < n:
        observation, _ = env.reset(seed=int(rng.integers(2**31)))
        found.append(plain(observation, least))
        for _ in range(steps):
            results = env.step(first + int(rng.integers(env.action_space.n)))
            found.append(plain(results[0], least))
            if results[-3] or results[-2] or len(found) >= n:
                break
    return np.asarray(found)
