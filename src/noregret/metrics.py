"""Numbers made of curves: means with intervals over trials, and the slope of regret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noregret.problems.base import Array


@dataclass(frozen=True)
class Interval:
    """A mean over trials and its confidence interval, entry by entry."""

    mean: Array
    low: Array
    high: Array


def mean_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """The mean over the first axis and Student's t interval; with one trial the interval is the point."""
    from scipy.special import stdtrit

    x = np.asarray(samples, dtype=np.float64)
    n = len(x)
    mean = x.mean(axis=0)
    half = np.zeros_like(mean)
    if n > 1:
        half = stdtrit(n - 1, 0.5 + level / 2) * x.std(axis=0, ddof=1) / np.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def swings(curve: ArrayLike, size: float) -> int:
    """How often a curve turns back, by more than ``size`` from the furthest point it reached since the last turn.

    >>> swings([0, 5, 4, 6, 1, 3], size=2.5)
    1
    """
    y = np.asarray(curve, dtype=np.float64)
    turns, direction, low, high = 0, 0, float(y[0]), float(y[0])
    for value in map(float, y[1:]):
        low, high = min(low, value), max(high, value)
        if direction >= 0 and high - value > size:
            turns, direction, low = turns + direction, -1, value
        elif direction <= 0 and value - low > size:
            turns, direction, high = turns - direction, 1, value
    return turns


def slope(episodes: ArrayLike, curve: ArrayLike, start: float = 0.1) -> float:
    """The exponent p of curve ~ k^p: least squares on log–log axes from the share ``start`` of the episodes on.

    Points are taken evenly in log k, so that the many late ones do not outweigh the rest. Where the curve is not positive
    there is no logarithm: such points are left out, and with fewer than two left the slope is nan.
    """
    k, y = np.asarray(episodes, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    wanted = np.geomspace(max(start * k[-1], k[0]), k[-1], 50)
    pick = np.unique(np.searchsorted(k, wanted).clip(0, len(k) - 1))
    pick = pick[y[pick] > 0]
    if len(pick) < 2:
        return float("nan")
    return float(np.polyfit(np.log(k[pick]), np.log(y[pick]), 1)[0])
