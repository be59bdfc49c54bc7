"""Runs on a Ray cluster, through Ray's own tasks: a task a run, tried again when its worker dies.

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

#: So often a task is started again when its worker died.
RETRIES = 5
#: Tasks that are handed to the cluster at once: enough for every core to have one waiting.
PER_CORE = 4


def play(keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs; gives each ending when the run is on the disk. ``tick`` is called a few times a second."""
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise NoRegretError("the backend ray needs Ray: pip install 'noregret[ray]'") from None
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, context)
    try:
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(job.play)
        ahead = max(2, int(PER_CORE * ray.cluster_resources().get("CPU", 1)))
        waiting: dict[Any, RunKey] = {}
        todo = iter(keys)
        while not context.stop.is_set():
            while len(waiting) < ahead and (key := next(todo, None)) is not None:
                waiting[task.remote(context.job(key))] = key
            if not waiting:
                break
            done, _ = ray.wait(list(waiting), timeout=0.2)
            tick()
            for reference in done:
                yield _ending(ray, reference, waiting.pop(reference), context)
        for reference in waiting:
            ray.cancel(reference)  # what was played since the last checkpoint is played again by the next sweep
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, context: Context) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if context.address is None:
        options |= {"num_cpus": context.workers, "include_dashboard": False}
    try:
        ray.init(address=context.address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise NoRegretError(f"no Ray cluster at {context.address or 'this machine'}: {_line(error)}") from None


def _ending(ray: Any, reference: Any, key: RunKey, context: Context) -> Ending:
    try:
        answer: str = ray.get(reference)
    except ray.exceptions.RayError as error:
        why = f"Ray gave up: {_line(error)}"
        context.store.fail(key, {"error": why, "traceback": str(error)})
        return Ending(key.id, "failed", why)
    return job.ending(answer)


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
