"""Runs side by side in threads: nothing is pickled, and kernels run without the GIL.

A finished run is put on the disk by other threads than those that play, so that no core waits for the disk. The threads that
play end with the process, so that a second Ctrl-C ends a learner whose plan never returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from noregret._system.blas import one_thread
from noregret._system.crew import Crew
from noregret.runs.backends.job import Context
from noregret.runs.execute import Ending, execute
from noregret.store import RunKey

#: Threads that write, and finished runs that may wait for them.
WRITERS, WAITING = 4, 16


def on_threads(keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs in threads of this process.

    Args:
        keys: the runs.
        context: where the runs are kept, and how each is played.
        tick: a function that is called a few times a second.

    Yields:
        The ending of each run, once the run is in the store.
    """
    todo = iter(keys)
    playing: set[Future[tuple[Ending, Future[None] | None]]] = set()
    writing: dict[Future[None], Ending] = {}

    def played(key: RunKey) -> tuple[Ending, Future[None] | None]:
        written: list[Future[None]] = []
        later = replace(context, write=lambda finish: written.append(writers.submit(finish)))
        ending = execute(key, context.store, later)
        return ending, written[0] if written else None

    with one_thread(), ThreadPoolExecutor(WRITERS) as writers, Crew(context.workers) as players:
        try:
            while True:
                while not context.stop.is_set() and len(playing) < context.workers + 1 and len(writing) < WAITING:
                    if (key := next(todo, None)) is None:
                        break
                    playing.add(players.submit(played, key))
                if not playing and not writing:
                    break
                both: list[Future[Any]] = [*playing, *writing]
                done, _ = wait(both, timeout=0.2, return_when=FIRST_COMPLETED)
                tick()
                for future in done:
                    if future in writing:
                        future.result()
                        yield writing.pop(future)
                    else:
                        playing.discard(future)
                        ending, written = future.result()
                        if written is None:
                            yield ending
                        else:
                            writing[written] = ending
        except BaseException:
            context.stop.set()
            raise
