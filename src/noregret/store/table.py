"""Stored runs as a table: a row a run, a column an entry; CSV, and Parquet where polars is installed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.checks import path
from noregret._system.files import write_whole
from noregret._system.plugins import library
from noregret.errors import DamagedError, FileError
from noregret.metrics import count, words
from noregret.results import SUMS, drawing
from noregret.results.base import Columns, NumberTable, Shown, csv_text
from noregret.store.folder import Store, StoredRun
from noregret.store.groups import comparison

#: Columns of every table, in order; a column ``param.<name>`` for each parameter of some run follows, and
#: ``unsafe_steps`` where some problem limits every step.
ASKED = ("problem", "learner", "preset", "slater_gap", "starts", "seed", "trial", "episodes", "record_every")
COLUMNS = ("run", *ASKED, *SUMS, "dual", "optimal_value", "seconds", "kernel_seconds", "finished", "path")

#: Rows of the table in a notebook.
ROWS = 10


class RunTable(Shown, Mapping[str, NDArray[np.generic]]):
    """Runs by row; ``table["regret"]`` is a column as an array, ``table.runs[i]`` the stored run of row i.

    ``regret``, ``violation`` and so on are those of the last episode; violations and the dual are of the worst and of the
    largest constraint. ``seconds`` is what the run took over all its sittings. ``to_frame`` has a row for each run; ``plot``
    draws the curves of runs that differ in seed and trial only as one mean with its band.
    """

    def __init__(self, runs: Iterable[StoredRun]) -> None:
        self.runs = list(runs)
        rows = [_row(run) for run in self.runs]
        params = sorted({key for row in rows for key in row} - set(COLUMNS))
        self.columns: dict[str, NDArray[np.generic]] = {
            name: _column([row.get(name) for row in rows]) for name in (*COLUMNS, *params)
        }

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        """The number of columns, as of any mapping; ``len(table.runs)`` is that of rows."""
        return len(self.columns)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each run as a dictionary of plain values."""
        for i in range(len(self.runs)):
            yield {name: _plain(column[i]) for name, column in self.columns.items()}

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as CSV; an entry that a run does not have is empty."""
        text = csv_text([self.columns, *(row.values() for row in self.rows())])
        return write_whole(path, lambda file: file.write(text.encode()))

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as Parquet; needs polars, the extra ``noregret[parquet]``."""
        polars = library("polars", "Parquet", "parquet")
        return write_whole(path, polars.DataFrame(self._columns(), strict=False).write_parquet)

    def _columns(self) -> Columns:
        """Columns of one type each: a column with anything but numbers is text."""
        columns = {name: [_plain(v) for v in column] for name, column in self.columns.items()}
        mixed = {name for name, c in columns.items() if {type(v) for v in c if v is not None} - {int, float}}
        return {name: [None if v is None else str(v) for v in c] if name in mixed else c for name, c in columns.items()}

    def _summary(self) -> NumberTable:
        keys, shown = [run.key for run in self.runs[:ROWS]], ("problem", "learner", "seed", "trial", "episodes", *SUMS)
        rows = [[key.options(), *(_plain(self[name][i]) for name in shown)] for i, key in enumerate(keys)]
        left = len(self.runs) - len(rows)
        columns = ("options", *map(words, shown))
        return NumberTable(repr(self)[1:-1], columns, rows, f"and {count(left, 'more run')}" if left else "")

    def _grid(self) -> tuple[int, int]:
        return max(1, len({run.key.problem for run in self.runs})), 2

    def _draw(self, axes: drawing.Grid) -> None:
        comparison(self.runs)._draw(axes)

    def __repr__(self) -> str:
        """How many runs and of what."""
        learners, problems = sorted(set(self["learner"])), sorted(set(self["problem"]))
        return f"<RunTable: {count(len(self.runs), 'run')} of {', '.join(learners) or '-'} on {', '.join(problems) or '-'}>"


def load_runs(folder: str | os.PathLike[str]) -> RunTable:
    """Read all finished runs in a folder, or in the folder ``runs`` inside it.

    A run that is damaged or cannot be read is left out, with a warning that names it.

    Raises:
        FileError: there is no such folder.

    Example:
        >>> import tempfile
        >>> import noregret as nr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = nr.run("random:S=3,A=2,H=2", "uniform", episodes=10, trials=2, out=folder, progress=False)
        ...     table = nr.load_runs(folder)
        >>> len(table.runs), table["episodes"].tolist()
        (2, [10, 10])
    """
    if not path("folder", folder).is_dir():
        raise FileError(f"{folder}: no such folder; expected one with stored runs")
    store = Store.at(folder)
    runs = []
    for id in store.ids():
        try:
            runs.append(store.read(id))
        except DamagedError as error:
            warnings.warn(f"{error}; left out, the next sweep plays it again", stacklevel=2)
        except FileError as error:
            warnings.warn(f"{error}; left out", stacklevel=2)
    return RunTable(runs)


def _row(run: StoredRun) -> dict[str, object]:
    record, key = run.record, run.key
    row = {name: getattr(key, name) for name in COLUMNS if hasattr(key, name)}
    last: Mapping[str, object] = record["last"]
    row |= {"optimal_value": record["optimal_value"], "finished": record["finished"]}
    row |= {"seconds": record["seconds"], "kernel_seconds": record["kernel_seconds"]}
    row |= {name: last[name] for name in ("regret", "hard_regret", "unsafe_steps") if name in last}
    row["violation"] = max(0.0, *record["last"]["signed_violations"])
    row["hard_violation"], row["dual"] = max(record["last"]["hard_violations"]), max(record["last"]["dual"])
    row |= {f"param.{name}": value for name, value in key.params.items()}
    return row | {"run": run.id, "path": str(run.path)}


def _column(values: list[object]) -> NDArray[np.generic]:
    kinds = {type(v) for v in values}
    if kinds and (kinds <= {int, float} or kinds == {str}):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # at once, lists of one length would be taken for a table
        column[i] = value
    return column


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
