"""``noregret leaderboard``: every learner on every problem; a page with map, ranks, profiles and curves, and its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret._system.text import listed
from noregret.cli import arguments as arg
from noregret.cli.app import app, console, say, stop
from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.report.leaderboard import Leaderboard
    from noregret.results import Outcome


@app.command()
def leaderboard(
    problems: Annotated[
        str | None, typer.Option("--problems", metavar="LIST", help="Problems; all with finitely many states by default.")
    ] = None,
    learners: Annotated[str | None, typer.Option("--learners", metavar="LIST", help="Learners; all by default.")] = None,
    episodes: arg.Episodes = arg.DEFAULT_EPISODES,
    trials: arg.Trials = 20,
    seed: arg.Seed = 0,
    preset: arg.Preset = "practical",
    most: Annotated[
        float, typer.Option("--most", metavar="SECONDS", min=0.0, help="Leave out a cell if one of its runs would take longer.")
    ] = 60.0,
    data: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="Play nothing; make the page and pictures from an existing leaderboard.json."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the files, such as leaderboard-100k. A folder can hold several leaderboards; their pages link to one "
            "another. Default: leaderboard, or the name of the --from file.",
        ),
    ] = None,
    out: arg.Out = Path("results/leaderboard"),
    fresh: arg.Fresh = False,
    backend: arg.Backend = "threads",
    address: arg.Address = None,
    workers: arg.Workers = None,
) -> None:
    """Rank all learners on all problems by hard regret plus hard violation, with intervals; write a page and its data.

    Cells that a learner refuses, or that would take too long, are shown with the reason. Learners that need a safe policy get
    the safest one. The runs are stored. If the command is killed, the same command continues them.
    """
    if data is not None:
        from noregret.report.leaderboard import Leaderboard

        board = Leaderboard.read(data)
        return _conclude(board, out, name or (data.stem if data.stem.startswith("leaderboard") else "leaderboard"))
    from noregret.report.leaderboard.page import STEM, check_name

    stem = STEM if name is None else check_name(name)
    from noregret.experiments.compare.settings import Entry
    from noregret.experiments.leaderboard import STOPPED, Contest

    entries = None if learners is None else [Entry.read(text) for text in listed(learners)]
    contest = Contest(None if problems is None else listed(problems), entries, episodes, trials, seed, preset, most)
    told: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        told.append(outcome)
        cells = len(contest.grid.cells)
        say(f"[{len(told)}/{cells}] {outcome.label} on {outcome.problem}" + (f": {outcome.reason}" if outcome.reason else ""))

    played = contest.play(arg.how(out, fresh, backend, address, workers), tell, say)
    left = sum(one.reason == STOPPED for one in played)
    if left:
        stop(f"stopped: {len(played) - left} of {len(played)} cells were done; no file was written, the same command goes on")
    if not played.ran():
        raise InputError(f"no learner ran: {played[0].label} on {played[0].problem}: {played[0].reason}")
    _conclude(contest.board(played), out, stem)


def _conclude(board: Leaderboard, out: Path, name: str) -> None:
    """Write the files, print the standings."""
    from noregret.report.leaderboard import page

    files = page.write(board, out, name)
    console().print(board.analysis.standings().rich())
    console().print(f"wrote {', '.join(file.name for file in files)} in {out}")
