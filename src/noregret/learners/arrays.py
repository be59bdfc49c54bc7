"""Arrays of learners, checked: what an episode brings, and the numbers of a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.arrays import LARGEST, check_range
from noregret.errors import InputError
from noregret.problems.base import Array

#: Numbers of any type.
Numbers = NDArray[Any]


class Fields(Protocol):
    """A NamedTuple, such as the state of a learner."""

    def _asdict(self) -> dict[str, Any]: ...


def check_observed(rewards: Array, utilities: Array, L: int, m: int, bounded: bool = True) -> Array:
    """(L,1+m): rewards and utilities side by side, each finite, and in [0,1] unless the problem says that they may not be.

    Args:
        rewards: (L,) rewards received.
        utilities: (m,L) utilities received.
        L: how many steps the episode has.
        m: the number of constraints.
        bounded: whether values outside [0,1] are refused.

    Raises:
        InputError: a shape differs, or a value cannot be.
    """
    observed = np.empty((L, 1 + m))
    for name, value, shape in (("rewards", rewards, (L,)), ("utilities", utilities, (m, L))):
        if value.shape != shape:
            raise InputError(f"{name} has shape {value.shape}; expected {shape}")
        good = (value >= -1e-6) & (value <= 1 + 1e-6) if bounded else np.isfinite(value)
        if not good.all():
            index = tuple(int(i) for i in np.argwhere(~good)[0])
            expected = "a value in [0, 1]" if bounded else "a finite number"
            raise InputError(f"{name}{list(index)} is {value[index]}; expected {expected}")
    observed[:, 0], observed[:, 1:] = rewards, utilities.T
    return observed


def numbers(name: str, value: ArrayLike) -> Array:
    """An array of floats, or an error that calls it ``name``."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None


def integers(name: str, value: ArrayLike, length: int, bound: int) -> NDArray[np.int64]:
    """So many integers from 0 to below a bound.

    Args:
        name: for errors.
        value: what was given.
        length: how many there must be.
        bound: what each must be below.
    """
    array = np.asarray(value)
    if array.shape != (length,) or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}; expected {length} integers")
    bad = (array < 0) | (array >= bound)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"{name}[{i}] is {array[i]}; expected 0..{bound - 1}")
    return array.astype(np.int64)


def flatten(state: Fields) -> dict[str, Numbers]:
    """The arrays of a (nested) NamedTuple by dotted name; numbers fixed at construction are left out.

    An array that stands in several places has the shortest of its names. What the learner was only given, such as the world of
    a simulator, says so by a method ``given``, and is left out too.
    """
    arrays: dict[str, Numbers] = {}
    level = [("", state)]
    while level:
        entries = [(prefix + key, value) for prefix, part in level for key, value in part._asdict().items()]
        for name, value in entries:
            if isinstance(value, np.ndarray) and all(value is not other for other in arrays.values()):
                arrays[name] = value
        level = [(f"{name}.", value) for name, value in entries if hasattr(value, "_asdict") and not hasattr(value, "given")]
    return arrays


def check_numbers(state: Fields, entries: dict[str, Numbers], begun: Mapping[str, Numbers], prefix: str = "") -> None:
    """Refuse entries of a state that would send the kernels out of their tables, or poison all that follows.

    A NamedTuple within the state may have a method ``limits``: for fields of whole numbers, which kernels index with or count
    with, the least and the largest number that may stand there. Whole numbers without limits must be those of a learner that
    begins; a field that changes and has no limits would not come back from the learner's own checkpoints.

    Args:
        state: the learner's own, which says what is allowed.
        entries: entries by dotted name, of the right shapes.
        begun: entries of a learner that begins. Some hold a number that stands for infinity, which may stay.
        prefix: where ``state`` is within the learner's state.
    """
    limits = state.limits() if hasattr(state, "limits") else {}
    for key, value in state._asdict().items():
        name = prefix + key
        if hasattr(value, "given"):
            continue
        if hasattr(value, "_asdict"):
            check_numbers(value, entries, begun, f"{name}.")
        elif name in entries and entries[name].size:
            array, first = np.asarray(entries[name]), np.asarray(begun.get(name, ()))
            if key not in limits and array.dtype.kind in "iu" and not np.array_equal(array, first):
                raise InputError(f"state[{name!r}] is not what it is when a learner begins; it does not change")
            if key in limits or array.dtype.kind == "f":
                most = max(LARGEST, float(np.abs(first).max(initial=0.0)))
                check_range(f"state[{name!r}]", array, limits.get(key, (-most, most)))
