"""Groups of stored runs for a paper: a figure for each problem, as PNG and SVG, and a table in LaTeX."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret._system.files import make_folder
from noregret.report import figures
from noregret.report.latex import latex
from noregret.report.page import QUANTITIES, Row
from noregret.report.tables import Cell, Table, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Curves that one figure can carry.
CURVES = len(figures.COLOURS) - 1


def table(made: Sequence[Row]) -> Table:
    """A row for each group: the interquartile means and their intervals."""
    rows: list[tuple[Cell, ...]] = []
    for row in made:
        first: tuple[Cell, ...] = (row.group.key.problem, row.group.label, row.result.trials, row.group.key.episodes)
        rows.append((*first, *(row.iqm[name] for name in QUANTITIES)))
    columns = ("problem", "learner", "runs", "episodes", *(name.replace("_", " ") for name in QUANTITIES))
    caption = "Interquartile means over the runs at the last episode, 95% bootstrap intervals in brackets."
    return Table("", columns, tuple(rows), caption)


def figure(made: Sequence[Row]) -> Figure:
    """Hard regret, hard violation and dual of the groups of one problem, means with 95% bands."""
    drawn, axes = figures.new(1, 3, 12.0, 4.2)
    regret, violation, dual = axes[0]
    for i, row in enumerate(made):
        options: dict[str, Any] = {"colour": figures.COLOURS[i], "label": row.group.label}
        figures.band(regret, row.result, "hard_regret", **options)
        figures.band(violation, row.result, "hard_violation", **options)
        figures.band(dual, row.result, "dual", **options)
    figures.label(regret, "Hard regret", "cumulative hard regret (reward)")
    figures.label(violation, "Hard violation", "cumulative hard violation (utility)")
    for value in made[0].result.optimal_dual[:1]:
        dual.axhline(float(value), color=figures.GREY, linestyle=":")
    figures.label(dual, "Dual variable (dotted: optimal)", "dual (reward per unit of utility)")
    handles, labels = regret.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=min(3, len(made)), frameon=False)
    return drawn


def write_figures(made: Sequence[Row], folder: str | os.PathLike[str]) -> list[Path]:
    """A PNG and an SVG for each problem; of more groups than a figure can carry, those with the least hard regret."""
    make_folder(folder)
    written = []
    for problem in sorted({row.group.key.problem for row in made}):
        own = [row for row in made if row.group.key.problem == problem]
        best = sorted(own, key=lambda row: float(row.mean["hard_regret"].mean))[:CURVES]
        drawn = figure([row for row in own if row in best])
        name = re.sub(r"[^\w.-]+", "-", problem).strip("-")
        written += [figures.write(drawn, Path(folder) / f"{name}.{kind}", dpi=200) for kind in ("png", "svg")]
    return written


def write_latex(made: Sequence[Row], path: str | os.PathLike[str]) -> Path:
    """The table for a paper."""
    return write_text(path, latex(table(made)))
