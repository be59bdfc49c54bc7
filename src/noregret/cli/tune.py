"""``noregret tune``: look for the parameters of a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, print_table, say, stop

#: What a range looks like.
RANGE = (
    "name=low:high, with :log or :int after it; name=0.1x:10x:log for factors of what the preset has; or name=a,b,c. "
    "May be repeated."
)


@app.command()
def tune(
    problems: Annotated[list[str], typer.Argument(metavar="PROBLEM...", help="The problems that judge a configuration.")],
    param: Annotated[
        list[str],
        typer.Option(
            "--param",
            metavar="RANGE",
            help=RANGE,
        ),
    ],
    violation_limit: Annotated[
        float, typer.Option("--violation-limit", metavar="NUMBER", min=0.0, help="Largest hard violation allowed.")
    ],
    learner: arg.LearnerName = arg.DEFAULT_LEARNER,
    episodes: arg.Episodes = arg.DEFAULT_EPISODES,
    trials: Annotated[int, arg.number("--trials", "-t", help="Number of configurations to evaluate.")] = 50,
    seeds: Annotated[int, arg.number("--seeds", help="How many runs, with different seeds, each problem gets.")] = 3,
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
    """Find the parameters with the least hard regret whose hard violation stays within a limit.

    If the command is stopped or killed, the same command continues.
    """
    from noregret.metrics import number
    from noregret.sweeps.search import parse_range
    from noregret.sweeps.tune import Question
    from noregret.sweeps.tune import tune as search

    ranges = dict(parse_range(text) for text in param)
    told, fixed = arg.gap(slater_gap), arg.settings(settings or [])
    question = Question(tuple(problems), learner, ranges, episodes, violation_limit, seeds, preset, told, fixed)
    answer = search(question, out, trials, arg.how(out, fresh, backend, address, workers), seed)
    print = console().print
    print(f"{answer.trials:,} configurations judged, {answer.failed:,} failed; the search and its runs are in {out}")
    if answer.best is None and answer.trials:
        say(
            f"no configuration kept hard violation within {number(violation_limit)}; the closest had "
            f"{number(answer.hard_violation)} with hard regret {number(answer.hard_regret)}"
        )
    if answer.best is not None:
        rows = [(name, str(value), answer.importance.get(name)) for name, value in answer.best.items()]
        title = f"Best: hard regret {number(answer.hard_regret)}, hard violation {number(answer.hard_violation)}"
        print_table(title, rows, ("parameter", "value", "importance for hard regret"))
        print("--set " + " --set ".join(f"{name}={value}" for name, value in answer.best.items()))
    if answer.signal is not None:
        stop("stopped; the same command goes on")
    if answer.best is None:
        raise typer.Exit(1)
