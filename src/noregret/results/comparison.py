"""Learners on problems, side by side: a sequence of outcomes that is itself a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from noregret.metrics import ENOUGH, Cell, count, words
from noregret.results import drawing
from noregret.results.base import Columns, NumberTable, Saved, savable, stack
from noregret.results.result import SUMS, UNSAFE, Outcome, RunResult, few

#: What the numbers of a summary are.
CAPTION = (
    "Sums over all episodes: mean over the trials ± half of its 95% interval. Stuck: the share of trials that still lose more "
    "than 0.1 an episode over the last tenth."
)
#: What the draws of a table are.
DRAWS = "Draws: transitions of a trial that were asked from a simulator, beside the episodes."


def unsafe(result: RunResult) -> Cell:
    """The unsafe steps of a result as a cell, empty where there is no limit on a step."""
    return None if result.unsafe_steps is None else result.last("unsafe_steps")


@dataclass(frozen=True, init=False, repr=False)
class Comparison(Saved, Sequence[Outcome]):
    """The outcomes of a comparison, problem by problem."""

    outcomes: tuple[Outcome, ...]

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        object.__setattr__(self, "outcomes", tuple(outcomes))

    @overload
    def __getitem__(self, i: int) -> Outcome: ...
    @overload
    def __getitem__(self, i: slice) -> Comparison: ...
    def __getitem__(self, i: int | slice) -> Outcome | Comparison:
        return Comparison(self.outcomes[i]) if isinstance(i, slice) else self.outcomes[i]

    def __len__(self) -> int:
        return len(self.outcomes)

    def by_problem(self) -> dict[str, list[Outcome]]:
        """The outcomes of each problem, in their order."""
        groups: dict[str, list[Outcome]] = {}
        for one in self.outcomes:
            groups.setdefault(one.problem, []).append(one)
        return groups

    def ran(self) -> list[tuple[Outcome, RunResult]]:
        """The outcomes with a result."""
        return [(one, one.result) for one in self.outcomes if one.result is not None]

    def styles(self) -> dict[str, drawing.LineStyle]:
        """The colour and the line of each label, the same on every problem."""
        return drawing.styles((result.learner, one.label) for one, result in self.ran())

    def _check(self) -> None:
        if not all(isinstance(one, Outcome) for one in self.outcomes):
            raise TypeError("outcomes has something else than outcomes")

    def _columns(self) -> Columns:
        return stack(({"problem": one.problem, "learner": one.label}, result._columns()) for one, result in self.ran())

    def _summary(self) -> NumberTable:
        """A row for each outcome: its trials and episodes, and the sums over all episodes."""
        ran = [(one, result) for one, result in self.ran() if len(result.episodes)]
        limited = any(result.unsafe_steps is not None for _, result in ran)
        drew = any(result.simulator_draws is not None for _, result in ran)
        rows: list[tuple[Cell, ...]] = []
        for one, result in ran:
            row: list[Cell] = [one.problem, one.label, result.trials, int(result.episodes[-1])]
            row += [result.simulator_draws] if drew else []
            rows.append((*row, *map(result.last, SUMS), result.stuck, *([unsafe(result)] if limited else [])))
        refused = [f" {one.label} did not run on {one.problem}: {one.reason}." for one in self.outcomes if one.result is None]
        sizes = ("problem", "learner", "trials", "episodes", *(["draws"] if drew else []))
        columns = (*sizes, *map(words, SUMS), "stuck", *(["unsafe steps"] if limited else []))
        rare = few(min((result.trials for _, result in ran), default=ENOUGH))
        said = " ".join([CAPTION, *([DRAWS] if drew else []), *([UNSAFE] if limited else []), *([rare] if rare else [])])
        return NumberTable(repr(self)[1:-1], columns, rows, said + "".join(refused))

    def _grid(self) -> tuple[int, int]:
        return max(1, len({one.problem for one, _ in self.ran()})), 2

    def _draw(self, axes: drawing.Grid) -> None:
        styles = self.styles()
        drawn = dict.fromkeys(one.problem for one, _ in self.ran())
        for row, problem in zip(axes, drawn, strict=False):
            labelled = [(one.label, result) for one, result in self.ran() if one.problem == problem]
            for ax, which in zip(row, ("regret", "violation"), strict=True):
                drawing.curves(ax, which, labelled, styles, f"{problem}: ")
        drawing.shared_legend(axes)

    def __repr__(self) -> str:
        """How much was compared, in one line."""
        learners = count(len({one.label for one in self.outcomes}), "learner")
        problems = count(len(self.by_problem()), "problem")
        return f"<Comparison: {learners} on {problems}, {len(self.ran())} of {len(self)} ran>"


savable(Comparison)
