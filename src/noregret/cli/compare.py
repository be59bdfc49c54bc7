"""``noregret compare``: learners on problems under one protocol; tables, curves and the picture of regret against violation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret._system.text import listed
from noregret.cli import arguments as arg
from noregret.cli.app import app, console, say, stop
from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.results import Comparison, Outcome


@app.command()
def compare(
    problems: Annotated[
        str | None, typer.Option("--problems", metavar="LIST", help="Problems, such as job-scheduling,random:seed=3,S=5.")
    ] = None,
    learners: Annotated[
        str | None,
        typer.Option(
            "--learners",
            metavar="LIST",
            help="Learners, such as opdop,primal-dual-lsvi:alpha=inf,opse-lcmdp:safe_policy=safest; also optimal and safest.",
        ),
    ] = None,
    episodes: arg.Episodes = arg.DEFAULT_EPISODES,
    trials: arg.Trials = 5,
    seed: arg.Seed = 0,
    preset: arg.Preset = "practical",
    slater_gap: arg.SlaterGap = None,
    out: arg.Out = Path("results/compare"),
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """Compare learners: exact regret and violation with intervals, growth, speed, and what the theorems promise.

    A learner that refuses a problem is shown with its reason, and the others are played. The runs are stored. If the command is
    killed, the same command continues them.
    """
    from noregret.experiments import compare as experiment
    from noregret.experiments.compare import settings

    names = listed(problems) if problems is not None else list(settings.PROBLEMS)
    texts = listed(learners) if learners is not None else list(settings.LEARNERS)
    entries = [settings.Entry.read(text) for text in texts]
    grid = experiment.Grid(names, entries, episodes, trials, seed, preset, arg.gap(slater_gap))
    told: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        told.append(outcome)
        reason = f": {outcome.reason}" if outcome.reason else ""
        say(f"[{len(told)}/{len(grid.cells)}] {outcome.label} on {outcome.problem}{reason}")

    done = experiment.run_grid(grid, arg.how(out, fresh, backend, address, workers), tell)
    _conclude(done, out)


def _conclude(done: Comparison, out: Path) -> None:
    """Write and print what ran; say what was stopped."""
    from noregret.experiments.compare import page, settings

    ran, stopped = any(outcome.result for outcome in done), sum(outcome.reason == settings.STOPPED for outcome in done)
    if not ran and not stopped:
        raise InputError(f"no learner ran: {done[0].label} on {done[0].problem}: {done[0].reason}")
    if ran:
        files = page.write(done, out)
        for made in page.shown(done):
            console().print(made.rich())
            console().print()
        console().print(f"wrote {', '.join(file.name for file in files)} in {out}")
    if stopped:
        stop(f"stopped: {len(done) - stopped} of {len(done)} runs were done" + ("" if ran else "; no file was written"))
