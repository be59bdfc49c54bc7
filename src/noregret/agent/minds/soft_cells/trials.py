"""Constant actions, tried early: the simplest policies there are, which no plan may be clearly worse than.

At first every fourth episode plays a single action throughout: each action once, then the best few some times more.
What they bring is kept. A plan that plays clearly worse than the best of them gives way to it until there is a new model. As
long as the best of them looks better than the plan in use, every eighth episode tries it once more.
"""

from __future__ import annotations

import numpy as np

from noregret.agent.minds.soft_cells.contest import PlanContest, count
from noregret.agent.minds.soft_cells.types import Array, Arrays, Integers

#: Actions that are tried, at most; how many of them are tried again, and how often.
_MOST, _BEST, _AGAIN = 30, 2, 2
#: Every so many episodes one is a trial, until all are done; and later, while the best constant action looks better.
_EVERY, _LATER = 4, 8


class ConstantTrials:
    """What constant actions brought.

    Args:
        n_actions: A.
        n_signals: J.
    """

    def __init__(self, n_actions: int, n_signals: int) -> None:
        self.tried = np.unique(np.linspace(0, n_actions - 1, min(n_actions, _MOST)).astype(np.int64))
        self.totals = [np.zeros((0, n_signals)) for _ in self.tried]

    def due(self, episodes: int, contest: PlanContest, tally: Array) -> int:
        """The action whose turn it is after so many episodes, or -1.

        Args:
            episodes: all that were learned from.
            contest: what totals are compared by.
            tally: (k,1+m) totals of the plan in use.
        """
        n, again = len(self.tried), min(_BEST, len(self.tried)) * _AGAIN
        turn = (episodes - 1) // _EVERY - 1
        if turn >= n + again and episodes % _LATER == 1 and len(tally):
            best = self.best(contest)
            return -1 if best is None or contest.score(best[1]) <= contest.score(tally) else best[0]
        if episodes % _EVERY != 1 or not 0 <= turn < n + again or n < 2:
            return -1
        if turn < n or contest.apart <= 0.0:
            return int(self.tried[turn % n])
        order = sorted(range(n), key=lambda i: -contest.score(self.totals[i][:1]) if len(self.totals[i]) else np.inf)
        return int(self.tried[order[(turn - n) % min(_BEST, n)]])

    def add(self, action: int, totals: Array) -> None:
        """Count an episode that was played with one action throughout."""
        i = int(np.searchsorted(self.tried, action))
        self.totals[i] = count(self.totals[i], totals)

    def best(self, contest: PlanContest) -> tuple[int, Array] | None:
        """The action with the best totals among those tried more than once, and these totals."""
        known = [] if contest.apart <= 0.0 else [i for i, totals in enumerate(self.totals) if len(totals) > 1]
        if not known:
            return None
        i = max(known, key=lambda i: contest.score(self.totals[i]))
        return int(self.tried[i]), self.totals[i]

    def arrays(self) -> Arrays:
        """All totals, one after the other, and whose they are."""
        who: Integers = np.repeat(self.tried, [len(totals) for totals in self.totals])
        return {"who": who, "totals": np.concatenate(self.totals)}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.totals = [arrays["totals"][arrays["who"] == action].copy() for action in self.tried]
