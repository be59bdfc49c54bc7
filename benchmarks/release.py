"""``python -m benchmarks.release``: every learner on every test world, once for a release, as the protocol says.

python -m benchmarks.release                       all lengths; stopped or killed, the same line goes on
python -m benchmarks.release --episodes 10000      one of the lengths
python -m benchmarks.release --worlds 10           the first ten worlds of the protocol
python -m benchmarks.release --learners opt-dual --onto docs --page README.md
                                                   one learner again, in all its rows; they are put into the boards of a
                                                   folder, and a page gets the first rows of these
python -m benchmarks.release --from results/release --onto docs
                                                   put what was played before into the boards of a folder; nothing is played
python -m benchmarks.release --page README.md      the pages of the boards in docs made anew, their first rows put into
                                                   a page; nothing is played

A board keeps the sums of each run, so ranks are made anew from all of them, and a learner can be played again alone. The board
then says which rows are of which sources.

Each start that plays something adds a line to ``test-log.csv``, which is committed. Rules and presets are chosen before, never
after.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import headline, protocol
from benchmarks.command import STOPPED, renew, run, say
from benchmarks.tuning.page import tried
from benchmarks.tuning.search import BY_HAND, found_by_hand
from noregret import learners
from noregret._system.checks import each_once, integer
from noregret._system.text import listed
from noregret.cli.arguments import whole
from noregret.errors import InputError, unknown_name
from noregret.experiments.compare.settings import STOPPED as LEFT
from noregret.experiments.compare.settings import Entry
from noregret.experiments.leaderboard import Contest, settings
from noregret.experiments.leaderboard.settings import entries as everyone
from noregret.kernels.compiler.guests import is_guest
from noregret.report.leaderboard import Leaderboard, page
from noregret.results import Outcome
from noregret.runs import How
from noregret.runs.runner import kept_in
from noregret.store import Store


def main(words: Sequence[str]) -> int:
    """Play the lengths that are asked for, and write a leaderboard of each."""
    parser = argparse.ArgumentParser("python -m benchmarks.release", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--episodes", type=whole, help="one of the protocol's lengths; all by default")
    parser.add_argument("--learners", help="learners or rows, separated by commas; all by default")
    parser.add_argument(
        "--from", type=Path, dest="source", help="a folder with boards that were played before; then nothing is played"
    )
    parser.add_argument(
        "--onto", type=Path, help="a folder whose boards take what is played, or what is in the folder of --from"
    )
    parser.add_argument("--page", type=Path, help="a page that gets the first rows of the boards of --onto, else of docs")
    parser.add_argument("--worlds", type=whole, help="so many of the test worlds, from the first on; all by default")
    parser.add_argument("--out", type=Path, default=Path("results/release"), help="the folder that keeps the runs and pages")
    parser.add_argument("--log", type=Path, default=protocol.LOG, help="the log of test worlds played")
    parser.add_argument("--workers", type=whole, help="runs at once; all cores by default")
    asked = parser.parse_args(words)
    if asked.episodes not in (None, *protocol.LENGTHS):
        raise InputError(f"--episodes is {asked.episodes}; expected one of {', '.join(map(str, protocol.LENGTHS))}")
    if asked.source is not None and asked.onto is None:
        raise InputError("--from is given without --onto; expected the folder whose boards take what is in the other one")
    if asked.page is not None and asked.onto is None:
        for option in ("learners", "episodes", "worlds"):
            if getattr(asked, option) is not None:
                raise InputError(f"--{option} and --page are given without --onto; nothing is played then; expected all three")
    elif asked.source is None and not _play(asked):
        say("stopped; the same command goes on")
        return STOPPED
    if asked.onto is not None:
        source = asked.out if asked.source is None else asked.source
        for name in stems(source) if asked.source is not None else map(stem, lengths(asked)):
            board = merged(Leaderboard.read(asked.onto / f"{name}.json"), Leaderboard.read(source / f"{name}.json"))
            publish(board, asked.onto, name)
    if asked.page is not None:
        folder = asked.onto or Path("docs")
        names = [stem(episodes) for episodes in sorted(protocol.LENGTHS)]
        boards = [remarked(Leaderboard.read(folder / f"{name}.json")) for name in names]
        for name, board in zip(names, boards, strict=True) if asked.onto is None else ():
            publish(board, folder, name)
        renew(asked.page, lambda text: headline.put(text, boards))
    return 0


def lengths(asked: argparse.Namespace) -> list[int]:
    """The numbers of episodes that are played."""
    return sorted(protocol.LENGTHS) if asked.episodes is None else [asked.episodes]


def stem(episodes: int) -> str:
    """The name of the board of a length."""
    return page.STEM if episodes == min(protocol.LENGTHS) else f"{page.STEM}-{episodes // 1000}k"


def _play(asked: argparse.Namespace) -> bool:
    """Play what is asked for; whether all of it was played."""
    worlds = protocol.TEST_WORLDS[: integer("worlds", asked.worlds, 1, len(protocol.TEST_WORLDS)) if asked.worlds else None]
    entries = everybody() if asked.learners is None else named(listed(asked.learners))
    return all(play(each, entries, worlds, asked.out, asked.log, asked.workers) for each in lengths(asked))


def everybody() -> list[Entry]:
    """All learners of noregret's own; the one whose preset is by hand also as the search would have it."""
    both = [Entry(f"{BY_HAND} (by hand)", BY_HAND, {}), Entry(f"{BY_HAND} (searched)", BY_HAND, dict(found_by_hand()))]
    ours = [entry for entry in everyone() if not is_guest(learners.get(entry.name).__module__)]
    return [entry for each in ours for entry in (both if each.name == BY_HAND else [each])]


def named(names: Sequence[str]) -> list[Entry]:
    """The rows of some learners, or some rows.

    Raises:
        InputError: there is none of a name, or one is named twice.
    """
    entries = everybody()
    for name in each_once("learners", names):
        if all(name not in (entry.label, entry.name) for entry in entries):
            raise unknown_name("learner or row", name, [entry.label for entry in entries])
    return [entry for entry in entries if entry.label in names or entry.name in names]


def stems(folder: Path) -> list[str]:
    """The names of the boards of a folder.

    Raises:
        InputError: there is none.
    """
    found = sorted(path.stem for path in folder.glob(f"{page.STEM}*.json"))
    if not found:
        raise InputError(f"{folder}: has no {page.STEM}.json; expected a folder that was played into")
    return found


def merged(old: Leaderboard, new: Leaderboard) -> Leaderboard:
    """A board with the rows of another one in the place of its own; it says which sources these are of.

    Args:
        old: the board.
        new: rows that were played again, or for the first time, on the same worlds with the same seeds.

    Raises:
        InputError: the two were not played alike.
    """

    def how(board: Leaderboard) -> tuple[object, ...]:
        one = board.protocol
        return board.problems, list(board.episodes), one.episodes, one.trials, one.seed, one.preset

    if how(old) != how(new):
        raise InputError("the boards differ in worlds, episodes, trials, seed or preset; expected the same in both")
    again, labels = {row.learner: row for row in new.rows}, [entry.label for entry in everybody()]
    limits = old.protocol.most, new.protocol.most
    cut = sorted({cell.learner for cell in old.cells if _SLOW.search(cell.reason) and cell.learner not in again})
    if limits[1] < limits[0] or (limits[1] > limits[0] and cut):
        who = f", or a longer one and {', '.join(cut)} in it, which were left out for their time" if cut else " or a longer one"
        raise InputError(f"the limit of a run is {limits[1]:g} s here and {limits[0]:g} s there; expected the same{who}")
    rows = {row.learner: row for row in old.rows} | again
    order = [label for label in labels if label in rows] + [label for label in rows if label not in labels]
    cells = [(new if learner in again else old).cell(problem, learner) for problem in old.problems for learner in order]
    remarks = list[str]()
    of = dict.fromkeys(again, new.protocol.versions["sources"])
    for said in filter(None, map(_AGAIN.fullmatch, old.protocol.remarks)):
        of = dict.fromkeys(said["rows"].split(", "), said["sources"]) | of
    for sources in dict.fromkeys(of.values()):
        names = [label for label in order if of.get(label) == sources != old.protocol.versions["sources"]]
        remarks += [f"Played again with sources {sources}, all else as before: {', '.join(names)}."] if names else []
    made = Leaderboard(
        replace(old.protocol, most=limits[1], remarks=remarks), [rows[name] for name in order], old.episodes, cells
    )
    return remarked(made)


def remarked(board: Leaderboard) -> Leaderboard:
    """A board with remarks as they are now: what no search changed, what was played again, and whose presets have changed."""
    one = board.protocol
    remarks = settings.remarks(one.preset, [entry for entry in everybody() if entry.label in board.learners])
    remarks += [before_search(left)] if (left := unsearched(board)) else []
    remarks += [remark for remark in one.remarks if _AGAIN.fullmatch(remark)]
    remarks += [earlier(left)] if (left := stale(board)) else []
    remarks += [guessed(left)] if (left := estimated(board)) else []
    return Leaderboard(replace(one, remarks=remarks), board.rows, board.episodes, board.cells)


def unsearched(board: Leaderboard) -> list[str]:
    """The rows of a board whose numbers are of an earlier search than the one whose data are here."""
    of = {entry.label: entry.name for entry in everybody() if settings.was_searched(entry.name, board.protocol.preset)}
    return [name for name in board.learners if name in of and not tried(of[name], board.protocol.preset)]


def before_search(rows: Sequence[str]) -> str:
    """What a board says of such rows."""
    return f"Numbers of an earlier search, on worlds without noise, as this one was not finished for: {', '.join(rows)}."


def estimated(board: Leaderboard) -> list[str]:
    """The rows that plan seldom and have a cell that an older release left out by an estimate of its time."""
    old = {cell.learner for cell in board.cells if cell.reason.startswith("a run would take about")}
    return [entry.label for entry in everybody() if entry.label in old and "replan" in learners.get(entry.name).table.rows]


def guessed(rows: Sequence[str]) -> str:
    """What a board says of such rows."""
    return (
        f"{headline.GUESSED} on large worlds by an estimate of their time that is up to ninety times too long for those that "
        f"plan seldom; most would have kept the limit, and ranks may change: {', '.join(rows)}."
    )


def stale(board: Leaderboard) -> list[str]:
    """The rows of a board whose presets have changed since they were played."""
    now = {entry.label: settings.constants(entry, board.protocol.preset) for entry in everybody()}
    return [row.learner for row in board.rows if row.constants != now.get(row.learner, row.constants)]


def earlier(rows: Sequence[str]) -> str:
    """What a board says of such rows."""
    return f"{headline.SINCE}, and not played again yet: {', '.join(rows)}."


#: Why a cell was left out for its time.
_SLOW = re.compile(r"more than [\d.e+]+ s$")
#: What a board says of rows that were played with other sources than the rest.
_AGAIN = re.compile(r"Played again with sources (?P<sources>\w+), all else as before: (?P<rows>.+)\.")


def publish(board: Leaderboard, folder: Path, name: str) -> None:
    """Write a board's files; the documentation makes its page of HTML itself."""
    for file in page.write(board, folder, name):
        if file.suffix == ".html":
            file.unlink()
        else:
            say(f"wrote {file}")


def play(
    episodes: int, entries: Sequence[Entry], worlds: Sequence[str], out: Path, log: Path, workers: int | None = None
) -> bool:
    """Play one length; whether all of it was played.

    Args:
        episodes: K.
        entries: the learners.
        worlds: test worlds.
        out: where runs and pages are kept.
        log: where it is noted that test worlds were played.
        workers: runs at once; None for all cores.
    """
    trials, seconds = protocol.LENGTHS[episodes]
    contest = Contest(worlds, entries, episodes, trials, protocol.TEST_SEED, "practical", seconds)
    how = How(kept_in(out), workers=workers, progress="log")
    assert how.out is not None
    store = Store(how.out)
    if not all(store.has(key.id) for cell in contest.grid.cells if not cell.reason for key in cell.keys):
        who = ", ".join(entry.label for entry in entries)
        protocol.declare("benchmarks.release", f"{len(worlds)} of {len(protocol.TEST_WORLDS)}", who, episodes, trials, log)
    told = list[Outcome]()

    def tell(cell: Outcome) -> None:
        told.append(cell)
        said = f": {cell.reason}" if cell.reason else ""
        say(f"[{len(told)}/{len(contest.grid.cells)}] {cell.label} on {cell.problem}{said}")

    played = contest.play(how, tell, say)
    if any(cell.reason == LEFT for cell in played):
        return False
    for file in page.write(contest.board(played), out, stem(episodes)):
        say(f"wrote {file}")
    return True


if __name__ == "__main__":
    sys.exit(run(main))
