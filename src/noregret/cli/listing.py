"""``noregret list``: the names that can be used, with a line about each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, print_table

if TYPE_CHECKING:
    from noregret.metrics import Cell


class What(StrEnum):
    """What can be listed."""

    problems = "problems"
    learners = "learners"
    runs = "runs"


@app.command(name="list")
def listing(
    what: Annotated[What | None, typer.Argument(help="What to list. Default: problems and learners.")] = None,
    folder: arg.Runs = Path("runs"),
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table of runs as CSV.")] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write the table of runs as Parquet (needs polars).")
    ] = None,
) -> None:
    """List the problems and the learners, with a line about each and their parameters; or the stored runs of a folder."""
    if what is What.runs:
        _runs(folder, csv, parquet)
    if what in (None, What.problems):
        print_table("problems", _problems())
    if what in (None, What.learners):
        print_table("learners", _learners(), ("learner", "what it is", "takes", "presets", "parameters"))


def _runs(folder: Path, csv: Path | None, parquet: Path | None) -> None:
    """A row a run; runs that raised after those that finished."""
    from noregret.store import RunKey, Store, load_runs

    table, failures = load_runs(folder), Store.at(folder).failures()
    rows: list[tuple[Cell, ...]] = []
    for row, run in zip(table.rows(), table.runs, strict=True):
        numbers = (row[name] for name in ("episodes", "regret", "violation", "seconds"))
        rows.append((row["run"], row["problem"], row["learner"], run.key.options(), f"{row['seed']}.{row['trial']}", *numbers))
    for id, record in failures.items():
        key = RunKey.from_json(record["run"])
        rows.append((id, key.problem, key.learner, key.options(), f"{key.seed}.{key.trial}", "failed", None, None, None))
    columns = ("run", "problem", "learner", "options", "seed.trial", "episodes", "regret", "violation", "seconds")
    text = f"{len(table.runs):,} finished, {len(failures):,} failed runs in {folder}"
    print_table(text, rows, columns)
    for path, write in ((csv, table.to_csv), (parquet, table.to_parquet)):
        if path is not None:
            console().print(f"wrote {write(path)}")


def _problems() -> list[tuple[str, str]]:
    from noregret import problems

    return [(name, problems.describe(name)) for name in problems.names()] + [
        ("FILE.npz", "A problem from a file, as noregret.problems.save writes it")
    ]


def _learners() -> list[tuple[str, ...]]:
    from noregret import learners
    from noregret.learners.registry import abilities
    from noregret.runs.choose import FIXED_POLICIES

    fixed = {
        "optimal": "the best policy, computed from the model; not a learner",
        "safest": "the policy with the largest margin; not a learner",
    }
    lines: list[tuple[str, ...]] = []
    for name in learners.names():
        made = learners.get(name)
        takes = ", ".join(abilities(name)) or "one constraint, tables"
        lines.append((name, made.summary, takes, ", ".join(made.presets), ", ".join(made.parameters) or "-"))
    return [*lines, *((name, fixed[name], "several constraints", "-", "-") for name in FIXED_POLICIES)]
