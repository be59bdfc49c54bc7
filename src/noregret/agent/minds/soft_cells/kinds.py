"""Several kinds of model: each plans in turn, and what its plans brought decides whose turn comes more often."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noregret.agent.minds.soft_cells.contest import TRIVIAL, PlanContest, count
from noregret.agent.minds.soft_cells.forests import ForestModel
from noregret.agent.minds.soft_cells.networks import NetworkModel
from noregret.agent.minds.soft_cells.planner import Model
from noregret.agent.minds.soft_cells.types import Array, Arrays, Integers

#: The kinds for vectors: prototypes with a regression, trees, and a network of values.
CELLS, FOREST, NETWORK = 0, 1, 2
KINDS = ("cells", "forest", "network")
#: Episodes that a kind is judged by, the fewest of them, and how many prototypes play before others have their first turn.
_JUDGED, _FEWEST, _FIRST = 24, 4, 12
#: A network is young for so many episodes of its own: it has all turns after the first ones of the others, and no plan of it is
#: given up.
_YOUNG = 110
#: Kinds that are as good have together at least every third turn, those that are worse by so many standard errors every sixth.
_NEAR, _FAR, _ERRORS = 3, 6, 1.0


#: Totals (n,J) of plans, changed by what is done beside them.
Ease = Callable[[PlanContest, Array], Array]


def alone(contest: PlanContest, totals: Array) -> Array:
    """The totals of plans that nothing is done beside."""
    return totals


def kind_of(model: Model) -> int:
    """The kind that a model is counted with; tables with prototypes."""
    return NETWORK if isinstance(model, NetworkModel) else FOREST if isinstance(model, ForestModel) else CELLS


class ModelKinds:
    """What the plans of each kind brought, and how many models ago it had its turn.

    Args:
        n_signals: J.
        network: whether there is one.
    """

    def __init__(self, n_signals: int, network: bool = False) -> None:
        self.part = len(KINDS) if network else NETWORK  # how many kinds take part
        self.totals = [np.zeros((0, n_signals)) for _ in KINDS]
        self.waited: Integers = np.zeros(len(KINDS), dtype=np.int64)
        self.played: Integers = np.zeros(len(KINDS), dtype=np.int64)

    def add(self, kind: int, totals: Array) -> None:
        """Count an episode that a plan of this kind played."""
        self.totals[kind] = count(self.totals[kind], totals)
        self.played[kind] += 1

    def young(self, kind: int) -> bool:
        """Whether this is a network that still has to find out how the world goes."""
        return bool(kind == NETWORK and self.played[kind] < _YOUNG)

    def astray(self, contest: PlanContest) -> bool:
        """Whether a network has missed a limit by much for so many episodes as a kind is judged by."""
        totals = self.totals[NETWORK][-_JUDGED:]
        return len(totals) == _JUDGED and contest.far(totals)

    def paid(self, kind: int, contest: PlanContest) -> bool:
        """Whether a cheap rule pays for what plans of this kind miss: a network's; a young one's where it goes astray."""
        return kind == NETWORK and (not self.young(kind) or self.astray(contest))

    def stand_in(self) -> None:
        """Count an episode that a rule played in the place of a young network: it does not stay young for longer by that."""
        self.played[NETWORK] += 1

    def turn(self, contest: PlanContest, ease: Ease = alone) -> int:
        """The kind whose turn it is, which is noted: the better one, unless another has waited for long.

        Prototypes alone look for what is unknown. So the others wait until episodes differ.

        Args:
            contest: what totals are compared by.
            ease: what a network's totals become where a rule pays for what they miss.
        """
        kind = self._turn(contest, ease)
        self.waited = np.zeros_like(self.waited) if self.young(kind) else self.waited + 1
        self.waited[kind] = 0
        return kind

    def judged(self, contest: PlanContest, ease: Ease = alone) -> list[Array]:
        """The totals that each kind is judged by, those of a network with what a rule pays for."""
        known = [totals[-_JUDGED:] for totals in self.totals[: self.part]]
        return known[:NETWORK] + [ease(contest, totals) for totals in known[NETWORK:]]

    def _turn(self, contest: PlanContest, ease: Ease) -> int:
        known = self.judged(contest, ease)
        if contest.apart <= 0.0 or len(known[CELLS]) < _FIRST:
            return CELLS
        for kind, totals in enumerate(known):
            if self.young(kind) or (len(totals) < _FEWEST and self.waited[kind]):
                return kind
        if min(len(totals) for totals in known) < _FEWEST:
            return CELLS
        best = max(range(len(known)), key=lambda kind: contest.score(known[kind]))
        for kind in sorted(range(len(known)), key=lambda kind: -self.waited[kind]):
            far = contest.lost(known[kind], known[best], TRIVIAL, _ERRORS)
            if kind != best and self.waited[kind] >= (self.part - 1) * (_FAR if far else _NEAR) - 1:
                return kind
        return best

    def describe(self) -> list[str]:
        """What the last plans of each kind earned, in one line, where several kinds have played."""
        earned = [f"{name} {t[-_JUDGED:, 0].mean():.4g}" for name, t in zip(KINDS, self.totals, strict=True) if len(t)]
        return [f"kinds of models, with the reward of their last episodes: {', '.join(earned)}"] if len(earned) > 1 else []

    def arrays(self) -> Arrays:
        """All totals, one after the other, whose they are, how long each has waited and how often it played."""
        who: Integers = np.repeat(np.arange(len(KINDS)), [len(totals) for totals in self.totals])
        times = {"waited": self.waited.copy(), "played": self.played.copy()}
        return {"who": who, "totals": np.concatenate(self.totals)} | times

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.totals = [arrays["totals"][arrays["who"] == kind].copy() for kind in range(len(KINDS))]
        self.waited, self.played = arrays["waited"].copy(), arrays["played"].copy()
