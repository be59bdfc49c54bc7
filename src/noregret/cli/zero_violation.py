"""``noregret demo zero-violation``: Theorem 2 on three problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import STOPPED, say
from noregret.cli.console import console
from noregret.cli.demo import Folder, demo


@demo.command()
def zero_violation(
    out: Folder = Path("results/zero-violation"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer episodes and trials: to see that it works.")] = False,
    threads: arg.Threads = None,
) -> None:
    """No violation at the end: a threshold tightened as in Theorem 2, with a scale, on a doubling grid of episodes."""
    from noregret import problems
    from noregret._system.files import make_folder
    from noregret.experiments import zero_violation as experiment
    from noregret.report import figures, tables
    from noregret.report import zero_violation as report
    from noregret.runs.runner import run

    figures.require()
    make_folder(out)
    runs = {}
    for case in experiment.CASES:
        problem, results = problems.load(case.problem), []
        for K in case.grid[: -experiment.QUICK_DOUBLINGS] if quick else case.grid:
            result = run(
                problem, experiment.LEARNER, episodes=K, trials=experiment.QUICK_TRIALS if quick else experiment.TRIALS,
                seed=experiment.SEED, record_every=K, preset=experiment.PRESET, slater_gap="oracle", zeta="theorem",
                zeta_scale=case.scale, threads=threads,
            )  # fmt: skip
            if not result.complete:
                say(f"stopped at {case.problem}, K = {K:,}; no file was written")
                raise typer.Exit(STOPPED)
            results.append(result)
        runs[case.problem] = results
    picture, table = report.figure(runs), report.table(runs)
    files = [
        figures.write(picture, out / "zero-violation.png"),
        figures.write(picture, out / "zero-violation.svg"),
        tables.write_text(out / "zero-violation.csv", table.csv()),
    ]
    console().print(table.rich())
    console().print(report.summary(runs).rich())
    console().print(f"Written: {', '.join(map(str, files))}.")
