"""``noregret demo zero-violation``: Theorem 2 on three problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import stop
from noregret.cli.console import console
from noregret.cli.demo import demo


@demo.command()
def zero_violation(
    out: arg.Out = Path("results/zero-violation"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer episodes and trials: to see that it works.")] = False,
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """No violation at the end: a threshold tightened as in Theorem 2, with a scale, on a doubling grid of episodes."""
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
    console().print(f"Written: {', '.join(map(str, files))}.", markup=False)
