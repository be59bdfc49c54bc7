"""Numbers made of curves, and how a person reads them: means with intervals over trials, and the slope of regret.

One statistic is used in every table, figure and page: the mean over trials with Student's 95% interval (:func:`mean_interval`).
Where an interquartile mean stands beside it, the table says so. Over several problems there are ranks (:func:`ranks`) and
profiles (:func:`profile`), whose intervals are by a bootstrap within each problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noregret.problems.base import Array


@dataclass(frozen=True)
class Interval:
    """A mean (or another statistic) over trials and its confidence interval, entry by entry."""

    mean: Array
    low: Array
    high: Array


class Slope(float):
    """An exponent of growth. Tables for people show two digits, files have all digits."""


#: What a table holds; :func:`show` makes text of it.
Cell = str | int | float | Interval | None


def show(cell: Cell) -> str:
    """A cell as a person reads it: four digits, thousands apart, an interval as its mean ± its half width.

    >>> show(mean_interval([1.0, 2.0, 3.0])), show(Slope(-9e-17)), show(None)
    ('2 ± 2.484', '0.00', '-')
    """
    if cell is None:
        return "-"
    if isinstance(cell, Interval):
        half = float(cell.high - cell.mean)
        return f"{number(float(cell.mean))} ± {number(half)}" if half > 1e-9 * abs(cell.mean) else number(float(cell.mean))
    if isinstance(cell, Slope) and math.isfinite(cell):
        return f"{round(cell, 2) + 0.0:.2f}"  # no minus before 0.00
    return str(cell) if isinstance(cell, str | bool) else number(cell)


def length(trials: int, episodes: int) -> str:
    """The length of a run in words: its trials and episodes."""
    return f"{count(trials, 'trial')} of {count(episodes, 'episode')}"


def words(name: str) -> str:
    """The name of a number for people: "hard_regret" is "hard regret"."""
    return name.replace("_", " ")


def constant(value: object) -> str:
    """A constant of a learner as a person reads it, with six digits.

    >>> constant(0.25), constant(True), constant(float("inf")), constant(12345678.9), constant("H-h+1"), constant(None)
    ('0.25', 'True', 'infinite', '1.235e+07', 'H-h+1', '-')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return "infinite" if math.isinf(value) else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.3e}"


def number(value: float) -> str:
    """A number as a person reads it.

    >>> number(5474.2), number(0.49979), number(200000), number(0.0), number(1.2e-7), number(float("nan"))
    ('5,474', '0.4998', '200,000', '0', '1.2e-07', '-')
    """
    if math.isnan(value):
        return "-"
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


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


def count(n: int, what: str) -> str:
    """How many of something, in words.

    >>> count(1, "trial"), count(2000, "episode")
    ('1 trial', '2,000 episodes')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


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
    found = np.polyfit(x, z, 1)
    left = z - np.polyval(found, x)
    spread = float(np.sum((z - z.mean()) ** 2))
    r2 = 1.0 - float(np.sum(left**2)) / spread if spread > 0.0 else 1.0
    return Line(Slope(found[0]), first, r2, float(np.sqrt(np.mean(left**2))))


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
        if (y[k >= start * k[-1]] > 0.0).all() and (found := line(k, y, start)).fits:
            return found
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
    draws = x[np.random.default_rng(seed).integers(0, n, (n, resamples))]
    spread = statistic(draws)
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    below = (np.sum(spread < point) + 0.5 * np.sum(spread == point)) / resamples
    left_out = statistic(np.stack([np.delete(x, i) for i in range(n)], axis=1))
    deviation = left_out.mean() - left_out
    cubes, squares = float(np.sum(deviation**3)), float(np.sum(deviation**2))
    if 0.0 < below < 1.0 and squares > 0.0:
        bias, acceleration = ndtri(below), cubes / (6.0 * squares**1.5)
        shifted = bias + ndtri(tails)
        tails = ndtr(bias + shifted / (1.0 - acceleration * shifted))
    low, high = np.quantile(spread, tails)
    return Interval(point, np.asarray(low), np.asarray(high))


# --- several problems ---------------------------------------------------------------------------------------------


def front(points: Array) -> Array:
    """The points (n,2) without a better one: one that is smaller in a coordinate and not larger in the other.

    >>> front(np.array([[0.0, 9.0], [2.0, 9.0], [3.0, 1.0]])).tolist()
    [[0.0, 9.0], [3.0, 1.0]]
    """
    beaten = [((points <= p).all(axis=1) & (points < p).any(axis=1)).any() for p in points]
    kept = np.unique(points[~np.array(beaten)], axis=0)
    return np.asarray(kept)


def profile(
    ratios: Sequence[ArrayLike], taus: ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """The performance profile of one learner: which share of its runs is within a factor τ of the best, for each τ.

    The share is taken in each problem and averaged over the problems, so that each counts the same. The band is pointwise: the
    runs of each problem are drawn anew with replacement, each problem for itself (the stratified bootstrap of Agarwal et al.
    2021), and the ends are quantiles of what comes out.

    Args:
        ratios: for each problem, the score of each run over the best score. No runs: none is within any factor.
        taus: the factors, rising.
        level: the probability with which the band covers the share, at each τ.
        resamples: how many times the runs are drawn.
        seed: of these draws.

    Example:
        >>> found = profile([[1.0, 2.0, 4.0, 8.0], [1.0, 1.0, 3.0, 3.0]], [1.0, 2.0, 4.0])
        >>> found.mean.tolist()
        [0.375, 0.5, 0.875]
    """
    edges, rng = np.asarray(taus, dtype=np.float64), np.random.default_rng(seed)
    share, drawn = np.zeros(len(edges)), np.zeros((resamples, len(edges)))
    for own in (np.asarray(one, dtype=np.float64) for one in ratios):
        if len(own):
            counts = np.bincount(np.searchsorted(edges, own), minlength=len(edges) + 1)
            share += np.cumsum(counts)[:-1] / len(own)
            drawn += np.cumsum(rng.multinomial(len(own), counts / len(own), resamples), axis=1)[:, :-1] / len(own)
    return _by_percentiles(share / len(ratios), drawn / len(ratios), level)


def ranks(
    scores: Sequence[Sequence[ArrayLike]],
    *,
    missing: Literal["last", "omitted"] = "last",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The mean rank of each learner over the problems, 1 for the least mean score; learners that tie share their ranks.

    The interval is by the stratified bootstrap: the runs of each learner on each problem are drawn anew with replacement.

    Args:
        scores: for each learner and each problem, the score of each run; none where it did not run.
        missing: what a learner without runs on a problem gets there: "last", the mean of the last ranks, shared by all without
            runs; or "omitted", no rank, so that its mean is over the other problems (nan where there are none).
        level: the probability with which the interval covers the mean rank.
        resamples: how many times the runs are drawn.
        seed: of these draws.

    Example:
        >>> ranks([[[1.0, 3.0], [5.0]], [[4.0, 4.0], []], [[4.0], [2.0]]]).mean.tolist()
        [1.5, 2.75, 1.75]
    """
    from scipy.stats import rankdata

    rng = np.random.default_rng(seed)
    runs = [[np.asarray(one, dtype=np.float64) for one in own] for own in scores]
    there = np.array([[len(one) > 0 for one in own] for own in runs])
    means = np.full((resamples + 1, *there.shape), np.inf)  # the first is of the runs as they are
    for i, j in np.argwhere(there):
        own = runs[i][j]
        means[0, i, j] = own.mean()
        means[1:, i, j] = own[rng.integers(0, len(own), (resamples, len(own)))].mean(axis=1)
    placed = rankdata(means, axis=1)
    counted = there if missing == "omitted" else np.ones_like(there)
    with np.errstate(invalid="ignore"):
        found = (placed * counted).sum(axis=2) / counted.sum(axis=1)
    return _by_percentiles(found[0], found[1:], level)


def _by_percentiles(point: Array, drawn: Array, level: float) -> Interval:
    """A statistic with the quantiles of what resampling gave, along the first axis."""
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return Interval(point, np.asarray(low), np.asarray(high))
