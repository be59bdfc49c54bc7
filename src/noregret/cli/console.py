"""Where commands print: tables on standard output, wide enough when nobody's terminal sets the width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noregret.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

#: The width of what goes into a file or a pipe.
WIDTH = 140


def console() -> Console:
    """A console that shows names as they are. Each call makes a new one, as standard output may have been replaced."""
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        """No text is markup, and control characters are written out."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    made = Plain(highlight=False, soft_wrap=False, markup=False, emoji=False)
    return made if made.is_terminal else Plain(highlight=False, markup=False, emoji=False, width=WIDTH)
