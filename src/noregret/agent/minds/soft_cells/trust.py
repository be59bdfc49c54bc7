"""How far what was promised of simple rules counts beside what they brought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.types import Array

#: Rules that kept their promise, as is thought before any did.
_TRUSTED = 3
#: Episodes that a rehearsal is worth at most.
_WORTH = 200.0


class Trust(NamedTuple):
    """How far a promise counts beside what a rule brought; each (J,)."""

    deviation: Array  # of totals from episode to episode
    worth: Array  # how many episodes a promise is worth
    off: Array  # how much less all rules bring than was promised, at most 0

    @classmethod
    def of(cls, known: Sequence[Array], missed: Array, times: Array) -> Trust:
        """How far rehearsals count.

        What all rules miss alike is taken off every promise. Where the rest is no more than luck explains, a promise is worth
        the most. A rule says as much of it as it has episodes.

        Args:
            known: totals (n,J) of each rule, and of the last plans.
            missed: (R,J) how much more rules brought than was promised.
            times: (R,) in how many episodes.
        """
        J = missed.shape[1]
        several = [totals.var(axis=0, ddof=1) for totals in known if len(totals) > 1]
        variance = np.array([_typical(column) for column in np.array(several).reshape(-1, J).T])
        none = np.zeros(J)
        if not len(missed):
            return Trust(np.sqrt(variance), none, none)
        common = np.array([_middle(column, times) for column in missed.T])
        sure = np.maximum(1.0 - variance / np.maximum(times.sum() * common**2, 1e-12), 0.0)
        off = np.minimum(common * sure, 0.0)
        if len(missed) < _TRUSTED:
            return Trust(np.sqrt(variance), none, off)
        wrong = np.maximum((times[:, None] * (missed - common) ** 2 - variance).sum(axis=0) / times.sum(), 0.0)
        return Trust(np.sqrt(variance), np.minimum(variance / np.maximum(wrong, 1e-12), _WORTH), off)


def _typical(variances: Array) -> float:
    """The median of the variances that are not 0: where a cost comes seldom, most rules had no luck to show."""
    moved = variances[variances > 0.0]
    return float(np.median(moved)) if len(moved) else 0.0


def _middle(numbers: Array, weights: Array) -> float:
    """The weighted median."""
    order = np.argsort(numbers, kind="stable")
    sums = np.cumsum(weights[order])
    return float(numbers[order[int(np.searchsorted(sums, sums[-1] / 2.0))]])
