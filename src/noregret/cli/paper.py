"""``noregret paper``: section 5 of the paper, run again; two figures, a table, the curves and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import STOPPED, app, say
from noregret.cli.console import console
from noregret.experiments import paper as experiment

if TYPE_CHECKING:
    from noregret.problems.base import TabularCMDP
    from noregret.report.paper import Neighbour, Paper
    from noregret.results import RunResult


@app.command()
def paper(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the files go.")] = Path("results/paper"),
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", "-k", parser=arg.whole, metavar="N", help="Episodes of each trial; 200000 by default."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-t", parser=arg.whole, metavar="N", help="Trials of the main run; 10 by default.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the episodes and four trials: to see that it works.")
    ] = False,
    seed: arg.Seed = experiment.SEED,
    threads: arg.Threads = None,
) -> None:
    """Run the paper's experiment in full: figures, a table, the curves, and a page that says what agrees and what does not."""
    from noregret import problems
    from noregret._system.files import make_folder
    from noregret.learners.base import check_episodes
    from noregret.report import figures, tables
    from noregret.runs.runner import run

    figures.require()
    K = episodes if episodes is not None else experiment.QUICK_EPISODES if quick else experiment.EPISODES
    n = trials if trials is not None else experiment.QUICK_TRIALS if quick else experiment.TRIALS
    check_episodes(K)
    make_folder(out)
    problem = problems.load(experiment.PROBLEM)
    done: list[Neighbour] = []
    for setting in (experiment.MAIN, *experiment.NEIGHBOURS):
        count = n if setting is experiment.MAIN else min(n, experiment.NEIGHBOUR_TRIALS)
        say(f"running {setting.label}, {setting.row}: {tables.length(count, K)}")
        result = run(
            problem, experiment.LEARNER, episodes=K, trials=count, seed=seed, record_every=max(1, K // experiment.POINTS),
            preset=experiment.PRESET, threads=threads, **setting.params,
        )  # fmt: skip
        if not result.complete:
            _stop(done, result)
        done.append(_neighbour(setting, result))
    _write(_facts(problem, done, (K, n) == (experiment.EPISODES, experiment.TRIALS)), out)


def _neighbour(setting: experiment.Setting, result: RunResult) -> Neighbour:
    from noregret.report.paper import Neighbour

    return Neighbour(setting.label, setting.row, result)


def _facts(problem: TabularCMDP, done: list[Neighbour], as_published: bool) -> Paper:
    """What the page says of the problem itself, from the oracle."""
    from noregret import oracle, problems
    from noregret.report.paper import Paper

    main = done[0].result
    shifted = problems.load(experiment.COUNTED_FROM_0)
    best = oracle.solve(problem)
    after = (best.occupancy[-1][:, :, None] * problem.P[-1]).sum(axis=(0, 1))  # how many jobs are left at the end
    return Paper(
        main=main, neighbours=done, threshold=float(problem.b[0]), horizon=problem.horizon,
        states=problem.n_states, actions=problem.n_actions,
        tightened_dual=float(oracle.solve(problem, tighten=main.constants["zeta"]).dual[0]),
        jobs_left=float(after[2:].sum()), counted_from_0=oracle.solve(shifted).value, as_published=as_published,
    )  # fmt: skip


def _write(made: Paper, out: Path) -> None:
    from noregret._system.files import all_or_none
    from noregret.report import figures, tables
    from noregret.report import paper as report

    first, second, table = report.figure(made), report.neighbours_figure(made), report.table(made)
    with all_or_none(out) as draft:
        files = [
            figures.write(first, draft / "figure1.png"),
            figures.write(first, draft / "figure1.svg"),
            figures.write(second, draft / "neighbours.png"),
            figures.write(second, draft / "neighbours.svg"),
            tables.write_text(draft / "table.csv", table.csv()),
            tables.write_text(draft / "curves.csv", tables.curves(made.labelled())),
            tables.write_text(draft / "page.md", report.page(made)),
        ]
    console().print(report.short(made).rich())
    console().print(f"The page is {out / files[-1].name}; beside it are {', '.join(file.name for file in files[:-1])}.")


def _stop(done: list[Neighbour], result: RunResult) -> None:
    """Say what there is after Ctrl-C; a page about half an experiment is not written."""
    from noregret.report import tables

    results = {f"{n.label}, {n.row}": n.result for n in done}
    if len(result.episodes):
        results["stopped"] = result
    if results:
        console().print(tables.summary(results).rich())
    reached = int(result.episodes[-1]) if len(result.episodes) else 0
    say(f"stopped at episode {reached:,} of {result.episodes_requested:,}; no file was written")
    raise typer.Exit(STOPPED)
