"""A run as it travels to a worker, and what the worker says of it: JSON texts, so that nothing of ours is pickled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from noregret import learners
from noregret._system import plugins
from noregret._system.blas import pin_one_thread
from noregret.errors import FileError, InputError
from noregret.problems.registry import module_of
from noregret.runs import supplies
from noregret.runs.execute import Ending, Settings, execute
from noregret.runs.prepare import send
from noregret.store import RunKey, Store

#: The folder in a store with what the runs' keys name by a hash only.
INPUTS = ".inputs"


@dataclass
class Context(Settings):
    """What a backend is told beside the runs: how each run is played, and where all of them are.

    ``block_size``, ``keep_policies``, ``raises`` and ``watch`` reach runs in this process only.

    Attributes:
        store: where the runs are kept.
        workers: how many runs are played at once.
        imports: the modules that other processes import before they play.
        address: the Ray or Dask cluster; None for one on this machine.
        notice: a line for the person that waits, shown with the progress.
    """

    store: Store
    workers: int
    imports: tuple[str, ...] = ()
    address: str | None = None
    notice: str = ""

    def fail(self, key: RunKey, why: str, traceback: str = "") -> Ending:
        """Record in the store that a run could not be played.

        Args:
            key: the run.
            why: the reason, in one line.
            traceback: where it happened, as far as that is known.

        Returns:
            The ending of the run.
        """
        self.store.fail(key, {"error": why, "traceback": traceback})
        return Ending(key.id, "failed", why)

    def job(self, key: RunKey) -> str:
        """A run as a text for a worker. The text names the modules to import: those given, the learner's, the problem's."""
        needed = [*plugins.named(), *(plugins.Home("", module) for module in self.imports)]
        learner = learners.get(key.learner).__module__ if key.learner in learners.names() else None
        for what, module in ((f"learner {key.learner!r}", learner), (f"problem {key.problem!r}", module_of(key.problem))):
            if module == "__main__":
                raise InputError(f"{what} is defined in the program itself, which no worker can import; put it in a module")
            needed += [plugins.home(module)] if module and not module.startswith("noregret.") else []
        job = {
            "key": key.to_json(),
            "folder": str(self.store.folder.absolute()),
            "checkpoint_seconds": self.checkpoint_seconds,
            "loggers": self.loggers,
            "imports": list(dict.fromkeys(needed)),
        }
        send(key, self.store.folder / INPUTS)
        return json.dumps(job)


def play_job(job: str, stop: Event | None = None, progress: Callable[[str, int], None] | None = None) -> str:
    """Play a run in a worker.

    Args:
        job: the run, a text made by :meth:`Context.job`.
        stop: an event. Once it is set, the run leaves a checkpoint and ends.
        progress: a function of the run's id and its episode, called after each block.

    Returns:
        The ending as a text, for :func:`ending`. An error of the disk has the status "disk".
    """
    entries = json.loads(job)
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
    said = Ending(**json.loads(text))
    if said.status == "disk":
        raise FileError(said.error)
    return said
