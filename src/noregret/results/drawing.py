"""Lines, bands, colours and axes of every figure; matplotlib is imported when the first figure is made.

A learner has the same colour in every figure: its name chooses it. Variants of one learner differ in the kind of line, and in
the shade of its colour where the kinds of lines are used up. Many variants of a learner alone have colours of their own.
"""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import said
from noregret._system.plugins import library
from noregret.errors import FileError, NoRegretError
from noregret.metrics import Interval, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noregret.results.result import RunResult

#: An array of axes (rows, columns).
Grid: TypeAlias = NDArray[Any]


class LineStyle(TypedDict):
    """How the curve of a label is drawn."""

    colour: str
    line: str


class CurveStyle(TypedDict, total=False):
    """What :func:`curve` takes beside numbers."""

    colour: str
    line: str
    label: str | None


#: What learners are drawn in. The first six are Okabe and Ito's, which people with any kind of colour vision can tell apart.
COLOURS = tuple(
    """
    #0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #882255 #332288
    #999933 #AA4499 #661100 #7F7F7F #117733 #CC3311 #8C6D31 #00868B #9E9AC8
    #44AA99 #DDCC77 #88CCEE #CC6677 #6699CC #225522 #663333 #997700 #994455 #BBCC33
    #004488 #EE7733 #77AADD #EE3377
    """.split()
)
#: Our own learners and the fixed policies, each in the colour at its place. A new one comes last; a test asks for it.
OWN = tuple(
    """
    primal-dual-lsvi ucrl-opt-lp optcmdp-bonus dope opt-dual opse-lcmdp triple-q lsvi-bisection
    optpess-lp posterior-sampling optimal conrl uniform optpess-primal-dual safest opt-primal-dual
    lsvi-ucb opdop uc-cfh c-ucrl cmdp-rl slucb-qvi
    regularized-primal-dual uopt-rpgpd reward-free explore-then-commit npg-pd crpo cspda
    """.split()
)
LINES = ("-", "--", ":", "-.")
#: How much nearer to white the variants of a learner are, each time the kinds of lines are used up.
PALER = (0.0, 0.5, 0.25, 0.65)
GREY = "#555555"
#: Curves that can be below 0; the band of any other ends at 0.
SIGNED = ("regret", "regret_tightened")

#: The style of every figure. A file of the user's that NOREGRET_STYLE names changes what it lists, and nothing else.
STYLE_FILE = Path(__file__).with_name("noregret.mplstyle")
#: Widths of figures in inches: that of one column and of two in a paper, and on a screen.
WIDTHS = {"one-column": 3.35, "two-columns": 6.9}
#: In a paper, text and lines are as large as those of the paper's captions.
IN_PAPER = {
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8.0),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7.0),
    **{"lines.linewidth": 1.2, "grid.linewidth": 0.5, "axes.linewidth": 0.6},
}
#: Single trials under a mean: how many at most, how thin and how pale.
SINGLE, THIN, PALE = 30, 0.35, 0.35


def style(size: str | None = None) -> dict[Any, Any]:
    """The settings of matplotlib for our figures: ours, those for a paper's columns, then those of the user's own file.

    Args:
        size: "one-column" or "two-columns" for a paper; None for a screen.

    Raises:
        FileError: NOREGRET_STYLE names a file that is no style of matplotlib.
    """
    import matplotlib as mpl

    made: dict[Any, Any] = dict(mpl.rc_params_from_file(STYLE_FILE, use_default_template=False))
    made |= IN_PAPER if size else {}
    if user_file := os.environ.get("NOREGRET_STYLE"):
        try:
            made |= mpl.rc_params_from_file(user_file, use_default_template=False)
        except Exception as error:
            raise FileError(f"{user_file}: is no style file of matplotlib: {said(error)}") from None
    return made


@contextmanager
def styled(size: str | None = None) -> Iterator[None]:
    """Draw in our style: titles, lines and legends take their sizes from it when they are made."""
    import matplotlib as mpl

    with mpl.rc_context(style(size)):
        yield


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


def new(
    rows: int, columns: int, width: float, height: float, *, window: bool = False, size: str | None = None
) -> tuple[Figure, Grid]:
    """A new figure in our style.

    Args:
        rows: the rows of its axes.
        columns: the columns of its axes.
        width: in inches.
        height: in inches.
        window: whether pyplot knows the figure, so that a notebook shows it.
        size: "one-column" or "two-columns" for a paper; None for a screen.

    Returns:
        The figure, and its axes as an array (rows, columns).
    """
    require()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if window:
        from matplotlib import pyplot

        with mpl.rc_context(style(size)):
            made = pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False)
            interactive = mpl.is_interactive()
        mpl.interactive(interactive)  # in a notebook the first figure turns this on, and the end of the context off
        return made
    with mpl.rc_context(style(size)):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False)


def colour(learner: str, taken: Iterable[str] = ()) -> str:
    """The colour of a learner: its own in every figure; a learner from elsewhere has the one least like those that are taken.

    >>> colour("mine") not in (colour("opdop"), colour("mine", [colour("mine")]))
    True
    """
    if learner in OWN:
        return COLOURS[OWN.index(learner)]
    near = [_lab(one) for one in taken]
    apart = [min((float(np.linalg.norm(_lab(one) - other)) for other in near), default=0.0) for one in COLOURS]
    return COLOURS[int(np.argmax(apart))] if near else COLOURS[zlib.crc32(learner.encode()) % len(COLOURS)]


@cache
def _lab(colour: str) -> NDArray[np.float64]:
    """A colour in CIELAB, where distances are about as large as people see them (white of daylight D65)."""
    rgb = np.array([part / 255 for part in bytes.fromhex(colour[1:])])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def styles(labelled: Iterable[tuple[str, str]]) -> dict[str, LineStyle]:
    """The colour and the line of each label, from pairs of a learner and the label of one of its variants.

    Where there is one learner only, with more variants than kinds of lines, its variants have colours of their own. Learners
    from elsewhere get colours unlike all others in the figure, and begin with another kind of line.

    >>> styles([("opdop", "opdop"), ("opdop", "opdop:beta=2")])["opdop:beta=2"]["line"]
    '--'
    """
    variants: dict[str, dict[str, None]] = {}
    for learner, label in labelled:
        variants.setdefault(learner, {})[label] = None
    chosen = {learner: colour(learner) for learner in variants if learner in OWN}
    guests = [learner for learner in variants if learner not in OWN]
    for learner in guests:
        chosen[learner] = colour(learner, chosen.values())
    made: dict[str, LineStyle] = {}
    for learner, labels in variants.items():
        many, place = len(variants) == 1 and len(labels) > len(LINES), COLOURS.index(chosen[learner])
        first = 1 + guests.index(learner) if learner in guests and len(variants) > 1 else 0
        for i, label in enumerate(labels):
            paler = 0.0 if many else PALER[i // len(LINES) % len(PALER)]
            hue = COLOURS[(place + i) % len(COLOURS)] if many else COLOURS[place]
            rgb = (round(part + paler * (255 - part)) for part in bytes.fromhex(hue[1:]))
            made[label] = {"colour": "#" + "".join(f"{part:02X}" for part in rgb), "line": LINES[(first + i) % len(LINES)]}
    return made


def curve(
    ax: Axes,
    episodes: NDArray[np.generic],
    interval: Interval,
    *,
    colour: str = COLOURS[0],
    line: str = "-",
    label: str | None = None,
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
    """The interval of a curve as tables and figures have it. The interval of a curve that cannot be negative ends at 0."""
    return interval if which in SIGNED else interval.above(0.0)


def singles(ax: Axes, result: RunResult, which: str, colour: str) -> None:
    """Draw single trials as thin lines, :data:`SINGLE` at most: a mean hides the few that fail.

    Those with the largest last values are among them.

    Args:
        ax: the axes to draw on.
        result: a :class:`~noregret.results.RunResult`.
        which: the name of the curve.
        colour: of the lines.
    """
    from matplotlib.collections import LineCollection

    curves = getattr(result, which)
    if len(curves) < 2:
        return
    order = np.argsort(-curves[:, -1], kind="stable") if curves.shape[1] else np.arange(len(curves))
    worst, rest = order[: SINGLE // 3], order[SINGLE // 3 :]
    step = max(1, -(-len(rest) // (SINGLE - SINGLE // 3)))
    lines = [np.column_stack([result.episodes, curves[trial]]) for trial in (*worst, *rest[::step])]
    ax.add_collection(LineCollection(lines, colors=colour, linewidths=THIN, alpha=PALE, zorder=1.5))
    ax.autoscale_view()


def band(
    ax: Axes, result: RunResult, which: str, *, constraint: int = 0, single: bool = False, **style: Unpack[CurveStyle]
) -> None:
    """Draw the mean over trials of a curve of a result, and its 95% interval; with single trials under it if they are wanted.

    Args:
        ax: the axes to draw on.
        result: a :class:`~noregret.results.RunResult`.
        which: the name of the curve, such as "regret" or "dual".
        constraint: the constraint, from 0, where ``which`` is "dual".
        single: whether single trials are drawn too; figures of regret have them.
        style: ``colour``, ``line`` and ``label`` of :func:`curve`.
    """
    if single:
        singles(ax, result, which, style.get("colour", COLOURS[0]))
    curve(ax, result.episodes, result.interval(which, constraint), **style)


def choices(
    ax: Axes, grid: tuple[NDArray[np.generic], NDArray[np.generic]], chances: NDArray[np.generic], names: list[str]
) -> None:
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
    ax: Axes, which: str, labelled: Iterable[tuple[str, RunResult]], styles: Mapping[str, LineStyle], where: str = ""
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
        band(ax, result, which, label=name, single="regret" in which, **styles[name])
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


def shared_legend(axes: Grid, columns: int = 3) -> None:
    """One legend under all axes of a figure, each label once, in so many columns."""
    named = {text: handle for ax in axes.flat for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    axes.flat[0].figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=columns, frameon=False)


def legend(ax: Axes, columns: int = 2) -> None:
    """A legend under the axes, where it covers no curve."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns, fontsize=9, frameon=False)
