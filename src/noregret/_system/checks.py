"""Checks that every layer needs: each returns the value or says what was expected."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import SupportsIndex

from noregret.errors import InputError, shown


def path(key: str, value: object, expected: str = "a folder") -> Path:
    """A path of the file system; anything else is refused.

    Args:
        key: what the message calls the value.
        value: the value.
        expected: what the message says was expected.
    """
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise InputError(f"{key} is {shown(value)}; expected {expected}")
    return Path(value)


def each_once(key: str, names: Sequence[str]) -> Sequence[str]:
    """Names, at least one and none of them twice.

    Raises:
        InputError: there is none, or one is there twice.
    """
    if not names:
        raise InputError(f"{key} is empty; expected at least one name")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{key} has {twice[0]!r} twice; expected each once")
    return names


def integer(key: str, value: object, low: int, high: int | None = None) -> int:
    """A whole number from ``low`` to ``high``, both included; 1e5 is one, True and False are none.

    Args:
        key: what the error calls the value.
        value: what was given.
        low: the least number allowed.
        high: the largest number allowed; None for no limit.

    Raises:
        InputError: the value is no such number.
    """
    if type(value) is int and value >= low and (high is None or value <= high):  # what comes thousands of times a second
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        whole = operator.index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else low - 1
    except TypeError:
        whole = low - 1
    if whole < low or (high is not None and whole > high):
        bound = f", at least {low}" if high is None else f" from {low} to {high:,}"
        raise InputError(f"{key} is {shown(value)}; expected a whole number{bound}")
    return whole
