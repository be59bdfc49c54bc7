"""Lines, bands, colours and axes of every figure; matplotlib is imported when the first figure is made.

A learner has the same colour in every figure: its name chooses it. Variants of one learner differ in the kind of line, and in
the shade of its colour where the kinds of lines are used up. Many variants of a learner alone have colours of their own.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.plugins import library
from noregret.errors import NoRegretError
from noregret.metrics import Interval, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What learners are drawn in. The first six are Okabe and Ito's, which people with any kind of colour vision can tell apart.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255", "#332288",
    "#999933", "#AA4499", "#661100", "#7F7F7F", "#117733", "#CC3311", "#8C6D31", "#00868B", "#9E9AC8",
    "#44AA99", "#DDCC77", "#88CCEE", "#CC6677", "#6699CC", "#225522", "#663333", "#997700", "#994455", "#BBCC33",
    "#004488", "#EE7733", "#77AADD", "#EE3377",
)  # fmt: skip
#: Our own learners and the fixed policies, each in the colour at its place. A new one comes last; a test asks for it.
OWN = (
    "primal-dual-lsvi", "ucrl-opt-lp", "optcmdp-bonus", "dope", "opt-dual", "opse-lcmdp", "triple-q", "lsvi-bisection",
    "optpess-lp", "posterior-sampling", "optimal", "conrl", "uniform", "optpess-primal-dual", "safest", "opt-primal-dual",
    "lsvi-ucb", "opdop", "uc-cfh", "c-ucrl", "cmdp-rl", "slucb-qvi",
    "regularized-primal-dual", "uopt-rpgpd", "reward-free", "explore-then-commit", "npg-pd", "crpo", "cspda",
)  # fmt: skip
LINES = ("-", "--", ":", "-.")
#: How much nearer to white the variants of a learner are, each time the kinds of lines are used up.
PALER = (0.0, 0.5, 0.25, 0.65)
GREY = "#555555"
#: Curves that can be below 0; the band of any other ends at 0.
SIGNED = ("regret", "regret_tightened")

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
    library("matplotlib", "a figure", "report")


def new(rows: int, columns: int, width: float, height: float, *, window: bool = False) -> tuple[Figure, Any]:
    """A new figure in our style.

    Args:
        rows: the rows of its axes.
        columns: the columns of its axes.
        width: in inches.
        height: in inches.
        window: whether pyplot knows the figure, so that a notebook shows it.

    Returns:
        The figure, and its axes as an array (rows, columns).
    """
    require()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if window:
        from matplotlib import pyplot

        with mpl.rc_context(STYLE):
            made = pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False)
            interactive = mpl.is_interactive()
        mpl.interactive(interactive)  # in a notebook the first figure turns this on, and the end of the context off
        return made
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False)


def colour(learner: str) -> str:
    """The colour of a learner in every figure."""
    return COLOURS[OWN.index(learner) if learner in OWN else zlib.crc32(learner.encode()) % len(COLOURS)]


def styles(labelled: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """The colour and the line of each label, from pairs of a learner and the label of one of its variants.

    Where there is one learner only, with more variants than kinds of lines, its variants have colours of their own.

    >>> styles([("opdop", "opdop"), ("opdop", "opdop:beta=2")])["opdop:beta=2"]["line"]
    '--'
    """
    variants: dict[str, dict[str, None]] = {}
    for learner, label in labelled:
        variants.setdefault(learner, {})[label] = None
    made: dict[str, dict[str, Any]] = {}
    for learner, labels in variants.items():
        many, own = len(variants) == 1 and len(labels) > len(LINES), COLOURS.index(colour(learner))
        for i, label in enumerate(labels):
            paler = 0.0 if many else PALER[i // len(LINES) % len(PALER)]
            hue = COLOURS[(own + i) % len(COLOURS)] if many else COLOURS[own]
            rgb = (round(part + paler * (255 - part)) for part in bytes.fromhex(hue[1:]))
            made[label] = {"colour": "#" + "".join(f"{part:02X}" for part in rgb), "line": LINES[i % len(LINES)]}
    return made


def curve(
    ax: Axes, episodes: NDArray[Any], interval: Interval, *, colour: str = COLOURS[0], line: str = "-", label: str | None = None
) -> None:
    """Draw a mean as a line, and its interval as a band where it has any width.

    Args:
        ax: the axes to draw on.
        episodes: the recorded episodes.
        interval: the mean and both ends at each of them.
        colour: of the line and the band.
        line: the kind of line, as matplotlib calls it.
        label: what the legend calls the line.
    """
    ax.plot(episodes, interval.mean, color=colour, label=label, linestyle=line)
    if (interval.high > interval.low).any():
        ax.fill_between(episodes, interval.low, interval.high, color=colour, alpha=0.2, linewidth=0)


def cut(interval: Interval, which: str) -> Interval:
    """The interval of a curve as figures draw it. The interval of a curve that cannot be negative ends at 0."""
    return interval if which in SIGNED else Interval(interval.mean, np.maximum(interval.low, 0.0), interval.high)


def band(ax: Axes, result: Any, which: str, *, constraint: int = 0, **style: Any) -> None:
    """Draw the mean over trials of a curve of a result, and its 95% interval.

    Args:
        ax: the axes to draw on.
        result: a :class:`~noregret.results.RunResult`.
        which: the name of the curve, such as "regret" or "dual".
        constraint: the constraint, from 0, where ``which`` is "dual".
        style: ``colour``, ``line`` and ``label`` of :func:`curve`.
    """
    curve(ax, result.episodes, cut(result.interval(which, constraint), which), **style)


def choices(ax: Axes, grid: tuple[NDArray[Any], NDArray[Any]], chances: NDArray[Any], names: list[str]) -> None:
    """Draw which of some choices is likeliest on a plane; the paler, the less likely.

    Args:
        ax: the axes to draw on.
        grid: the places along both axes, n and k of them.
        chances: (k,n,A) the probabilities of the choices at each place.
        names: of the choices.
    """
    from matplotlib.patches import Patch

    best, A = chances.argmax(axis=2), chances.shape[2]
    colours = np.array([[part / 255 for part in bytes.fromhex(COLOURS[i % len(COLOURS)][1:])] for i in range(A)])
    sure = np.clip((chances.max(axis=2) - 1 / A) / (1 - 1 / A), 0.0, 1.0)[..., None] if A > 1 else np.ones((*best.shape, 1))
    picture = 1.0 - (0.15 + 0.85 * sure) * (1.0 - colours[best])
    (x, y) = grid
    ends = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))
    ax.imshow(picture, origin="lower", extent=ends, aspect="auto", interpolation="nearest")
    ax.grid(False)
    there = np.unique(best)[:18]
    handles = [Patch(color=COLOURS[i % len(COLOURS)], label=names[i]) for i in there]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=6, fontsize=9, frameon=False)


def curves(
    ax: Axes, which: str, labelled: Iterable[tuple[str, Any]], styles: Mapping[str, Mapping[str, Any]], where: str = ""
) -> None:
    """Draw one curve of several results on the same axes, and say what it is.

    Args:
        ax: where to draw.
        which: "regret", "hard_regret", "violation", "hard_violation" or "dual".
        labelled: the label of each result, and the result.
        styles: the colour and the line of each label.
        where: words before the title.
    """
    several = False
    for name, result in labelled:
        band(ax, result, which, label=name, **styles[name])
        several = several or result.dual.shape[2] > 1
    if which == "dual":
        label(ax, "Dual variable" + (" of the first constraint" if several else ""), "dual (reward per unit of utility)")
        return
    unit, worst = ("utility", " of the worst constraint") if which.endswith("violation") else ("reward", "")
    title = f"{where}{words(which)}"
    label(ax, title[0].upper() + title[1:] + (worst if several else ""), f"cumulative {words(which)} ({unit})")


def label(ax: Axes, title: str, y: str, x: str = "episode") -> None:
    """Give axes a title and labels, with thousands written apart.

    Args:
        ax: the axes.
        title: above them.
        y: the label of the vertical axis.
        x: the label of the horizontal axis.
    """
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


def shared_legend(axes: NDArray[Any]) -> None:
    """One legend under all axes of a figure, each label once."""
    named = {text: handle for ax in axes.flat for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    axes.flat[0].figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=3, frameon=False)


def legend(ax: Axes, columns: int = 2) -> None:
    """A legend under the axes, where it covers no curve."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns, fontsize=9, frameon=False)
