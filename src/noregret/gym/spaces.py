"""Between an environment's spaces and what a learner sees: observations as numbers or vectors, actions as 0..A-1.

An observation of a Discrete space is one of the numbers 0..n-1 for the learner. Any other observation is a vector: the entries
of Box, MultiDiscrete and MultiBinary, one number for each Discrete part, and the parts of Dict and Tuple one after the other in
the order of the space. Numbers keep their order: 10 lies between 9 and 11.

Actions are numbered: those of MultiDiscrete and MultiBinary are all combinations, the last entry counting fastest; those of a
Box are a grid of so many points in each dimension, or a list that the user gives; if nothing is said, a grid of at most 27
points, or one dimension at a time where that would be too many.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.arrays import LARGEST
from noregret.errors import InputError, shown
from noregret.features.base import show
from noregret.problems.checks import integer
from noregret.problems.validation import floats

if TYPE_CHECKING:
    from gymnasium import Space, spaces

#: More combinations or points of a grid than this are refused: every action is to be tried, and tried often.
MOST_ACTIONS = 1000
#: Where nothing is said, the grid over a Box has 5 points in each dimension, or 3, and at most so many actions.
FEW_ACTIONS = 27
#: Observations of more numbers than this are refused: an image of 25 x 25 cells with three numbers each is below.
MOST_NUMBERS = 2000

Mask = NDArray[np.bool_]
#: A vector of numbers, or a number 0..n-1.
Observation = NDArray[np.float64] | NDArray[np.int64]
#: An action as the environment takes it.
Action = int | NDArray[np.generic]


def is_vector(env: object) -> bool:
    """Tell whether an environment is several side by side, as in gymnasium.vector."""
    return hasattr(env, "num_envs") and hasattr(env, "single_action_space")


def spaces_of(env: object) -> tuple[Space[object], Space[object]]:
    """Give the spaces of observations and actions, of one environment where several are side by side."""
    which = "single_" if is_vector(env) else ""
    return getattr(env, f"{which}observation_space"), getattr(env, f"{which}action_space")


def is_discrete(space: object) -> TypeGuard[spaces.Discrete]:
    """Tell whether a space is Discrete: n values from a start on (MultiBinary has an n and no start)."""
    return hasattr(space, "n") and hasattr(space, "start")


# --- observations -----------------------------------------------------------------------------------------------------


def plain(observation: object, first: int) -> NDArray[np.generic]:
    """Turn an observation into an array of numbers; from a single number ``first`` is subtracted."""
    if isinstance(observation, dict | tuple):
        raise InputError(
            f"observation {show(list(observation))} is a {type(observation).__name__}; expected numbers (wrap the env "
            f"in gymnasium.wrappers.FlattenObservation)"
        )
    x = np.array(observation)  # a copy: an environment may write the next observation into the same array
    return np.asarray(x - first) if first and x.ndim == 0 else x


class Part(NamedTuple):
    """A part of observations that is an array or a number: where it stands in Dicts and Tuples, and how many numbers it has."""

    keys: tuple[str | int, ...]
    size: int

    @property
    def name(self) -> str:
        """The part as code writes it, such as observation['image']."""
        return "observation" + "".join(f"[{key!r}]" for key in self.keys)

    def numbers(self, step: int, observation: object) -> NDArray[np.float64]:
        """The numbers of this part, in one row.

        Raises:
            InputError: the observation has no such part, or the part has other entries.
        """
        part = observation
        for key in self.keys:
            if isinstance(part, Mapping) and key in part:
                part = part[key]
            elif isinstance(part, tuple | list) and isinstance(key, int) and key < len(part):
                part = part[key]
            else:
                raise InputError(f"step {step}: observation is {shown(observation)}; expected an entry {self.name}")
        try:
            numbers = np.array(part, dtype=np.float64).ravel()  # a copy, as above
        except (TypeError, ValueError):
            hint = ", or env= for Agent.load" if isinstance(part, dict | tuple) and not self.keys else ""
            raise InputError(f"step {step}: {self.name} is {shown(part)}; expected {self.size} numbers{hint}") from None
        if len(numbers) != self.size:
            raise InputError(f"step {step}: {self.name} has {len(numbers)} numbers; expected {self.size}")
        return numbers


def parts_of(space: Space[object], keys: tuple[str | int, ...] = ()) -> Iterator[Part]:
    """Give all parts of the observations of a space, in its order.

    Raises:
        InputError: one of them is not of a fixed number of numbers; the message says which and what to do.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict | spaces.Tuple):
        entries = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, inner in entries:
            yield from parts_of(inner, (*keys, key))
    elif isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        yield Part(keys, math.prod(space.shape))
    elif is_discrete(space):
        yield Part(keys, 1)
    else:
        part, kind = Part(keys, 0), type(space).__name__
        advice = "gymnasium.wrappers.TransformObservation, which makes numbers of it"
        if keys and isinstance(keys[0], str):
            advice = f"gymnasium.wrappers.FilterObservation with the other entries, without {keys[0]!r}, or {advice}"
        raise InputError(
            f"observation space: {part.name} is a {kind}; expected Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or "
            f"Tuple of these: wrap the env in {advice}"
        )


@dataclass(frozen=True)
class Observations:
    """What a learner without features of its own sees: one of ``n_states`` numbers, or a vector of ``dimension`` numbers.

    ``parts`` are those of Dict and Tuple, whose numbers are put one after the other. There are none for arrays, nor for an
    agent from a file without its environment.
    """

    n_states: int
    dimension: int
    first: int = 0
    parts: tuple[Part, ...] = ()

    @staticmethod
    def of(space: Space[object]) -> Observations:
        """Read them from a space of Gymnasium.

        Raises:
            InputError: the space has a part that is not of a fixed number of numbers, no number at all, or too many.
        """
        if is_discrete(space):
            return Observations(int(space.n), 0, int(space.start))
        parts = tuple(parts_of(space))
        dimension = sum(part.size for part in parts)
        if not 1 <= dimension <= MOST_NUMBERS:
            raise InputError(
                f"observation space is {shown(space)}, {dimension:,} numbers; expected 1 to {MOST_NUMBERS:,}: wrap the env in "
                f"gymnasium.wrappers.TransformObservation, which shows what matters, or an image in ResizeObservation"
            )
        return Observations(0, dimension, 0, parts if parts[0].keys else ())

    def __call__(self, step: int, observation: object) -> Observation:
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
        parts = self.parts or (Part((), self.dimension),)
        vector = np.concatenate([part.numbers(step, observation) for part in parts])
        if not (np.abs(vector) <= LARGEST).all():
            i = int(np.argmin(np.abs(vector) <= LARGEST))
            raise InputError(f"step {step}: observation[{i}] is {vector[i]:g}; expected a finite number, at most {LARGEST:g}")
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
    table: NDArray[np.generic] | None = None
    parts: tuple[int, ...] = ()

    @staticmethod
    def of(space: Space[object], wanted: ArrayLike | None = None) -> Actions:
        """Number the actions of a space of Gymnasium.

        Args:
            space: Discrete, MultiDiscrete, MultiBinary or Box.
            wanted: for a Box, how many points each dimension has on the grid, or the list of actions; None for a usual choice.

        Raises:
            InputError: there are too many actions, or a Box without ends and without ``wanted``, or a space of another kind.
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
    def _boxed(space: spaces.Box, wanted: ArrayLike | None) -> Actions:
        k = math.prod(space.shape)
        if wanted is None or np.ndim(wanted) == 0:
            low, high = np.ravel(space.low).astype(np.float64), np.ravel(space.high).astype(np.float64)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                raise InputError(f"actions is {shown(wanted)} and {space} has no ends; expected a list of actions")
            if wanted is not None:
                points = integer("actions", wanted, 2)
            else:
                points = next((n for n in (5, 3) if n**k <= FEW_ACTIONS), 0)
            if points and (k > 20 or points**k > MOST_ACTIONS):
                raise InputError(
                    f"actions is {points}, which makes {points}^{k} actions of {space}; expected at most {MOST_ACTIONS:,}"
                )
            each = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
            rows = (np.array(list(itertools.product(*each))) if points else _axes(low, high)).reshape(-1, *space.shape)
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

    def describe(self) -> list[str]:
        """What the numbers stand for, one line, where they stand for numbers of a Box."""
        if self.table is None or self.parts:
            return []
        first, last = (np.array2string(row, precision=3, separator=", ", threshold=8) for row in self.table[[0, -1]])
        return [f"actions: {self.n}, the first {first}, the last {last}; actions= changes them"]

    def to_env(self, action: int) -> Action:
        """Give an action as the environment takes it."""
        return action + self.first if self.table is None else self.table[action].copy()

    def number(self, action: object, step: int) -> int:
        """Give the number 0..n-1 of an action of the environment.

        Raises:
            InputError: it is none of the actions; the message names the step.
        """
        taken = np.asarray(action)
        if self.table is None:
            fits = taken.size == 1 and taken.dtype.kind in "iu" and 0 <= int(taken.item()) - self.first < self.n
            numbers = [int(taken.item()) - self.first] if fits else []
        else:
            same = taken.shape == self.table.shape[1:] and taken.dtype.kind in "biuf"
            numbers = np.flatnonzero((self.table == taken).reshape(self.n, -1).all(axis=1)).tolist() if same else []
        if not numbers:
            raise InputError(f"step {step}: action is {shown(action)}; expected one of the {self.n} actions of the agent")
        return int(numbers[0])

    def mask(self, mask: object, step: int) -> Mask | None:
        """Read an action mask: which of the actions can be taken; None for all.

        For MultiDiscrete actions it may also be one mask for each entry, in a tuple or one after the other.

        Raises:
            InputError: the mask has another shape, or other entries than truth values.
        """
        if mask is None:
            return None
        parts = [np.ravel(part) for part in mask] if isinstance(mask, tuple | list) and self.parts else None
        try:
            flat = np.asarray(mask if parts is None else np.concatenate(parts)).ravel()
            if not ((flat == 0) | (flat == 1)).all():
                raise ValueError
        except (TypeError, ValueError):
            raise InputError(f"step {step}: action mask is {shown(mask)}; expected zeros and ones") from None
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


def _axes(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The action at rest, 0 or what is nearest to it, and from there each dimension alone at either end, if that differs."""
    rest = np.clip(0.0, low, high)
    moved = [np.where(np.arange(len(low)) == i, end, rest) for i in range(len(low)) for end in (low, high) if end[i] != rest[i]]
    return np.array([rest, *moved])


def _few(n: int, space: Space[object]) -> int:
    if n > MOST_ACTIONS:
        raise InputError(f"action space {shown(space)} has {n:,} actions; expected at most {MOST_ACTIONS:,}")
    return n
