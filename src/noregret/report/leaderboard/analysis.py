"""What a leaderboard comes to: ratios to the best of each problem, mean ranks, performance profiles.

The score of a run is its hard regret plus its hard violation, both summed over all episodes; on a problem that limits every
single step, the number of unsafe steps takes the place of hard violation. The best of a problem is the least mean score there.
A cell that was left out is never within any factor of the best. A rank is among the learners that ran on a problem; those that
did not run on every problem come after those that did.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from noregret import metrics
from noregret.metrics import Cell as TableCell
from noregret.metrics import Interval
from noregret.problems.base import Array
from noregret.report.leaderboard.board import DRAWS, Leaderboard
from noregret.results.base import NumberTable
from noregret.results.result import few

#: The factors at which profiles have points.
TAUS = np.geomspace(1.0, 1000.0, 91)
#: A score below this in an episode is rounding.
ROUNDING = 1e-9
#: What the numbers of the standings are.
CAPTION = (
    "Rank: the mean over the problems that it ran on, among the learners that ran there; 1 is best. Learners that did not run "
    "on every problem are ranked apart, below the others. Rank by soft sums: the same by regret plus violation, each at least "
    "0, where good episodes make up for bad ones, as several of the papers count. Ratio: the median over its problems of its "
    "mean score over the best one's. Stuck: the share of its runs that still lose more than 0.1 an episode over the last "
    "tenth, or more than a tenth of what the uniform policy loses. Intervals: 95%, by a bootstrap: the runs of each cell are "
    "drawn anew 2,000 times, each cell for itself, and the ends are moved by the bias that this has (for ranks). Problems are "
    "not drawn, so an interval says nothing of other problems. Told: beyond sizes, thresholds and episodes."
)


def caption(board: Leaderboard) -> str:
    """What the columns are, and what so few runs cannot show."""
    return " ".join(filter(None, (CAPTION, few(board.protocol.trials))))


class Analysis:
    """The statistics of a leaderboard; ``order`` has its learners, those that ran everywhere first, then by mean rank."""

    def __init__(self, board: Leaderboard) -> None:
        self.board = board
        least = ROUNDING * board.protocol.episodes
        self.best: dict[str, str] = {}
        self._reference: dict[str, float] = {}
        for problem in board.problems:
            means = {one: float(board.cell(problem, one).score.mean()) for one in board.learners if self._ran(problem, one)}
            if means:
                self.best[problem] = min(means, key=means.__getitem__)
                self._reference[problem] = max(means[self.best[problem]], least)
        self.rank = self._ranks("score")
        self.order = sorted(range(len(board.learners)), key=lambda i: (self.ran_on(i) < len(board.problems), self._place(i)))
        self.profiles = [metrics.profile([self.ratios(p, one) for p in board.problems], TAUS) for one in board.learners]

    @cached_property
    def soft_rank(self) -> Interval:
        """The mean ranks by soft sums, :attr:`~noregret.report.leaderboard.board.Cell.soft`."""
        return self._ranks("soft")

    def _ranks(self, of: str) -> Interval:
        board = self.board
        return metrics.ranks([[getattr(board.cell(problem, one), of) for problem in board.problems] for one in board.learners])

    def ran_on(self, i: int) -> int:
        """The number of problems that a learner ran on."""
        return sum(self._ran(problem, self.board.learners[i]) for problem in self.board.problems)

    def _place(self, i: int) -> float:
        return float(self.rank.mean[i]) if self.ran_on(i) else math.inf

    def _ran(self, problem: str, learner: str) -> bool:
        return bool(self.board.cell(problem, learner).samples)

    def ratios(self, problem: str, learner: str) -> Array:
        """The score of each run over the least mean score of the problem; empty where the cell was left out."""
        score = self.board.cell(problem, learner).score
        return np.asarray(score / self._reference[problem]) if len(score) else score

    def ratio(self, problem: str, learner: str) -> float | None:
        """The mean score over the least one of the problem, 1 for the best; None where the cell was left out."""
        found = self.ratios(problem, learner)
        return max(1.0, float(found.mean())) if len(found) else None

    def front(self, problem: str) -> list[str]:
        """The learners that no other one beats in both hard regret and what counts as violation."""
        ran = [learner for learner in self.board.learners if self._ran(problem, learner)]
        points = np.array([self._point(problem, learner) for learner in ran]).reshape(-1, 2)
        kept = metrics.front(points).tolist() if len(points) else []
        return [learner for learner, point in zip(ran, points.tolist(), strict=True) if point in kept]

    def _point(self, problem: str, learner: str) -> tuple[float, float]:
        cell = self.board.cell(problem, learner)
        return float(cell.last(cell.measure).mean), float(cell.last("hard_regret").mean)

    def interval(self, which: Interval, i: int) -> Interval:
        """The entry of one learner."""
        return Interval(*(np.asarray(end[i]) for end in (which.mean, which.low, which.high)))

    def median_ratio(self, learner: str) -> float | None:
        """The median over the problems on which it ran of its ratio to the best."""
        ratios = [one for problem in self.board.problems if (one := self.ratio(problem, learner)) is not None]
        return float(np.median(ratios)) if ratios else None

    def milliseconds(self, learner: str) -> float | None:
        """The median over the problems on which it ran of the time of an episode."""
        spent = [cell.seconds for p in self.board.problems if (cell := self.board.cell(p, learner)).seconds and cell.samples]
        return 1000.0 * float(np.median(np.array(spent))) / self.board.protocol.episodes if spent else None

    def draws(self, learner: str) -> float | None:
        """The mean over its problems of the draws from a simulator in a run; None where it has none."""
        drawn = [found for p in self.board.problems if (found := self.board.cell(p, learner).notes.get(DRAWS)) is not None]
        return float(np.mean(drawn)) if drawn else None

    def standings(self) -> NumberTable:
        """A row for each learner in their order."""
        board, rows = self.board, list[tuple[TableCell, ...]]()
        for i in self.order:
            row = board.rows[i]
            ran = self.ran_on(i)
            stuck = board.stuck_everywhere(row.learner)
            numbers = (self.median_ratio(row.learner), stuck, self.milliseconds(row.learner), self.draws(row.learner))
            ranks = [ends(self.interval(one, i)) if ran else "-" for one in (self.rank, self.soft_rank)]
            rows.append((row.learner, *ranks, f"{ran} of {len(board.problems)}", *numbers, ", ".join(row.told) or "-"))
        columns = ("learner", "rank", "rank by soft sums", "ran on", "ratio", "stuck", "ms an episode", DRAWS, "is told")
        length = metrics.length(board.protocol.trials, board.protocol.episodes)
        return NumberTable(f"Leaderboard: {length}, preset {board.protocol.preset}", columns, rows, caption(board))


def ends(interval: Interval) -> str:
    """A point and both ends of its interval, with two digits after the point.

    >>> ends(Interval(np.array(2.0), np.array(1.5), np.array(2.25)))
    '2.00 [1.50, 2.25]'
    """
    point, low, high = (float(end) for end in (interval.mean, interval.low, interval.high))
    return f"{point:.2f}" if low == high else f"{point:.2f} [{low:.2f}, {high:.2f}]"


def ratio_text(ratio: float) -> str:
    """A ratio to the best as a cell of the map shows it.

    >>> ratio_text(1.0), ratio_text(3.14159), ratio_text(31.4), ratio_text(31415.9), ratio_text(3.2e7)
    ('1', '3.1', '31', '31k', '10⁷')
    """
    if ratio >= 1e6:
        return "10" + str(math.floor(math.log10(ratio))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    if ratio >= 1e4:
        return f"{ratio / 1000:.0f}k"
    return f"{ratio:.1f}".removesuffix(".0") if ratio < 9.95 else f"{ratio:.0f}"


def shade(ratio: float) -> str:
    """The colour of a ratio: pale at 1, darker by its logarithm, the darkest from :data:`DARKEST` on.

    >>> shade(1.0), shade(1e9)
    ('#FFFBE6', '#3B0F4F')
    """
    place = min(math.log(ratio) / math.log(DARKEST), 1.0) * (len(SHADES) - 1)
    i = min(int(place), len(SHADES) - 2)
    one, other = (bytes.fromhex(SHADES[j][1:]) for j in (i, i + 1))
    return "#" + "".join(f"{round(a + (place - i) * (b - a)):02X}" for a, b in zip(one, other, strict=True))


def is_dark(colour: str) -> bool:
    """Whether white letters are easier to read on a colour than black ones.

    >>> is_dark("#3B0F4F"), is_dark("#FFFBE6")
    (True, False)
    """
    red, green, blue = bytes.fromhex(colour[1:])
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140


#: From the best to the worst; one scale for the page and the pictures.
SHADES = ("#FFFBE6", "#FDD28A", "#F4A15D", "#DD6B55", "#A63B63", "#3B0F4F")
DARKEST = 300.0
