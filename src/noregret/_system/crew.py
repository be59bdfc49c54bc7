"""Threads that are not waited for when somebody presses Ctrl-C: compiled code cannot be interrupted, and may never return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class Crew:
    """Some threads that take turns at functions; ``with`` waits for them at its end, unless a KeyboardInterrupt ends it.

    The threads are daemons: what they are doing ends with the process.

    Args:
        size: how many functions run at once.
    """

    def __init__(self, size: int) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(size)]
        self._begun = 0

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Have a thread call a function; the future has what it returns or raises."""
        future: Future[T] = Future()

        def call() -> None:
            try:
                result = function(*arguments)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._tasks.put(call)
        if self._begun < len(self._threads):
            self._threads[self._begun].start()
            self._begun += 1
        return future

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for _ in range(self._begun):
            self._tasks.put(None)
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            for thread in self._threads[: self._begun]:
                thread.join()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
