"""Whole figures of results, and figures as files. What they are drawn with is in :mod:`noregret.results.drawing`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from noregret import metrics
from noregret._system.files import write_whole
from noregret.errors import printable
from noregret.metrics import Slope
from noregret.problems.base import Array
from noregret.results import RunResult
from noregret.results.drawing import COLOURS, GREY, band, label, legend, new, style
from noregret.results.drawing import available as available
from noregret.results.drawing import require as require
from noregret.results.result import FITTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What every figure is written as.
KINDS = ("png", "svg", "pdf")


def write(figure: Figure, path: str | os.PathLike[str], dpi: int = 110) -> Path:
    """Write a figure to a file, whole or not at all, and the same bytes each time.

    Args:
        figure: the figure.
        path: the file; its ending chooses PNG, SVG or PDF.
        dpi: dots in an inch, of a PNG.
    """
    import matplotlib as mpl

    _literal(figure)
    kind = Path(path).suffix.lstrip(".") or "png"
    undated: dict[str, dict[str, str | None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    metadata = undated.get(kind, {"Software": "noregret"})

    def draw(file: IO[bytes]) -> None:
        with mpl.rc_context(style()):
            figure.savefig(file, format=kind, dpi=dpi, metadata=metadata)

    return write_whole(path, draw)


def write_all(figure: Figure, stem: str | os.PathLike[str], dpi: int = 110) -> list[Path]:
    """Write a figure as PNG, SVG and PDF.

    Args:
        figure: the figure.
        stem: the path without its ending.
        dpi: dots in an inch, of the PNG.

    Returns:
        The three files.
    """
    return [write(figure, f"{os.fspath(stem)}.{kind}", dpi) for kind in KINDS]


def file_name(problem: str) -> str:
    """A problem's name as the name of a file.

    >>> file_name("random:S=3,A=2")
    'random-S-3-A-2'
    """
    return re.sub(r"[^\w.-]+", "-", problem).strip("-")


def _literal(figure: Figure) -> None:
    """Show names as they are: a dollar sign begins no formula. What the axes write at their ticks stays theirs."""
    from matplotlib.text import Text

    ticks = {text for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for text in axis.findobj(Text)}
    for text in set(figure.findobj(Text)) - ticks:
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))


def overview(result: RunResult, title: str | None = None) -> Figure:
    """Regret, violation and dual of one result, side by side."""
    figure, axes = new(1, 3, 12.0, 3.6)
    result.plot(axes[0, :2])
    duals(axes[0, 2], result)
    legend(axes[0, 2])
    figure.suptitle(title or f"{result.learner} on {result.problem}: {trials(result)}", x=0.01, ha="left", fontsize=12)
    return figure


def duals(ax: Axes, result: RunResult) -> None:
    """The dual variable of each constraint and its optimal value."""
    m = result.dual.shape[2]
    for i in range(m):
        colour = COLOURS[i % 6]
        which = f" {i}" if m > 1 else ""
        band(ax, result, "dual", colour=colour, label=f"dual{which}", constraint=i)
        ax.axhline(float(result.optimal_dual[i]), color=colour if m > 1 else GREY, linestyle=":", label=f"best dual{which}")
    label(ax, "Dual variable", "dual (reward per unit of utility)")


def trials(result: RunResult) -> str:
    """What the lines and bands of a figure are, in words: the mean of some trials, or one trial."""
    n = result.trials
    return f"mean and 95% band of {n} trials" if n > 1 else "one trial"


def log_log_fit(result: RunResult, which: str) -> tuple[Slope, Array, Array]:
    """Fit a line to the mean of a curve on log-log axes.

    Args:
        result: the result.
        which: the name of the curve, such as "regret".

    Returns:
        The slope, and the fitted line: episodes and values.
    """
    mean = getattr(result, which).mean(axis=0)
    slope = metrics.slope(result.episodes, mean, FITTED)
    k = np.geomspace(max(FITTED * result.episodes[-1], result.episodes[0]), result.episodes[-1], 50)
    near = np.interp(k, result.episodes, mean)
    good = near > 0
    level = float(np.exp(np.mean(np.log(near[good]) - slope * np.log(k[good])))) if good.any() else float("nan")
    return slope, k, level * k**slope
