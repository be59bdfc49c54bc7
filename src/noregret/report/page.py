"""Stored runs as one HTML page that needs no network; plotly draws, and is inlined once.

The page has a summary with intervals, curves with bands, the dual, regret against violation, constants, and how to repeat
every run.

Runs that differ in seed and trial only are a group. Numbers at the last episode are the mean over the group with its 95%
interval, and the interquartile mean with its bootstrap interval; bands are intervals of the mean. Curves are thinned to a grid
that is even both on a linear and on a logarithmic axis, and to what the page can hold; the page says how many are drawn.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from noregret import metrics
from noregret._system.plugins import library
from noregret.errors import FileError, InputError
from noregret.metrics import Interval, number, show
from noregret.report.tables import write_text
from noregret.results import SUMS, RunResult, drawing
from noregret.results.result import few
from noregret.store import Group, Store, StoredRun, group, load_runs
from noregret.store.records import RunRecord

#: Groups drawn on one page, and numbers in all their curves: about 3 MB of text beside plotly's 4.8.
DRAWN, NUMBERS = 120, 300_000
#: Points of a curve.
MOST_POINTS, FEWEST_POINTS = 160, 24
#: Groups of a problem that are drawn before the reader asks for more.
SHOWN = 8
_DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}


@dataclass(frozen=True)
class GroupRow:
    """A group with its numbers at the last episode."""

    group: Group
    result: RunResult
    iqm: dict[str, Interval]


def collect(folders: Sequence[str | os.PathLike[str]]) -> tuple[list[StoredRun], dict[str, RunRecord]]:
    """The finished and the failed runs of some folders; a run that is in several counts once."""
    runs: dict[str, StoredRun] = {}
    failed: dict[str, RunRecord] = {}
    for folder in folders:
        runs |= {run.id: run for run in load_runs(folder).runs}
        failed |= Store.at(folder).failures()
    if not runs:
        raise FileError(f"{', '.join(map(str, folders))}: no finished runs; expected a folder in which runs were kept")
    return list(runs.values()), {id: record for id, record in failed.items() if id not in runs}


def rows(runs: Sequence[StoredRun]) -> list[GroupRow]:
    """The groups of runs with their numbers; a run whose curves are damaged is named in a warning and left out."""
    made = []
    for each in group(runs):
        result = each.result()
        iqm = {name: metrics.bootstrap_interval(getattr(result, name)[:, -1], metrics.iqm) for name in SUMS}
        made.append(GroupRow(each, result, iqm))
    return made


def page(made: Sequence[GroupRow], failed: dict[str, RunRecord] | None = None, title: str = "Runs") -> str:
    """The page as a text of HTML.

    Args:
        made: the groups of finished runs, with their numbers.
        failed: the records of failed runs, by id.
        title: of the page.

    Raises:
        NoRegretError: a library that the page needs is not installed.
    """
    plotly = library("plotly.offline", "the page", "report")
    drawn = _drawn(made)
    # In a script element only "<" can end the text early; JSON may write it otherwise.
    data = json.dumps(_data(made, drawn), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    constants = sorted({name for row in made for name in row.result.constants})
    return fill(
        "page.html",
        title=title,
        rows=made,
        quantities=SUMS,
        words=metrics.words,
        cell=show,
        ends=_interval,
        constants=constants,
        constant=metrics.constant,
        data=data,
        plotly=plotly.get_plotlyjs(),
        runs=sum(len(row.group.runs) for row in made),
        groups=len(made),
        drawn=len(drawn),
        rare=few(min((row.result.trials for row in made), default=metrics.ENOUGH)),
        failed=failed or {},
        problems=sorted({row.group.key.problem for row in made}),
        evaluation=_evaluation(made),
    )


def fill(template: str, **entries: object) -> str:
    """A page of HTML from a template of this folder, in the style of all pages; texts are escaped."""
    jinja2 = library("jinja2", "the page", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("noregret", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return str(environment.get_template(template).render(**entries)).removesuffix("\n")


def write(path: str | os.PathLike[str], folders: Sequence[str | os.PathLike[str]], title: str | None = None) -> Path:
    """Write the page of the runs in some folders.

    Args:
        path: the file, whose name ends with .html.
        folders: the folders with stored runs.
        title: of the page; by default it names the folders.

    Raises:
        InputError: the name does not end with .html.
        FileError: there are no finished runs, or the file cannot be written.
    """
    if Path(path).suffix not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name that ends with .html")
    runs, failed = collect(folders)
    return write_rows(path, rows(runs), failed, title or title_of(folders))


def title_of(folders: Sequence[str | os.PathLike[str]]) -> str:
    """What a page about the runs of some folders is called."""
    return f"Runs in {', '.join(Path(folder).name for folder in folders)}"


def write_rows(
    path: str | os.PathLike[str], made: Sequence[GroupRow], failed: dict[str, RunRecord], title: str = "Runs"
) -> Path:
    """Write the page of groups of runs.

    Args:
        path: the file.
        made: the groups with their numbers.
        failed: the records of failed runs, by id.
        title: of the page.
    """
    return write_text(path, page(made, failed, title))


def _evaluation(made: Sequence[GroupRow]) -> str:
    """How regret and violation were computed, by kind of problem; nothing is claimed for runs that do not say it."""
    kinds: dict[str | None, set[str]] = {}
    for row in made:
        kinds.setdefault(row.group.runs[0].record.get("evaluated"), set()).add(row.group.key.problem)
    plans, at_records = (", ".join(sorted(kinds.get(kind, ()))) for kind in ("every plan", "at records"))
    said = []
    if "every episode" in kinds:
        where = "All" if kinds.keys() == {"every episode"} else f"On {', '.join(sorted(kinds['every episode']))} all"
        said.append(f"{where} values are exact: every policy that was played was evaluated on the true model.")
    if plans:
        said.append(f"On {plans} every policy that was played was evaluated on the true model by quadrature.")
    if at_records:
        said.append(
            f"On {at_records} policies were evaluated on the true model by quadrature, at recorded episodes only: "
            "each stands for all episodes since the last record."
        )
    return " ".join(said)


def _interval(interval: Interval) -> str:
    """The point and, as bootstrap intervals are not symmetric, both ends."""
    point, low, high = (number(float(value)) for value in (interval.mean, interval.low, interval.high))
    return point if low == high else f"{point} [{low}, {high}]"


# --- what the page draws ------------------------------------------------------------------------------------------


def _drawn(made: Sequence[GroupRow]) -> list[int]:
    """The groups whose curves are on the page, :data:`DRAWN` at most.

    The problems take turns, and each adds its group with the least sum of hard regret and hard violation that is left.
    """
    by_problem: dict[str, list[int]] = {}
    for i, row in enumerate(made):
        by_problem.setdefault(row.group.key.problem, []).append(i)
    for members in by_problem.values():
        members.sort(key=lambda i: _loss(made[i].result))
    turns = [i for place in range(len(made)) for members in by_problem.values() for i in members[place : place + 1]]
    return sorted(turns[:DRAWN])


def _data(made: Sequence[GroupRow], drawn: Sequence[int]) -> dict[str, object]:
    per_point = sum(3 * (len(SUMS) + made[i].result.dual.shape[2]) for i in drawn)
    points = int(np.clip(NUMBERS // max(per_point, 1), FEWEST_POINTS, MOST_POINTS))
    styles = drawing.styles((row.group.key.learner, row.group.label) for row in made)
    places: dict[str, int] = {}
    groups = []
    for i in drawn:
        row = made[i]
        key, result = row.group.key, row.result
        place = places[key.problem] = places.get(key.problem, -1) + 1
        pick = thin(result.episodes, points)
        bands = {name: _band(result, name, pick) for name in SUMS}
        duals = [_band(result, "dual", pick, j) for j in range(result.dual.shape[2])]
        groups.append(
            {
                "label": row.group.label,
                "problem": key.problem,
                "colour": styles[row.group.label]["colour"],
                "dash": _DASHES[styles[row.group.label]["line"]],
                "shown": place < SHOWN,
                "episodes": result.episodes[pick].tolist(),
                "curves": bands,
                "duals": duals,
                "last": {name: _ends(result.last(name)) for name in SUMS},
                "each": {name: [_short(v) for v in getattr(result, name)[:, -1]] for name in ("hard_regret", "hard_violation")},
            }
        )
    problems = {}
    for row in made:
        first = row.group.runs[0].record
        problems[row.group.key.problem] = {
            "dual": [_short(v) for v in first["optimal_dual"]],
            "constraints": first["constraints"],
        }
    return {"problems": problems, "groups": groups}


def thin(episodes: NDArray[np.int64], points: int) -> NDArray[np.int64]:
    """Positions of about ``points`` recorded episodes, half of them even on a linear and half on a logarithmic axis."""
    n = len(episodes)
    if n <= points:
        return np.arange(n)
    half = points // 2
    even = np.linspace(0, n - 1, half).round().astype(int)
    wanted = np.geomspace(episodes[0], episodes[-1], points - half)
    return np.unique(np.concatenate([even, np.searchsorted(episodes, wanted).clip(0, n - 1)]))


def _band(result: RunResult, which: str, pick: NDArray[np.int64], constraint: int = 0) -> dict[str, list[float | None]]:
    interval = result.interval(which, constraint)
    names = ("mean", "low", "high") if result.trials > 1 else ("mean",)
    return {name: [_short(v) for v in getattr(interval, name)[pick]] for name in names}


def _loss(result: RunResult) -> float:
    return float(result.hard_regret[:, -1].mean() + result.hard_violation[:, -1].mean())


def _ends(interval: Interval) -> list[float | None]:
    return [_short(value) for value in (interval.mean, interval.low, interval.high)]


def _short(value: SupportsFloat) -> float | None:
    """A number with five digits, which are more than a screen shows; None if it is not finite."""
    number = float(value)
    return float(f"{number:.5g}") if math.isfinite(number) else None
