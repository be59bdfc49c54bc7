"""How far runs are: what was played, what is left, how fast. The words beside the bar, and plain lines for a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

#: Seconds between two plain lines.
LOG_SECONDS = 10.0


class Tally:
    """Counts runs and episodes. ``note`` may be called from any thread."""

    def __init__(self, runs: int, episodes: int) -> None:
        self.runs, self.episodes = runs, episodes
        self.finished = self.failed = 0
        self._begin = time.monotonic()
        self._first: dict[str, int] = {}
        self._now: dict[str, int] = {}
        self._settled = self._played = 0
        self._lock = threading.Lock()

    def note(self, id: str, episode: int) -> None:
        """Take down the episode that a run has reached. The first note of a run says where the run was taken up."""
        with self._lock:
            self._first.setdefault(id, episode)
            self._now[id] = episode

    def settle(self, id: str, episodes: int, played: int) -> None:
        """Count a run that has ended.

        Args:
            id: the run.
            episodes: how many episodes the run has.
            played: how many of them were played since :class:`Tally` was made.
        """
        with self._lock:
            self._first.pop(id, None)
            self._now.pop(id, None)
            self._settled += episodes
            self._played += played

    @property
    def episodes_done(self) -> int:
        """How many episodes are played, those from before a stop included."""
        with self._lock:
            return self._settled + sum(self._now.values())

    @property
    def rate(self) -> float:
        """Episodes a second since the start."""
        with self._lock:
            under_way = sum(now - self._first[id] for id, now in self._now.items())
            return (self._played + under_way) / max(time.monotonic() - self._begin, 1e-9)

    def words(self) -> str:
        """``12 of 40 runs done, 1 failed``."""
        return f"{self.finished:,} of {self.runs:,} runs done" + (f", {self.failed:,} failed" if self.failed else "")

    def line(self) -> str:
        """``12 of 40 runs done, 1 failed, 27 left; 231,000 episodes/s; 0:03:12 left``."""
        left, rate = self.runs - self.finished - self.failed, self.rate
        remaining = self.episodes - self.episodes_done
        text = f"{self.finished:,} of {self.runs:,} runs done, {self.failed:,} failed, {left:,} left; {rate:,.0f} episodes/s"
        return text + (f"; {clock(remaining / rate)} left" if rate > 0 and left else "")


def log_lines(tally: Tally, stream: TextIO | None = None) -> Callable[[int, str], None]:
    """A function in place of a bar, for log files: every :data:`LOG_SECONDS` it writes a plain line."""
    due = time.monotonic() + LOG_SECONDS

    def show(done: int, note: str = "") -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + LOG_SECONDS
            print(tally.line(), file=stream or sys.stderr, flush=True)

    return show


def clock(seconds: float) -> str:
    """A time in seconds as h:mm:ss.

    >>> clock(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
