"""Runs in memory: a store for those who want curves and no files. What is under way survives a stop, not the process."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from noregret.store.checkpoints import Checkpoint, Growing, Numbers
from noregret.store.folder import Store, StoredRun
from noregret.store.identity import RunKey
from noregret.store.records import RunRecord


@dataclass(frozen=True)
class RunInMemory(StoredRun):
    """A finished run whose curves are at hand."""

    arrays: dict[str, Numbers] = field(default_factory=dict)

    def curves(self) -> dict[str, Numbers]:
        """The curves by name."""
        return dict(self.arrays)


class Kept:
    """The last checkpoint of a run."""

    def __init__(self) -> None:
        self.last: Checkpoint | None = None

    def save(self, k: int, arrays: Mapping[str, Numbers], meta: Mapping[str, object], growing: Growing | None = None) -> None:
        """Keep copies of a checkpoint, in place of the last one.

        Args:
            k: how many episodes were played.
            arrays: the arrays of the trial.
            meta: its JSON values.
            growing: which arrays only grow; of no use in memory.
        """
        self.last = k, {name: np.array(array) for name, array in arrays.items()}, dict(meta)

    def load(self) -> Checkpoint | None:
        """The last checkpoint, or None."""
        return self.last

    def forget(self) -> None:
        """Drop the last checkpoint."""
        self.last = None


class MemoryStore(Store):
    """The same methods as a :class:`~noregret.store.Store` on disk, over dictionaries."""

    def __init__(self) -> None:
        super().__init__(Path("memory"))
        self._runs: dict[str, StoredRun] = {}
        self._work: dict[str, Kept] = {}
        self._failed: dict[str, RunRecord] = {}
        self._locks: dict[str, threading.Lock] = {}

    def ids(self) -> list[str]:
        """The ids of all finished runs."""
        return sorted(self._runs)

    def read(self, id: str) -> StoredRun:
        """Read a finished run."""
        return self._runs[id]

    def whole(self, id: str) -> bool:
        """Whether the run is finished."""
        return id in self._runs

    finished = has = whole

    def write(self, key: RunKey, record: Mapping[str, object], curves: Mapping[str, Numbers]) -> None:
        """Keep a finished run.

        Args:
            key: which run it is.
            record: everything about it beside its curves.
            curves: the curves by name.
        """
        self._runs[key.id] = RunInMemory(key.id, self.folder, self._record(key, record), dict(curves))
        self.tidy(key.id)

    @staticmethod
    def _record(key: RunKey, record: Mapping[str, object]) -> RunRecord:
        return cast(RunRecord, {"run": key.to_json(), **record})

    def tidy(self, id: str) -> None:
        """Forget what led to a finished run."""
        self._work.pop(id, None)
        self._failed.pop(id, None)

    def forget(self, id: str) -> None:
        """Forget a run."""
        self._runs.pop(id, None)
        self.tidy(id)

    def set_aside(self, path: Path, why: Exception) -> None:
        """Name in a warning what cannot be used of a run; memory keeps nothing of it."""
        warnings.warn(f"{why}; the run is played again", stacklevel=3)

    def clean(self) -> None:
        """Nothing is left behind in memory."""

    def fail(self, key: RunKey, record: Mapping[str, object]) -> None:
        """Remember that a run raised."""
        self._failed[key.id] = self._record(key, record)

    def failures(self) -> dict[str, RunRecord]:
        """The records of the runs that raised."""
        return dict(self._failed)

    def checkpoints(self, id: str) -> Kept:
        """Where the checkpoint of a run is kept."""
        return self._work.setdefault(id, Kept())

    @contextmanager
    def lock(self, id: str) -> Iterator[bool]:
        """Hold a run while it is played; gives False where another thread holds the run."""
        lock = self._locks.setdefault(id, threading.Lock())
        free = lock.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                lock.release()
