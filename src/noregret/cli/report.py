"""``noregret report``: stored runs as one page, and as figures and a table for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret._system.files import make_folder
from noregret.cli.app import app, console


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Folders with stored runs.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", help="The page's title.")] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Also write a figure for each problem: PNG, SVG, PDF, and a PDF each for one and two columns of a paper.",
        ),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", metavar="FILE", help="Also write the summary as a LaTeX table.")
    ] = None,
) -> None:
    """Write one HTML page about stored runs; it works without a network. Nothing is run."""
    from noregret.report import comparison, page
    from noregret.store.groups import comparison as grouped

    for file in filter(None, (out, latex)):
        make_folder(file.parent)
    wrote = [page.write(out, runs, title)]
    if figures is not None or latex is not None:
        made = grouped(page.collect(runs)[0])
        if figures is not None:
            wrote += comparison.write_figures(made, figures)
        if latex is not None:
            wrote.append(comparison.write_latex(made, latex))
    for path in wrote:
        console().print(f"wrote {path}")
