"""``noregret list``: the names that can be used, with a line about each."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from noregret.cli.app import app
from noregret.cli.console import console


class What(StrEnum):
    """What can be listed."""

    problems = "problems"
    learners = "learners"


@app.command(name="list")
def listing(what: Annotated[What | None, typer.Argument(help="Only these; both by default.")] = None) -> None:
    """List the problems and the learners, with a line about each and their parameters."""
    from rich.table import Table

    chosen = [what] if what else list(What)
    for kind in chosen:
        table = Table(title=kind.value, title_justify="left", box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, style="bold")
        table.add_column()
        for name, line in _problems() if kind is What.problems else _learners():
            table.add_row(name, line)
        console().print(table)
        if kind is not chosen[-1]:
            console().print()


def _problems() -> list[tuple[str, str]]:
    from noregret import problems

    return [(name, problems.describe(name)) for name in problems.names()] + [
        ("FILE.npz", "A problem from a file, as noregret.problems.save writes it")
    ]


def _learners() -> list[tuple[str, str]]:
    from noregret import learners
    from noregret.runner import FIXED_POLICIES

    fixed = {
        "optimal": "the best policy, computed from the model; not a learner",
        "safest": "the policy with the largest margin",
    }
    lines = []
    for name in learners.names():
        made = learners.get(name)
        parameters = f"; parameters: {', '.join(made.parameters)}" if made.parameters else ""
        lines.append((name, f"{made.summary} (presets: {', '.join(made.presets)}{parameters})"))
    return lines + [(name, fixed[name]) for name in FIXED_POLICIES]
