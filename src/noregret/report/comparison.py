"""Groups of stored runs for a paper: figures of each problem, for a screen and for one and two columns, and a LaTeX table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noregret._system.files import make_folder
from noregret.report import figures
from noregret.report.latex import latex
from noregret.report.tables import write_text
from noregret.results import Comparison, RunResult, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Curves that one figure can carry; a problem with more groups has several figures.
CURVES = 12


#: What a figure shows, in this order; one of a single column has no room for the dual.
SHOWN = ("hard_regret", "hard_violation", "dual")


def figure(
    labelled: Sequence[tuple[str, RunResult]], styles: Mapping[str, drawing.LineStyle], title: str, size: str | None = None
) -> Figure:
    """Draw hard regret, hard violation and dual of some groups of one problem, means with 95% bands and single trials.

    Args:
        labelled: the label and the result of each group.
        styles: the colour and the line of each label.
        title: above the figure; a figure for a paper has none, as its caption says it.
        size: "one-column" or "two-columns" for a paper; None for a screen.
    """
    with drawing.styled(size):
        legend = 0.16 * -(-(len(labelled) + 1) // 2)
        if size == "one-column":
            drawn, axes = drawing.new(2, 1, drawing.WIDTHS[size], 3.8 + 2 * legend, size=size)
        else:
            width, height = (drawing.WIDTHS[size], 2.1 + legend) if size else (12.0, 4.2)
            drawn, axes = drawing.new(1, 3, width, height, size=size)
        for ax, which in zip(axes.flat, SHOWN, strict=False):
            drawing.curves(ax, which, labelled, styles)
            if size:  # the title says the rest
                ax.set_ylabel({"hard_regret": "sum of rewards", "hard_violation": "sum of utilities", "dual": "price"}[which])
        if len(axes.flat) == len(SHOWN):
            axes.flat[2].axhline(float(labelled[0][1].optimal_dual[0]), color=drawing.GREY, linestyle=":", label="optimal dual")
        drawing.shared_legend(axes, {"one-column": 1, "two-columns": 2}.get(size or "", 3))
        if size is None:
            drawn.suptitle(title, x=0.01, ha="left", fontsize=12)
    return drawn


def write_figures(made: Comparison, folder: str | os.PathLike[str]) -> list[Path]:
    """Figures for each problem: PNG, SVG and PDF for a screen, and a PDF each for one and for two columns of a paper.

    Every group is drawn, at most :data:`CURVES` in a figure.
    """
    out, styles, written = make_folder(folder), made.styles(), list[Path]()
    for problem, outcomes in made.by_problem().items():
        labelled = [(outcome.label, outcome.result) for outcome in outcomes if outcome.result is not None]
        sheets = [labelled[i : i + CURVES] for i in range(0, len(labelled), CURVES)]
        name = figures.file_name(problem)
        for n, sheet in enumerate(sheets, 1):
            among = f", figure {n} of {len(sheets)} ({len(sheet)} of {len(outcomes)} groups)" if len(sheets) > 1 else ""
            drawn = figure(sheet, styles, f"{problem}: means and 95% bands over the runs{among}")
            stem = out / (name if n == 1 else f"{name}-figure-{n}")
            written += figures.write_all(drawn, stem, dpi=200)
            for size in drawing.WIDTHS:
                written.append(figures.write(figure(sheet, styles, problem, size), f"{stem}-{size}.pdf"))
    return written


def write_latex(made: Comparison, path: str | os.PathLike[str]) -> Path:
    """Write the table of some groups as LaTeX."""
    return write_text(path, latex(made._summary()))
