"""A run as it travels to a worker, and what the worker says of it: JSON texts, so that nothing of ours is pickled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from threading import Event
from typing import Any

from noregret._system.blas import pin_one_thread
from noregret.errors import FileError
from noregret.runs.execute import CHECKPOINT_SECONDS, Outcome, Settings, execute
from noregret.store import RunKey, Store


@dataclass
class Context:
    """What a backend is told beside the runs."""

    store: Store
    workers: int
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    loggers: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    address: str | None = None
    stop: Event = field(default_factory=Event)
    progress: Callable[[str, int], None] = lambda id, episode: None

    def job(self, key: RunKey) -> str:
        """The run as a text."""
        job = {
            "key": key.to_json(), "folder": str(self.store.folder.absolute()), "checkpoint_seconds": self.checkpoint_seconds,
            "loggers": self.loggers, "imports": self.imports,
        }  # fmt: skip
        return json.dumps(job)


def play(job: str, stop: Event | None = None, progress: Callable[[str, int], None] | None = None) -> str:
    """Play the run of a text; the answer is an outcome as a text. An error of the disk has the status "disk"."""
    entries: dict[str, Any] = json.loads(job)
    for module in entries["imports"]:
        import_module(module)
    pin_one_thread()
    key = RunKey.from_json(entries["key"])
    settings = Settings(checkpoint_seconds=entries["checkpoint_seconds"], loggers=tuple(entries["loggers"]))
    settings.stop, settings.progress = stop or settings.stop, progress or settings.progress
    try:
        outcome = execute(key, Store(entries["folder"]), settings)
    except FileError as error:
        outcome = Outcome(key.id, "disk", str(error))
    return json.dumps(asdict(outcome))


def outcome(text: str) -> Outcome:
    """The outcome in a worker's answer; an error of the disk is raised again."""
    found = Outcome(**json.loads(text))
    if found.status == "disk":
        raise FileError(found.error)
    return found
