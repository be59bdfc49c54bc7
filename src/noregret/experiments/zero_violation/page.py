"""No violation at the end: a table and a figure of runs on a doubling grid of K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from noregret.metrics import Slope
from noregret.results import RunResult, drawing
from noregret.results.base import NumberTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Runs of one problem, K by K.
Runs = Mapping[str, Sequence[RunResult]]


def violated(result: RunResult) -> int:
    """In how many trials the violation at K is above 0."""
    return int((result.violation[:, -1] > 0.0).sum())


def safe_from(results: Sequence[RunResult]) -> int | None:
    """K₀, the least K of the grid such that no trial of K₀ or more episodes ends with a violation; None if there is none."""
    first = None
    for result in reversed(results):
        if violated(result):
            break
        first = result.episodes_requested
    return first


def slope(results: Sequence[RunResult], which: str = "regret") -> Slope:
    """The exponent p of regret(K) ~ K^p over the grid."""
    K = [result.episodes_requested for result in results]
    mean = np.array([getattr(result, which)[:, -1].mean() for result in results])
    return Slope(np.polyfit(np.log(K), np.log(mean), 1)[0] if (mean > 0).all() and len(K) > 1 else "nan")


def table(runs: Runs) -> NumberTable:
    """A table with a row for each problem and K."""
    columns = (
        "problem",
        "K",
        "zeta",
        "half the Slater gap",
        "trials with violation",
        "largest violation",
        "hard violation",
        "regret",
        "regret of b+zeta",
    )
    rows = [
        (
            name,
            r.episodes_requested,
            float(r.constants["zeta"]),
            r.slater_gap / 2,
            violated(r),
            float(r.violation[:, -1].max()),
            float(r.hard_violation[:, -1].mean()),
            float(r.regret[:, -1].mean()),
            float(r.regret_tightened[:, -1].mean()),
        )
        for name, results in runs.items()
        for r in results
    ]
    return NumberTable("No violation at the end (Theorem 2)", columns, tuple(rows), "Means over the trials at episode K.")


def summary(runs: Runs) -> NumberTable:
    """A row for each problem: from which K on nothing is violated, and how regret grows."""
    rows = []
    for name, results in runs.items():
        K0 = safe_from(results)
        rows.append((name, K0 if K0 is not None else "-", results[-1].episodes_requested, slope(results)))
    return NumberTable("No violation at the end", ("problem", "none from K on", "up to K", "slope of regret"), tuple(rows))


def figure(runs: Runs) -> Figure:
    """Regret and violation at K over K, on logarithmic axes, a column for each problem."""
    made, axes = drawing.new(1, len(runs), 4.0 * len(runs), 3.8)
    for ax, (name, results) in zip(axes[0], runs.items(), strict=True):
        K = np.array([result.episodes_requested for result in results])
        regret = np.array([result.regret[:, -1].mean() for result in results])
        worst = np.array([result.violation[:, -1].max() for result in results])
        ax.plot(K, regret, "o-", color=drawing.COLOURS[0], label="mean regret")
        ax.plot(K, regret[-1] * np.sqrt(K / K[-1]), ":", color=drawing.GREY, label="√K")
        ax.plot(K, worst, "s-", color=drawing.COLOURS[1], label="largest violation", clip_on=False)  # whole at 0
        ax.set_xscale("log", base=2)
        ax.set_yscale("symlog", linthresh=1.0)
        lowest, highest = min(regret.min(), worst.min()), max(regret.max(), worst.max())
        ax.set_ylim(min(lowest, 0.0), 2.0 * max(highest, 1.0))  # room for the last marker
        K0 = safe_from(results)
        drawing.label(ax, f"{name}: none from K = {K0:,} on" if K0 else f"{name}: violated at the last K", "at episode K", "K")
        drawing.legend(ax, columns=3)
    return made
