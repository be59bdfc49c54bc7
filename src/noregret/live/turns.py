"""What holds: a call its episode, a process its file."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Any

from noregret.agent.flights import Flights
from noregret.errors import FileError
from noregret.live.events import Event


class Turn:
    """One call's hold of an episode: its flight, and what the call adds to the log.

    Args:
        flights: in which the episode is, if it is known.
        over: whether it was learned or dropped before.
        heard: when the last word of it came, if it is in flight.
    """

    __slots__ = ("added", "flights", "heard", "over", "ticket")

    def __init__(self, flights: Flights, over: bool, heard: float) -> None:
        self.flights, self.over, self.heard = flights, over, heard
        self.added: list[Event] = []
        self.ticket = 0

    def add(self, kind: str, episode: str, step: int, body: dict[str, Any], written: str | None = None) -> None:
        """Add an event.

        Args:
            kind: what happened.
            episode: its name.
            step: h, or -1 for the whole episode.
            body: plain JSON.
            written: the body as JSON, if it is at hand.
        """
        self.added.append(Event(kind, episode, step, time.time(), body, written))


def own(path: str, otherwise: str) -> int:
    """Take a lock that the kernel gives back when this process is gone.

    Raises:
        FileError: another process has it.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise FileError(otherwise) from None
    return handle
