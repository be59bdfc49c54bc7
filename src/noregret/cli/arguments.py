"""Arguments that several commands share, and how their text becomes a value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from noregret import DEFAULT_LEARNER as DEFAULT_LEARNER
from noregret._system.text import value
from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.runs.runner import How

DEFAULT_EPISODES = 10_000

#: What is not to be set as a constant of the learner.
OPTIONS = {"learner", "episodes", "trials", "seed", "preset", "slater_gap", "threads", "out", "fresh", "backend", "address"}
NOT_HERE = {"problem", "name", "spec", "opt", "record_every", "features", "block_size", "progress", "keep_policy"}
NOT_HERE |= {"reward", "utilities", "simulator"}  # learners that are told these are told the problem's own


def whole(text: str | int) -> int:
    """A whole number, also as 2e5 or 200_000."""
    for kind in (int, float):
        try:
            number = kind(text)
            if number == int(number):
                return int(number)
        except (ValueError, OverflowError):  # no number; nan or infinity
            continue
    raise InputError(f"{text!r} is not a whole number")


def gap(text: str | float | None) -> float | Literal["oracle"] | None:
    """What is known of the Slater gap: a number, "oracle", or nothing."""
    try:
        return None if text is None else "oracle" if text == "oracle" else float(text)
    except ValueError:
        raise InputError(f"slater_gap is {text!r}; expected a number or 'oracle'") from None


def settings(pairs: list[str]) -> dict[str, Any]:
    """``["beta=0.3", "cap=H"]`` as a dictionary: true, false, none and numbers are read as such, the rest is text."""
    given: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not (key and equals and text):
            raise InputError(f"--set {pair!r}; expected key=value")
        key = key.replace("-", "_")
        if key in given:
            raise InputError(f"--set {key!r} is given twice")
        if key in OPTIONS:
            raise InputError(f"--set {key!r} is no constant of a learner; expected the option --{key.replace('_', '-')}")
        if key in NOT_HERE:
            raise InputError(f"--set {key!r} is no constant of a learner; the command line has no such option")
        given[key] = value(text)
    return given


def number(*names: str, help: str, metavar: str = "N") -> object:
    """An option that takes a whole number.

    Args:
        names: of the option, such as "--episodes" and "-k".
        help: what ``--help`` says of it.
        metavar: what ``--help`` calls the number.
    """
    return typer.Option(*names, parser=whole, metavar=metavar, help=help)


Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A name, such as job-scheduling; a name with parameters, such as random:seed=3,S=5; or a file that ends in .npz. "
        "[dim]noregret list problems[/dim] shows them all.",
    ),
]
LearnerName = Annotated[
    str, typer.Option("--learner", "-l", help="The learner. [dim]noregret list learners[/dim] shows all names.")
]
Episodes = Annotated[int, number("--episodes", "-k", help="Episodes of each trial.")]
Trials = Annotated[int, number("--trials", "-t", help="Independent repetitions.")]
Seed = Annotated[int, number("--seed", "-s", help="Seed of all random numbers.")]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        "-p",
        help="Where the learner's constants come from. All learners: practical, theory; most: tuned; some: paper, safe "
        "([dim]noregret list learners[/dim] shows them).",
    ),
]
SlaterGap = Annotated[
    str | None,
    typer.Option(
        "--slater-gap",
        metavar="NUMBER|oracle",
        help="What the learner is told of the Slater gap, the largest margin by which one policy meets all constraints: "
        "a number, or oracle for the exact one. Default: nothing.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a constant of the learner instead of the preset's value. Repeatable."),
]
Workers = Annotated[
    int | None, number("--workers", "-w", "--threads", help="How many runs are played at once. Default: one per core.")
]
Backend = Annotated[str, typer.Option("--backend", "-b", help="What plays the runs: threads, processes, ray or dask.")]
Address = Annotated[
    str | None, typer.Option("--address", help="Address of the Ray or Dask cluster. Default: a cluster on this machine.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Discard the stored runs of this command and play them again.")]
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="Folder for the runs and files. The same command continues what is there."
    ),
]
OutIfGiven = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="Folder for the runs, curves and a figure. Default: runs only, in results/run."
    ),
]
Runs = Annotated[Path, typer.Option("--runs", "-r", metavar="FOLDER", help="The folder with stored runs.")]


def how(out: Path, fresh: bool, backend: str, address: str | None, workers: int | None) -> How:
    """Where the runs of a command are played, and kept: in the folder ``runs`` of the command's folder.

    Args:
        out: the command's folder, which is made.
        fresh: whether everything is played again.
        backend: who plays.
        address: of the Ray or Dask cluster.
        workers: how many runs are played at once.
    """
    from noregret._system.files import make_folder
    from noregret.runs.runner import RUNS, How

    make_folder(out)
    return How(out / RUNS, fresh, backend, address, workers)
