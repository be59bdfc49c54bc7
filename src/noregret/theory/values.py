"""Numbers that the constants are made of: each function returns the number or names what was expected."""

from __future__ import annotations

import math
from numbers import Real

from noregret._system.checks import integer
from noregret.errors import InputError


def count(name: str, value: int) -> int:
    """A whole number, at least 1."""
    return integer(name, value, 1)


def log_actions(A: int) -> float:
    """log|A|; with one action log 2, so that what is made of it stays positive."""
    return math.log(max(count("A", A), 2))


def is_real(value: object) -> bool:
    """Whether a comparison with a float makes sense (NaN passes: every comparison with it is false)."""
    return isinstance(value, Real) and not isinstance(value, bool)


def positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not (is_real(value) and 0.0 < value < math.inf):
        raise InputError(f"{name} is {value!r}; expected a finite number above 0")
    return float(value)


def probability(name: str, value: float) -> float:
    """A number above 0 and below 1."""
    if not (is_real(value) and 0.0 < value < 1.0):
        raise InputError(f"{name} is {value!r}; expected a probability above 0 and below 1")
    return float(value)
