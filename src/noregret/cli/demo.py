"""``noregret demo``: small pictures of single ideas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, stop

demo = typer.Typer(help="Show one idea of the paper in one picture.", no_args_is_help=True)
app.add_typer(demo, name="demo")

Folder = Annotated[
    Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the picture (PNG, SVG, PDF) and table (CSV) go.")
]


@demo.command()
def greedy(
    out: Folder = Path("results/greedy"),
    horizon: Annotated[int, arg.number("--horizon", "-H", metavar="H", help="Steps of an episode: Q is at most H.")] = 10,
) -> None:
    """Why soft-max: a change of ε in Q moves the value of a greedy policy by H-1, that of a soft-max policy by order ε."""
    from noregret._system.files import make_folder
    from noregret.experiments.greedy import analysis, page
    from noregret.report import figures, tables

    figures.require()
    made = analysis.run(horizon)
    make_folder(out)
    files = figures.write_all(page.figure(made), out / "greedy")
    files.append(tables.write_text(out / "greedy.csv", page.table(made, analysis.EPSILONS).csv()))
    console().print(page.table(made, analysis.SHOWN).rich())
    for file in files:
        console().print(f"wrote {file}")


@demo.command()
def zero_violation(
    out: arg.Out = Path("results/zero-violation"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer episodes and trials: to see that it works.")] = False,
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """Zero violation: the threshold is tightened as in Theorem 2, times a scale; episodes double from run to run."""
    from noregret.experiments import zero_violation as experiment
    from noregret.experiments.zero_violation import page
    from noregret.report import figures

    figures.require()
    sitting, results = experiment.run(quick, arg.how(out, fresh, backend, address, workers))
    if sitting.stopped:
        stop("stopped; no file was written, the same command goes on")
    files = experiment.write(results, out)
    console().print(page.table(results).rich())
    console().print(page.summary(results).rich())
    console().print(f"Written: {', '.join(map(str, files))}.")
