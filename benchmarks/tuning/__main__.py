"""``python -m benchmarks.tuning``: the same search for every learner, whose winners are the presets.

python -m benchmarks.tuning --learners opdop,triple-q      search some; stopped or killed, the same line goes on
python -m benchmarks.tuning --write                        search all, and put the winners into the learners' files
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import STOPPED, run, say
from benchmarks.protocol import BUDGET
from benchmarks.tuning import page, tables, tune_all
from benchmarks.tuning.search import BY_HAND, FORMS, Found
from noregret._system.checks import each_once
from noregret._system.text import listed
from noregret.cli.arguments import whole
from noregret.errors import unknown_name
from noregret.runs import How


def main(words: Sequence[str]) -> int:
    """Search, write what was found, and put it into the learners' files if that is asked for."""
    parser = argparse.ArgumentParser("python -m benchmarks.tuning", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--learners", help="learners, separated by commas; all that have a space by default")
    parser.add_argument("--forms", help=f"forms, separated by commas; all by default: {', '.join(FORMS)}")
    parser.add_argument("--budget", type=whole, default=BUDGET, help="candidates of each form of each learner")
    parser.add_argument("--seed", type=whole, default=0, help="decides all candidates")
    parser.add_argument("--out", type=Path, default=Path("results/tuning"), help="the folder with journals and tables")
    parser.add_argument("--write", action="store_true", help="put the winners into the tables of the learners' files")
    parser.add_argument("--workers", type=whole, help="runs at once; all cores by default")
    asked = parser.parse_args(words)
    names = None if asked.learners is None else listed(asked.learners)
    presets = tuple(FORMS) if asked.forms is None else each_once("forms", listed(asked.forms))
    for preset in presets:
        if preset not in FORMS:
            raise unknown_name("form", preset, FORMS)
    page.check(asked.out)
    how = How(workers=asked.workers)
    found = tune_all(names, asked.out, budget=asked.budget, seed=asked.seed, presets=presets, how=how, tell=_tell)
    whole_ones = [each for each in found if each.signal is None]
    if whole_ones:
        page.write(whole_ones, asked.out)
        sys.stdout.write(page.markdown(asked.out))
    for each in whole_ones if asked.write else ():
        put(each)
    if len(whole_ones) < len(found):
        say("stopped; the same command goes on")
        return STOPPED
    return 0


def put(found: Found) -> None:
    """Put the winner of a search into the table of its learner; nothing where the preset stays."""
    form = found.form
    if (form.learner, form.preset) == (BY_HAND, "practical"):
        say(f"{form.name} is by hand and stays; what the search found is a row of its own")
        return
    params = dict(found.winner.params)
    if "preset" in params:
        values = tables.entries_of(form.learner, str(params.pop("preset")), form.preset, params)
    else:
        values = {
            name: tables.value_of(form.learner, FORMS[form.preset], name, value, form.ranges[name])
            for name, value in params.items()
        }
    if values:
        say(f"{tables.rewrite(tables.file_of(form.learner), form.learner, form.preset, values)}: {form.preset} is written")


def _tell(found: Found) -> None:
    say(f"{found.form.name}: {found.begin.value:.4f} → {found.winner.value:.4f}, {len(found.journal.judged())} candidates")


if __name__ == "__main__":
    sys.exit(run(main))
