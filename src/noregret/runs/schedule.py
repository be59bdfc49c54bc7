"""Play many runs: what is finished is left alone, what another holds is waited for, what raises does not stop the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from noregret._system.files import make_folder
from noregret.errors import FileError, unknown_name
from noregret.runs import loggers
from noregret.runs.backends.job import Context
from noregret.runs.execute import Outcome
from noregret.runs.progress import Progress
from noregret.runs.runner import available_cores
from noregret.store import RunKey, Store

#: Where runs can be played: the module of each, with a function ``play``.
BACKENDS = {"threads": "threads", "processes": "processes", "ray": "on_ray", "dask": "on_dask"}
#: Seconds between two looks at runs that another process holds.
LOOK_AGAIN = 0.5


@dataclass
class Summary:
    """What a sweep came to: runs played now, there before, failed (with the error), and not finished."""

    runs: int
    done: int = 0
    there: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    episodes: int = 0
    seconds: float = 0.0
    kernel_seconds: float = 0.0

    @property
    def left(self) -> int:
        """Runs that are neither finished nor failed."""
        return self.runs - self.done - self.there - len(self.failed)

    def reasons(self) -> list[tuple[str, list[str]]]:
        """The errors, each with its runs, the most frequent first."""
        grouped: dict[str, list[str]] = {}
        for id, error in self.failed.items():
            grouped.setdefault(error, []).append(id)
        return sorted(grouped.items(), key=lambda pair: -len(pair[1]))


def sweep(
    keys: Sequence[RunKey],
    context: Context,
    backend: str = "threads",
    progress: Progress | None = None,
) -> Summary:
    """Play runs until all are finished or failed, or ``context.stop`` is set. An error of the disk ends it, as FileError."""
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    loggers.check(context.loggers)
    context.store.clean()
    play: Callable[..., Iterator[Outcome]] = import_module(f"noregret.runs.backends.{BACKENDS[backend]}").play
    begin, summary = time.monotonic(), Summary(len(keys))
    todo = {key.id: key for key in keys}
    progress = progress or Progress(len(keys), sum(key.episodes for key in keys), quiet=True)
    context.progress = progress.note

    def take(outcome: Outcome) -> None:
        summary.episodes += outcome.episodes
        summary.kernel_seconds += outcome.kernel_seconds
        if outcome.status in ("busy", "stopped"):
            return
        key = todo.pop(outcome.id)
        if outcome.status == "failed":
            summary.failed[outcome.id] = outcome.error
        elif outcome.status == "done":
            summary.done += 1
        elif outcome.status == "there":
            summary.there += 1
        progress.done, progress.there, progress.failed = summary.done, summary.there, len(summary.failed)
        progress.settle(outcome.id, key.episodes, outcome.episodes)
        progress.show()

    for id in [id for id in todo if context.store.whole(id)]:
        take(Outcome(id, "there"))
    if todo:
        make_folder(context.store.folder)
    try:
        while todo and not context.stop.is_set():
            for outcome in play(list(todo.values()), context, progress.show):
                if outcome.status == "done":
                    _visible(context.store, outcome.id)
                take(outcome)
            if todo and not context.stop.is_set():
                _wait_for_others(todo, context, take, progress)
    except FileError as error:
        finished = len(context.store.ids())
        raise FileError(f"{error} ({finished:,} finished runs are untouched; start again to go on)") from None
    finally:
        progress.close()
        summary.seconds = time.monotonic() - begin
    return summary


def default_workers() -> int:
    """Runs at once on this machine."""
    return available_cores()


def _wait_for_others(todo: dict[str, RunKey], context: Context, take: Callable[[Outcome], None], progress: Progress) -> None:
    """Return when some run that another process held is finished by it, or is free to be played by us."""
    store: Store = context.store
    while not context.stop.wait(LOOK_AGAIN):
        progress.show()
        finished = [id for id in todo if store.whole(id)]
        for id in finished:
            take(Outcome(id, "there"))
        for id in todo:
            with store.lock(id) as free:
                if free:
                    return
        if finished:
            return


def _visible(store: Store, id: str) -> None:
    if not store.path(id).exists():
        raise FileError(f"{store.path(id)}: a worker wrote the run, but it is not here; workers need a folder they all share")
