"""``noregret paper``: section 5 of the paper, run again; two figures, a table, the curves and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, say, stop

if TYPE_CHECKING:
    from noregret.experiments.paper.page import Neighbour


@app.command()
def paper(
    out: arg.Out = Path("results/paper"),
    episodes: Annotated[int | None, arg.number("--episodes", "-k", help="Episodes of each trial; 200000 by default.")] = None,
    trials: Annotated[int | None, arg.number("--trials", "-t", help="Trials of the main run; 10 by default.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the episodes and four trials: to see that it works.")
    ] = False,
    seed: arg.Seed = 0,
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """Run the paper's experiment in full: figures, a table, the curves, and a page that says what agrees and what does not."""
    from noregret.experiments import paper as experiment
    from noregret.experiments.paper import page, settings
    from noregret.report import figures

    figures.require()
    K = episodes if episodes is not None else settings.QUICK_EPISODES if quick else settings.EPISODES
    n = trials if trials is not None else settings.QUICK_TRIALS if quick else settings.TRIALS
    sitting, done = experiment.run(K, n, seed, arg.how(out, fresh, backend, address, workers), say)
    if sitting.stopped:
        _stop(done)
    made = experiment.facts(done, (K, n) == (settings.EPISODES, settings.TRIALS))
    files = experiment.write(made, out)
    console().print(page.short(made).rich())
    console().print(f"The page is {files[-1]}; beside it are {', '.join(file.name for file in files[:-1])}.")


def _stop(done: list[Neighbour]) -> None:
    """Say what there is after Ctrl-C; a page about half an experiment is not written."""
    from noregret.report import tables

    if done:
        console().print(tables.summary({f"{n.label}, {n.row}": n.result for n in done}).rich())
    stop("stopped; no file was written, the same command goes on")
