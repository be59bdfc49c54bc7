"""Groups of stored runs for a paper: figures for each problem, as PNG, SVG and PDF, and a table in LaTeX."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret._system.files import make_folder
from noregret.report import figures
from noregret.report.latex import latex
from noregret.report.page import Row
from noregret.report.tables import Cell, Table, write_text
from noregret.results import SUMS, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Curves that one figure can carry; a problem with more groups has several figures.
CURVES = 12


def table(made: Sequence[Row]) -> Table:
    """A table with a row for each group: its number of runs, and the means at the last episode with their intervals."""
    rows: list[tuple[Cell, ...]] = []
    for row in made:
        first: tuple[Cell, ...] = (row.group.key.problem, row.group.label, row.result.trials, row.group.key.episodes)
        rows.append((*first, *(row.mean[name] for name in SUMS)))
    columns = ("problem", "learner", "runs", "episodes", *(name.replace("_", " ") for name in SUMS))
    caption = "Sums over all episodes: mean over the runs ± half of its 95% interval."
    return Table("", columns, tuple(rows), caption)


def figure(made: Sequence[Row], styles: dict[str, dict[str, Any]], title: str) -> Figure:
    """Draw hard regret, hard violation and dual of some groups of one problem, means with 95% bands.

    Args:
        made: the groups.
        styles: the colour and the line of each group's label.
        title: above the figure.
    """
    drawn, axes = drawing.new(1, 3, 12.0, 4.2)
    regret, violation, dual = axes[0]
    for row in made:
        for ax, which in zip(axes[0], ("hard_regret", "hard_violation", "dual"), strict=True):
            drawing.band(ax, row.result, which, label=row.group.label, **styles[row.group.label])
    several = made[0].result.dual.shape[2] > 1
    drawing.label(regret, "Hard regret", "cumulative hard regret (reward)")
    worst = " of the worst constraint" if several else ""
    drawing.label(violation, f"Hard violation{worst}", "cumulative hard violation (utility)")
    dual.axhline(float(made[0].result.optimal_dual[0]), color=drawing.GREY, linestyle=":")
    first = " of the first constraint" if several else ""
    drawing.label(dual, f"Dual variable{first} (dotted: optimal)", "dual (reward per unit of utility)")
    drawing.shared_legend(axes)
    drawn.suptitle(title, x=0.01, ha="left", fontsize=12)
    return drawn


def write_figures(made: Sequence[Row], folder: str | os.PathLike[str]) -> list[Path]:
    """Figures for each problem as PNG, SVG and PDF. Every group is drawn, at most :data:`CURVES` in a figure."""
    make_folder(folder)
    styles = drawing.styles((row.group.key.learner, row.group.label) for row in made)
    written = []
    for problem in sorted({row.group.key.problem for row in made}):
        own = [row for row in made if row.group.key.problem == problem]
        sheets = [own[i : i + CURVES] for i in range(0, len(own), CURVES)]
        name = figures.file_name(problem)
        for n, sheet in enumerate(sheets, 1):
            among = f", figure {n} of {len(sheets)} ({len(sheet)} of {len(own)} groups)" if len(sheets) > 1 else ""
            drawn = figure(sheet, styles, f"{problem}: means and 95% bands over the runs{among}")
            written += figures.write_all(drawn, Path(folder) / (name if n == 1 else f"{name}-figure-{n}"), dpi=200)
    return written


def write_latex(made: Sequence[Row], path: str | os.PathLike[str]) -> Path:
    """Write the table of some groups as LaTeX."""
    return write_text(path, latex(table(made)))
