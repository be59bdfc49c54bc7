"""Between an environment's spaces and what a learner sees: observations as numbers or vectors, actions as 0..A-1.

Observations of a Discrete space are numbers 0..n-1 for the learner; a Box is a vector; all others (Dict, Tuple, MultiDiscrete,
MultiBinary, ...) are flattened by Gymnasium. Actions are numbered: those of MultiDiscrete and MultiBinary are all combinations,
the last entry counting fastest; those of a Box are a grid of so many points in each dimension, or a list that the user gives.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError, shown
from noregret.features.base import show
from noregret.problems.checks import integer
from noregret.problems.validation import floats

#: More combinations or points of a grid than this are refused: every action is to be tried, and tried often.
MOST_ACTIONS = 1000

Mask = NDArray[np.bool_]


def is_vector(env: Any) -> bool:
    """Tell whether an environment is several side by side, as in gymnasium.vector."""
    return hasattr(env, "num_envs") and hasattr(env, "single_action_space")


def spaces_of(env: Any) -> tuple[Any, Any]:
    """Give the spaces of observations and actions, of one environment where several are side by side."""
    if is_vector(env):
        return env.single_observation_space, env.single_action_space
    return env.observation_space, env.action_space


def is_discrete(space: Any) -> bool:
    """Tell whether a space is Discrete: n values from a start on (MultiBinary has an n and no start)."""
    return hasattr(space, "n") and hasattr(space, "start")


# --- observations -----------------------------------------------------------------------------------------------------


def plain(observation: Any, first: int) -> NDArray[Any]:
    """Turn an observation into an array of numbers; from a single number ``first`` is subtracted."""
    if isinstance(observation, dict | tuple):
        raise InputError(
            f"observation {show(list(observation))} is a {type(observation).__name__}; expected numbers (wrap the env "
            f"in gymnasium.wrappers.FlattenObservation)"
        )
    x = np.array(observation)  # a copy: an environment may write the next observation into the same array
    return np.asarray(x - first) if first and x.ndim == 0 else x


@dataclass(frozen=True)
class Observations:
    """What a learner without features of its own sees: one of ``n_states`` numbers, or a vector of ``dimension`` numbers.

    ``space`` flattens what is neither a number nor an array; it is None for an agent from a file without its environment.
    """

    n_states: int
    dimension: int
    first: int = 0
    space: Any = None

    @staticmethod
    def of(space: Any) -> Observations:
        """Read them from a space of Gymnasium.

        Raises:
            InputError: Gymnasium cannot flatten the space to a vector of fixed length.
        """
        if is_discrete(space):
            return Observations(int(space.n), 0, int(space.start))
        from gymnasium import spaces

        if isinstance(space, spaces.Box):
            return Observations(0, max(1, math.prod(space.shape)))
        if not space.is_np_flattenable:
            raise InputError(f"observation space is {shown(space)}; expected one that Gymnasium can flatten to a vector")
        return Observations(0, int(spaces.flatdim(space)), 0, space)

    def __call__(self, step: int, observation: Any) -> NDArray[Any]:
        """Make the number 0..n-1 or the finite vector of an observation.

        Raises:
            InputError: it is no observation of the space; the message names the step.
        """
        if self.n_states:
            x = np.asarray(observation)
            if x.size != 1 or x.dtype.kind not in "iu" or not 0 <= int(x.item()) - self.first < self.n_states:
                last = self.first + self.n_states - 1
                raise InputError(f"step {step}: observation is {shown(observation)}; expected {self.first}..{last}")
            return np.asarray(int(x.item()) - self.first)
        if self.space is not None:
            from gymnasium.spaces import flatten

            observation = flatten(self.space, observation)
        try:
            vector = np.array(observation, dtype=np.float64).ravel()  # a copy, as above
        except (TypeError, ValueError):
            hint = ", or env= for Agent.load" if isinstance(observation, dict | tuple) else ""
            raise InputError(
                f"step {step}: observation is {shown(observation)}; expected {self.dimension} numbers{hint}"
            ) from None
        if len(vector) != self.dimension:
            raise InputError(f"step {step}: observation has {len(vector)} numbers; expected {self.dimension}")
        if not np.isfinite(vector).all():
            i = int(np.argmin(np.isfinite(vector)))
            raise InputError(f"step {step}: observation[{i}] is {vector[i]:g}; expected a finite number")
        return vector


# --- actions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Actions:
    """The actions of an environment, numbered 0..n-1 for the learner.

    ``table`` (n, ...) holds each action as the environment takes it; None where actions are numbers from ``first`` on.
    ``parts`` are the sizes of the entries of MultiDiscrete actions.
    """

    n: int
    first: int = 0
    table: NDArray[Any] | None = None
    parts: tuple[int, ...] = ()

    @staticmethod
    def of(space: Any, wanted: Any = None) -> Actions:
        """Number the actions of a space of Gymnasium.

        Args:
            space: Discrete, MultiDiscrete, MultiBinary or Box.
            wanted: for a Box, how many points each dimension has on the grid, or the list of actions.

        Raises:
            InputError: there are too many actions, or a Box without ``wanted``, or a space of another kind.
        """
        from gymnasium import spaces

        if isinstance(space, spaces.Box):
            return Actions._boxed(space, wanted)
        if wanted is not None:
            raise InputError(f"actions is {shown(wanted)}; expected None, as the action space is {space} and not a Box")
        if is_discrete(space):
            return Actions(int(space.n), int(space.start))
        if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
            sizes = tuple(int(n) for n in np.ravel(getattr(space, "nvec", np.full(space.shape, 2))))
            first = np.ravel(getattr(space, "start", np.zeros(len(sizes)))).astype(space.dtype)
            _few(math.prod(sizes), space)
            rows = np.array(list(itertools.product(*map(range, sizes))), dtype=space.dtype) + first
            return Actions(len(rows), 0, rows.reshape(-1, *space.shape).astype(space.dtype), sizes)
        raise InputError(f"action space is {shown(space)}; expected Discrete, MultiDiscrete, MultiBinary or Box actions")

    @staticmethod
    def _boxed(space: Any, wanted: Any) -> Actions:
        if wanted is None:
            raise InputError(
                f"action space is {space} and actions is None; expected actions=5 for a grid of 5 points in each dimension, or "
                f"a list of actions"
            )
        k = math.prod(space.shape)
        if np.ndim(wanted) == 0:
            points = integer("actions", wanted, 2)
            low, high = np.ravel(space.low).astype(np.float64), np.ravel(space.high).astype(np.float64)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                raise InputError(f"actions is {points} and the action space {space} has no ends; expected a list of actions")
            if k > 20 or points**k > MOST_ACTIONS:
                raise InputError(
                    f"actions is {points}, which makes {points}^{k} actions of {space}; expected at most {MOST_ACTIONS:,}"
                )
            grid = itertools.product(*(np.linspace(a, b, points) for a, b in zip(low, high, strict=True)))
            rows = np.array(list(grid)).reshape(-1, *space.shape)
        else:
            rows = floats("actions", wanted)
            rows = rows[:, None] if rows.ndim == 1 and space.shape == (1,) else rows
            if rows.shape[1:] != space.shape or not len(rows):
                raise InputError(f"actions has shape {rows.shape}; expected (n, {', '.join(map(str, space.shape))})")
            _few(len(rows), space)
        rows = rows.astype(space.dtype)
        for i, row in enumerate(rows):
            if not space.contains(row):
                raise InputError(f"actions[{i}] is {row.tolist()}; expected an action of {space}")
        return Actions(len(rows), 0, rows)

    def to_env(self, action: int) -> Any:
        """Give an action as the environment takes it."""
        return action + self.first if self.table is None else self.table[action].copy()

    def number(self, action: Any, step: int) -> int:
        """Give the number 0..n-1 of an action of the environment.

        Raises:
            InputError: it is none of the actions; the message names the step.
        """
        taken = np.asarray(action)
        if self.table is None:
            fits = taken.size == 1 and taken.dtype.kind in "iu" and 0 <= int(taken.item()) - self.first < self.n
            found = [int(taken.item()) - self.first] if fits else []
        else:
            same = taken.shape == self.table.shape[1:] and taken.dtype.kind in "biuf"
            found = np.flatnonzero((self.table == taken).reshape(self.n, -1).all(axis=1)).tolist() if same else []
        if not found:
            raise InputError(f"step {step}: action is {shown(action)}; expected one of the {self.n} actions of the agent")
        return int(found[0])

    def mask(self, given: Any, step: int) -> Mask | None:
        """Read an action mask: which of the actions can be taken; None for all.

        For MultiDiscrete actions it may also be one mask for each entry, in a tuple or one after the other.

        Raises:
            InputError: the mask has another shape, or other entries than truth values.
        """
        if given is None:
            return None
        parts = [np.ravel(part) for part in given] if isinstance(given, tuple | list) and self.parts else None
        try:
            flat = np.asarray(given if parts is None else np.concatenate(parts)).ravel()
            if not ((flat == 0) | (flat == 1)).all():
                raise ValueError
        except (TypeError, ValueError):
            raise InputError(f"step {step}: action mask is {shown(given)}; expected zeros and ones") from None
        if self.parts and len(flat) == sum(self.parts):
            each = np.split(flat.astype(bool), np.cumsum(self.parts)[:-1])
            flat = np.array([all(chosen) for chosen in itertools.product(*each)])
        if len(flat) != self.n:
            raise InputError(f"step {step}: action mask has {len(flat)} entries; expected {self.n}, one for each action")
        return flat.astype(bool)


def check_mask(mask: Mask | None, step: int) -> None:
    """Refuse a mask that leaves nothing to do."""
    if mask is not None and not mask.any():
        raise InputError(f"step {step}: the action mask allows no action; expected at least one")


def _few(n: int, space: Any) -> int:
    if n > MOST_ACTIONS:
        raise InputError(f"action space {shown(space)} has {n:,} actions; expected at most {MOST_ACTIONS:,}")
    return n
