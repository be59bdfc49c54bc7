"""The same search for every learner: same budget, same generated problems, same score; its winners are the presets.

See :mod:`noregret.experiments.tune_all.settings` for the protocol and :mod:`noregret.experiments.tune_all.search` for how one
search goes. Each form has its journal, so that a search that was stopped or killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from noregret._system.checks import integer
from noregret._system.files import hold, make_folder
from noregret._system.progress import Progress, bar
from noregret.errors import FileError
from noregret.experiments.tune_all.search import Form, Found, Journal, forms, search, sizes, try_again
from noregret.experiments.tune_all.settings import BUDGET, HELD_OUT, RUNGS, Test
from noregret.runs import How

__all__ = ["Form", "Found", "forms", "tune_all"]

#: The folder with the journals.
JOURNALS = "journals"


def tune_all(
    names: Sequence[str] | None = None,
    out: str | Path = "results/tuning",
    *,
    budget: int = BUDGET,
    seed: int = 0,
    rungs: Sequence[Sequence[Test]] = RUNGS,
    held_out: Sequence[Test] = HELD_OUT,
    how: How | None = None,
    progress: Progress = None,
    tell: Callable[[Found], None] = lambda found: None,
) -> list[Found]:
    """Search the constants of learners, all under one protocol. Started again, it goes on.

    Args:
        names: the learners; all that declare what may be tried by default.
        out: the folder that keeps the journals.
        budget: the configurations of each form.
        seed: decides which.
        rungs: the problems of each rung.
        held_out: where winners are scored once.
        how: where runs are played; in memory on all cores by default. The journals are what is kept.
        progress: whether a bar is shown; by default on a terminal.
        tell: a function that is called with each search that is finished.

    Returns:
        What was found for each form. After Ctrl-C the last one has the number of the signal.

    Raises:
        InputError: a learner is unknown or has nothing that may be tried, or the budget is no whole number above 1.
        FileError: another process is at work in the folder.
    """
    integer("budget", budget, 2)
    chosen = forms(names)
    folder = make_folder(Path(out) / JOURNALS)
    how = replace(how or How(), progress=False)
    counts = sizes(budget, rungs)
    each = sum(n * t.episodes * len(t.seeds) for tests, n in zip(rungs, counts, strict=True) for t in tests)
    done, results = 0, list[Found]()
    with hold(folder / "tuning.lock") as free:
        if not free:
            raise FileError(f"{folder}: another process is at work on this search; expected one at a time")
        with bar(each * len(chosen), progress) as show:
            for form in chosen:

                def through(episodes: int, form: Form = form) -> None:
                    nonlocal done
                    done += episodes
                    show(done, form.name)

                journal = Journal(folder / f"{form.name}.jsonl")
                found = search(form, journal, how, budget=budget, seed=seed, rungs=rungs, through=through)
                if found.signal is None:
                    try_again(found, journal, how, held_out)
                results.append(found)
                if found.signal is not None:
                    break
                tell(found)
    return results
