"""What an agent asks of whatever learns for it: be ready, say the chances of each action, learn an episode.

All numbers are raw: observations as vectors (D,) or as numbers 0..n-1, actions as 0..A-1, rewards and costs in the
environment's own units. An episode may come late, and several may have been played with one plan.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noregret.problems.base import Array


class Played(NamedTuple):
    """An episode of L steps as a mind learns from it; L is at most H."""

    observations: NDArray[Any]  # (L+1,D) floats, or (L+1,) integers
    actions: NDArray[np.int64]  # (L,)
    rewards: Array  # (L,)
    values: Array  # (L,m) utilities or costs
    terminated: bool  # whether the world ended it; then all that would have followed is worth 0
    masks: NDArray[np.bool_] | None = None  # (L+1,A) which actions could be taken; None for all


class Mind(Protocol):
    """A learner in an agent's hands."""

    def ready(self) -> None:
        """Make a new plan if the one in use is out of date; called before an episode begins."""

    def chances(self, step: int, observation: NDArray[Any], mask: NDArray[np.bool_] | None = None) -> Array:
        """The probabilities (A,) of the actions at an observation, by the plan in use; 0 where the mask is False.

        Args:
            step: h, from 0.
            observation: as the mind sees it.
            mask: (A,) which actions can be taken; None for all.
        """

    def learn(self, played: Played) -> None:
        """Learn from an episode. A mind may remember which plan is in use, not which one played this episode."""

    @property
    def dual(self) -> Array:
        """(m,) the price of each constraint that the plan in use was made with."""

    @property
    def replans(self) -> int:
        """How many plans were made."""

    def describe(self) -> list[str]:
        """All choices made so far, by whom or from what, one line each, for the agent's summary."""

    def memory_bound(self) -> int:
        """Bytes that it will need at most, however long it learns."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it learned, as plain arrays by name, for a file."""

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave; refuses what cannot be from such a mind."""
