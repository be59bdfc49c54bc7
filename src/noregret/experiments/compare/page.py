"""A comparison as tables, curves with bands for every problem, and the picture of regret against violation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noregret import metrics
from noregret._system.files import make_folder
from noregret.metrics import Cell, Interval, Slope, length
from noregret.report import figures
from noregret.report.tables import curves, without_speed, write_text
from noregret.results import UNSAFE, Comparison, Outcome, RunResult, drawing
from noregret.results.base import NumberTable
from noregret.results.comparison import DRAWS, unsafe
from noregret.results.result import few

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The share of the episodes that counts as late.
LATE = 0.1

COLUMNS = (
    "learner",
    "regret",
    "violation",
    "hard regret",
    "hard violation",
    "slope of hard regret",
    "late loss",
    "stuck",
    "episodes/s",
    "promised regret",
    "promised violation",
)
CAPTION = (
    "Sums over all episodes, mean ± 95% over the trials. Slope: on log-log axes, over the longest range up to the end in which "
    "a line fits; '-' where none does. Late loss: hard regret plus hard violation in an episode, over the last tenth. "
    "Stuck: the share of trials whose late loss is above 0.1, or a tenth of the uniform policy's if that is at least 0.5. "
    "Promised: the orders of the theorem, logarithms left out; the theorems are about the constants of preset theory."
)
#: What stands in place of a promise.
UNPROMISED = ("-", "-")
#: A hard regret below this in an episode is rounding and has no slope.
ROUNDING = 1e-9


def late_loss(result: RunResult) -> Interval:
    """Hard regret plus hard violation of an average episode among the last tenth."""
    return metrics.mean_interval(metrics.late(result.episodes, result.hard_regret + result.hard_violation, LATE)).above(0.0)


def hard_slope(result: RunResult) -> Slope | None:
    """The slope of hard regret, over its own range; None where no line fits, or where all of it is rounding."""
    if result.last("hard_regret").mean < ROUNDING * result.episodes[-1]:
        return None
    line = metrics.growth(result.episodes, result.hard_regret.mean(axis=0))
    return None if line is None else line.slope


def shared_by(outcomes: Sequence[Outcome]) -> list[str]:
    """A line that says whose steps learn together, and what; none where every step learns alone."""
    sharers: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        share = "nothing" if outcome.result is None else outcome.result.constants.get("share", "nothing")
        if share != "nothing":
            sharers.setdefault(share, {})[outcome.label] = None
    said = "; ".join(f"{share} for {', '.join(labels)}" for share, labels in sharers.items())
    return (
        [f"What steps learn together, as the problem declares or as asked: {said}. All other steps learn alone."]
        if said
        else []
    )


def table(outcomes: Sequence[Outcome], title: str = "") -> NumberTable:
    """A row for each learner on one problem; a learner that refused has its reason below the table."""
    rows: list[tuple[Cell, ...]] = []
    refused = []
    for outcome in outcomes:
        result = outcome.result
        if result is None:
            rows.append((outcome.label, *(None,) * (len(COLUMNS) - 3), *(outcome.promise or UNPROMISED)))
            refused.append(f"{outcome.label} did not run: {outcome.reason}")
            continue
        sums = [result.last(which) for which in ("regret", "violation", "hard_regret", "hard_violation")]
        rows.append(
            (
                outcome.label,
                *sums,
                hard_slope(result),
                late_loss(result),
                result.stuck,
                result.episodes_per_second,
                *(outcome.promise or UNPROMISED),
            )
        )
    rare = few(min((outcome.result.trials for outcome in outcomes if outcome.result is not None), default=metrics.ENOUGH))
    made = NumberTable(title, COLUMNS, tuple(rows), "\n".join(filter(None, [CAPTION, rare, *shared_by(outcomes), *refused])))
    limited = [unsafe(outcome.result) if outcome.result else None for outcome in outcomes]
    draws = [outcome.result.simulator_draws if outcome.result else None for outcome in outcomes]
    return _with(_with(made, "unsafe steps", limited, UNSAFE), "draws", draws, DRAWS)


def _with(made: NumberTable, name: str, cells: Sequence[Cell], said: str) -> NumberTable:
    """A table with one more column and a line about it; as it is where all of its cells are empty.

    Args:
        made: the table.
        name: of the column.
        cells: one for each row.
        said: what the column is.
    """
    if all(cell is None for cell in cells):
        return made
    rows = tuple((*row, cell) for row, cell in zip(made.rows, cells, strict=True))
    return replace(made, columns=(*made.columns, name), rows=rows, caption=f"{made.caption}\n{said}")


def everything(outcomes: Sequence[Outcome]) -> str:
    """The table of all problems as CSV, with every digit, and the reason of each refusal."""
    made = table(outcomes)
    rows = tuple((outcome.problem, *row, outcome.reason) for outcome, row in zip(outcomes, made.rows, strict=True))
    return without_speed(NumberTable("", ("problem", *made.columns, "reason"), rows)).csv()


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The tables of all problems for a page."""
    parts = []
    for problem, outcomes_there in Comparison(outcomes).by_problem().items():
        made = without_speed(table(outcomes_there))
        parts.append(f"## {problem}\n\n{made.markdown()}\n{made.caption}\n")
    return "\n".join(parts)


# --- figures ------------------------------------------------------------------------------------------------------


def curves_figure(outcomes: Sequence[Outcome], styles: Mapping[str, drawing.LineStyle] | None = None) -> Figure:
    """The four sums of every learner on one problem against the episodes.

    The axes are logarithmic beyond 1, so that what differs by orders of magnitude, is 0, or is negative, is all there.
    """
    drawn, axes = drawing.new(2, 2, 11.0, 8.4)
    ran = [(outcome.label, outcome.result) for outcome in outcomes if outcome.result is not None]
    styles = styles or Comparison(outcomes).styles()
    for ax, which in zip(axes.flat, ("regret", "violation", "hard_regret", "hard_violation"), strict=True):
        _logarithmic(ax, "y")
        ax.set_xscale("log")
        drawing.curves(ax, which, ran, styles)
    drawing.shared_legend(axes)
    first = ran[0][1]
    drawn.suptitle(f"{first.problem}: {figures.trials(first)}", x=0.01, ha="left", fontsize=12)
    return drawn


def pareto_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Hard regret against hard violation at the end, a panel for each problem.

    The grey steps join the learners that no other learner beats in both; policies that do not learn have no part in them.
    """
    groups = {
        problem: [outcome for outcome in outcomes_there if outcome.result]
        for problem, outcomes_there in Comparison(outcomes).by_problem().items()
    }
    groups = {problem: outcomes_there for problem, outcomes_there in groups.items() if outcomes_there}
    columns = min(len(groups), 2)
    rows = -(-len(groups) // columns)
    drawn, axes = drawing.new(rows, columns, 6.4 * columns + (0.4 if columns > 1 else 1.4), 5.2 * rows + 0.3)
    styles = Comparison(outcomes).styles()
    for ax, (problem, outcomes_there) in zip(axes.flat, groups.items(), strict=False):
        points = np.array(
            [[_end(outcome, "hard_violation").mean, _end(outcome, "hard_regret").mean] for outcome in outcomes_there],
            dtype=float,
        )
        learned = points[[outcome.promise is not None for outcome in outcomes_there]]
        if len(learned):
            best = metrics.front(learned)
            ax.plot(best[:, 0], best[:, 1], color="#cccccc", linewidth=4, zorder=1, drawstyle="steps-post")
        for outcome, (x, y) in zip(outcomes_there, points, strict=True):
            across, up = (_half(_end(outcome, which)) for which in ("hard_violation", "hard_regret"))
            marker = {"-": "o", "--": "s", ":": "D", "-.": "^"}[styles[outcome.label]["line"]]
            own_colour = styles[outcome.label]["colour"]
            ax.errorbar(x, y, xerr=across, yerr=up, fmt=marker, color=own_colour, capsize=2, markersize=7, label=outcome.label)
        for axis in "xy":
            _logarithmic(ax, axis)
        ax.margins(0.08)
        drawing.label(ax, problem, "cumulative hard regret (reward)", "cumulative hard violation (utility)")
    for ax in list(axes.flat)[len(groups) :]:
        ax.set_visible(False)
    drawing.shared_legend(axes)
    text = "At the last episode, means and 95% intervals; grey: the learners that no other beats in both"
    drawn.suptitle(text, x=0.01, ha="left", fontsize=10)
    return drawn


def _end(outcome: Outcome, which: str) -> Interval:
    assert outcome.result is not None
    return outcome.result.last(which)


def _half(interval: Interval) -> list[list[float]]:
    """The two lengths of an error bar; hard sums are never below 0, so it ends there."""
    mean, low, high = (float(v) for v in (interval.mean, interval.low, interval.high))
    return [[mean - max(low, 0.0)], [high - mean]]


def _logarithmic(ax: Axes, axis: str) -> None:
    """A scale that is linear up to 1 and logarithmic beyond, on both sides of 0, with ticks at powers of 10."""
    (ax.set_xscale if axis == "x" else ax.set_yscale)("symlog", linthresh=1.0, linscale=0.5)


# --- files --------------------------------------------------------------------------------------------------------


def write(outcomes: Sequence[Outcome], folder: str | os.PathLike[str]) -> list[Path]:
    """Tables (CSV, Markdown), all curves (CSV), and the figures of a comparison in which something ran.

    Args:
        outcomes: the cells.
        folder: where the files go.
    """
    out = make_folder(folder)
    written = [write_text(out / "table.csv", everything(outcomes)), write_text(out / "table.md", markdown(outcomes))]
    results = {f"{outcome.label} on {outcome.problem}": outcome.result for outcome in outcomes if outcome.result is not None}
    written.append(write_text(out / "curves.csv", curves(results)))
    if figures.available():
        styles = Comparison(outcomes).styles()
        for problem, outcomes_there in Comparison(outcomes).by_problem().items():
            if any(outcome.result for outcome in outcomes_there):
                written += figures.write_all(
                    curves_figure(outcomes_there, styles), out / f"curves-{figures.file_name(problem)}"
                )
        written += figures.write_all(pareto_figure(outcomes), out / "pareto")
    return written


def shown(outcomes: Sequence[Outcome]) -> list[NumberTable]:
    """The tables for a terminal, one for each problem."""
    return [
        table(played, f"{problem}{_protocol(played, ': ')}") for problem, played in Comparison(outcomes).by_problem().items()
    ]


def _protocol(outcomes: Sequence[Outcome], before: str) -> str:
    first = next((outcome.result for outcome in outcomes if outcome.result), None)
    return f"{before}{length(first.trials, int(first.episodes[-1]))}" if first else ""
