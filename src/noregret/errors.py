"""What noregret raises: one readable line that says what was wrong, where, and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class NoRegretError(Exception):
    """Base of every error that noregret raises on purpose."""


class InputError(NoRegretError, ValueError):
    """A value that cannot be used; the message names the entry, the value and what was expected."""


class ConflictError(InputError):
    """A value under a name that is known with another value; the message says what is known."""


class InfeasibleError(InputError):
    """No policy meets the constraints; the message names the reachable range."""


class FileError(NoRegretError, OSError):
    """A file that cannot be read or written."""


class DamagedError(FileError):
    """A stored file whose content is not what was written; the message names it."""


class OracleError(NoRegretError):
    """The oracle's own checks disagree; its answer would not be exact."""


class NumericalError(NoRegretError):
    """A number of a run stopped being finite; the message names episode, step and quantity."""


def printable(text: str) -> str:
    r"""The text with control characters written out, so that a terminal shows them and does not obey them.

    >>> printable("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text)


def shown(value: object, most: int = 80) -> str:
    """A value as an error message shows it: its repr in one line, cut to ``most`` letters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of more digits than Python writes
        text = "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."


@contextmanager
def told(path: object, trouble: str, kind: type[NoRegretError] = FileError) -> Iterator[None]:
    """Make one line of an error of the system: the file's name, what went wrong with it, and why.

    Args:
        path: the file or folder.
        trouble: what went wrong, such as "cannot be written".
        kind: the error to raise.

    Raises:
        FileError: the block raised an OSError; errors that noregret raised on purpose stay as they are.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, NoRegretError):
            raise
        raise kind(f"{path}: {trouble}: {error.strerror or error}") from None


def one_line(error: BaseException) -> str:
    """What an error says, with its kind in front unless noregret raised it on purpose."""
    return str(error) if isinstance(error, NoRegretError) else f"{type(error).__name__}: {error}"


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """An error for a name that is not in ``known``, with the closest one suggested.

    Args:
        kind: what the name stands for, e.g. "learner".
        name: what was given.
        known: the names that exist.

    Returns:
        The error, which the caller raises.
    """
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return InputError(f"unknown {kind} {name!r}{hint} (known: {', '.join(known)})")
