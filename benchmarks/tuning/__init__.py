"""The same search for every learner: same budget, same generated problems, same score; its winners are the presets.

:mod:`benchmarks.protocol` has the protocol, ``spaces.toml`` what may be tried, :mod:`benchmarks.tuning.search` how one
search goes, :mod:`benchmarks.tuning.tables` how winners get into the learners' files. Each form has its journal, so that a
search that was stopped or killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.protocol import BUDGET, RUNGS, Judged
from benchmarks.tuning.search import FORMS, SPACES, Found, forms, search_form
from noregret._system.checks import integer
from noregret.runs import How
from noregret.sweeps.search import journal_at

#: The folder with the journals.
JOURNALS = "journals"


def tune_all(
    names: Sequence[str] | None = None,
    out: str | Path = "results/tuning",
    *,
    budget: int = BUDGET,
    seed: int = 0,
    rungs: Sequence[Sequence[Judged]] = RUNGS,
    spaces: Path = SPACES,
    presets: Sequence[str] = tuple(FORMS),
    how: How | None = None,
    tell: Callable[[Found], None] = lambda found: None,
) -> list[Found]:
    """Search the constants of learners, all under one protocol. Started again, it goes on.

    Args:
        names: the learners; all that have a space by default.
        out: the folder that keeps the journals.
        budget: the candidates of each form.
        seed: decides which.
        rungs: the tests of each rung.
        spaces: the file with what may be tried.
        presets: the forms of each learner, by their presets.
        how: where runs are played; in memory on all cores by default. The journals are what is kept.
        tell: a function that is called with each search that is finished.

    Returns:
        What was found for each form. After Ctrl-C the last one has the number of the signal.

    Raises:
        InputError: a learner is unknown or has nothing that may be tried, or the budget is no whole number above 1.
        FileError: another process is at work in the folder, or it cannot be written.
    """
    integer("budget", budget, 2)
    results = list[Found]()
    for form in forms(names, spaces, presets):
        with journal_at(Path(out) / JOURNALS / f"{form.name}.json") as journal:
            settings = {"budget": budget, "seed": seed, "rungs": rungs}
            results.append(search_form(form, journal, replace(how or How(), progress=False), **settings))
        if results[-1].signal is not None:
            break
        tell(results[-1])
    return results
