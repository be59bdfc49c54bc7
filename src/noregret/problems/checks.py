"""Checks of the parameters of problems, and of policies: each returns the value or says what was expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret._system.checks import integer as integer
from noregret.errors import InputError, shown
from noregret.problems.base import TOLERANCE, Array, Mask

#: The most numbers in one table of a problem that is made by name; they take 2 GB.
MOST_NUMBERS = 1 << 28


def fits(**sizes: Any) -> None:
    """Refuse the sizes of a table, each at least 1, before it is made, if it would have too many numbers."""
    count = math.prod(integer(key, size, 1) for key, size in sizes.items())
    if count > MOST_NUMBERS:
        said = ", ".join(f"{key}={shown(size, 30)}" for key, size in sizes.items() if key != "next")
        raise InputError(f"{said}: more than {MOST_NUMBERS:,} numbers in a table; expected a smaller problem")


def number(key: str, value: float, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from ``low`` to ``high``, both included."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{key} is {value!r}; expected a number") from None
    if not math.isfinite(number) or not low <= number <= high:
        bounds = (f"at least {low:g}" if math.isfinite(low) else "", f"at most {high:g}" if math.isfinite(high) else "")
        said = " and ".join(bound for bound in bounds if bound)
        raise InputError(f"{key} is {value}; expected a finite number{' ' if said else ''}{said}")
    return number


def positive(key: str, value: float) -> float:
    """A finite number above 0."""
    if number(key, value) <= 0.0:
        raise InputError(f"{key} is {value}; expected a number above 0")
    return float(value)


def policy_table(policy: ArrayLike, available: Mask, name: str = "policy") -> Array:
    """A policy (H,S,A) with rows exactly on the simplex, or an error that names the first entry that is wrong."""
    try:
        pi = np.array(policy, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if pi.shape != available.shape:
        raise InputError(f"{name} has shape {pi.shape}; expected {available.shape}, that is (H,S,A)")
    for wrong, expected in (
        (~np.isfinite(pi), "a finite number"),
        ((pi < -TOLERANCE) | (pi > 1.0 + TOLERANCE), "a probability"),
        (~available & (pi != 0.0), "0, for the action is not available there"),
    ):
        if wrong.any():
            index = tuple(map(int, np.argwhere(wrong)[0]))
            raise InputError(f"{name}{list(index)} is {pi[index]:.9g}; expected {expected}")
    sums = pi.sum(axis=2)
    if (np.abs(sums - 1.0) > TOLERANCE).any():
        index = tuple(map(int, np.argwhere(np.abs(sums - 1.0) > TOLERANCE)[0]))
        raise InputError(f"{name}{list(index)} sums to {sums[index]:.9g}; expected 1")
    pi = np.maximum(pi, 0.0)
    return np.asarray(pi / pi.sum(axis=2, keepdims=True))
