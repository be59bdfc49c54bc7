"""``python -m benchmarks.table1``: the paper's Table 1, made from its data, or measured anew.

python -m benchmarks.table1                        print the table
python -m benchmarks.table1 --page README.md       make the table of a page anew; also --page docs/table1.md
python -m benchmarks.table1 --measure              play the runs first; they are kept, and a second start goes on
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import table1
from benchmarks.command import STOPPED, renew, run, say
from benchmarks.protocol import LOG, declare
from benchmarks.table1 import page as pages
from benchmarks.table1.settings import EPISODES, PROBLEM, TRIALS
from noregret._system.checks import integer
from noregret._system.files import make_folder
from noregret._system.text import listed
from noregret.cli.arguments import whole
from noregret.errors import InputError
from noregret.runs import How
from noregret.runs.runner import kept_in


def main(words: Sequence[str]) -> int:
    """Make the table, after its runs were played if that is asked for."""
    parser = argparse.ArgumentParser("python -m benchmarks.table1", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parent, help="the folder with the numbers of the table")
    parser.add_argument("--page", type=Path, help="a page whose table is made anew; then nothing is printed")
    parser.add_argument("--measure", action="store_true", help="play the runs first, and put their numbers into the data")
    parser.add_argument("--learners", help="with --measure: some rows only, separated by commas")
    parser.add_argument("--forms", help="with --measure: some forms only, separated by commas")
    parser.add_argument("--episodes", type=whole, default=EPISODES, help="with --measure: episodes of each trial")
    parser.add_argument("--trials", type=whole, help=f"with --measure; {TRIALS} by default")
    parser.add_argument("--out", type=Path, default=Path("results/table1"), help="the folder that keeps the runs")
    parser.add_argument("--log", type=Path, default=LOG, help="with --measure: the log of test worlds and seeds played")
    parser.add_argument("--workers", type=whole, help="runs at once; all cores by default")
    asked = parser.parse_args(words)
    for option in ("learners", "forms", "trials"):
        if getattr(asked, option) is not None and not asked.measure:
            raise InputError(f"--{option} is given without --measure; expected both, as nothing is played without it")
    if asked.measure and not _measure(asked):
        return STOPPED
    if asked.page is None:
        sys.stdout.write(pages.markdown(asked.data))
        return 0
    renew(asked.page, lambda text: pages.put(text, asked.data))
    return 0


def _measure(asked: argparse.Namespace) -> bool:
    """Play the rows; whether all were measured."""

    def tell(row: dict[str, Any]) -> None:
        pages.write([row], asked.data)
        say(f"{row['learner']}, {row['form']}: hard regret {row['hard_regret']:,.0f}, violation {row['hard_violation']:,.0f}")

    names = None if asked.learners is None else listed(asked.learners)
    forms = None if asked.forms is None else listed(asked.forms)
    wanted = len(table1.forms(names, forms))
    trials = integer("trials", TRIALS if asked.trials is None else asked.trials, 1)
    for folder in (asked.data, asked.out):
        make_folder(folder)  # before hours of runs, not after
    pages.check_length(asked.data, asked.episodes)
    how = How(kept_in(asked.out), workers=asked.workers, progress="log")
    declare("benchmarks.table1", f"{PROBLEM} with test seeds", asked.learners or "all", asked.episodes, trials, asked.log)
    done = len(table1.measure(names, how, wanted=forms, episodes=asked.episodes, trials=trials, tell=tell))
    if done < wanted:
        say(f"stopped: {done} of {wanted} rows were measured; the same command goes on")
    return done == wanted


if __name__ == "__main__":
    sys.exit(run(main))
