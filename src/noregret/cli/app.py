"""The typer application: turns errors into one line and an exit code.

0: done. 1: something was wrong, said in one line on standard error (``--debug`` shows the traceback, and has compiled code
check every index). 2: the line cannot be read. 130: stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from noregret._system.plugins import load_module
from noregret.errors import NoRegretError, printable

if TYPE_CHECKING:
    from rich.console import Console

    from noregret.metrics import Cell

STOPPED = 130
#: The width of what goes into a file or a pipe.
WIDTH = 140
_DEBUG, _IMPORT = "noregret.debug", "noregret.import"
_UsageError: Any = typer.BadParameter.__mro__[1]  # click's, or typer's own copy of it


class Commands(TyperGroup):
    """The group of all commands: ends each with the right exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` and ``--import MODULE`` from anywhere in the line."""
        before, rest = args[: args.index("--")] if "--" in args else args, list[str]()
        ctx.meta[_DEBUG], ctx.meta[_IMPORT] = "--debug" in before, []
        words = iter(before)
        for word in words:
            option, equals, value = word.partition("=")
            if option == "--import":
                ctx.meta[_IMPORT].append(value if equals else next(words, ""))
            elif word != "--debug":
                rest.append(word)
        return super().parse_args(ctx, rest + args[len(before) :])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Read a command line and run it. A line that cannot be read ends with one line about it, like any bad input."""
        alone = extra.pop("standalone_mode", True)
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except _UsageError as error:
            code = self._cannot_be_read(error)
        except OSError as error:  # --help has nowhere to go
            _complain_of(error)
            code = 1
        if alone:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    @staticmethod
    def _cannot_be_read(error: Any) -> int:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return 0
        command = error.ctx.command_path if error.ctx is not None else "noregret"
        said = error.format_message().replace("Value error, ", "").rstrip(".")  # Pydantic's words, which say nothing
        complain(f"{said}{' ' if said.endswith('?') else '; '}{command} --help shows what is expected")
        return 2

    def invoke(self, ctx: Any) -> object:
        """Run the command; say in one line what went wrong."""
        try:
            for module in ctx.meta[_IMPORT]:
                load_module(module)
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (ImportError, KeyboardInterrupt) as error:
            if isinstance(error, ImportError) and not _interrupts:
                raise
            say("stopped")  # an ImportError, where Ctrl-C came while a library was loaded
            raise typer.Exit(STOPPED) from None
        except (NoRegretError, OSError, MemoryError) as error:
            if ctx.meta[_DEBUG] or isinstance(error, BrokenPipeError):
                raise  # of a broken pipe typer ends quietly: who read the output has seen enough
            _complain_of(error)
        raise typer.Exit(1)


app = typer.Typer(
    name="noregret",
    cls=Commands,
    help="Learn to act well under a long-term constraint, and measure exactly how far from the best it was.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from noregret import __version__

        typer.echo(f"noregret {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the whole traceback of an error, and check every index of compiled code (slow)."),
    ] = False,
    module: Annotated[
        list[str] | None,
        typer.Option(
            "--import", metavar="MODULE", help="Import a module, or a .py file, that registers learners or problems; it is run."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn to act well under a long-term constraint, and measure exactly how far from the best it was."""


def console() -> Console:
    """A console that shows names as they are. Each call makes a new one, as standard output may have been replaced."""
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        """No text is markup, and control characters are written out."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    made = Plain(highlight=False, markup=False, emoji=False)
    return made if made.is_terminal else Plain(highlight=False, markup=False, emoji=False, width=WIDTH)


def print_table(title: str, rows: Sequence[Sequence[Cell]], columns: tuple[str, ...] = ()) -> None:
    """Print a table and an empty line; nothing when there is no row.

    Args:
        title: above the table.
        rows: the rows, of numbers and texts.
        columns: the names of the columns; none by default.
    """
    from noregret.results.base import NumberTable

    if rows:
        console().print(NumberTable(title, columns or ("",) * len(rows[0]), tuple(rows)).rich())
        console().print()


def stop(line: str) -> NoReturn:
    """Say in a line what was stopped, and end with the exit code for it: 130 after Ctrl-C, 143 after SIGTERM."""
    from noregret.runs.signals import StopSignal

    say(line)
    raise typer.Exit(128 + (StopSignal.last or signal.SIGINT))


def say(line: str) -> None:
    """One line to the person, on standard error."""
    print(printable(" ".join(line.split())), file=sys.stderr)


def complain(line: str) -> None:
    """Say in one line, on standard error, what was wrong."""
    say(f"error: {line}")


def _warn(message: Warning | str, *where: object, **how: object) -> None:
    say(f"warning: {message}")


def _complain_of(error: Exception) -> None:
    """One line about an error that ends a command."""
    if isinstance(error, NoRegretError):
        return complain(str(error))
    if isinstance(error, MemoryError):
        return complain(f"out of memory: {error}")
    complain(f"{getattr(error, 'filename', None) or 'the output'}: {getattr(error, 'strerror', None) or error}")
    try:  # what is left of the output goes nowhere, so that Python does not complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file, as in tests
        pass


#: When Ctrl-C was pressed.
_interrupts: list[int] = []


def _interrupt(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def _check_bounds() -> None:
    """Let compiled code check every index, here and in workers; code is kept apart from that which does not.

    It is too late for that in a process that has compiled something already.
    """
    if "noregret.kernels.compiler.jit" not in sys.modules:
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        if (numba := sys.modules.get("numba")) is not None:
            numba.config.BOUNDSCHECK = 1


def main(args: list[str] | None = None) -> None:
    """Run the command line ``args`` (``sys.argv`` by default) and exit."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # closed by who started us
    sys.stderr = sys.stderr or open(os.devnull, "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    warnings.showwarning = _warn
    words = sys.argv[1:] if args is None else args
    if "--debug" in (words[: words.index("--")] if "--" in words else words):
        _check_bounds()
    try:
        app(args, prog_name="noregret")
    except KeyboardInterrupt:
        say("stopped")
        sys.exit(STOPPED)
