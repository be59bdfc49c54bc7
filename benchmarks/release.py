"""``python -m benchmarks.release``: every learner on every test world, once for a release, as the protocol says.

python -m benchmarks.release                       all lengths; stopped or killed, the same line goes on
python -m benchmarks.release --episodes 10000      one of the lengths
python -m benchmarks.release --worlds 10           the first ten worlds of the protocol
python -m benchmarks.release --learners opt-dual   one learner, in all its rows
python -m benchmarks.release --from results/release --onto docs
                                                   put what was played into the boards of a folder; nothing is played

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

from benchmarks import protocol
from benchmarks.command import STOPPED, run, say
from benchmarks.tuning.search import BY_HAND, found_by_hand
from noregret._system.checks import each_once, integer
from noregret._system.text import listed
from noregret.cli.arguments import whole
from noregret.errors import InputError, unknown_name
from noregret.experiments.compare.settings import STOPPED as LEFT
from noregret.experiments.compare.settings import Entry
from noregret.experiments.leaderboard import Contest, settings
from noregret.experiments.leaderboard.settings import entries as everyone
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
    parser.add_argument("--from", type=Path, dest="source", help="with --onto: a folder with boards that were played before")
    parser.add_argument("--onto", type=Path, help="with --from: the folder whose boards take what is in the others")
    parser.add_argument("--worlds", type=whole, help="so many of the test worlds, from the first on; all by default")
    parser.add_argument("--out", type=Path, default=Path("results/release"), help="the folder that keeps the runs and pages")
    parser.add_argument("--log", type=Path, default=protocol.LOG, help="the log of test worlds played")
    parser.add_argument("--workers", type=whole, help="runs at once; all cores by default")
    asked = parser.parse_args(words)
    if asked.episodes not in (None, *protocol.LENGTHS):
        raise InputError(f"--episodes is {asked.episodes}; expected one of {', '.join(map(str, protocol.LENGTHS))}")
    if (asked.source is None) != (asked.onto is None):
        raise InputError("--from and --onto are given one without the other; expected both, or none")
    if asked.source is not None:
        for name in stems(asked.source):
            board = merged(Leaderboard.read(asked.onto / f"{name}.json"), Leaderboard.read(asked.source / f"{name}.json"))
            publish(board, asked.onto, name)
        return 0
    worlds = protocol.TEST_WORLDS[: integer("worlds", asked.worlds, 1, len(protocol.TEST_WORLDS)) if asked.worlds else None]
    entries = everybody() if asked.learners is None else named(listed(asked.learners))
    for episodes in protocol.LENGTHS if asked.episodes is None else (asked.episodes,):
        if not play(episodes, entries, worlds, asked.out, asked.log, asked.workers):
            say("stopped; the same command goes on")
            return STOPPED
    return 0


def everybody() -> list[Entry]:
    """All learners; the one whose preset is by hand also as the search would have it."""
    both = [Entry(f"{BY_HAND} (by hand)", BY_HAND, {}), Entry(f"{BY_HAND} (searched)", BY_HAND, dict(found_by_hand()))]
    return [entry for each in everyone() for entry in (both if each.name == BY_HAND else [each])]


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
        return board.problems, list(board.episodes), one.episodes, one.trials, one.seed, one.preset, one.most

    if how(old) != how(new):
        raise InputError("the boards differ in worlds, episodes, trials, seed, preset or time limit; expected the same in both")
    again, labels = {row.learner: row for row in new.rows}, [entry.label for entry in everybody()]
    rows = {row.learner: row for row in old.rows} | again
    order = [label for label in labels if label in rows] + [label for label in rows if label not in labels]
    cells = [(new if learner in again else old).cell(problem, learner) for problem in old.problems for learner in order]
    remarks = settings.remarks(old.protocol.preset, [entry for entry in everybody() if entry.label in rows])
    of = dict.fromkeys(again, new.protocol.versions["sources"])
    for said in filter(None, map(_AGAIN.fullmatch, old.protocol.remarks)):
        of = dict.fromkeys(said["rows"].split(", "), said["sources"]) | of
    for sources in dict.fromkeys(of.values()):
        names = [label for label in order if of.get(label) == sources != old.protocol.versions["sources"]]
        remarks += [f"Played again with sources {sources}, all else as before: {', '.join(names)}."] if names else []
    for said in filter(None, map(EARLIER.fullmatch, old.protocol.remarks)):
        left = [name for name in said["rows"].split(", ") if name not in again]
        remarks += [earlier(left)] if left else []
    return Leaderboard(replace(old.protocol, remarks=remarks), [rows[name] for name in order], old.episodes, cells)


def earlier(rows: Sequence[str]) -> str:
    """What a board says of rows whose presets have changed since they were played."""
    return f"Played with a preset that has changed since, and not played again yet: {', '.join(rows)}."


#: That line.
EARLIER = re.compile(earlier(["\0"]).replace(".", r"\.").replace("\0", "(?P<rows>.+)"))
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
    name = page.STEM if episodes == min(protocol.LENGTHS) else f"{page.STEM}-{episodes // 1000}k"
    for file in page.write(contest.board(played), out, name):
        say(f"wrote {file}")
    return True


if __name__ == "__main__":
    sys.exit(run(main))
