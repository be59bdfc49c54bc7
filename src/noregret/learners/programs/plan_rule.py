"""The numbers of a learner that plans by a program (:mod:`noregret.learners.programs.planning`)."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.steps.empirical import radius
from noregret.kernels.types import Array

#: When to plan, in the order of their numbers in the state; and the words that every learner takes.
REPLAN = ("always", "doubling", "epochs", "rounds", "squares")
REPLANS = ("always", "doubling", "squares")
ALWAYS, DOUBLING, EPOCHS, ROUNDS, SQUARES = range(5)

#: Intervals of a transition probability: empirical Bernstein, Hoeffding, and the smaller of both as UC-CFH has them.
BERNSTEIN, HOEFFDING, SMALLER = range(3)


class PlanRule(NamedTuple):
    """The numbers of a learner that plans by a program."""

    local: Array  # (J,)
    spread: Array  # (J,)
    hope: Array  # (J,) 1 where an untried pair is worth ``top`` more
    top: Array  # (H,)
    replan: int
    tries: float  # visits from which on a pair counts as tried
    L: float = 1.0
    scale: float = 0.0
    boxed: bool = False  # whether an untried pair may lead anywhere, in place of the end
    interval: int = BERNSTEIN
    length: int = 1  # of an epoch, in episodes
    first: int = 0  # episodes that play the safe policy at first
    margin: float = -np.inf  # the safe policy is played unless its V_g in the program is above b + margin; −∞ for no such test


class Program(TypedDict, total=False):
    """The fields of :class:`PlanRule` that a learner sets; ``local`` at least."""

    local: Array
    spread: Array
    hope: Array
    L: float
    scale: float
    boxed: bool
    interval: int
    length: int
    first: int
    margin: float


@jit
def interval(kind: int, p: float, n: float, L: float) -> float:
    """ρ, how far a transition probability may be from p.

    Args:
        kind: the learner's interval.
        p: what was found.
        n: visits.
        L: the logarithm in the interval.
    """
    if kind == BERNSTEIN:
        return radius(p, n, L)
    if kind == HOEFFDING:
        return float(np.sqrt(L / n))
    hoeffding = float(np.sqrt(L / (2.0 * n)))
    if n <= 1.0:
        return hoeffding
    return min(hoeffding, float(np.sqrt(2.0 * p * (1.0 - p) * L / n)) + 7.0 * L / (3.0 * (n - 1.0)))
