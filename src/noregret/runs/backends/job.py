"""A run as it travels to a worker, and what the worker says of it: JSON texts, so that nothing of ours is pickled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from noregret import learners
from noregret._system import plugins
from noregret._system.blas import pin_one_thread
from noregret.errors import FileError, InputError
from noregret.problems.registry import module_of
from noregret.runs import supplies
from noregret.runs.execute import CHECKPOINT_SECONDS, Ending, Settings, execute
from noregret.store import RunKey, Store

#: The folder in a store with what the runs' keys name by a hash only.
INPUTS = ".inputs"


@dataclass
class Context:
    """What a backend is told beside the runs. What follows ``progress`` is for runs in this process only."""

    store: Store
    workers: int
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    loggers: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    address: str | None = None
    stop: Event = field(default_factory=Event)
    progress: Callable[[str, int], None] = lambda id, episode: None
    block_size: int | None = None
    keep_policies: bool = False
    raises: bool = False
    watch: Callable[[Any], None] | None = None
    notice: str = ""

    def settings(self) -> Settings:
        """How a run is played in this process."""
        return Settings(
            checkpoint_seconds=self.checkpoint_seconds, block_size=self.block_size, stop=self.stop, progress=self.progress,
            loggers=self.loggers, keep_policies=self.keep_policies, raises=self.raises, watch=self.watch,
        )  # fmt: skip

    def job(self, key: RunKey) -> str:
        """The run as a text, with the modules that it needs: those that were named, those of its learner and its problem."""
        needed = [*plugins.named(), *(plugins.Home("", module) for module in self.imports)]
        learner = learners.get(key.learner).__module__ if key.learner in learners.names() else None
        for what, module in ((f"learner {key.learner!r}", learner), (f"problem {key.problem!r}", module_of(key.problem))):
            if module == "__main__":
                raise InputError(f"{what} is defined in the program itself, which no worker can import; put it in a module")
            needed += [plugins.home(module)] if module and not module.startswith("noregret.") else []
        job = {
            "key": key.to_json(), "folder": str(self.store.folder.absolute()), "checkpoint_seconds": self.checkpoint_seconds,
            "loggers": self.loggers, "imports": list(dict.fromkeys(needed)),
        }  # fmt: skip
        supplies.send([key], self.store.folder / INPUTS)
        return json.dumps(job)


def play(job: str, stop: Event | None = None, progress: Callable[[str, int], None] | None = None) -> str:
    """Play the run of a text; the answer is an ending as a text. An error of the disk has the status "disk"."""
    entries: dict[str, Any] = json.loads(job)
    plugins.load_homes(entries["imports"])
    pin_one_thread()
    key = RunKey.from_json(entries["key"])
    settings = Settings(checkpoint_seconds=entries["checkpoint_seconds"], loggers=tuple(entries["loggers"]))
    settings.stop, settings.progress = stop or settings.stop, progress or settings.progress
    try:
        supplies.receive(key, Path(entries["folder"]) / INPUTS)
        ending = execute(key, Store(entries["folder"]), settings)
    except FileError as error:
        ending = Ending(key.id, "disk", str(error))
    return json.dumps(asdict(ending))


def ending(text: str) -> Ending:
    """The ending in a worker's answer; an error of the disk is raised again."""
    found = Ending(**json.loads(text))
    if found.status == "disk":
        raise FileError(found.error)
    return found
