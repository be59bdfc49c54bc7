"""The numbers of a leaderboard: a cell for each learner on each problem, as one file of JSON and as CSV.

The file has what the page and the pictures need, with six digits: the sums of each run, and thinned curves with their bands.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, SupportsFloat, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from noregret import metrics
from noregret._system.arrays import LARGEST, read_bytes, said
from noregret.errors import FileError, told
from noregret.metrics import Interval
from noregret.problems.base import Array
from noregret.report.page import thin
from noregret.report.tables import write_text
from noregret.results import SUMS, Outcome, drawing
from noregret.results.base import Columns, NumberTable, Shown
from noregret.store.records import check_entries

#: Of the layout of the file; other ones are refused.
FORMAT = 1
#: What a cell keeps of each run. It keeps mean curves of hard regret and of what :attr:`Cell.measure` names.
SAMPLES = (*SUMS, "late_loss")
#: What is counted too where every single step is limited.
UNSAFE = "unsafe_steps"
#: Points of a curve.
POINTS = 32
#: The share of the episodes that counts as late.
LATE = 0.1
#: What a learner reports that drew from a simulator.
DRAWS = "simulator draws"

if TYPE_CHECKING:
    from noregret.report.leaderboard.analysis import Analysis

T = TypeVar("T")


@dataclass(frozen=True)
class Cell:
    """One learner on one problem: the sums of each run and the mean curves, or the reason why it was left out.

    ``line`` is the command that repeats it, ``seconds`` the time of one run, ``notes`` the means of what the learner reports.
    """

    problem: str
    learner: str
    line: str
    reason: str = ""
    seconds: float | None = None
    samples: dict[str, list[float]] = field(default_factory=dict)
    curves: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """What counts as violation: "hard_violation", or "unsafe_steps" on a problem that limits every single step."""
        return UNSAFE if UNSAFE in self.samples else "hard_violation"

    @property
    def score(self) -> Array:
        """Hard regret plus hard violation (or unsafe steps) of each run; empty where the cell was left out."""
        return self._sum("hard_regret", self.measure)

    @property
    def soft(self) -> Array:
        """Regret plus violation (or unsafe steps) of each run, each at least 0: good episodes make up for bad ones."""
        return self._sum("regret", UNSAFE if self.measure == UNSAFE else "violation")

    def _sum(self, *names: str) -> Array:
        return np.asarray(np.sum([np.maximum(self.samples.get(name, []), 0.0) for name in names], axis=0))

    def last(self, which: str) -> Interval:
        """The mean over the runs at the last episode, with its 95% interval; that of what cannot be negative ends at 0."""
        return drawing.cut(metrics.mean_interval(self.score if which == "score" else self.samples[which]), which)


@dataclass(frozen=True)
class LearnerRow:
    """What is said of a learner: what it is told beyond sizes and thresholds, where its formulas are from, its promise.

    ``constants`` is a hash of the numbers and rules that it was played with, so that a preset that changed since is noticed.
    """

    learner: str
    told: list[str]
    source: str
    promise: list[str]
    constants: str = ""


@dataclass(frozen=True)
class Protocol:
    """How all cells were played: length, runs, seed, preset, the most seconds of a run, where, and what was left out."""

    episodes: int
    trials: int
    seed: int
    preset: str
    most: float
    versions: dict[str, str]
    machine: Mapping[str, object]
    remarks: list[str] = field(default_factory=list)


class Leaderboard(Shown):
    """Every learner on every problem under one protocol.

    Args:
        protocol: how all cells were played.
        rows: what is said of each learner.
        episodes: the episodes at which the curves of all cells have points.
        cells: problem by problem, those that were left out too.
    """

    def __init__(self, protocol: Protocol, rows: Iterable[LearnerRow], episodes: Iterable[int], cells: Iterable[Cell]) -> None:
        self.protocol, self.rows, self.episodes, self.cells = protocol, list(rows), list(episodes), list(cells)
        self._at = {(cell.problem, cell.learner): cell for cell in self.cells}
        self.problems = list(dict.fromkeys(cell.problem for cell in self.cells))
        self.learners = [row.learner for row in self.rows]
        for problem in self.problems:
            for learner in self.learners:
                if (problem, learner) not in self._at:
                    raise ValueError(f"there is no cell of {learner!r} on {problem!r}")
        if len(self.cells) != len(self.problems) * len(self.learners) or not self.cells:
            raise ValueError(f"{len(self.cells)} cells; expected one for each learner on each problem")

    @classmethod
    def of(
        cls,
        protocol: Protocol,
        rows: Iterable[LearnerRow],
        outcomes: Iterable[Outcome],
        lines: Mapping[tuple[str, str], str],
        seconds: Mapping[tuple[str, str], float | None],
    ) -> Self:
        """The leaderboard of a comparison.

        Args:
            protocol: how all cells were played.
            rows: what is said of each learner.
            outcomes: the cells of the comparison.
            lines: for each problem and learner, the command that repeats the cell.
            seconds: the same for the time of one run on one core; where there is none, the time on the wall is taken.
        """
        outcomes = list(outcomes)
        first = next((outcome.result for outcome in outcomes if outcome.result is not None), None)
        pick = np.arange(0) if first is None else thin(first.episodes, POINTS)
        grid = [] if first is None else first.episodes[pick].tolist()
        at = [(outcome, (outcome.problem, outcome.label)) for outcome in outcomes]
        return cls(protocol, rows, grid, (_cell(outcome, lines[where], seconds.get(where), pick) for outcome, where in at))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            FileError: there is no such file, or it is not a leaderboard.
        """
        with told(path, "cannot be read"):
            data = read_bytes(path)
        try:
            return cls._from_json(json.loads(data, parse_float=_finite, parse_constant=_finite))
        except Exception as error:  # a file from elsewhere can be anything
            raise FileError(f"{path}: is not a leaderboard that noregret wrote: {said(error)}") from None

    @classmethod
    def _from_json(cls, found: dict[str, Any]) -> Self:
        kinds = {"noregret": int, "protocol": dict, "rows": list, "episodes": list[int], "cells": list}
        check_entries(found, kinds)
        if found["noregret"] != FORMAT:
            raise ValueError(f"its format is {found['noregret']!r}; expected {FORMAT}")
        protocol = _made(Protocol, found["protocol"], "protocol")
        if min(protocol.episodes, protocol.trials) < 1 or not _is_number(protocol.most):
            raise ValueError("its episodes or trials are below 1, or the most seconds of a run are no number")
        rows = [_made(LearnerRow, {"constants": ""} | entries, "a row") for entries in found["rows"]]
        cells = [_made(Cell, entries, "a cell") for entries in found["cells"]]
        for cell in cells:
            _check_cell(vars(cell), len(found["episodes"]))
        return cls(protocol, rows, found["episodes"], cells)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to one file of JSON, a line for each cell, whole or not at all."""

        def text(value: object) -> str:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

        head = f'{{"noregret":{FORMAT},\n"protocol":{text(asdict(self.protocol))},\n"episodes":{text(self.episodes)},\n'
        rows, cells = (",\n".join(text(asdict(entry)) for entry in part) for part in (self.rows, self.cells))
        return write_text(path, f'{head}"rows":[\n{rows}],\n"cells":[\n{cells}]}}\n')

    def cell(self, problem: str, learner: str) -> Cell:
        """The cell of a learner on a problem."""
        return self._at[problem, learner]

    @cached_property
    def analysis(self) -> Analysis:
        """Ratios to the best, ranks and profiles (:class:`~noregret.report.leaderboard.analysis.Analysis`)."""
        from noregret.report.leaderboard.analysis import Analysis

        return Analysis(self)

    def stuck(self, problem: str, learner: str) -> float | None:
        """The share of runs of a cell that are stuck (:func:`noregret.metrics.stuck`); None where none was played."""
        late = np.array(self.cell(problem, learner).samples.get("late_loss", []))
        if not len(late):
            return None
        uniform = self._at[problem, "uniform"].samples.get("late_loss") if (problem, "uniform") in self._at else None
        return float(metrics.stuck([1], late[:, None], float(np.mean(uniform)) if uniform else None).mean())

    def stuck_everywhere(self, learner: str) -> float | None:
        """The share of all runs of a learner that are stuck, over the problems that it ran on; None where it ran on none."""
        shares = [share for problem in self.problems if (share := self.stuck(problem, learner)) is not None]
        return float(np.mean(shares)) if shares else None

    def table(self) -> NumberTable:
        """A row for each cell, with the reason of those that were left out."""
        wanted = ("score", *SAMPLES, UNSAFE)
        columns = ("problem", "learner", "ratio", *map(metrics.words, wanted), "stuck", "seconds", DRAWS, "reason", "line")
        made: list[tuple[metrics.Cell, ...]] = []
        for cell in self.cells:
            ratio = self.analysis.ratio(cell.problem, cell.learner)
            there = {"score", *cell.samples} if cell.samples else set()
            sums = [_short_interval(cell.last(name)) if name in there else None for name in wanted]
            stuck = self.stuck(cell.problem, cell.learner)
            numbers = (None if ratio is None else short(ratio), *sums, stuck, cell.seconds, cell.notes.get(DRAWS))
            made.append((cell.problem, cell.learner, *numbers, cell.reason, cell.line))
        return NumberTable("", columns, made)

    def _columns(self) -> Columns:
        """A row for each run that was played."""
        ran = [(cell, i) for cell in self.cells for i in range(len(cell.score))]
        made: dict[str, Sequence[object] | NDArray[np.generic]] = {
            "problem": [cell.problem for cell, _ in ran],
            "learner": [cell.learner for cell, _ in ran],
            "trial": [i for _, i in ran],
        }
        return made | {name: np.array([cell.samples[name][i] for cell, i in ran]) for name in SAMPLES}

    def _summary(self) -> NumberTable:
        return self.analysis.standings()

    def _draw(self, axes: drawing.Grid) -> None:
        from noregret.report.leaderboard import pictures

        pictures.heat_map(axes[0, 0], self)
        pictures.profiles(axes[0, 1], self)

    def styles(self) -> dict[str, drawing.LineStyle]:
        """The colour and the line of each learner."""
        return drawing.styles((label.partition(":")[0], label) for label in self.learners)

    def __repr__(self) -> str:
        """How much was compared, in one line."""
        ran = sum(bool(cell.samples) for cell in self.cells)
        learners, problems = metrics.count(len(self.learners), "learner"), metrics.count(len(self.problems), "problem")
        return f"<Leaderboard: {learners} on {problems}, {ran} of {len(self.cells)} cells ran>"


def _made(kind: Callable[..., T], entries: dict[str, Any], what: str) -> T:
    """One of our classes, made of entries that were read, once they are of its fields' kinds."""
    check_entries(entries, get_type_hints(kind), f"entry of {what}")
    return kind(**{name: entries[name] for name in get_type_hints(kind)})


def _check_cell(entries: Mapping[str, Any], points: int) -> None:
    """Refuse a cell that has neither runs nor a reason, lists whose lengths do not fit, and numbers that cannot be."""
    samples, curves = entries["samples"], entries["curves"]
    if not all(map(_is_number, (entries["seconds"] or 0.0, *entries["notes"].values()))):
        raise ValueError(f"the cell of {entries['learner']!r} on {entries['problem']!r} has a number that is not finite")
    if not samples and not curves and entries["reason"]:
        return
    extra = {UNSAFE} & set(samples)
    expected = {"hard_regret", *(extra or {"hard_violation"})}
    if set(samples) != {*SAMPLES, *extra} or set(curves) != expected or not samples["regret"]:
        raise ValueError(f"the cell of {entries['learner']!r} on {entries['problem']!r} lacks some numbers")
    lists = [(numbers, len(samples["regret"])) for numbers in samples.values()]
    lists += [(curve.get(end, []), points) for curve in curves.values() for end in ("mean", "low", "high")]
    for numbers, n in lists:
        if len(numbers) != n or not all(map(_is_number, numbers)):
            raise ValueError(f"the cell of {entries['learner']!r} on {entries['problem']!r} has a list that does not fit")
    for name in set(samples) - {"regret"}:
        if min(samples[name]) < 0.0:
            raise ValueError(
                f"{name} of {entries['learner']!r} on {entries['problem']!r} is {min(samples[name])}; expected at least 0"
            )


def _finite(text: str) -> float:
    """A number of a file; one that is infinite or none could be read, and not be written again."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"it has the number {text[:20]}; expected finite ones")
    return number


def _is_number(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= LARGEST


def _cell(outcome: Outcome, line: str, seconds: float | None, pick: NDArray[np.int64]) -> Cell:
    result = outcome.result
    if result is None:
        return Cell(outcome.problem, outcome.label, line, outcome.reason, None if seconds is None else short(seconds))
    measure = "hard_violation" if result.unsafe_steps is None else UNSAFE
    ends = {name: getattr(result, name)[:, -1] for name in dict.fromkeys((*SUMS, measure))}
    ends["late_loss"] = metrics.late(result.episodes, result.hard_regret + getattr(result, measure), LATE)
    curves = {}
    for name in ("hard_regret", measure):
        band = result.interval(name)
        curves[name] = {end: [short(x) for x in getattr(band, end)[pick]] for end in ("mean", "low", "high")}
    notes = {name: short(np.mean(values)) for name, values in result.notes.items()}
    return Cell(
        outcome.problem,
        outcome.label,
        line,
        "",
        short(seconds or result.kernel_seconds / result.trials),
        {name: [short(x) for x in values] for name, values in ends.items()},
        curves,
        notes,
    )


def short(value: SupportsFloat) -> float:
    """A number with six digits."""
    return float(f"{float(value):.6g}")


def _short_interval(interval: Interval) -> Interval:
    return Interval(*(np.asarray(short(end)) for end in (interval.mean, interval.low, interval.high)))
