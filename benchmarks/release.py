"""``python -m benchmarks.release``: every learner on every test world, once for a release, as the protocol says.

python -m benchmarks.release                       all lengths; stopped or killed, the same line goes on
python -m benchmarks.release --episodes 10000      one of the lengths
python -m benchmarks.release --worlds 10           the first ten worlds of the protocol

Each start that plays something adds a line to ``test-log.csv``, which is committed. Rules and presets are chosen before, never
after.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import protocol
from benchmarks.command import STOPPED, run, say
from benchmarks.tuning.search import BY_HAND, found_by_hand
from noregret._system.checks import integer
from noregret._system.text import listed
from noregret.cli.arguments import whole
from noregret.errors import InputError
from noregret.experiments.compare.settings import STOPPED as LEFT
from noregret.experiments.compare.settings import Entry
from noregret.experiments.leaderboard import Contest
from noregret.experiments.leaderboard.settings import entries as everyone
from noregret.report.leaderboard import page
from noregret.results import Outcome
from noregret.runs import How
from noregret.runs.runner import kept_in
from noregret.store import Store


def main(words: Sequence[str]) -> int:
    """Play the lengths that are asked for, and write a leaderboard of each."""
    parser = argparse.ArgumentParser("python -m benchmarks.release", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--episodes", type=whole, help="one of the protocol's lengths; all by default")
    parser.add_argument("--learners", help="learners, separated by commas; all by default")
    parser.add_argument("--worlds", type=whole, help="so many of the test worlds, from the first on; all by default")
    parser.add_argument("--out", type=Path, default=Path("results/release"), help="the folder that keeps the runs and pages")
    parser.add_argument("--log", type=Path, default=protocol.LOG, help="the log of test worlds played")
    parser.add_argument("--workers", type=whole, help="runs at once; all cores by default")
    asked = parser.parse_args(words)
    if asked.episodes not in (None, *protocol.LENGTHS):
        raise InputError(f"--episodes is {asked.episodes}; expected one of {', '.join(map(str, protocol.LENGTHS))}")
    worlds = protocol.TEST_WORLDS[: integer("worlds", asked.worlds, 1, len(protocol.TEST_WORLDS)) if asked.worlds else None]
    entries = everybody() if asked.learners is None else [Entry.read(name) for name in listed(asked.learners)]
    for episodes in protocol.LENGTHS if asked.episodes is None else (asked.episodes,):
        if not play(episodes, entries, worlds, asked.out, asked.log, asked.workers):
            say("stopped; the same command goes on")
            return STOPPED
    return 0


def everybody() -> list[Entry]:
    """All learners; the one whose preset is by hand also as the search would have it."""
    both = [Entry(f"{BY_HAND} (by hand)", BY_HAND, {}), Entry(f"{BY_HAND} (searched)", BY_HAND, dict(found_by_hand()))]
    return [entry for each in everyone() for entry in (both if each.name == BY_HAND else [each])]


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
