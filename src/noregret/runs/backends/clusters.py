"""Runs on a Ray or a Dask cluster, through its own tasks: a task a run, tried again when its worker dies.

Workers write to the folder themselves, so it must be one that all of them and this machine share; a run that is played twice
does no harm. Without an address a cluster is started on this machine for as long as the runs take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Generic, NamedTuple, Protocol, TypeVar

from noregret._system.plugins import library
from noregret.errors import NoRegretError
from noregret.runs.backends import job
from noregret.runs.backends.job import Context
from noregret.runs.execute import Ending
from noregret.store import RunKey

#: So often a task is started again when its worker died.
RETRIES = 5
#: Tasks of a core that are handed to the cluster at once: enough for every core to have some waiting.
PER_CORE = 4
#: Seconds to wait for a task before ``tick`` is called.
MOMENT = 0.2
#: Seconds to find a Dask cluster.
PATIENCE = 30


Task = TypeVar("Task")


class DaskTask(Protocol):
    """What is used of a future of Dask."""

    status: str

    def done(self) -> bool:
        """Whether the task has ended."""

    def result(self) -> str:
        """The answer of a task that is finished."""

    def exception(self) -> BaseException:
        """The error of a task that is not."""

    def cancel(self) -> object:
        """Take the task back."""


class Cluster(NamedTuple, Generic[Task]):
    """What Ray and Dask do differently.

    Attributes:
        name: of the library, for messages.
        cores: how many runs the cluster can play at once.
        submit: hands over a run, as a text, and gives its task.
        ready: waits a moment and gives those of some tasks that have ended.
        answer: the answer of a task that has ended, or the error with which the cluster gave the task up.
        cancel: takes a task back.
    """

    name: str
    cores: Callable[[], float]
    submit: Callable[[RunKey, str], Task]
    ready: Callable[[list[Task]], Iterable[Task]]
    answer: Callable[[Task], str | BaseException]
    cancel: Callable[[Task], object]


def on_ray(keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs on a Ray cluster.

    Args:
        keys: the runs.
        context: where the runs are kept, and how each is played.
        tick: a function that is called a few times a second.

    Yields:
        The ending of each run, once the run is in the store.
    """
    ray = library("ray", "the backend ray", "ray")
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, context)

    def ready(tasks: list[object]) -> list[object]:
        return list(ray.wait(tasks, timeout=MOMENT)[0])

    def answer(task: object) -> str | BaseException:
        try:
            return str(ray.get(task))
        except ray.exceptions.RayError as error:
            return error  # type: ignore[no-any-return]

    try:
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(job.play_job)
        cores = ray.cluster_resources().get("CPU", 1)
        calls = Cluster("Ray", lambda: cores, lambda key, text: task.remote(text), ready, answer, ray.cancel)
        yield from _play_on(calls, keys, context, tick)
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: ModuleType, context: Context) -> None:
    options: dict[str, object] = {"log_to_driver": False, "logging_level": "ERROR"}
    if context.address is None:
        options |= {"num_cpus": context.workers, "include_dashboard": False}
    try:
        ray.init(address=context.address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise NoRegretError(f"no Ray cluster at {context.address or 'this machine'}: {_last_line(error)}") from None


def on_dask(keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs on a Dask cluster.

    Args:
        keys: the runs.
        context: where the runs are kept, and how each is played.
        tick: a function that is called a few times a second.

    Yields:
        The ending of each run, once the run is in the store.
    """
    distributed = library("distributed", "the backend dask", "dask")
    cluster = None
    try:
        if context.address is None:
            cluster = distributed.LocalCluster(n_workers=context.workers, threads_per_worker=1, dashboard_address=None)
        client = distributed.Client(cluster or context.address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise NoRegretError(f"no Dask cluster at {context.address or 'this machine'}: {error}") from None

    def submit(key: RunKey, text: str) -> DaskTask:
        task: DaskTask = client.submit(job.play_job, text, key=f"noregret-{key.id}", retries=RETRIES, pure=False)
        return task

    def ready(futures: list[DaskTask]) -> list[DaskTask]:
        try:
            distributed.wait(futures, timeout=MOMENT, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        return [future for future in futures if future.done()]

    def answer(future: DaskTask) -> str | BaseException:
        return future.result() if future.status == "finished" else future.exception()

    try:
        calls = Cluster("Dask", lambda: sum(client.nthreads().values()), submit, ready, answer, lambda task: task.cancel())
        yield from _play_on(calls, keys, context, tick)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _play_on(cluster: Cluster[Task], keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs on a cluster that is connected."""
    todo, waiting = iter(keys), dict[Task, RunKey]()
    while not context.stop.is_set():
        ahead = max(2, int(PER_CORE * cluster.cores()))
        while len(waiting) < ahead and (key := next(todo, None)) is not None:
            waiting[cluster.submit(key, context.job(key))] = key
        if not waiting:
            break
        done = cluster.ready(list(waiting))
        tick()
        for task in done:
            key = waiting.pop(task)
            answer = cluster.answer(task)
            if isinstance(answer, str):
                yield job.ending(answer)
            else:
                yield context.fail(key, f"{cluster.name} gave up: {_last_line(answer)}", str(answer))
    for task in waiting:
        cluster.cancel(task)  # what was played since the last checkpoint is played again by the next sitting


def _last_line(error: BaseException) -> str:
    """The last line of an error's message, where both libraries say what went wrong; else the error's kind."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
