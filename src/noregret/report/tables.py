"""Numbers of results as tables, for the terminal, as CSV and as Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from noregret._system.files import write_whole
from noregret.metrics import ENOUGH, Cell
from noregret.results import UNSAFE, RunResult
from noregret.results.base import NumberTable, csv_text, stack
from noregret.results.comparison import CAPTION, unsafe
from noregret.results.result import few


def summary(results: Mapping[str, RunResult], title: str = "") -> NumberTable:
    """A table with a row for each labelled result: regret, violation, how both grow, and how fast the run was."""
    tightened = any(result.constants.get("zeta", 0.0) for result in results.values())
    columns = ["run", "trials", "episodes", "regret"]
    columns += ["regret against the tightened optimum"] if tightened else []
    limited = any(result.unsafe_steps is not None for result in results.values())
    columns += ["hard regret", "violation", "hard violation", "stuck"] + (["unsafe steps"] if limited else [])
    columns += ["slope of regret", "slope of hard regret", "episodes/s"]
    rows: list[tuple[Cell, ...]] = []
    for label, result in results.items():
        if not len(result.episodes):
            rows.append((label, result.trials, 0, *(None,) * (len(columns) - 3)))
            continue
        row: list[Cell] = [label, result.trials, int(result.episodes[-1]), result.last("regret")]
        row += [result.last("regret_tightened")] if tightened else []
        row += [result.last(which) for which in ("hard_regret", "violation", "hard_violation")]
        row += [result.stuck]
        row += [unsafe(result)] if limited else []
        rows.append((*row, result.slope(), result.slope("hard_regret"), result.episodes_per_second))
    rare = few(min((result.trials for result in results.values()), default=ENOUGH))
    return NumberTable(title, columns, rows, " ".join(filter(None, (CAPTION, UNSAFE if limited else "", rare))))


def curves(results: Mapping[str, RunResult]) -> str:
    """Every recorded number of every trial as CSV, a row for each trial and recorded episode."""
    columns = stack(({"run": label}, result._columns()) for label, result in results.items())
    return csv_text([columns, *zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)])


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file, whole or not at all."""
    return write_whole(path, lambda file: file.write(text.encode()))


def without_speed(table: NumberTable) -> NumberTable:
    """The table without speeds, for files: the bytes of a file must not depend on when and where the runs were played."""
    return table.only(set(table.columns) - {"episodes/s"})
