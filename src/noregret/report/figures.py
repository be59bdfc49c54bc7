"""Figures of results, with matplotlib, which is imported when the first figure is made.

``band`` draws one curve with its interval on any axes; the functions below it are whole figures made of bands. Colours are
the eight of Okabe and Ito, which people with any kind of colour vision can tell apart.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from noregret import metrics
from noregret._system.files import write_whole
from noregret.errors import NoRegretError
from noregret.report.tables import FITTED
from noregret.results import RunResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours in the order we use them; black comes last, for reference lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
GREY = "#555555"

STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "figure.dpi": 100,
    "svg.fonttype": "none",
    "svg.hashsalt": "noregret",
}


def available() -> bool:
    """Whether figures can be drawn; if not, a warning says what is missing."""
    try:
        require()
    except NoRegretError as error:
        warnings.warn(f"no figure was written: {error}", stacklevel=2)
        return False
    return True


def require() -> None:
    """Refuse early, with the way out, when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise NoRegretError("figures need matplotlib, which is not installed: pip install 'noregret[report]'") from None


def new(rows: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """A figure that belongs to no window, and its (rows, columns) axes, in our style."""
    require()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False)


def write(figure: Figure, path: str | os.PathLike[str], dpi: int = 110) -> Path:
    """Write a figure as PNG, SVG or PDF, by the end of the name; whole or not at all, and the same bytes each time."""
    import matplotlib as mpl

    kind = Path(path).suffix.lstrip(".") or "png"
    times = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    metadata: dict[str, Any] = times.get(kind, {"Software": "noregret"})

    def save(file: IO[bytes]) -> None:
        with mpl.rc_context(STYLE):
            figure.savefig(file, format=kind, dpi=dpi, metadata=metadata)

    return write_whole(path, save)


def write_all(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as ``stem`` with each ending: PNG, SVG and PDF."""
    return [write(figure, stem.with_name(f"{stem.name}.{kind}")) for kind in ("png", "svg", "pdf")]


def band(
    ax: Axes, result: RunResult, which: str, *, colour: str = COLOURS[0], label: str | None = None, constraint: int = 0,
    line: str = "-",
) -> None:  # fmt: skip
    """Draw the mean over trials of a curve, and its 95% interval as a band. ``constraint`` picks one of the dual's.

    The band of a curve that cannot be negative ends at 0, also where few and uneven trials would take it below.
    """
    samples = result.dual[:, :, constraint] if which == "dual" else getattr(result, which)
    interval = metrics.mean_interval(samples)
    k, low = result.episodes, interval.low
    if samples.min() >= 0.0:
        low = np.maximum(low, 0.0)
    ax.plot(k, interval.mean, color=colour, label=label, linestyle=line)
    if result.trials > 1:
        ax.fill_between(k, low, interval.high, color=colour, alpha=0.2, linewidth=0)


def label(ax: Axes, title: str, y: str, x: str = "episode") -> None:
    """Title, axis labels, and thousands written apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.set_title(title, loc="left")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "−"))
    if ax.get_xscale() == "linear":
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(plain)
    if ax.get_yscale() == "linear":
        ax.yaxis.set_major_formatter(plain)


def overview(result: RunResult, title: str | None = None) -> Figure:
    """Regret, violation and dual of one result, side by side."""
    figure, axes = new(1, 3, 12.0, 3.6)
    regret, violation, dual = axes[0]
    band(regret, result, "regret", label="regret")
    band(regret, result, "hard_regret", colour=COLOURS[1], label="hard regret", line="--")
    label(regret, "Regret", "cumulative regret (reward)")
    band(violation, result, "violation", label="violation")
    band(violation, result, "hard_violation", colour=COLOURS[1], label="hard violation", line="--")
    label(
        violation,
        "Violation" + (" of the worst constraint" if result.dual.shape[2] > 1 else ""),
        "cumulative violation (utility)",
    )
    duals(dual, result)
    for ax in axes[0]:
        legend(ax)
    figure.suptitle(title or f"{result.learner} on {result.problem}: {trials(result)}", x=0.01, ha="left", fontsize=12)
    return figure


def duals(ax: Axes, result: RunResult) -> None:
    """The dual variable of each constraint and its optimal value."""
    m = result.dual.shape[2]
    for i in range(m):
        colour = COLOURS[i % (len(COLOURS) - 1)]
        which = f" {i}" if m > 1 else ""
        band(ax, result, "dual", colour=colour, label=f"dual{which}", constraint=i)
        ax.axhline(float(result.optimal_dual[i]), color=colour if m > 1 else GREY, linestyle=":", label=f"best dual{which}")
    label(ax, "Dual variable", "dual (reward per unit of utility)")


def legend(ax: Axes, columns: int = 2) -> None:
    """A legend under the axes, where it covers no curve."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns, fontsize=9, frameon=False)


def trials(result: RunResult) -> str:
    """What the line and the band are."""
    n = result.trials
    return f"mean and 95% band of {n} trials" if n > 1 else "one trial"


def log_log_fit(
    result: RunResult, which: str, start: float = FITTED
) -> tuple[float, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The slope of the mean curve on log-log axes, and the fitted line (k, values) over the fitted episodes."""
    mean = getattr(result, which).mean(axis=0)
    slope = metrics.slope(result.episodes, mean, start)
    k = np.geomspace(max(start * result.episodes[-1], result.episodes[0]), result.episodes[-1], 50)
    near = np.interp(k, result.episodes, mean)
    good = near > 0
    level = float(np.exp(np.mean(np.log(near[good]) - slope * np.log(k[good])))) if good.any() else float("nan")
    return slope, k, level * k**slope
