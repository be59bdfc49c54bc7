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
        for outcome in self.outcomes:
            groups.setdefault(outcome.problem, []).append(outcome)
        return groups

    def ran(self) -> list[tuple[Outcome, RunResult]]:
        """The outcomes with a result."""
        return [(outcome, outcome.result) for outcome in self.outcomes if outcome.result is not None]

    def styles(self) -> dict[str, drawing.LineStyle]:
        """The colour and the line of each label, the same on every problem."""
        return drawing.styles((result.learner, outcome.label) for outcome, result in self.ran())

    def _check(self) -> None:
        if not all(isinstance(outcome, Outcome) for outcome in self.outcomes):
            raise TypeError("outcomes has something else than outcomes")

    def _columns(self) -> Columns:
        return stack(
            ({"problem": outcome.problem, "learner": outcome.label}, result._columns()) for outcome, result in self.ran()
        )

    def _summary(self) -> NumberTable:
        """A row for each outcome: its trials and episodes, and the sums over all episodes."""
        ran = [(outcome, result) for outcome, result in self.ran() if len(result.episodes)]
        limited = any(result.unsafe_steps is not None for _, result in ran)
        drew = any(result.simulator_draws is not None for _, result in ran)
        rows: list[tuple[Cell, ...]] = []
        for outcome, result in ran:
            row: list[Cell] = [outcome.problem, outcome.label, result.trials, int(result.episodes[-1])]
            row += [result.simulator_draws] if drew else []
            rows.append((*row, *map(result.last, SUMS), result.stuck, *([unsafe(result)] if limited else [])))
        left_out = [outcome for outcome in self.outcomes if outcome.result is None]
        refused = [f" {outcome.label} did not run on {outcome.problem}: {outcome.reason}." for outcome in left_out]
        sizes = ("problem", "learner", "trials", "episodes", *(["draws"] if drew else []))
        columns = (*sizes, *map(words, SUMS), "stuck", *(["unsafe steps"] if limited else []))
        rare = few(min((result.trials for _, result in ran), default=ENOUGH))
        said = " ".join([CAPTION, *([DRAWS] if drew else []), *([UNSAFE] if limited else []), *([rare] if rare else [])])
        return NumberTable(repr(self)[1:-1], columns, rows, said + "".join(refused))

    def _grid(self) -> tuple[int, int]:
        return max(1, len({outcome.problem for outcome, _ in self.ran()})), 2

    def _draw(self, axes: drawing.Grid) -> None:
        styles = self.styles()
        drawn = dict.fromkeys(outcome.problem for outcome, _ in self.ran())
        for row, problem in zip(axes, drawn, strict=False):
            labelled = [(outcome.label, result) for outcome, result in self.ran() if outcome.problem == problem]
            for ax, which in zip(row, ("regret", "violation"), strict=True):
                drawing.curves(ax, which, labelled, styles, f"{problem}: ")
        drawing.shared_legend(axes)

    def __repr__(self) -> str:
        """How much was compared, in one line."""
        learners = count(len({outcome.label for outcome in self.outcomes}), "learner")
        problems = count(len(self.by_problem()), "problem")
        return f"<Comparison: {learners} on {problems}, {len(self.ran())} of {len(self)} ran>"


savable(Comparison)
