"""Table 1 of the paper, measured: every system that the paper names, printed with tuned numbers and in its practical form.

The runs go through the store; the numbers are kept as data (``rows.csv``), and the table is made from the data alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.table1.settings import EPISODES, FORMS, POINTS, PROBLEM, ROWS, SEED, SHARED, SHARING, TRIALS, Row
from benchmarks.tuning.search import BY_HAND, found_by_hand
from noregret import learners, metrics
from noregret._system.checks import each_once, integer
from noregret.errors import InputError, NoRegretError, unknown_name
from noregret.experiments.compare.page import late_loss
from noregret.learners.presets import Word
from noregret.results import SUMS, RunResult
from noregret.runs import Ask, How, play
from noregret.runs.choose import given_safest
from noregret.runs.provenance import provenance
from noregret.store import RunKey
from noregret.sweeps.estimate import seconds_an_episode

#: Seconds of a pilot, by the clock of the processor.
PILOT = 1.0


def rows(names: Sequence[str] | None = None) -> list[Row]:
    """The rows whose learners are there, or those of some learners.

    Raises:
        InputError: no learner is given, one is given twice, or the table has no row for one.
    """
    if names is not None:
        each_once("learners", names)
    there = [row for row in ROWS if row.learner in learners.names()]
    for name in names or ():
        if name not in {row.learner for row in there}:
            raise InputError(f"learner {name!r} has no row; expected {', '.join(row.learner for row in there)}")
    return [row for row in there if names is None or row.learner in names]


def forms(names: Sequence[str] | None = None, wanted: Sequence[str] | None = None) -> list[tuple[Row, str]]:
    """Each row of some learners, or of all, in each form that its learner has, or in some of them.

    Raises:
        InputError: as :func:`rows`, and for forms alike.
    """
    for form in () if wanted is None else each_once("forms", wanted):
        if form not in FORMS:
            raise unknown_name("form", form, FORMS)
    return [(row, form) for row in rows(names) for form in wanted or FORMS if _has(row.learner, form)]


def _shares(learner: str) -> tuple[str, ...]:
    """What steps of a learner may share."""
    row = learners.get(learner).table.rows.get("share")
    return row.words if isinstance(row, Word) else ()


def _has(learner: str, form: str) -> bool:
    """Whether a learner has a form, and the form numbers of its own: a soft form that is the tuned one has no row."""
    if form == "soft":
        return any("soft" in row.columns for row in learners.get(learner).table)
    if form.startswith("by hand") and learner != BY_HAND:
        return False
    if form.endswith(SHARING) and SHARED not in _shares(learner):
        return False
    return FORMS[form] in learners.get(learner).presets


def asked(row: Row, form: str, episodes: int = EPISODES, trials: int = 1) -> Ask:
    """The runs of a row: a safe policy is given to those that need one; steps share nothing, unless the form says so.

    Args:
        row: the algorithm.
        form: which of the forms.
        episodes: K.
        trials: how many.
    """
    params = given_safest(row.learner)
    if not form.endswith(SHARING) and _shares(row.learner):
        params = params | {"share": "nothing"}
    if row.learner == BY_HAND and form.startswith("practical"):
        params = params | found_by_hand()
    return Ask(PROBLEM, row.learner, episodes, trials, SEED, max(1, episodes // POINTS), preset=FORMS[form], params=params)


def pilot(key: RunKey) -> float:
    """Microseconds of an episode on one core, compilation aside, by the clock of the processor: others at work do not count."""
    return 1e6 * seconds_an_episode(key, PILOT)


def measure(
    names: Sequence[str] | None,
    how: How,
    *,
    wanted: Sequence[str] | None = None,
    episodes: int = EPISODES,
    trials: int = TRIALS,
    tell: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """Play the rows of the table and sum them up.

    Args:
        names: learners; all rows by default.
        how: where runs are played and kept.
        wanted: forms; all by default.
        episodes: K.
        trials: how many.
        tell: a function that is called with each row that is measured.

    Returns:
        A row for each form, as :mod:`benchmarks.table1.page` writes them. Forms that a signal stopped are left out.

    Raises:
        InputError: a learner has no row, or a number of episodes or trials cannot be.
        NoRegretError: a run failed; its reason is said.
    """
    integer("trials", trials, 1)
    found: list[dict[str, Any]] = []
    for row, form in forms(names, wanted):
        keys = asked(row, form, episodes, trials).keys()
        micro = pilot(keys[0])
        sitting = play(keys, how)
        for reason, _ in sitting.summary.reasons():
            raise NoRegretError(f"{row.learner}, form {form}: {' '.join(reason.split())}")
        if not sitting.finished(keys):
            return found
        found.append(summed(row, form, sitting.result(keys), micro))
        tell(found[-1])
    return found


def summed(row: Row, form: str, result: RunResult, micro: float) -> dict[str, Any]:
    """The numbers of a row.

    Args:
        row: the algorithm.
        form: which of the forms.
        result: its trials.
        micro: microseconds of an episode.
    """
    made: dict[str, Any] = {"learner": row.learner, "form": form, "episodes": int(result.episodes[-1])}
    made["trials"], made["microseconds"] = result.trials, micro
    made["sources"] = str(provenance()["versions"]["sources"])[:12]
    for which in SUMS:
        made |= _interval(which, result.last(which))
    made |= _interval("late_loss", late_loss(result))
    for which in ("hard_regret", "hard_violation"):
        line = metrics.growth(result.episodes, getattr(result, which).mean(axis=0))
        made |= {f"{which}_slope": None if line is None else float(line.slope)}
        made |= {f"{which}_since": None if line is None else float(line.since)}
    return made | {"draws": result.simulator_draws, "stuck": result.stuck}


def _interval(name: str, one: metrics.Interval) -> dict[str, float]:
    return {name: float(one.mean), f"{name}_low": float(one.low), f"{name}_high": float(one.high)}
