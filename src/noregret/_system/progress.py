"""A progress bar over episodes, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Whether there is a bar (None: on a terminal or in a notebook), or what is told how far a run is in its place.
Progress: TypeAlias = bool | Callable[..., None] | None

#: What the bar says until the first episode is done.
COMPILING = "compiling (kept for next time)"


#: Seconds between two looks of a bar in a notebook, and how wide it is.
EVERY, WIDTH = 0.2, 30


@contextmanager
def bar(total: int, progress: Progress, notice: str = "") -> Iterator[Callable[..., None]]:
    """A progress bar with episodes/s and time left, on standard error or in the cell of a notebook, after ``notice``.

    Without ``progress`` there is a bar in a notebook and on a terminal, and nothing elsewhere. The function that this gives
    takes the number of episodes that are done, and words to show beside it. The clock starts at its first call. A ``progress``
    that is such a function is called in place of a bar.

    Args:
        total: how many episodes there are.
        progress: whether there is a bar; None decides by where the output goes; a function is called in its place.
        notice: words before the bar.
    """
    if callable(progress):
        yield progress
        return
    notebook = in_notebook()
    if not (notebook or sys.stderr.isatty() if progress is None else progress):
        yield lambda done, note="": None
        return
    with _cell(total, notice) if notebook else _terminal(total, notice) as draw:
        begin: tuple[float, int] | None = None

        def show(done: int, note: str = "") -> None:
            nonlocal begin
            begin = begin or (time.perf_counter(), done)
            spent, played = time.perf_counter() - begin[0], done - begin[1]
            words = [note]
            if played > 0 and spent > 0.0:
                words += [f"{played / spent:,.0f} episodes/s", f"{(total - done) * spent / played:,.0f} s left"]
            draw(done, ", ".join(filter(None, words)))

        yield show


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, where standard error is no terminal and yet somebody looks."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _terminal(total: int, notice: str) -> Iterator[Callable[[int, str], None]]:
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True, markup=False)
    if notice:
        console.print(notice)
    words = bars.TextColumn("{task.fields[note]}", markup=False)
    with bars.Progress(bars.BarColumn(), bars.MofNCompleteColumn(), words, console=console, transient=True) as shown:
        task = shown.add_task("episodes", total=total, note=COMPILING)
        yield lambda done, note: shown.update(task, completed=done, note=note)


@contextmanager
def _cell(total: int, notice: str) -> Iterator[Callable[[int, str], None]]:
    """A line of text that replaces itself in the output of the cell; it needs no widgets, and is gone at the end."""
    from importlib import import_module

    display = import_module("IPython.display")
    if notice:
        display.display({"text/plain": notice}, raw=True)
    handle = display.display({"text/plain": COMPILING}, raw=True, display_id=True)
    shown = time.perf_counter()

    def draw(done: int, note: str) -> None:
        nonlocal shown
        if time.perf_counter() - shown >= EVERY:
            shown, full = time.perf_counter(), WIDTH * done // max(total, 1)
            handle.update({"text/plain": f"{'━' * full}{'╌' * (WIDTH - full)} {done:,}/{total:,} {note}"}, raw=True)

    try:
        yield draw
    finally:
        handle.update({"text/plain": ""}, raw=True)
