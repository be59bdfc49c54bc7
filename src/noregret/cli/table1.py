"""``noregret table1``: the paper's Table 1, measured; made from its data, or measured anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from noregret._system.text import listed
from noregret.cli import arguments as arg
from noregret.cli.app import app, say, stop
from noregret.errors import FileError, InputError


@app.command()
def table1(
    data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="Where the numbers of the table are.")] = Path(
        "benchmarks/table1"
    ),
    page: Annotated[
        Path | None,
        typer.Option(
            "--page", metavar="FILE", help="A page, such as README.md, whose table is made anew; then nothing is printed."
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Play the runs first, and put their numbers into the data.")
    ] = False,
    learners: Annotated[str | None, typer.Option("--learners", metavar="LIST", help="With --measure: some rows only.")] = None,
    episodes: Annotated[
        int, typer.Option("--episodes", "-k", parser=arg.whole, metavar="N", help="With --measure: episodes of each trial.")
    ] = 200_000,
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-t", parser=arg.whole, metavar="N", help="With --measure: ten, and fewer of what is slow."),
    ] = None,
    out: arg.Out = Path("results/table1"),
    workers: arg.Workers = None,
) -> None:
    """Every system that the paper names, printed with tuned numbers and in its practical form, on the paper's own world.

    Without --measure nothing is run: the table is made from the data. Runs are kept; started again, --measure goes on.
    """
    from noregret.experiments import table1 as experiment
    from noregret.experiments.table1 import page as pages

    def tell(row: dict[str, Any]) -> None:
        pages.write([row], data)
        say(f"{row['learner']}, {row['preset']}: hard regret {row['hard_regret']:,.0f}, violation {row['hard_violation']:,.0f}")

    for option, value in (("--learners", learners), ("--trials", trials)):
        if value is not None and not measure:
            raise InputError(f"{option} is given without --measure; expected both, as nothing is played without it")
    if measure:
        names = None if learners is None else listed(learners)
        wanted = len(experiment.forms(names))
        pages.check_length(data, episodes)
        how = arg.how(out, False, "threads", None, workers)
        done = len(experiment.measure(names, how, episodes=episodes, trials=trials, tell=tell))
        if done < wanted:
            stop(f"stopped: {done} of {wanted} rows were measured; the same command goes on")
    if page is None:
        typer.echo(pages.markdown(data), nl=False)
    else:
        from noregret.report.tables import write_text

        try:
            text = page.read_text("utf-8")
        except UnicodeDecodeError:
            raise FileError(f"{page}: is no text in UTF-8; expected a page with a place for the table") from None
        write_text(page, pages.put(text, data))
