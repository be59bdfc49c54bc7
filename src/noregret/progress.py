"""A progress bar over episodes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(total: int, progress: bool | None) -> Iterator[Callable[[int], None]]:
    """A progress bar with episodes/s and time left on standard error; silent when that is not a terminal."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    begin = time.perf_counter()
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]} episodes/s"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("episodes", total=total, rate="-")

        def show(done: int) -> None:
            shown.update(task, completed=done, rate=f"{done / (time.perf_counter() - begin):,.0f}")

        yield show
