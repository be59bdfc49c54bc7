"""The search for the smallest price that meets the constraint, for learners that plan for a given price.

A learner teaches :func:`attempt`: plan for the price Y, leaving the policy in its state, and return by how much the value it
believes in exceeds the threshold. The value need not be monotone in Y; the search then finds one of the crossings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from noregret.kernels.compiler.jit import add_body, by_type, jit
from noregret.kernels.types import State

S = TypeVar("S")


@by_type
def attempt(state: State, price: float) -> float:
    """Plan for ``price`` and return the margin V_g − b of the constraint."""
    return math.nan


def register_attempt(state: type[S], body: Callable[[S, float], float]) -> None:
    """Teach the search a learner: the body of :func:`attempt` for its state."""
    add_body(attempt, state, body)


@jit
def bisect(state: State, low: float, high: float, passes: int) -> float:
    """Halve [low, high] ``passes`` times and plan for the upper end; low misses the threshold and high meets it."""
    for _ in range(passes):
        middle = 0.5 * (low + high)
        if attempt(state, middle) >= 0.0:
            high = middle
        else:
            low = middle
    attempt(state, high)
    return high
