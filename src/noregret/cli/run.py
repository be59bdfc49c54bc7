"""``noregret run``: a learner on a problem, measured exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import STOPPED, app, say
from noregret.cli.console import console

if TYPE_CHECKING:
    from noregret.results import RunResult

#: Points of a curve, unless told otherwise.
POINTS = 500


@app.command()
def run(
    problem: arg.Problem,
    learner: arg.LearnerName = arg.DEFAULT_LEARNER,
    episodes: arg.Episodes = arg.DEFAULT_EPISODES,
    trials: arg.Trials = 10,
    seed: arg.Seed = 0,
    preset: arg.Preset = "practical",
    slater_gap: arg.SlaterGap = None,
    settings: arg.Settings = None,
    out: arg.Out = None,
    threads: arg.Threads = None,
) -> None:
    """Run a learner on a problem and print its exact regret and violation, with 95% intervals over the trials."""
    from noregret import problems
    from noregret.report import tables
    from noregret.runs.runner import run as play

    params = arg.settings(settings or [])
    if out is not None:
        from noregret._system.files import make_folder
        from noregret.report import figures

        figures.require()
        make_folder(out)
    result = play(
        problems.load(problem), learner, episodes=episodes, trials=trials, seed=seed, record_every=max(1, episodes // POINTS),
        preset=preset, slater_gap=arg.gap(slater_gap), threads=threads, **params,
    )  # fmt: skip
    if len(result.episodes):
        console().print(tables.card(result, title=_title(result)).rich())
        if out is not None:
            files = [
                tables.write_text(out / "curves.csv", tables.curves({result.learner: result})),
                figures.write(figures.overview(result), out / "curves.png"),
            ]
            for file in files:
                console().print(f"wrote {file}")
    if not result.complete:
        done = int(result.episodes[-1]) if len(result.episodes) else 0
        say(f"stopped: {done:,} of {result.episodes_requested:,} episodes were finished by each of {result.trials} trials")
        raise typer.Exit(STOPPED)


def _title(result: RunResult) -> str:
    gap = "" if result.slater_gap_used is None else f", told a Slater gap of {result.slater_gap_used:.6g}"
    return (
        f"{result.learner} on {result.problem} (preset {result.preset}, seed {result.seed}{gap}); "
        f"optimal value {result.optimal_value:.6f}"
    )
