"""Checks of the parameters of problems, and of policies: each returns the value or says what was expected."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from noregret._system.checks import integer as integer
from noregret.errors import InputError, shown
from noregret.problems.validation import TOLERANCE, Array, Mask, floats, refuse

#: The most numbers in one table of a problem that is made by name; they take 2 GB.
MOST_NUMBERS = 1 << 28


def fits(**sizes: object) -> None:
    """Check the sizes of a table before it is made: each at least 1, and not too many numbers in all.

    Args:
        sizes: the length of each axis by its name; "next" is not shown in the message.
    """
    for key, size in sizes.items():
        if isinstance(size, float):  # factories make tables of these sizes as they were given
            raise InputError(f"{key} is {shown(size)}; expected a whole number, at least 1")
    count = math.prod(integer(key, size, 1) for key, size in sizes.items())
    if count > MOST_NUMBERS:
        said = ", ".join(f"{key}={shown(size, 30)}" for key, size in sizes.items() if key != "next")
        raise InputError(f"{said}: more than {MOST_NUMBERS:,} numbers in a table; expected a smaller problem")


def number(key: str, value: float, low: float = -math.inf, high: float = math.inf) -> float:
    """Check that a parameter is a finite number from ``low`` to ``high``, both included, and return it.

    Args:
        key: the parameter's name, for the error message.
        value: what was given.
        low: the least that is accepted.
        high: the most that is accepted.

    >>> number("fraction", 0.5, 0.0, 1.0)
    0.5
    """
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
    """Check that a parameter is a finite number above 0, and return it."""
    if number(key, value) <= 0.0:
        raise InputError(f"{key} is {value}; expected a number above 0")
    return float(value)


def policy_table(policy: ArrayLike, available: Mask, name: str = "policy") -> Array:
    """Check a policy and return it with rows that sum to one exactly.

    Args:
        policy: (H,S,A) probabilities of the actions.
        available: (H,S,A) which actions may have a probability above 0.
        name: for the error message.

    Raises:
        InputError: the shape is wrong, or an entry, which the message names.
    """
    pi = floats(name, policy)
    if pi.shape != available.shape:
        raise InputError(f"{name} has shape {pi.shape}; expected {available.shape}, that is (H,S,A)")
    refuse(name, (pi < -TOLERANCE) | (pi > 1.0 + TOLERANCE), pi, "a probability", "is {:.9g}")
    refuse(name, ~available & (pi != 0.0), pi, "0, for the action is not available there", "is {:.9g}")
    sums = pi.sum(axis=2)
    refuse(name, np.abs(sums - 1.0) > TOLERANCE, sums, "1", "sums to {:.9g}")
    pi = np.maximum(pi, 0.0)
    return np.asarray(pi / pi.sum(axis=2, keepdims=True))
