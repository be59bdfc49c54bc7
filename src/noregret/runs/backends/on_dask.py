"""Runs on a Dask cluster, through Dask's own futures: a task a run, tried again when its worker dies.

Workers write to the folder themselves, so it must be one that all of them and this machine share; a run that is played twice
does no harm. Without an address a cluster is started on this machine for the sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from noregret.errors import NoRegretError
from noregret.runs.backends import job
from noregret.runs.backends.job import Context
from noregret.runs.execute import Ending
from noregret.store import RunKey

#: So often a task is started again when it raised; when its worker died, the scheduler moves it by itself.
RETRIES = 5
#: Tasks that are handed to the cluster at once: enough for every thread to have one waiting.
PER_THREAD = 4
#: Seconds to find the cluster.
PATIENCE = 30


def play(keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs; gives each ending when the run is on the disk. ``tick`` is called a few times a second."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise NoRegretError("the backend dask needs Dask: pip install 'noregret[dask]'") from None
    cluster = None
    try:
        if context.address is None:
            cluster = distributed.LocalCluster(n_workers=context.workers, threads_per_worker=1, dashboard_address=None)
        client = distributed.Client(cluster or context.address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise NoRegretError(f"no Dask cluster at {context.address or 'this machine'}: {error}") from None
    try:
        todo = iter(keys)
        waiting: dict[Any, RunKey] = {}
        while not context.stop.is_set():
            ahead = max(2, PER_THREAD * sum(client.nthreads().values()))
            while len(waiting) < ahead and (key := next(todo, None)) is not None:
                future = client.submit(job.play, context.job(key), key=f"noregret-{key.id}", retries=RETRIES, pure=False)
                waiting[future] = key
            if not waiting:
                break
            try:
                distributed.wait(list(waiting), timeout=0.2, return_when="FIRST_COMPLETED")
            except TimeoutError:
                pass
            tick()
            for future in [future for future in waiting if future.done()]:
                yield _ending(future, waiting.pop(future), context)
        for future in waiting:
            future.cancel()  # what was played since the last checkpoint is played again by the next sweep
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _ending(future: Any, key: RunKey, context: Context) -> Ending:
    if future.status != "finished":
        error = future.exception()
        why = f"Dask gave up: {' '.join(str(error).split()) or type(error).__name__}"
        context.store.fail(key, {"error": why, "traceback": ""})
        return Ending(key.id, "failed", why)
    return job.ending(future.result())
