"""The one scheduler: what is finished is left alone, what another holds is waited for, what raises does not stop the rest."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal

from noregret._system.files import make_folder
from noregret._system.progress import Progress, bar
from noregret.errors import FileError, unknown_name
from noregret.learners.registry import check_imported
from noregret.runs import loggers
from noregret.runs.backends.job import Context
from noregret.runs.execute import Ending
from noregret.runs.progress import Tally, log_lines
from noregret.store import MemoryStore, RunKey, Store

#: Where runs can be played: the module and the function of each.
BACKENDS = {
    "threads": "threads.on_threads",
    "processes": "processes.on_processes",
    "ray": "clusters.on_ray",
    "dask": "clusters.on_dask",
}
#: Seconds between two looks at runs that another process holds.
LOOK_AGAIN = 0.5
#: Seconds that runs have to leave their checkpoints, before the person who pressed Ctrl-C is told how to end them at once.
PATIENCE = 3.0


@dataclass
class Summary:
    """What a call of :func:`schedule` came to: how many runs were played, were there before, and failed (with the errors)."""

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


def schedule(
    keys: Sequence[RunKey],
    context: Context,
    backend: str = "threads",
    progress: Progress | Literal["log"] = False,
    tell: Callable[[RunKey, Ending], None] = lambda key, ending: None,
) -> Summary:
    """Play runs until all are finished or failed, or ``context.stop`` is set.

    Args:
        keys: the runs.
        context: where the runs are kept, and how each is played.
        backend: a name of :data:`BACKENDS`.
        progress: whether a bar is shown, or a function that is called with the number of episodes played so far; "log" writes
            plain lines where standard error is no terminal.
        tell: a function that is called with each run that is finished or failed, in the order in which the runs end.

    Returns:
        How many runs were played, were finished before, failed, and are left.

    Raises:
        FileError: the disk cannot be written; what is finished stays.
        InputError: there is no such backend or logger, or the module of a learner is still being imported.
    """
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    loggers.check(context.loggers)
    for name in {key.learner for key in keys}:
        check_imported(name)
    context.store.clean()
    module, function = BACKENDS[backend].split(".")
    play: Callable[..., Iterator[Ending]] = getattr(import_module(f"noregret.runs.backends.{module}"), function)
    begin, todo = time.monotonic(), {key.id: key for key in keys}  # two ways to ask for one run are one run
    summary = Summary(len(todo))
    tally = Tally(len(todo), sum(key.episodes for key in todo.values()))
    context.progress = tally.note
    shown: Progress = None if progress == "log" else progress
    if progress == "log" and not sys.stderr.isatty():
        shown = log_lines(tally)

    def take(ending: Ending) -> None:
        summary.episodes += ending.episodes
        summary.kernel_seconds += ending.kernel_seconds
        if ending.status in ("busy", "stopped"):
            return
        key = todo.pop(ending.id)
        if ending.status == "failed":
            summary.failed[ending.id] = ending.error
        summary.done += ending.status == "done"
        summary.there += ending.status == "there"
        tally.finished, tally.failed = summary.done + summary.there, len(summary.failed)
        tally.settle(ending.id, key.episodes, ending.episodes)
        tell(key, ending)

    with bar(tally.episodes, shown, context.notice) as show:
        remind = _reminder(context)

        def tick() -> None:
            remind()
            try:
                if tally.episodes_done:
                    show(tally.episodes_done, tally.words() if len(keys) > 1 else "")
            except KeyboardInterrupt:  # as Ctrl-C
                context.stop.set()

        for id in [id for id in todo if context.store.whole(id)]:
            take(Ending(id, "there"))
        if todo and not isinstance(context.store, MemoryStore):
            make_folder(context.store.folder)
        try:
            while todo and not context.stop.is_set():
                for ending in play(list(todo.values()), context, tick):
                    if ending.status == "done" and not context.store.has(ending.id):
                        raise FileError(
                            f"{context.store.path(ending.id)}: a worker wrote the run, but it is not here; workers need a "
                            f"folder they all share"
                        )
                    take(ending)
                if todo and not context.stop.is_set():
                    _wait_for_others(todo, context, take, tick)
        except FileError as error:
            finished = len(context.store.ids())
            raise FileError(f"{error} ({finished:,} finished runs are untouched; start again to go on)") from None
        finally:
            summary.seconds = time.monotonic() - begin
    return summary


def _reminder(context: Context) -> Callable[[], None]:
    """A function that says, once, how to end runs that were asked to stop a while ago and still play."""
    asked: list[float] = []

    def look() -> None:
        if context.stop.is_set() and not asked:
            asked.append(time.monotonic())
        elif len(asked) == 1 and time.monotonic() - asked[0] > PATIENCE:
            asked.append(time.monotonic())
            warnings.warn("runs are still at work; press Ctrl-C again to end them without a checkpoint", stacklevel=3)

    return look


def _wait_for_others(
    todo: dict[str, RunKey], context: Context, take: Callable[[Ending], None], tick: Callable[[], None]
) -> None:
    """Return when some run that another process held is finished by it, or is free to be played by us."""
    store: Store = context.store
    while not context.stop.wait(LOOK_AGAIN):
        tick()
        finished = [id for id in todo if store.whole(id)]
        for id in finished:
            take(Ending(id, "there"))
        for id in todo:
            with store.lock(id) as free:
                if free:
                    return
        if finished:
            return
