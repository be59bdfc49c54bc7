"""Several kinds of model: each plans in turn, and what its plans brought decides whose turn comes more often."""

from __future__ import annotations

import numpy as np

from noregret.agent.minds.soft_cells.contest import TRIVIAL, PlanContest, count
from noregret.agent.minds.soft_cells.types import Array, Arrays, Integers

#: The kinds for vectors: prototypes with a regression, and trees.
CELLS, FOREST = 0, 1
KINDS = ("cells", "forest")
#: Episodes that a kind is judged by, the fewest of them, and how many prototypes play before trees have their first turn.
_JUDGED, _FEWEST, _FIRST = 24, 4, 12
#: A kind that is as good has at least every third turn, one that is worse by so many standard errors every sixth.
_NEAR, _FAR, _ERRORS = 3, 6, 1.0


class ModelKinds:
    """What the plans of each kind brought, and how many models ago it had its turn.

    Args:
        n_signals: J.
    """

    def __init__(self, n_signals: int) -> None:
        self.totals = [np.zeros((0, n_signals)) for _ in KINDS]
        self.waited: Integers = np.zeros(len(KINDS), dtype=np.int64)

    def add(self, kind: int, totals: Array) -> None:
        """Count an episode that a plan of this kind played."""
        self.totals[kind] = count(self.totals[kind], totals)

    def turn(self, contest: PlanContest) -> int:
        """The kind whose turn it is, which is noted: the better one, unless the other has waited for long.

        Prototypes alone look for what is unknown. So trees wait until episodes differ.
        """
        kind = self._turn(contest)
        self.waited += 1
        self.waited[kind] = 0
        return kind

    def _turn(self, contest: PlanContest) -> int:
        known = [totals[-_JUDGED:] for totals in self.totals]
        if contest.apart <= 0.0 or len(known[CELLS]) < _FIRST:
            return CELLS
        for kind, totals in enumerate(known):
            if len(totals) < _FEWEST and self.waited[kind]:
                return kind
        if min(len(totals) for totals in known) < _FEWEST:
            return CELLS
        best = max(range(len(KINDS)), key=lambda kind: contest.score(known[kind]))
        other = 1 - best
        patience = _FAR if contest.lost(known[other], known[best], TRIVIAL, _ERRORS) else _NEAR
        return other if self.waited[other] >= patience - 1 else best

    def describe(self) -> list[str]:
        """What the last plans of each kind earned, in one line, where both kinds have played."""
        earned = [f"{name} {t[-_JUDGED:, 0].mean():.4g}" for name, t in zip(KINDS, self.totals, strict=True) if len(t)]
        return [f"kinds of models, with the reward of their last episodes: {', '.join(earned)}"] if len(earned) > 1 else []

    def arrays(self) -> Arrays:
        """All totals, one after the other, whose they are, and how long each has waited."""
        who: Integers = np.repeat(np.arange(len(KINDS)), [len(totals) for totals in self.totals])
        return {"who": who, "totals": np.concatenate(self.totals), "waited": self.waited.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.totals = [arrays["totals"][arrays["who"] == kind].copy() for kind in range(len(KINDS))]
        self.waited = arrays["waited"].copy()
