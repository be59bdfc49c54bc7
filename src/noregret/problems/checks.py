"""Checks of the parameters of problems: each returns the value or says what was expected."""

from __future__ import annotations

import math

from noregret.errors import InputError


def integer(key: str, value: int, low: int, high: int | None = None) -> int:
    """An integer from ``low`` to ``high``, both included."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{key} is {value!r}; expected an integer")
    if value < low or (high is not None and value > high):
        bound = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{key} is {value}; expected an integer {bound}")
    return value.__index__()


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
