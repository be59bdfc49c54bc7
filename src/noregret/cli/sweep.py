"""``noregret sweep``: problems × learners × parameters × seeds, that survive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, complain, console, say, stop

if TYPE_CHECKING:
    from noregret.runs.schedule import Summary
    from noregret.sweeps.estimate import SweepEstimate

#: Lines about failed runs.
SHOWN = 10


@app.command()
def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A TOML file; the documentation shows one.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the runs are kept.")] = Path("runs"),
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
    checkpoint: Annotated[
        float, typer.Option("--checkpoint", metavar="SECONDS", min=0.0, help="Time between two checkpoints of a run.")
    ] = 30.0,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", help="Also log runs while they are played: csv or tensorboard; may be repeated."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Check everything, print runs, time and disk, and run nothing.")
    ] = False,
) -> None:
    """Play every run of a sweep that is not finished yet. It can be killed and started again at any time.

    The exit status is 0 when all runs are finished, 1 when some failed (the last lines say why; the next start tries them
    again), 130 or 143 when it was stopped by Ctrl-C or SIGTERM.
    """
    from noregret._system.cores import available_cores
    from noregret.runs import How, play
    from noregret.store import Store
    from noregret.sweeps import spec as specs

    plan = specs.read(spec)
    if dry_run:
        from noregret.sweeps.estimate import estimate

        at_once = workers or available_cores()
        _announce(estimate(plan.keys, Store(out), at_once), at_once, out)
        return
    how = How(out, fresh, backend, address, workers, checkpoint, tuple(log or ()), plan.imports, "log")
    sitting = play(plan.keys, how)
    _conclude(sitting.summary, out)
    if sitting.signal.number is not None:
        stop(f"stopped: {sitting.summary.left:,} runs are left; the same command goes on from their checkpoints")
    if sitting.summary.failed:
        raise typer.Exit(1)


def _announce(estimate: SweepEstimate, workers: int, out: Path) -> None:
    from noregret.runs.progress import clock

    print = console().print
    print(f"{estimate.runs:,} runs, {estimate.there:,} of them finished in {out}")
    for (problem, learner), rate in estimate.pilots.items():
        print(f"{learner} on {problem}: {rate:,.0f} episodes/s")
    print(f"expected time with {workers} at once: {clock(estimate.seconds)}")
    print(f"expected disk: {estimate.bytes / 1e6:,.1f} MB")


def _conclude(summary: Summary, out: Path) -> None:
    finished = summary.done + summary.there
    console().print(
        f"{finished:,} of {summary.runs:,} runs are finished in {out} ({summary.done:,} now, {summary.episodes:,} episodes "
        f"in {summary.seconds:,.1f} s)"
    )
    if summary.failed:
        reasons = summary.reasons()
        complain(f"{len(summary.failed):,} of {summary.runs:,} runs failed:")
        for error, ids in reasons[:SHOWN]:
            say(f"{len(ids):,} x {error} (noregret show {ids[0]} --runs {out})")
        if len(reasons) > SHOWN:
            say(f"and {len(reasons) - SHOWN:,} other reasons")
