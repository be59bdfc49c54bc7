"""The first rows of the leaderboards, both lengths side by side, as README shows them: made from the boards alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.command import between
from noregret import metrics
from noregret.report.leaderboard import Leaderboard
from noregret.report.leaderboard.analysis import ends
from noregret.results.base import NumberTable

#: The lines of a page between which the table stands.
BEGIN, END = (
    "<!-- the first of the leaderboards, made by benchmarks.release -->",
    "<!-- end of what benchmarks.release makes -->",
)
#: How many rows it has.
FIRST = 6
#: How remarks of a board begin that the page has too: on rows that are behind their presets, and on cells that were left out.
SINCE, GUESSED = "Played with a preset that has changed since", "Left out"


def first(board: Leaderboard) -> list[str]:
    """The first learners of a board among those that ran on every world, and whose formulas are of a source that was read."""
    found, read = board.analysis, {row.learner for row in board.rows if row.source != "memory"}
    everywhere = [board.learners[i] for i in found.order if found.ran_on(i) == len(board.problems)]
    return [name for name in everywhere if name in read][:FIRST]


def alone(board: Leaderboard) -> list[str]:
    """The learners that ran on every world and are told nothing more, the best rank first."""
    told = {row.learner for row in board.rows if row.told}
    found = board.analysis
    everywhere = [board.learners[i] for i in found.order if found.ran_on(i) == len(board.problems)]
    return [name for name in everywhere if name not in told]


def behind(board: Leaderboard, learner: str) -> tuple[float, float]:
    """What a learner loses over the best that is told nothing more: the geometric mean over the worlds it ran on, and the most.

    Args:
        board: has the scores.
        learner: one of its rows, also one that is told more; below 1 it loses less than all that are not.
    """
    rivals = [row.learner for row in board.rows if not row.told]
    ratios = []
    for problem in board.problems:
        if len(mine := board.cell(problem, learner).score):
            scores = [board.cell(problem, one).score for one in rivals]
            ratios.append(mine.mean() / min(score.mean() for score in scores if len(score)))
    return float(np.exp(np.mean(np.log(ratios)))), float(max(ratios))


def table(boards: Sequence[Leaderboard]) -> NumberTable:
    """The first of the first board, with what each did at every length."""
    short, rows = boards[0], list[tuple[metrics.Cell, ...]]()
    columns = ["learner", "is told"]
    for board in boards:
        columns += [f"rank at {board.protocol.episodes:,}", "× best", "at most", "stuck"]
    for learner in first(short):
        told = ", ".join(next(row.told for row in short.rows if row.learner == learner)) or "nothing more"
        draws = short.analysis.draws(learner)
        asked = "" if draws is None else f" ({draws / short.protocol.episodes:.0f} draws an episode)"
        cells = list[metrics.Cell]([learner, told + asked])
        for board in boards:
            i, found = board.learners.index(learner), board.analysis
            ran = found.ran_on(i)
            where = "" if ran == len(board.problems) else f" ({ran} of {len(board.problems)} worlds)"
            mean, most = behind(board, learner)
            stuck = float(board.stuck_everywhere(learner) or 0.0)
            cells += [ends(found.interval(found.rank, i)) + where, f"{mean:.2f}", f"{most:.1f}", f"{100 * stuck:.1f}%"]
        rows.append(tuple(cells))
    return NumberTable("Leaderboards", columns, rows)


def put(text: str, boards: Sequence[Leaderboard]) -> str:
    """A page with the table, and what is behind its preset, made anew between its two lines.

    Raises:
        FileError: the page has no such lines.
    """
    parts = [BEGIN, table(boards).markdown().rstrip()]
    for board in boards:
        parts += [
            f"At {board.protocol.episodes:,} episodes: {said}"
            for said in board.protocol.remarks
            if said.startswith((SINCE, GUESSED))
        ]
    return between(text, BEGIN, END, "\n\n".join([*parts, f"{END}\n"]))
