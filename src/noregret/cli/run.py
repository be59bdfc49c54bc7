"""``noregret run``: a learner on a problem, measured exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, stop

if TYPE_CHECKING:
    from noregret.results import RunResult

#: Points of a curve.
POINTS = 500
#: Where runs are kept unless told otherwise.
OUT = Path("results/run")


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
    out: arg.OutIfGiven = None,
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """Run a learner on a problem and print its exact regret and violation, with 95% intervals over the trials.

    The runs are stored in a folder. If the command is killed, the same command continues them. With --out the curves (CSV)
    and a figure are written beside them.
    """
    from noregret.runs import run as play

    arg.how(out or OUT, fresh, backend, address, workers)
    result = play(
        problem,
        learner,
        episodes=episodes,
        trials=trials,
        seed=seed,
        record_every=max(1, episodes // POINTS),
        preset=preset,
        slater_gap=arg.gap(slater_gap),
        threads=workers,
        out=out or OUT,
        fresh=fresh,
        backend=backend,
        address=address,
        **arg.settings(settings or []),
    )
    if len(result.episodes):
        _show(result, out)
    if not result.complete:
        done = int(result.episodes[-1]) if len(result.episodes) else 0
        stop(
            f"stopped: {done:,} of {result.episodes_requested:,} episodes were recorded of each trial; the same command goes on"
        )


def _show(result: RunResult, out: Path | None) -> None:
    from noregret.report import figures, tables

    console().print(result._summary().rich())
    if out is None:
        return
    files = [tables.write_text(out / "curves.csv", tables.curves({result.learner: result}))]
    if figures.available():
        files += figures.write_all(figures.overview(result), out / "curves")
    console().print(f"wrote {', '.join(file.name for file in files)} in {out}")
