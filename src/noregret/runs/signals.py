"""Ctrl-C and SIGTERM: the first one sets an event, so that runs leave a checkpoint; the second one ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class StopSignal:
    """The signal that came, or None; ``StopSignal.last`` is the last one in this process."""

    number: int | None = None
    last: ClassVar[int | None] = None


@contextmanager
def stopping(stop: threading.Event) -> Iterator[StopSignal]:
    """Set ``stop`` on the first SIGINT or SIGTERM; only the main thread can listen, another one listens to nothing."""
    came = StopSignal()
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def heard(number: int, frame: object) -> None:
        came.number = StopSignal.last = number
        stop.set()
        for each, handler in before.items():
            signal.signal(each, handler)

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
