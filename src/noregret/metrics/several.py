"""Learners over several problems: fronts, performance profiles and mean ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from noregret.metrics.statistics import Interval
from noregret.problems.base import Array


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
    for mine in (np.asarray(ratio, dtype=np.float64) for ratio in ratios):
        if len(mine):
            counts = np.bincount(np.searchsorted(edges, mine), minlength=len(edges) + 1)
            share += np.cumsum(counts)[:-1] / len(mine)
            drawn += np.cumsum(rng.multinomial(len(mine), counts / len(mine), resamples), axis=1)[:, :-1] / len(mine)
    return _by_percentiles(share / len(ratios), drawn / len(ratios), level)


def ranks(
    scores: Sequence[Sequence[ArrayLike]],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The mean rank of each learner over the problems that it ran on, 1 for the least mean score; those that tie share a rank.

    On each problem the learners that ran there are ranked. The ends: the runs of each learner on each problem are drawn anew
    with replacement, each problem for itself, and quantiles of the mean rank are taken with bias correction (Efron 1981), as
    the rank of a mean tends to the middle when runs are drawn anew.

    Args:
        scores: for each learner and each problem, the score of each run; none where it did not run.
        level: the probability with which the interval covers the mean rank.
        resamples: how many times the runs are drawn.
        seed: of these draws.

    Returns:
        The mean ranks; nan for a learner that ran nowhere.

    Example:
        >>> ranks([[[1.0, 3.0], [5.0]], [[4.0, 4.0], []], [[4.0], [2.0]]]).mean.tolist()
        [1.5, 2.5, 1.75]
    """
    from scipy.stats import rankdata

    rng = np.random.default_rng(seed)
    runs = [[np.asarray(cell, dtype=np.float64) for cell in row] for row in scores]
    there = np.array([[len(cell) > 0 for cell in row] for row in runs])
    means = np.full((resamples + 1, *there.shape), np.inf)  # the first is of the runs as they are
    for i, j in np.argwhere(there):
        cell = runs[i][j]
        means[0, i, j] = cell.mean()
        means[1:, i, j] = cell[rng.integers(0, len(cell), (resamples, len(cell)))].mean(axis=1)
    placed = rankdata(means, axis=1)
    with np.errstate(invalid="ignore"):
        ranked = (placed * there).sum(axis=2) / there.sum(axis=1)
    return _bias_corrected(ranked[0], ranked[1:], level)


def _bias_corrected(point: Array, drawn: Array, level: float) -> Interval:
    """A statistic with the quantiles of what resampling gave, moved by how far their middle is from the statistic."""
    from scipy.special import ndtr, ndtri

    below = ((drawn < point).mean(axis=0) + (drawn <= point).mean(axis=0)) / 2.0
    middle = 2.0 * ndtri(np.clip(below, 1.0 / len(drawn), 1.0 - 1.0 / len(drawn)))
    ends = [ndtr(middle + sign * ndtri(0.5 + level / 2)) for sign in (-1.0, 1.0)]
    low, high = ([np.quantile(drawn[:, i], q) for i, q in enumerate(qs)] for qs in ends)
    return Interval(point, np.array(low), np.array(high))


def _by_percentiles(point: Array, drawn: Array, level: float) -> Interval:
    """A statistic with the quantiles of what resampling gave, along the first axis."""
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return Interval(point, np.asarray(low), np.asarray(high))
