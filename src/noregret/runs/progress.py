"""How far a sweep is: one line that is drawn again in a terminal, plain lines now and then in a log."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

#: Seconds between two plain lines, and between two drawings in a terminal.
LOG_SECONDS, DRAW_SECONDS = 10.0, 0.25


class Progress:
    """Counts runs and episodes; ``show`` is cheap and may be called often. ``note`` may be called from any thread."""

    def __init__(self, runs: int, episodes: int, stream: TextIO | None = None, quiet: bool = False) -> None:
        self.runs, self.episodes = runs, episodes
        self.done = self.there = self.failed = 0
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._quiet = quiet
        self._begin = time.monotonic()
        self._due = self._begin if self._terminal else self._begin + LOG_SECONDS
        self._first: dict[str, int] = {}
        self._now: dict[str, int] = {}
        self._settled = self._played = 0
        self._lock = threading.Lock()

    def note(self, id: str, episode: int) -> None:
        """A run under way is at this episode; the first note says where it was taken up."""
        with self._lock:
            self._first.setdefault(id, episode)
            self._now[id] = episode

    def settle(self, id: str, episodes: int, played: int) -> None:
        """A run is through: it has so many episodes, of which so many were played now."""
        with self._lock:
            self._first.pop(id, None)
            self._now.pop(id, None)
            self._settled += episodes
            self._played += played

    @property
    def rate(self) -> float:
        """Episodes a second since the start."""
        with self._lock:
            under_way = sum(now - self._first[id] for id, now in self._now.items())
            return (self._played + under_way) / max(time.monotonic() - self._begin, 1e-9)

    def line(self) -> str:
        """``12 of 40 runs done, 1 failed, 27 left; 231,000 episodes/s; 0:03:12 left``."""
        finished = self.done + self.there
        left = self.runs - finished - self.failed
        rate = self.rate
        with self._lock:
            remaining = self.episodes - self._settled - sum(self._now.values())
        text = f"{finished:,} of {self.runs:,} runs done, {self.failed:,} failed, {left:,} left; {rate:,.0f} episodes/s"
        return text + (f"; {clock(remaining / rate)} left" if rate > 0 and left else "")

    def show(self, force: bool = False) -> None:
        """Draw or write the line when it is time."""
        now = time.monotonic()
        if self._quiet or (now < self._due and not force):
            return
        self._due = now + (DRAW_SECONDS if self._terminal else LOG_SECONDS)
        self._stream.write(f"\r\x1b[K{self.line()}" if self._terminal else f"{self.line()}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the terminal with an empty line for what comes next."""
        if self._terminal and not self._quiet:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss.

    >>> clock(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
