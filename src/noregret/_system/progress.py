"""A progress bar over episodes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Whether there is a bar (None: on a terminal), or what is told how far a run is in its place.
Progress: TypeAlias = bool | Callable[..., None] | None

#: What the bar says until the first episode is done.
COMPILING = "compiling (kept for next time)"


@contextmanager
def bar(total: int, progress: Progress, notice: str = "") -> Iterator[Callable[..., None]]:
    """A progress bar with episodes/s and time left on standard error, after ``notice``; silent when that is not a terminal.

    Its function takes the number of episodes that are done, and words to show beside it. The clock starts at its first call.
    A ``progress`` that is such a function is called in place of a bar.
    """
    if callable(progress):
        yield progress
        return
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda done, note="": None
        return
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    if notice:
        console.print(notice)
    words = bars.TextColumn("{task.fields[note]}")
    columns = (bars.BarColumn(), bars.MofNCompleteColumn(), words, bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("episodes", total=total, note=COMPILING)
        begin: tuple[float, int] | None = None

        def show(done: int, note: str = "") -> None:
            nonlocal begin
            begin = begin or (time.perf_counter(), done)
            spent, played = time.perf_counter() - begin[0], done - begin[1]
            rate = f"{played / spent:,.0f} episodes/s" if played > 0 and spent > 0.0 else ""
            shown.update(task, completed=done, note=", ".join(filter(None, (note, rate))))

        yield show
