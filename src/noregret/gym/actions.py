"""Between an environment's actions and the numbers 0..A-1 of a learner.

All combinations of MultiDiscrete, MultiBinary, Dict and Tuple are numbered, the last entry counting fastest. A Box becomes a
grid of so many points in each dimension, or a list that the user gives; if nothing is said, a grid of at most 27 points, or
one dimension at a time where that would be too many. So does a Box in a Dict or Tuple.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError, shown
from noregret.gym.spaces import Mask, is_discrete
from noregret.problems.checks import integer
from noregret.problems.validation import floats

if TYPE_CHECKING:
    from gymnasium import Space, spaces

#: More actions than this are refused: every action is to be tried, and tried often.
MOST_ACTIONS = 1000
#: Where nothing is said, the grid over a Box has 5 points in each dimension, or 3, and at most so many actions.
FEW_ACTIONS = 27

#: An action as the environment takes it.
Action = int | NDArray[np.generic] | dict[str, "Action"] | tuple["Action", ...]
#: How an action of a Dict or Tuple is put together: ["dict", [[key, shape], ...]], ["tuple", [shape, ...]], ["number"], or
#: ["array", dtype, sizes].
Shape = Sequence[object]


class Axis(NamedTuple):
    """The values that one number of an action can have, and where it rests; of a Box the ends, and its space."""

    values: NDArray[np.float64]
    rest: float
    box: Space[object] | None = None


@dataclass(frozen=True)
class Actions:
    """The actions of an environment, numbered 0..n-1 for the learner.

    ``table`` (n, ...) holds each action as the environment takes it; None where actions are numbers from ``first`` on.
    ``parts`` are the sizes of the entries of MultiDiscrete actions. Where there is a ``shape``, rows of ``table`` are the
    numbers of a Dict or Tuple, one after the other.
    """

    n: int
    first: int = 0
    table: NDArray[np.generic] | None = None
    parts: tuple[int, ...] = ()
    shape: Shape = ()

    @staticmethod
    def of(space: Space[object], wanted: ArrayLike | None = None, apart: int | None = None) -> Actions:
        """Number the actions of a space of Gymnasium.

        Args:
            space: Discrete, MultiDiscrete, MultiBinary, Box, or a Dict or Tuple of these.
            wanted: for a Box, how many points each dimension has on the grid, or the list of actions; None for a usual choice.
            apart: how many parts of a Dict or Tuple may differ from rest at once; None for all.

        Raises:
            InputError: there are too many actions, or a Box without ends and without ``wanted``, or a space of another kind.
        """
        from gymnasium import spaces

        if isinstance(space, spaces.Box):
            return Actions._boxed(space, wanted)
        if wanted is not None:
            raise InputError(f"actions is {shown(wanted)}; expected None, as the action space is {shown(space)} and not a Box")
        if is_discrete(space):
            return Actions(_few(int(space.n), space), int(space.start))
        if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
            axes = list(_axes(space, ""))
            sizes = tuple(len(axis.values) for axis in axes)
            _few(math.prod(sizes), space)
            rows = np.array(list(itertools.product(*(axis.values for axis in axes)))).reshape(-1, *space.shape)
            return Actions(len(rows), 0, rows.astype(space.dtype), sizes)
        if isinstance(space, spaces.Dict | spaces.Tuple):
            shape, rows = _shape(space), _chosen(list(_axes(space, "action")), space, apart)
            made = [_put_together(shape, iter(row)) for row in rows.tolist()]
            rows = np.array([_taken_apart(shape, action) for action in made])  # as the environment's types round them
            return Actions(_few(len(rows), space), 0, rows, (), shape)
        raise InputError(
            f"action space is {shown(space)}; expected Discrete, MultiDiscrete, MultiBinary, Box, or a Dict or Tuple of these"
        )

    @staticmethod
    def _boxed(space: spaces.Box, wanted: ArrayLike | None) -> Actions:
        k = math.prod(space.shape)
        if wanted is None or np.ndim(wanted) == 0:
            low, high = np.ravel(space.low).astype(np.float64), np.ravel(space.high).astype(np.float64)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                raise InputError(f"actions is {shown(wanted)} and {space} has no ends; expected a list of actions")
            if wanted is not None:
                points = integer("actions", wanted, 2)
                if k > 20 or points**k > MOST_ACTIONS:
                    raise InputError(
                        f"actions is {points}, which makes {points}^{k} actions of {space}; expected at most {MOST_ACTIONS:,}"
                    )
                rows = _all([_points(a, b, points, space) for a, b in zip(low, high, strict=True)])
            else:
                rows = _chosen(list(_axes(space, "action")), space, None)
            rows = rows.reshape(len(rows), *space.shape)
        else:
            rows = floats("actions", wanted)
            rows = rows[:, None] if rows.ndim == 1 and space.shape == (1,) else rows
            if rows.shape[1:] != space.shape or not len(rows):
                raise InputError(f"actions has shape {rows.shape}; expected (n, {', '.join(map(str, space.shape))})")
        _few(len(rows), space)
        rows = rows.astype(space.dtype)
        for i, row in enumerate(rows):
            if not space.contains(np.asarray(row)):
                raise InputError(f"actions[{i}] is {row.tolist()}; expected an action of {space}")
        return Actions(len(rows), 0, rows)

    def describe(self) -> list[str]:
        """What the numbers stand for, one line, where they stand for numbers of a Box or for a Dict or Tuple."""
        if self.table is None or self.parts:
            return []
        if self.shape:
            return [f"actions: {self.n}, the first {shown(self.to_env(0))}, the last {shown(self.to_env(self.n - 1))}"]
        first, last = (np.array2string(row, precision=3, separator=", ", threshold=8) for row in self.table[[0, -1]])
        return [f"actions: {self.n}, the first {first}, the last {last}; actions= changes them"]

    def to_env(self, action: int) -> Action:
        """Give an action as the environment takes it."""
        if self.table is None:
            return action + self.first
        row = np.array(self.table[action])  # a copy, and an array where a row is a single number
        return _put_together(self.shape, iter(row.tolist())) if self.shape else row

    def number(self, action: object, step: int) -> int:
        """Give the number 0..n-1 of an action of the environment.

        Raises:
            InputError: it is none of the actions; the message names the step.
        """
        taken = np.asarray(_taken_apart(self.shape, action) if self.shape else action)
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


# --- which actions there are -------------------------------------------------------------------------------------------


def _axes(space: Space[object], name: str) -> Iterator[Axis]:
    """One axis for each number of an action, in the order of the space; those of a Box have its ends only."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict | spaces.Tuple):
        entries = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, inner in entries:
            yield from _axes(inner, f"{name}[{key!r}]")
    elif is_discrete(space):
        yield _counted(int(space.n), int(space.start), space)
    elif isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        sizes = np.ravel(getattr(space, "nvec", np.full(space.shape, 2)))
        for n, start in zip(sizes, np.ravel(getattr(space, "start", np.zeros(len(sizes)))), strict=True):
            yield _counted(int(n), int(start), space)
    elif isinstance(space, spaces.Box):
        low, high = np.ravel(space.low).astype(np.float64), np.ravel(space.high).astype(np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InputError(
                f"action space: {name} is {space} and has no ends; expected ends (wrap the env in "
                f"gymnasium.wrappers.TransformAction)"
            )
        for a, b in zip(low, high, strict=True):
            yield Axis(np.array([a, b]), float(np.clip(0.0, a, b)), space)
    else:
        raise InputError(
            f"action space: {name} is a {type(space).__name__}; expected Discrete, MultiDiscrete, MultiBinary, Box, or a Dict "
            f"or Tuple of these"
        )


def _counted(n: int, start: int, space: Space[object]) -> Axis:
    return Axis(np.arange(start, start + _few(n, space), dtype=np.float64), float(start))


def _chosen(axes: list[Axis], space: Space[object], apart: int | None) -> NDArray[np.float64]:
    """The combinations, a row each, of which at most ``apart`` numbers differ from rest.

    Where there is a Box, its dimensions have 5 points or 3 if there are few enough combinations then; else each number alone
    leaves rest, those of a Box for their ends.
    """
    boxed, k = any(axis.box is not None for axis in axes), len(axes)
    most = k if apart is None else min(apart, k)
    for points in (5, 3) if boxed else (1,):
        grid = [
            axis.values if axis.box is None else _points(axis.values[0], axis.values[-1], points, axis.box) for axis in axes
        ]
        if most == k and math.prod(map(len, grid)) <= (FEW_ACTIONS if boxed else MOST_ACTIONS):
            return _all(grid)
        if most < k and _near(list(map(len, grid)), most) <= (FEW_ACTIONS if boxed else MOST_ACTIONS):
            return _leaving(grid, axes, most)
    if not boxed:
        _few(math.prod(len(axis.values) for axis in axes) if most == k else _near([len(a.values) for a in axes], most), space)
    return _leaving([axis.values for axis in axes], axes, 1)


def _all(grid: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    rows = list(itertools.product(*grid))
    return np.array(rows).reshape(len(rows), len(grid))


def _near(sizes: Sequence[int], most: int) -> int:
    """How many combinations there are of which at most so many differ from rest: sums of products of the other values."""
    counts = np.zeros(most + 1)
    counts[0] = 1.0
    for n in sizes:
        counts[1:] += counts[:-1] * (n - 1)
    return int(min(counts.sum(), float(1 << 60)))


def _leaving(grid: list[NDArray[np.float64]], axes: list[Axis], most: int) -> NDArray[np.float64]:
    """All at rest first; then, for each group of at most so many numbers, all other values of these."""
    rest = [axis.rest for axis in axes]
    rows = [rest]
    for size in range(1, most + 1):
        for group in itertools.combinations(range(len(axes)), size):
            for values in itertools.product(*([v for v in grid[i] if v != rest[i]] for i in group)):
                row = list(rest)
                for i, value in zip(group, values, strict=True):
                    row[i] = value
                rows.append(row)
    return np.array(rows).reshape(len(rows), len(axes))


def _points(low: float, high: float, points: int, space: Space[object]) -> NDArray[np.float64]:
    """So many points from one end to the other; fewer where only whole numbers are taken, or the ends are the same."""
    found = np.linspace(low, high, points)
    return np.unique(np.round(found) if np.issubdtype(np.dtype(space.dtype or float), np.integer) else found)


def _few(n: int, space: Space[object]) -> int:
    if n > MOST_ACTIONS:
        raise InputError(f"action space {shown(space)} has {n:,} actions; expected at most {MOST_ACTIONS:,}")
    return n


# --- actions that are a Dict or Tuple ----------------------------------------------------------------------------------


def _shape(space: Space[object]) -> Shape:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return ["dict", [[key, _shape(inner)] for key, inner in space.spaces.items()]]
    if isinstance(space, spaces.Tuple):
        return ["tuple", [_shape(inner) for inner in space.spaces]]
    return ["number"] if is_discrete(space) else ["array", np.dtype(space.dtype).str, list(space.shape or ())]


def _put_together(shape: Shape, numbers: Iterator[float]) -> Action:
    """An action from its numbers, one after the other."""
    if shape[0] == "dict":
        return {key: _put_together(inner, numbers) for key, inner in _entries(shape)}
    if shape[0] == "tuple":
        return tuple(_put_together(inner, numbers) for _, inner in _entries(shape))
    if shape[0] == "array":
        dtype, sizes = np.dtype(str(shape[1])), cast("list[int]", shape[2])
        return np.array([next(numbers) for _ in range(math.prod(sizes))]).reshape(sizes).astype(dtype)
    return int(next(numbers))


def _taken_apart(shape: Shape, action: object) -> list[float]:
    """The numbers of an action, one after the other; none of those that are missing or no numbers."""
    if shape[0] == "dict":
        given = action if isinstance(action, Mapping) else {}
        return [x for key, inner in _entries(shape) for x in _taken_apart(inner, given.get(key))]
    if shape[0] == "tuple":
        entries = _entries(shape)
        parts = action if isinstance(action, tuple | list) and len(action) == len(entries) else [None] * len(entries)
        return [x for (_, inner), part in zip(entries, parts, strict=True) for x in _taken_apart(inner, part)]
    try:
        return list(map(float, np.asarray(action, dtype=np.float64).ravel()))
    except (TypeError, ValueError):
        return []


def _entries(shape: Shape) -> list[tuple[str, Shape]]:
    """Key and shape of each part of a Dict; of a Tuple, whose parts have no keys, the place."""
    parts = cast("list[Shape]", shape[1])
    if shape[0] == "tuple":
        return [(str(i), inner) for i, inner in enumerate(parts)]
    return cast("list[tuple[str, Shape]]", parts)
