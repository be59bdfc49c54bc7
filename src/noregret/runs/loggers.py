"""Loggers: watch a run while it is played. Three methods, two built in.

A logger is told when a run starts, each recorded point, and when the run's sitting ends. A run that is taken up again
tells its logger the points of earlier sittings first, so what is logged does not depend on stops.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

import numpy as np

from noregret._system.files import make_folder
from noregret.errors import InputError, told, unknown_name
from noregret.problems.base import Array
from noregret.results import named_curves, record_grid
from noregret.store import RunKey

if TYPE_CHECKING:
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    from noregret.runs.trial import Trial

#: What a logger says that is told points too early.
BEFORE = "a logger is told points before its start"


class Logger(Protocol):
    """An object that is told what happens in a run while the run is played."""

    def start(self, run: Mapping[str, object]) -> None:
        """The run starts or goes on; ``run`` has the entries of its :class:`~noregret.store.RunKey`, and its ``id``."""

    def log(self, episode: int, values: Mapping[str, float]) -> None:
        """The values at a recorded episode: regret, hard_regret, violation, hard_violation, dual, by constraint where m > 1."""

    def finish(self, complete: bool) -> None:
        """The run has ended or was stopped; ``complete`` says whether the run is finished."""


class CSVLogger:
    """``logs/<id>.csv``: a row a recorded point, visible while the run is played."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: IO[str] | None = None
        self._names: list[str] = []

    def start(self, run: Mapping[str, object]) -> None:
        """Open an empty file: the points from before a stop are told again."""
        path = make_folder(self.folder) / f"{run['id']}.csv"
        with told(path, "cannot be written"):
            self._file = open(path, "w", newline="", encoding="utf-8")
        self._names = []

    def log(self, episode: int, values: Mapping[str, float]) -> None:
        """Write a recorded point as a row."""
        if self._file is None:
            raise InputError(BEFORE)
        writer = csv.writer(self._file, lineterminator="\n")
        if not self._names:
            self._names = list(values)
            writer.writerow(["episode", *self._names])
        writer.writerow([episode, *(values[name] for name in self._names)])

    def finish(self, complete: bool) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class TensorBoardLogger:
    """``logs/<id>/``: events for TensorBoard; needs the extra ``noregret[tensorboard]``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: EventFileWriter | None = None

    def start(self, run: Mapping[str, object]) -> None:
        """Open a fresh event file for the run."""
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        folder = make_folder(self.folder / str(run["id"]))
        for old in folder.glob("events.out.tfevents.*"):  # of an earlier sitting, whose points are told again
            old.unlink(missing_ok=True)
        self._writer = EventFileWriter(str(folder))

    def log(self, episode: int, values: Mapping[str, float]) -> None:
        """Add the values of a recorded point as scalars."""
        from tensorboard.compat.proto import event_pb2, summary_pb2

        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=name, simple_value=v) for name, v in values.items()])
        if self._writer is None:
            raise InputError(BEFORE)
        self._writer.add_event(event_pb2.Event(step=episode, summary=summary))

    def finish(self, complete: bool) -> None:
        """Write the last events and close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


_LOGGERS: dict[str, Callable[[Path], Logger]] = {"csv": CSVLogger, "tensorboard": TensorBoardLogger}


def register(name: str, make: Callable[[Path], Logger]) -> None:
    """Make a logger known: ``make(folder)`` gives one for a run, ``folder`` is where logs go."""
    _LOGGERS[name] = make


def check(names: tuple[str, ...]) -> None:
    """Refuse a name that is not registered, and a logger whose library is missing."""
    for name in names:
        if name not in _LOGGERS:
            raise unknown_name("logger", name, _LOGGERS)
        if name == "tensorboard" and find_spec("tensorboard") is None:
            raise InputError("TensorBoard events need tensorboard: pip install 'noregret[tensorboard]'")


class Loggers:
    """The loggers of a run, from a start to a stop: a context manager that is called after each block of episodes."""

    def __init__(self, names: tuple[str, ...], folder: Path, key: RunKey) -> None:
        check(names)
        self._loggers = [_LOGGERS[name](folder) for name in names]
        self._key, self._told, self._complete = key, 0, False

    def __enter__(self) -> Loggers:
        for logger in self._loggers:
            logger.start(self._key.to_json() | {"id": self._key.id})
        return self

    def __call__(self, trial: Trial) -> None:
        """Tell all loggers the points that were recorded since the last call."""
        if not self._loggers:
            return
        grid = record_grid(trial.recorded, trial.every, trial.episodes)
        named = named_curves(trial.curves, trial.problem.n_constraints)
        for row in range(self._told, trial.recorded):
            values = point(named, row)
            for logger in self._loggers:
                logger.log(int(grid[row]), values)
        self._told, self._complete = trial.recorded, trial.k == trial.episodes

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for logger in self._loggers:
            logger.finish(self._complete and error is None)


def point(named: Mapping[str, Array], row: int) -> dict[str, float]:
    """The values of a recorded point by the words of the results; the paper's violation is the positive part."""
    values = {"regret": float(named["regret"][row]), "hard_regret": float(named["hard_regret"][row])}
    parts = {
        "violation": np.maximum(named["signed_violations"][row], 0.0),
        "hard_violation": named["hard_violations"][row],
        "dual": named["dual"][row],
    }
    for name, each in parts.items():
        if len(each) == 1:
            values[name] = float(each[0])
        else:
            values |= {f"{name}.{i}": float(value) for i, value in enumerate(each)}
    return values | ({"unsafe_steps": float(named["unsafe_steps"][row])} if "unsafe_steps" in named else {})
