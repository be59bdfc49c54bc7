"""``noregret tune``: look for the parameters of a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, print_table, say, stop


@app.command()
def tune(
    problems: Annotated[list[str], typer.Argument(metavar="PROBLEM...", help="The problems that judge a choice.")],
    param: Annotated[
        list[str],
        typer.Option("--param", metavar="RANGE", help="name=low:high, :log or :int after it, or name=a,b,c; may be repeated."),
    ],
    violation_limit: Annotated[
        float, typer.Option("--violation-limit", metavar="NUMBER", min=0.0, help="Hard violation that is still allowed.")
    ],
    learner: arg.LearnerName = arg.DEFAULT_LEARNER,
    episodes: arg.Episodes = arg.DEFAULT_EPISODES,
    trials: Annotated[int, arg.number("--trials", "-t", help="Choices to judge in all.")] = 50,
    seeds: Annotated[int, arg.number("--seeds", help="Runs on each problem.")] = 3,
    seed: arg.Seed = 0,
    preset: arg.Preset = "practical",
    slater_gap: arg.SlaterGap = None,
    settings: arg.Settings = None,
    out: arg.Out = Path("tuning"),
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """Find the parameters with the least hard regret whose hard violation stays within a limit. It can be stopped any time."""
    from noregret.metrics import number
    from noregret.sweeps.tune import Question, parse_range
    from noregret.sweeps.tune import tune as search

    ranges = dict(parse_range(text) for text in param)
    told, fixed = arg.gap(slater_gap), arg.settings(settings or [])
    question = Question(tuple(problems), learner, ranges, episodes, violation_limit, seeds, preset, told, fixed)
    found = search(question, out, trials, arg.how(out, fresh, backend, address, workers), seed)
    print = console().print
    print(f"{found.trials:,} choices judged, {found.failed:,} failed; the search and its runs are in {out}")
    if found.best is None and found.trials:
        say(
            f"no choice kept hard violation within {number(violation_limit)}; the closest had {number(found.hard_violation)} "
            f"with hard regret {number(found.hard_regret)}"
        )
    if found.best is not None:
        rows = [(name, str(value), found.importance.get(name)) for name, value in found.best.items()]
        title = f"Best: hard regret {number(found.hard_regret)}, hard violation {number(found.hard_violation)}"
        print_table(title, rows, ("parameter", "value", "importance for hard regret"))
        print("--set " + " --set ".join(f"{name}={value}" for name, value in found.best.items()))
    if found.signal is not None:
        stop("stopped; the same command goes on")
    if found.best is None:
        raise typer.Exit(1)
