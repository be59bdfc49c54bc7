"""Numbers made of curves: means with intervals over trials, slopes, and the share of trials that are stuck."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noregret.problems.base import Array


@dataclass(frozen=True)
class Interval:
    """A mean (or another statistic) over trials and its confidence interval, entry by entry.

    An interval contains its estimate: where resampling gives ends on one side of it, the nearer end is the estimate itself.
    """

    mean: Array
    low: Array
    high: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", np.minimum(self.low, self.mean))
        object.__setattr__(self, "high", np.maximum(self.high, self.mean))

    def above(self, least: float) -> Interval:
        """The interval of a number that cannot be below ``least``: its lower end is not below it either."""
        return Interval(self.mean, np.maximum(self.low, least), self.high)


class Slope(float):
    """An exponent of growth. Tables for people show two digits, files have all digits."""


def mean_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """The mean over trials with Student's t interval.

    Args:
        samples: one number, or one array of numbers, for each trial; trials along the first axis.
        level: the probability with which the interval covers the true mean.

    Returns:
        The mean and both ends. With one trial both ends are the mean.

    Example:
        >>> found = mean_interval([1.0, 2.0, 3.0])
        >>> round(float(found.low), 3), float(found.mean), round(float(found.high), 3)
        (-0.484, 2.0, 4.484)
    """
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


def slope(episodes: ArrayLike, curve: ArrayLike, start: float = 0.1) -> Slope:
    """The exponent p of curve ~ k^p: least squares on log–log axes from the share ``start`` of the episodes on.

    Points are taken evenly in log k, so that the many late ones do not outweigh the rest. Where the curve is not positive
    there is no logarithm: such points are left out, and with fewer than two left the slope is nan.

    Args:
        episodes: the recorded episodes k, rising.
        curve: the value of the curve at each of them.
        start: the share of the episodes that is left out at the beginning.

    Example:
        >>> k = np.arange(1, 1001)
        >>> round(slope(k, 3.0 * np.sqrt(k)), 6)
        0.5
    """
    return line(episodes, curve, start).slope


class Line(NamedTuple):
    """A line through a curve on log–log axes."""

    slope: Slope
    since: float  # the first episode that it is fitted to
    r2: float  # R², the share of the variance that it explains
    rms: float  # how far the curve is from it, as a share of the value

    @property
    def fits(self) -> bool:
        """Whether the curve is such a line: R² is high, or it is near everywhere, as a flat curve is, and it can go on.

        A sum of losses that are bounded cannot grow faster than linearly for long: a slope above 1 is of something that passes.
        """
        return bool((self.r2 >= FIT_R2 or self.rms <= FIT_RMS) and self.slope <= 1.05)


def line(episodes: ArrayLike, curve: ArrayLike, start: float = 0.1) -> Line:
    """The line of least squares through a curve on log–log axes, as :func:`slope` has it, and how well it fits.

    Args:
        episodes: the recorded episodes k, rising.
        curve: the value of the curve at each of them.
        start: the share of the episodes that is left out at the beginning.
    """
    k, y = np.asarray(episodes, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    first = max(start * k[-1], k[0])
    pick = np.unique(np.searchsorted(k, np.geomspace(first, k[-1], 50)).clip(0, len(k) - 1))
    pick = pick[y[pick] > 0]
    if len(pick) < 2:
        return Line(Slope("nan"), first, math.nan, math.nan)
    x, z = np.log(k[pick]), np.log(y[pick])
    fitted = np.polyfit(x, z, 1)
    left = z - np.polyval(fitted, x)
    spread = float(np.sum((z - z.mean()) ** 2))
    r2 = 1.0 - float(np.sum(left**2)) / spread if spread > 0.0 else 1.0
    return Line(Slope(fitted[0]), first, r2, float(np.sqrt(np.mean(left**2))))


#: How many numbers a bootstrap draws at once, and how many parts of the trials its correction leaves out in turn.
AT_ONCE, PARTS = 1 << 20, 200
#: A line fits a curve when it explains this share of the variance of its logarithm, or is as near as this.
FIT_R2, FIT_RMS = 0.98, 0.02

#: Where a line may begin, as shares of the episodes: the earliest from which it fits is taken.
BEGINNINGS = (0.01, 0.03, 0.1, 0.3)


def growth(episodes: ArrayLike, curve: ArrayLike) -> Line | None:
    """The longest line that fits a curve up to its end, each curve with its own range; None where none does.

    Args:
        episodes: the recorded episodes k, rising.
        curve: the value of the curve at each of them.

    Example:
        >>> k = np.arange(1, 1001)
        >>> round(growth(k, 3.0 * np.sqrt(k)).slope, 6), growth(k, 1.0 + np.sin(k / 50))
        (0.5, None)
    """
    y = np.asarray(curve, dtype=np.float64)
    k = np.asarray(episodes, dtype=np.float64)
    for start in BEGINNINGS:
        if (y[k >= start * k[-1]] > 0.0).all() and (fitted := line(k, y, start)).fits:
            return fitted
    return None


def late(episodes: ArrayLike, curves: ArrayLike, share: float = 0.1) -> Array:
    """How much cumulative curves grow in an episode, on average over the last episodes.

    Args:
        episodes: the recorded episodes, (n,).
        curves: the curves, (..., n).
        share: the share of the episodes that counts as last.

    Example:
        >>> float(late([10, 90, 100], [5.0, 20.0, 23.0]))
        0.3
    """
    k, y = np.asarray(episodes, dtype=np.float64), np.asarray(curves, dtype=np.float64)
    before = int(np.searchsorted(k, (1.0 - share) * k[-1], side="right")) - 1
    if before < 0:  # all of it is late: from the start, where the sum was 0
        return np.asarray(y[..., -1] / k[-1])
    return np.asarray((y[..., -1] - y[..., before]) / max(k[-1] - k[before], 1.0))


def iqm(samples: ArrayLike) -> Array:
    """The interquartile mean over the first axis: of the middle half, observations on its border counted in part.

    >>> float(iqm([0.0, 1.0, 2.0, 30.0]))
    1.5
    """
    x = np.sort(np.asarray(samples, dtype=np.float64), axis=0)
    n = len(x)
    edges = np.clip(np.arange(n + 1), n / 4, 3 * n / 4)
    return np.asarray(np.tensordot(np.diff(edges) / (n / 2), x, axes=1))


def bootstrap_interval(
    samples: ArrayLike, statistic: Callable[[Array], Array], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """A statistic of one number per trial and its bootstrap interval, bias-corrected and accelerated (Efron 1987).

    Where the corrections are not defined (all trials tie, or leaving one out changes nothing) the interval is that of the
    plain percentiles. With one trial both ends are the statistic itself.

    Args:
        samples: one number for each trial.
        statistic: a function that reduces the first axis of an array, such as :func:`iqm`.
        level: the probability with which the interval covers the true statistic.
        resamples: how many times the trials are drawn with replacement.
        seed: of these draws.
    """
    from scipy.special import ndtr, ndtri

    x = np.asarray(samples, dtype=np.float64)
    n, point = len(x), statistic(x)
    if n == 1:
        return Interval(point, point, point)
    spread = _resampled(x, statistic, resamples, seed)
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    below = (np.sum(spread < point) + 0.5 * np.sum(spread == point)) / resamples
    parts = min(n, PARTS)  # with many trials, so many parts of them are left out, one after the other
    left_out = np.array([statistic(np.delete(x, slice(i, None, parts))) for i in range(parts)])
    deviation = left_out.mean() - left_out
    cubes, squares = float(np.sum(deviation**3)), float(np.sum(deviation**2))
    if 0.0 < below < 1.0 and squares > 0.0:
        bias, acceleration = ndtri(below), cubes / (6.0 * squares**1.5)
        shifted = bias + ndtri(tails)
        tails = ndtr(bias + shifted / (1.0 - acceleration * shifted))
    low, high = np.quantile(spread, tails)
    return Interval(point, np.asarray(low), np.asarray(high))


def _resampled(x: Array, statistic: Callable[[Array], Array], resamples: int, seed: int) -> Array:
    """The statistic of so many samples drawn from ``x`` with replacement, some at a time, so that memory stays small."""
    rng, n = np.random.default_rng(seed), len(x)
    at_once = max(1, AT_ONCE // n)
    sizes = [min(at_once, resamples - i) for i in range(0, resamples, at_once)]
    return np.concatenate([statistic(x[rng.integers(0, n, (n, size))]) for size in sizes])


#: Trials that lose more in a late episode are stuck; or more than this share of the uniform policy's loss, if that is so large.
STUCK_LOSS, STUCK_SHARE, STUCK_LEAST = 0.1, 0.1, 0.5
#: With fewer trials a failure of one in ten is likely not to be seen.
ENOUGH = 20


def stuck(episodes: ArrayLike, losses: ArrayLike, uniform: float | None = None) -> Array:
    """Which trials are stuck: those whose late loss, that of an episode on average over the last tenth, is above a limit.

    The limit is :data:`STUCK_LOSS` an episode, or :data:`STUCK_SHARE` of what the uniform policy loses, if the uniform policy
    loses at least :data:`STUCK_LEAST` and that share is less.

    Args:
        episodes: the recorded episodes, (n,).
        losses: cumulative losses, (trials,n).
        uniform: what the uniform policy loses in an episode; None where that is not known.

    Example:
        >>> stuck([90, 100], [[5.0, 5.1], [5.0, 7.0]]).tolist()
        [False, True]
    """
    share = STUCK_SHARE * uniform if uniform is not None and uniform >= STUCK_LEAST else STUCK_LOSS
    return np.asarray(late(episodes, losses) > min(STUCK_LOSS, share))
