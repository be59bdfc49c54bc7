"""The kinds of problems, told apart in this file alone.

A room that treats them differently has a table from a kind to its own class, and looks it up by :func:`of_kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard, TypeVar, overload

from noregret.errors import InputError
from noregret.problems.base import Spec, TabularCMDP
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.registry import Problem

T = TypeVar("T")


def is_problem(thing: object) -> TypeGuard[Problem]:
    """Tell whether something is a problem of any kind."""
    return isinstance(thing, TabularCMDP | LinearCMDP)


@overload
def is_finite(thing: TabularCMDP | LinearCMDP) -> TypeGuard[TabularCMDP]: ...
@overload
def is_finite(thing: object) -> TypeGuard[TabularCMDP | Spec]: ...
def is_finite(thing: object) -> bool:
    """Tell whether the states of a problem, or of a spec, are numbered."""
    return isinstance(thing, TabularCMDP | Spec)


def of_kind(problem: object, table: Mapping[type, T]) -> T:
    """Find what a table from kinds to something has for a problem.

    Raises:
        InputError: ``problem`` is of no kind that the table has.
    """
    for kind in type(problem).__mro__:
        if kind in table:
            return table[kind]
    raise InputError(f"problem is {problem!r}; expected a problem (problems.load makes one from a name)")
