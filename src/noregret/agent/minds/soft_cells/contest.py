"""New plans against the best plan so far, by what was observed: a plan that is clearly worse is given up.

A model made from more data need not give a better plan. So the totals of the last episodes of each plan are kept, and the best
plan, the *champion*, is kept whole. A new plan that plays clearly worse loses, and the champion plays until the next model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.dual import Aim
from noregret.agent.minds.soft_cells.types import Array, Arrays

if TYPE_CHECKING:
    from noregret.agent.minds.soft_cells.planner import Planner

#: Episodes of a plan that are remembered, the fewest that speak against it, and the fewest that make it champion.
KEPT, _FEWEST, _PROVEN = 40, 3, 8
#: Clearly worse: by this share of the range of returns (of the scale of a limit), and by this many standard errors.
_SHARE, _SHARE_OF_LIMIT, _ERRORS = 0.1, 0.25, 2.5
#: The same for constant actions and for kinds of models, which are compared by more episodes.
TRIVIAL = 0.02
#: How many ranges of returns it is worth to miss a bound by its whole scale.
_PENALTY = 2.0
#: The same for rules, which must not break limits; what a leader and its partner together keep free, as a share of the scale;
#: and by how many scales a partner may miss a bound.
STRICT, MARGIN, _DEAREST = 10.0, 0.02, 1.0


@dataclass
class Champion:
    """The best plan so far, with its last totals and its prices."""

    planner: Planner
    tally: Array
    prices: Arrays


class PlanContest(NamedTuple):
    """What plans are compared by.

    Args:
        apart: the range of all returns seen.
        aim: bounds of the other signals.
    """

    apart: float
    aim: Aim

    def missed(self, tally: Array) -> Array:
        """(m,) how far the mean totals of a tally (n,1+m) lie below their bounds, in scales; negative where they are met."""
        return np.asarray((self.aim.bounds - tally[:, 1:].mean(axis=0)) / self.aim.scale, dtype=np.float64)

    def score(self, tally: Array) -> float:
        """One number: the mean return, less what is missed."""
        return float(self.scores(tally.mean(axis=0)[None])[0])

    def scores(self, means: Array, penalty: float = _PENALTY) -> Array:
        """(R,) the same for mean totals (R,1+m), with so many ranges of returns for a bound that is missed by its scale."""
        missed = np.maximum((self.aim.bounds - means[:, 1:]) / self.aim.scale - 0.02, 0.0).sum(axis=1)
        return np.asarray(means[:, 0] / max(self.apart, 1e-12) - penalty * missed, dtype=np.float64)

    def lost(self, now: Array, best: Array, share: float = _SHARE, errors: float = _ERRORS) -> bool:
        """Whether a plan with the tally ``now`` is clearly worse than the champion with the tally ``best``.

        Args:
            now: (n,1+m).
            best: (k,1+m).
            share: of the range of returns, by which it must be poorer at least.
            errors: the standard errors by which it must be worse at least.
        """
        if self.apart <= 0.0 or len(now) < _FEWEST or len(best) < _FEWEST:
            return False
        error = np.maximum(best.std(axis=0), now.std(axis=0)) * math.sqrt(1.0 / len(now) + 1.0 / len(best))
        below = best.mean(axis=0) - now.mean(axis=0)
        poorer = below[0] > max(share * self.apart, errors * error[0]) and not (self.missed(best) > _SHARE_OF_LIMIT).any()
        dearer = (self.missed(now) > 0.0) & (below[1:] > np.maximum(_SHARE_OF_LIMIT * self.aim.scale, errors * error[1:]))
        return bool(self.score(now) < self.score(best) and (poorer or dearer.any()))

    def far(self, now: Array) -> bool:
        """Whether a plan misses a bound by so much that it speaks against the plan."""
        return len(now) > 0 and bool(self.missed(now).max(initial=0.0) > _SHARE_OF_LIMIT)

    def nearly(self, now: Array) -> bool:
        """Whether a plan misses a bound, and none by much: the price of a network is still to move then."""
        return len(now) > 0 and not self.far(now) and bool(self.missed(now).max(initial=0.0) > 0.0)

    def won(self, now: Array, best: Array | None) -> bool:
        """Whether a plan becomes the champion."""
        if best is None:
            return len(now) >= _FEWEST
        return len(now) >= _PROVEN and (self.apart <= 0.0 or self.score(now) >= self.score(best))


def count(tally: Array, totals: Array) -> Array:
    """The tally with one more episode."""
    return np.concatenate([tally, totals[None]])[-KEPT:]


def pair(contest: PlanContest, lead: Array, means: Array) -> tuple[Array, Array]:
    """How good rules are as partners of a leader, and in which share of the episodes it can afford them; alone where better.

    Args:
        contest: what totals are compared by.
        lead: (J,) mean totals of the leader.
        means: (R,J) of the partners.
    """
    alone, aim = contest.scores(means, STRICT), contest.aim
    room, dearer = lead[1:] - aim.bounds - MARGIN * aim.scale, lead[1:] - means[:, 1:]
    share = np.where(dearer > room, np.maximum(room, 0.0) / np.maximum(dearer, 1e-12), 1.0).min(axis=1, initial=1.0)
    gain = share * (means[:, 0] - lead[0]) / max(contest.apart, 1e-12)
    near = (aim.bounds - means[:, 1:] <= _DEAREST * aim.scale).all(axis=1)
    value = np.where((gain > 0.0) & near & (room >= 0.0).all(), contest.scores(lead[None], STRICT)[0] + gain, alone)
    return np.maximum(alone, value), share
