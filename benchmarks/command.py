"""What the project's own commands share: an error is one line, and a signal the usual exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from noregret.errors import FileError, NoRegretError
from noregret.report.tables import write_text

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


def renew(path: Path, make: Callable[[str], str]) -> None:
    """Write a page anew.

    Args:
        path: the page.
        make: is given its text, and makes the new one.

    Raises:
        FileError: the page cannot be read, or is no text.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path}: is no text in UTF-8; expected a page with a place for the table") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    write_text(path, make(text))


def between(text: str, begin: str, end: str, block: str) -> str:
    """A page with a block in the place of all from one line to another.

    Args:
        text: the page.
        begin: the first line of what is replaced.
        end: the last one.
        block: has these two lines again, and ends with a line break.

    Raises:
        FileError: the page does not have each of these lines once.
    """
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise FileError(f"the page has no place for the table; expected a line {begin!r} and a line {end!r}")
    return text.partition(begin)[0] + block + text.partition(end)[2].removeprefix("\n")
