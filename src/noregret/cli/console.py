"""Where commands print: tables on standard output, wide enough when nobody's terminal sets the width."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: The width of what goes into a file or a pipe.
WIDTH = 140


def console() -> Console:
    """The console for results; made anew, as standard output may have been replaced."""
    from rich.console import Console

    made = Console(highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDTH)
