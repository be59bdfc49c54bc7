"""Groups of stored runs for a paper: figures for each problem, as PNG, SVG and PDF, and a table in LaTeX."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret._system.files import make_folder
from noregret.report import figures
from noregret.report.latex import latex
from noregret.report.tables import write_text
from noregret.results import Comparison, RunResult, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Curves that one figure can carry; a problem with more groups has several figures.
CURVES = 12


def figure(labelled: Sequence[tuple[str, RunResult]], styles: dict[str, dict[str, Any]], title: str) -> Figure:
    """Draw hard regret, hard violation and dual of some groups of one problem, means with 95% bands.

    Args:
        labelled: the label and the result of each group.
        styles: the colour and the line of each label.
        title: above the figure.
    """
    drawn, axes = drawing.new(1, 3, 12.0, 4.2)
    for ax, which in zip(axes[0], ("hard_regret", "hard_violation", "dual"), strict=True):
        drawing.curves(ax, which, labelled, styles)
    axes[0, 2].axhline(float(labelled[0][1].optimal_dual[0]), color=drawing.GREY, linestyle=":", label="optimal dual")
    drawing.shared_legend(axes)
    drawn.suptitle(title, x=0.01, ha="left", fontsize=12)
    return drawn


def write_figures(made: Comparison, folder: str | os.PathLike[str]) -> list[Path]:
    """Figures for each problem as PNG, SVG and PDF. Every group is drawn, at most :data:`CURVES` in a figure."""
    out, styles, written = make_folder(folder), made.styles(), list[Path]()
    for problem, own in made.by_problem().items():
        labelled = [(one.label, one.result) for one in own if one.result is not None]
        sheets = [labelled[i : i + CURVES] for i in range(0, len(labelled), CURVES)]
        name = figures.file_name(problem)
        for n, sheet in enumerate(sheets, 1):
            among = f", figure {n} of {len(sheets)} ({len(sheet)} of {len(own)} groups)" if len(sheets) > 1 else ""
            drawn = figure(sheet, styles, f"{problem}: means and 95% bands over the runs{among}")
            written += figures.write_all(drawn, out / (name if n == 1 else f"{name}-figure-{n}"), dpi=200)
    return written


def write_latex(made: Comparison, path: str | os.PathLike[str]) -> Path:
    """Write the table of some groups as LaTeX."""
    return write_text(path, latex(made._summary()))
