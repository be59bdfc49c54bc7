"""Numbers made of curves, and how a person reads them: means with intervals over trials, and the slope of regret.

One statistic is used in every table, figure and page: the mean over trials with Student's 95% interval (:func:`mean_interval`).
Where an interquartile mean stands beside it, the table says so. Over several problems there are ranks (:func:`ranks`) and
profiles (:func:`profile`), whose intervals are by a bootstrap within each problem. An interval contains its estimate.
"""

from noregret.metrics.several import front, profile, ranks
from noregret.metrics.shown import Cell, constant, count, length, number, show, words
from noregret.metrics.statistics import (
    AT_ONCE,
    BEGINNINGS,
    ENOUGH,
    FIT_R2,
    FIT_RMS,
    PARTS,
    STUCK_LEAST,
    STUCK_LOSS,
    STUCK_SHARE,
    Interval,
    Line,
    Slope,
    bootstrap_interval,
    growth,
    iqm,
    late,
    line,
    mean_interval,
    slope,
    stuck,
    swings,
)

__all__ = [
    "AT_ONCE",
    "BEGINNINGS",
    "ENOUGH",
    "FIT_R2",
    "FIT_RMS",
    "PARTS",
    "STUCK_LEAST",
    "STUCK_LOSS",
    "STUCK_SHARE",
    "Cell",
    "Interval",
    "Line",
    "Slope",
    "bootstrap_interval",
    "constant",
    "count",
    "front",
    "growth",
    "iqm",
    "late",
    "length",
    "line",
    "mean_interval",
    "number",
    "profile",
    "ranks",
    "show",
    "slope",
    "stuck",
    "swings",
    "words",
]
