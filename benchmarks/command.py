"""What the project's own commands share: an error is one line, and a signal the usual exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from noregret.errors import NoRegretError

#: The exit code of a command that Ctrl-C or SIGTERM stopped.
STOPPED = 130


def run(main: Callable[[Sequence[str]], int], words: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        main: takes the words after the command's name; returns the exit code.
        words: the words; by default those of the command line.
    """
    try:
        return main(sys.argv[1:] if words is None else words)
    except NoRegretError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return STOPPED


def say(line: str) -> None:
    """Write a line to standard error."""
    print(line, file=sys.stderr, flush=True)
