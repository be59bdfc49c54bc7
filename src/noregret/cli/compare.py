"""``noregret compare``: learners on problems under one protocol; tables, curves and the picture of regret against violation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import STOPPED, app, say
from noregret.cli.console import console
from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.experiments.compare import Entry
    from noregret.problems.base import TabularCMDP
    from noregret.report.tables import Table
    from noregret.results import Outcome


def listed(text: str) -> list[str]:
    """The names of a list with commas, where ``key=value`` after a comma belongs to the name before it.

    >>> listed("random:seed=3,S=5,job-scheduling")
    ['random:seed=3,S=5', 'job-scheduling']
    """
    names: list[str] = []
    for part in (piece.strip() for piece in text.split(",")):
        goes_on = "=" in part and ":" not in part.partition("=")[0]
        if goes_on and names:
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    return names


def entry(text: str) -> Entry:
    """A learner as "name" or "name:key=value,key=value"."""
    from noregret.experiments.compare import Entry

    name, _, tail = text.partition(":")
    params = {}
    for pair in (piece for piece in tail.split(",") if piece.strip()):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (key and equals and value) or key in params:
            raise InputError(f"learner {text!r}: {pair!r} is no new parameter; expected key=value, each key once")
        params[key] = arg.value(value)
    return Entry(text, name.strip(), params)


@app.command()
def compare(
    problems: Annotated[
        str | None,
        typer.Option("--problems", metavar="LIST", help="Problems, such as job-scheduling,random:seed=3,S=5."),
    ] = None,
    learners: Annotated[
        str | None,
        typer.Option(
            "--learners",
            metavar="LIST",
            help="Learners, such as opdop,primal-dual-lsvi:alpha=inf,opse-lcmdp:safe_policy=safest; also optimal and safest.",
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", "-k", parser=arg.whole, metavar="N", help="Episodes of each trial; 10000 by default."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-t", parser=arg.whole, metavar="N", help="Trials of each run; 5 by default.")
    ] = None,
    seed: arg.Seed = 0,
    preset: arg.Preset = "practical",
    slater_gap: arg.SlaterGap = None,
    table1: Annotated[
        bool,
        typer.Option(
            "--table1",
            help="The paper's Table 1, measured on its job-scheduling world (200000 episodes, 10 trials by default).",
        ),
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the files go.")] = Path("results/compare"),
    threads: arg.Threads = None,
) -> None:
    """Compare learners: exact regret and violation with intervals, growth, speed, and what the theorems promise.

    A learner that refuses a problem is a row with its reason; the rest goes on.
    """
    from noregret import problems as registry
    from noregret._system.files import make_folder
    from noregret.experiments import compare as experiment
    from noregret.report import figures

    figures.require()
    if table1 and (problems or learners):
        raise InputError("--table1 has its own problem and learners; leave --problems and --learners out")
    names = listed(problems) if problems is not None else list(experiment.PROBLEMS)
    texts = listed(learners) if learners is not None else list(experiment.LEARNERS)
    if table1:
        names, texts = [experiment.TABLE1_PROBLEM], [row.learner for row in experiment.TABLE1]
    K = episodes if episodes is not None else experiment.TABLE1_EPISODES if table1 else arg.DEFAULT_EPISODES
    n = trials if trials is not None else experiment.TABLE1_TRIALS if table1 else experiment.TRIALS
    entries, worlds = [entry(text) for text in texts], [registry.load(name) for name in names]
    options: dict[str, Any] = {"episodes": K, "trials": n, "seed": seed, "preset": preset, "threads": threads}
    experiment.check(worlds, entries, **options)
    gap = arg.gap(slater_gap)
    make_folder(out)
    done = _run(worlds, entries, slater_gap=gap, **options)
    ran, stopped = any(one.result for one in done), sum(one.reason == experiment.STOPPED for one in done)
    if ran:
        _write(done, out, table1)
    elif not stopped:
        raise InputError(f"no learner ran: {done[0].label} on {done[0].problem}: {done[0].reason}")
    if stopped:
        say(f"stopped: {len(done) - stopped} of {len(done)} runs were done" + ("" if ran else "; no file was written"))
        raise typer.Exit(STOPPED)


def _run(worlds: list[TabularCMDP], entries: list[Entry], **options: Any) -> list[Outcome]:
    """Run the grid, saying which cells are done; stops with what there is after Ctrl-C."""
    from noregret.experiments.compare import run_grid

    n = len(worlds) * len(entries)
    told: list[Outcome] = []

    def tell(one: Outcome) -> None:
        told.append(one)
        say(f"[{len(told)}/{n}] {one.label} on {one.problem}" + (f": {one.reason}" if one.reason else ""))

    return run_grid(worlds, entries, tell=tell, **options)


def _write(done: list[Outcome], out: Path, table1: bool) -> None:
    """The files and the tables of a comparison in which something ran."""
    from noregret.report import compare as report
    from noregret.report.tables import write_text

    files = report.write(done, out)
    if table1:
        made = _table1(done)
        console().print(made.rich())
        exact = report.with_slopes(made, done, "measured slope")
        files += [write_text(out / "table1.csv", exact.csv()), write_text(out / "table1.md", made.markdown())]
    else:
        _show(done)
    console().print(f"wrote {', '.join(file.name for file in files)} in {out}")


def _table1(done: list[Outcome]) -> Table:
    from noregret.experiments.compare import TABLE1
    from noregret.report.compare import table1
    from noregret.report.tables import length

    rows = [
        (f"{row.algorithm}, {row.source}", _yes(row.linear), _yes(row.model_free), row.regret, row.violation) for row in TABLE1
    ]
    first = next((one.result for one in done if one.result), None)
    protocol = f"{length(first.trials, int(first.episodes[-1]))}, preset {first.preset}" if first else ""
    return table1(rows, done, f"Table 1 of the paper, measured on {done[0].problem}: {protocol}")


def _show(done: list[Outcome]) -> None:
    from noregret.report.compare import by_problem, table
    from noregret.report.tables import length

    for problem, own in by_problem(done).items():
        first = next((one.result for one in own if one.result), None)
        protocol = f": {length(first.trials, int(first.episodes[-1]))}" if first else ""
        console().print(table(own, f"{problem}{protocol}").rich())
        console().print()


def _yes(value: bool) -> str:
    return "yes" if value else "no"
