"""The leaderboard as a picture: the map of ratios to the best, and the performance profiles beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noregret import metrics
from noregret.report.leaderboard.analysis import DARKEST, TAUS, is_dark, ratio_text, shade
from noregret.report.leaderboard.board import Leaderboard
from noregret.results import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Profiles with a name, a colour and a band; the others are grey lines.
NAMED = 8
PALE = "#BFC5CA"


def overview(board: Leaderboard) -> Figure:
    """The map and the profiles, side by side, and one line about the protocol."""
    rows, columns = len(board.learners), len(board.problems)
    width, height = 3.2 + 0.62 * columns, 1.9 + 0.27 * rows
    figure, axes = drawing.new(1, 2, width + 5.4, max(height, 4.6))
    axes[0, 0].get_gridspec().set_width_ratios([width, 5.0])
    board._draw(axes)
    protocol = board.protocol
    length = metrics.length(protocol.trials, protocol.episodes)
    text = f"Hard regret + hard violation of every learner on every problem: {length}, preset {protocol.preset}"
    figure.suptitle(text, x=0.01, ha="left", fontsize=12)
    return figure


def heat_map(ax: Axes, board: Leaderboard) -> None:
    """A cell for each learner on each problem, with its ratio to the best; a hatched cell was left out.

    A line divides the learners that ran everywhere from the others.

    Args:
        ax: the axes to draw on.
        board: the leaderboard.
    """
    from matplotlib.patches import Rectangle

    analysis = board.analysis
    for y, i in enumerate(analysis.order):
        for x, problem in enumerate(board.problems):
            ratio = analysis.ratio(problem, board.learners[i])
            if ratio is None:
                ax.add_patch(Rectangle((x, y), 1, 1, facecolor="white", edgecolor="#C3C9CE", hatch="////", linewidth=0.0))
                continue
            colour = shade(ratio)
            ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
            best = analysis.best[problem] == board.learners[i]
            weight = "bold" if best else "normal"
            ink = "white" if is_dark(colour) else "black"
            ax.text(x + 0.5, y + 0.53, ratio_text(ratio), ha="center", va="center", fontsize=8, color=ink, weight=weight)
    everywhere = sum(analysis.ran_on(i) == len(board.problems) for i in analysis.order)
    if 0 < everywhere < len(analysis.order):
        ax.axhline(everywhere, color="black", linewidth=1.2)
    names = [f"{board.learners[i]}{_mark(board.rows[i].told)}" for i in analysis.order]
    ax.set_xlim(0, len(board.problems))
    ax.set_ylim(len(names), 0)
    ax.set_yticks([y + 0.5 for y in range(len(names))], names, fontsize=9)
    ax.set_xticks([x + 0.5 for x in range(len(board.problems))], board.problems, rotation=38, ha="right", fontsize=9)
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title("Ratio to the best learner of each problem; sorted by mean rank", loc="left")
    text = (
        "* is told more than sizes and thresholds. Hatched: left out. Below the line: did not run everywhere, ranked apart. "
        f"Shades: the logarithm, up to {DARKEST:g}"
    )
    ax.set_xlabel(text, loc="left", fontsize=9)


def _mark(told: list[str]) -> str:
    return " *" if told else ""


def profiles(ax: Axes, board: Leaderboard) -> None:
    """For each learner, the share of its runs within a factor of the best.

    Args:
        ax: the axes to draw on.
        board: the leaderboard.
    """
    analysis, styles = board.analysis, board.styles()
    for place, i in reversed(list(enumerate(analysis.order))):
        profile, name = analysis.profiles[i], board.learners[i]
        if place >= NAMED:
            ax.plot(TAUS, profile.mean, color=PALE, linewidth=1.0, label="all others" if place == NAMED else None)
            continue
        style = styles[name]
        ax.plot(TAUS, profile.mean, color=style["colour"], linestyle=style["line"], label=name)
        ax.fill_between(TAUS, profile.low, profile.high, color=style["colour"], alpha=0.15, linewidth=0)
    ax.set_xscale("log")
    ax.set_xlim(1.0, TAUS[-1])
    ax.set_ylim(0.0, 1.0)
    ticks = [10.0**n for n in range(int(math.log10(TAUS[-1])) + 1)]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    drawing.label(ax, "Share of runs within a factor of the best", "share of runs, each problem alike", "factor")
    handles, labels = ax.get_legend_handles_labels()
    order = [*reversed(range(len(labels)))]
    ax.legend(
        [handles[j] for j in order],
        [labels[j] for j in order],
        fontsize=8.5,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(0.0, -0.13),
        ncols=2,
    )
