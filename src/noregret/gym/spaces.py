"""Between an environment's observations and what a learner sees: numbers or vectors.

An observation of a Discrete space is one of the numbers 0..n-1 for the learner. Any other observation is a vector: the entries
of Box, MultiDiscrete and MultiBinary, one number for each Discrete part and each text, and the parts of Dict and Tuple one
after the other in the order of the space. Numbers keep their order: 10 lies between 9 and 11. A text, such as a mission of
MiniGrid, is a number that is the same for the same text and another one for nearly every other text; its order means nothing.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST
from noregret.errors import InputError, shown
from noregret.features.base import show

if TYPE_CHECKING:
    from gymnasium import Space, spaces

#: Observations of more numbers than this are refused: an image of 25 x 25 cells with three numbers each is below.
MOST_NUMBERS = 2000

Mask = NDArray[np.bool_]
#: The entry of a Dict observation, and of info, that says which actions can be taken.
MASK = "action_mask"
#: A vector of numbers, or a number 0..n-1.
Observation = NDArray[np.float64] | NDArray[np.int64]


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
    """A part of observations that is an array, a number or a text: where it stands, and how many numbers it has."""

    keys: tuple[str | int, ...]
    size: int
    text: bool = False

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
        if self.text:
            if not isinstance(part, str):
                raise InputError(f"step {step}: {self.name} is {shown(part)}; expected a text")
            return np.array([number_of(part)])
        try:
            numbers = np.array(part, dtype=np.float64).ravel()  # a copy, as above
        except (TypeError, ValueError):
            hint = ", or env= for Agent.load" if isinstance(part, dict | tuple) and not self.keys else ""
            raise InputError(f"step {step}: {self.name} is {shown(part)}; expected {self.size} numbers{hint}") from None
        if len(numbers) != self.size:
            raise InputError(f"step {step}: {self.name} has {len(numbers)} numbers; expected {self.size}")
        return numbers


def number_of(text: str) -> float:
    """The number that stands for a text: 24 bits of a checksum, the same in every process.

    >>> number_of("go to the red ball") == number_of("go to the red ball") != number_of("go to the blue ball")
    True
    """
    return float(zlib.crc32(text.encode()) & 0xFFFFFF)


def is_text(space: Space[object]) -> bool:
    """Tell whether the observations of a space are texts: Text, and spaces of others whose type is str."""
    return space.dtype is not None and space.dtype.kind == "U"


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
    elif is_text(space):
        yield Part(keys, 1, text=True)
    else:
        part, kind = Part(keys, 0), type(space).__name__
        advice = "gymnasium.wrappers.TransformObservation, which makes numbers of it"
        if keys and isinstance(keys[0], str):
            advice = f"gymnasium.wrappers.FilterObservation with the other entries, without {keys[0]!r}, or {advice}"
        raise InputError(
            f"observation space: {part.name} is a {kind}; expected Box, Discrete, MultiDiscrete, MultiBinary, Text, or a Dict "
            f"or Tuple of these: wrap the env in {advice}"
        )


def _binary(space: Space[object]) -> bool:
    """Tell whether the observations of a space are zeros and ones."""
    from gymnasium import spaces

    return isinstance(space, spaces.MultiBinary) or (
        isinstance(space, spaces.Box) and bool((space.low == 0).all() and (space.high == 1).all())
    )


@dataclass(frozen=True)
class Observations:
    """What a learner without features of its own sees: one of ``n_states`` numbers, or a vector of ``dimension`` numbers.

    ``parts`` are those of Dict and Tuple, whose numbers are put one after the other. There are none for arrays, nor for an
    agent from a file without its environment. ``marks`` is the part that says which actions can be taken, where there is one.
    """

    n_states: int
    dimension: int
    first: int = 0
    parts: tuple[Part, ...] = ()
    marks: Part | None = None

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
        marks = next((part for part in parts if part.keys == (MASK,) and _binary(space[MASK])), None)  # type: ignore[index]
        return Observations(0, dimension, 0, parts if parts[0].keys or parts[0].text else (), marks)

    def mask(self, step: int, observation: object) -> NDArray[np.float64] | None:
        """The action mask that an observation brings; None where it brings none, or one that allows nothing.

        Environments that show a mask to whom it may concern take any action all the same, so one that is empty is no error.
        """
        mask = None if self.marks is None else self.marks.numbers(step, observation)
        return mask if mask is not None and mask.any() else None

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
