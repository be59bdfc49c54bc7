"""Numbers of runs as tables: for the terminal, as CSV, as Markdown.

A :class:`Table` holds numbers, not text; each way of writing it decides how a number looks. A cell may be an
:class:`~noregret.metrics.Interval`: the terminal and Markdown show mean ± half width, CSV has a column for each end.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret import metrics
from noregret._system.files import write_whole
from noregret.errors import printable
from noregret.metrics import Cell as Cell
from noregret.metrics import Interval, Slope
from noregret.metrics import number as number
from noregret.metrics import show as show
from noregret.results import RunResult
from noregret.results.base import stack

if TYPE_CHECKING:
    from rich.console import RenderableType

#: What the numbers of a summary are.
CAPTION = "Sums over all episodes: mean over the trials ± half of its 95% interval."

#: Slopes are fitted from this share of the episodes on.
FITTED = 0.1


@dataclass(frozen=True)
class Table:
    """Columns and rows of numbers; a row has a cell for each column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def rich(self) -> RenderableType:
        """For the terminal; without a head when no column has a name."""
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        named = any(self.columns)
        table = RichTable(box=box.SIMPLE_HEAD if named else None, pad_edge=False, padding=(0, 2, 0, 0), show_header=named)
        for i, column in enumerate(self.columns):
            text = any(isinstance(row[i], str) for row in self.rows)
            table.add_column(Text(printable(column)), justify="left" if text else "right", overflow="fold", no_wrap=i == 0)
        for row in self.rows:
            table.add_row(*(Text(printable(show(cell))) for cell in row))
        parts: list[RenderableType] = [Text(printable(self.title), style="bold")] if self.title else []
        return Group(*parts, table, *([Text(printable(self.caption), style="italic")] if self.caption else []))

    def only(self, names: Container[str]) -> Table:
        """The table with the columns of these names, in the table's order."""
        kept = [i for i, column in enumerate(self.columns) if column in names]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(show(cell).replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """As CSV with every digit; an interval takes three columns."""
        wide = [any(isinstance(row[i], Interval) for row in self.rows) for i in range(len(self.columns))]
        header: list[str] = []
        for column, spread in zip(self.columns, wide, strict=True):
            header += [column, f"{column} low", f"{column} high"] if spread else [column]
        rows: list[list[Any]] = []
        for row in self.rows:
            flat: list[Any] = []
            for cell, spread in zip(row, wide, strict=True):
                if isinstance(cell, Interval):
                    flat += [float(cell.mean), float(cell.low), float(cell.high)]
                else:
                    flat += [cell, "", ""] if spread else [cell]
            rows.append(flat)
        return _csv([header, *rows])


def length(trials: int, episodes: int) -> str:
    """The length of a run in words: its trials and episodes."""
    return f"{metrics.count(trials, 'trial')} of {metrics.count(episodes, 'episode')}"


def slope(result: RunResult, which: str = "regret") -> Slope:
    """The exponent of growth of a mean curve over the last nine tenths of the episodes; nan unless the curve is positive there.

    A curve that crosses zero has logarithms on one side only, and a line through those says nothing about growth.
    """
    mean = getattr(result, which).mean(axis=0)
    fitted = mean[result.episodes >= FITTED * result.episodes[-1]]
    return metrics.slope(result.episodes, mean, FITTED) if (fitted > 0).all() else Slope("nan")


def summary(results: Mapping[str, RunResult], title: str = "") -> Table:
    """A table with a row for each labelled result: regret, violation, how both grow, and how fast the run was."""
    tightened = any(result.constants.get("zeta", 0.0) for result in results.values())
    columns = ["run", "trials", "episodes", "regret"]
    columns += ["regret against the tightened optimum"] if tightened else []
    columns += ["hard regret", "violation", "hard violation", "slope of regret", "slope of hard regret", "episodes/s"]
    rows: list[tuple[Cell, ...]] = []
    for label, result in results.items():
        if not len(result.episodes):
            rows.append((label, result.trials, 0, *(None,) * (len(columns) - 3)))
            continue
        row: list[Cell] = [label, result.trials, int(result.episodes[-1]), result.last("regret")]
        row += [result.last("regret_tightened")] if tightened else []
        row += [result.last(which) for which in ("hard_regret", "violation", "hard_violation")]
        rows.append((*row, slope(result), slope(result, "hard_regret"), result.episodes_per_second))
    return Table(title, tuple(columns), tuple(rows), CAPTION)


def card(result: RunResult, title: str = "") -> Table:
    """A table of a single result: the numbers one below the other, each with a line that explains it."""
    zeta = result.constants.get("zeta", 0.0)
    worst = ", of the worst constraint" if result.violations.shape[2] > 1 else ""
    rows: list[tuple[Cell, ...]] = [
        ("regret", show(result.last("regret")), "reward lost against the best policy that meets the constraints"),
        (
            "hard regret",
            show(result.last("hard_regret")),
            "the same, summed only over episodes that earn less than that policy",
        ),
        ("violation", show(result.last("violation")), "utility missing over all episodes together" + worst),
        ("hard violation", show(result.last("hard_violation")), "the same, summed only over episodes that fall short"),
        ("slope of regret", show(slope(result)), "its growth: 0.5 is the square root of the episodes, 1 is linear"),
        ("slope of hard regret", show(slope(result, "hard_regret")), "the same for hard regret"),
        ("episodes/s", show(result.episodes_per_second), length(result.trials, int(result.episodes[-1]))),
    ]
    if zeta:
        text = f"against the best policy for thresholds raised by {zeta:g}"
        rows.insert(1, ("regret, tightened", show(result.last("regret_tightened")), text))
    return Table(title, ("sum over all episodes", "mean ± 95%", "what it is"), tuple(rows))


def curves(results: Mapping[str, RunResult]) -> str:
    """Every recorded number of every trial as CSV, a row for each trial and recorded episode."""
    columns = stack(({"run": label}, result._columns()) for label, result in results.items())
    return _csv([columns, *zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)])


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file, whole or not at all."""
    return write_whole(path, lambda file: file.write(text.encode()))


def without_speed(table: Table) -> Table:
    """The table without speeds, for files: the bytes of a file must not depend on when and where the runs were played."""
    return table.only(set(table.columns) - {"episodes/s"})


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
