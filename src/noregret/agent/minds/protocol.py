"""What an agent, or a live service, asks of whatever learns for it: be ready, say the chances of each action, learn an episode.

All numbers are raw: observations as vectors (D,) or as numbers 0..n-1, actions as 0..A-1, rewards and costs in the
environment's own units. An episode may come late, and several may have been played with one plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noregret.learners.arrays import Numbers
from noregret.problems.base import Array

if TYPE_CHECKING:
    from noregret.agent.adequacy import Adequacy


class PlayedEpisode(NamedTuple):
    """An episode of L steps as a mind learns from it; L is at most H."""

    observations: Numbers  # (L+1,D) floats, or (L+1,) integers
    actions: NDArray[np.int64]  # (L,)
    rewards: Array  # (L,)
    values: Array  # (L,m) utilities or costs
    terminated: bool  # whether the world ended it; then all that would have followed is worth 0
    masks: NDArray[np.bool_] | None = None  # (L+1,A) which actions could be taken; None for all


class Policy(Protocol):
    """What a plan does; it never changes."""

    def chances(self, step: int, observation: Numbers, mask: NDArray[np.bool_] | None = None) -> Array:
        """The probabilities (A,) of the actions, as :meth:`Mind.chances` gave them when the plan was in use.

        Args:
            step: h, from 0.
            observation: as the mind sees it.
            mask: (A,) which actions can be taken; None for all.
        """

    def table(self, most: int) -> tuple[dict[int, int], Array] | None:
        """All that :meth:`chances` gives without a mask: the row of each numbered observation, and (H,rows,A).

        Args:
            most: None is given where the table would have more entries, or where each answer has to be found by itself.
        """


class Mind(Protocol):
    """A learner in an agent's hands. All that differs from one learner to the next is asked here."""

    @property
    def name(self) -> str:
        """What the learner is called, as in ``learner="soft-cells"``."""

    @property
    def about(self) -> str:
        """What it is and what it promises, in one line."""

    def ready(self) -> None:
        """Make a new plan if the one in use is out of date; called before an episode begins. This is what takes time."""

    def chances(self, step: int, observation: Numbers, mask: NDArray[np.bool_] | None = None) -> Array:
        """The probabilities (A,) of the actions at an observation, by the plan in use; 0 where the mask is False.

        Args:
            step: h, from 0.
            observation: as the mind sees it.
            mask: (A,) which actions can be taken; None for all.
        """

    def learn(self, played: PlayedEpisode, counts: bool = True) -> None:
        """Learn from an episode. A mind may remember which plan is in use, not which one played this episode.

        Args:
            played: the episode.
            counts: False for an episode that somebody else played, as from a log. The mind learns from it how the world
                behaves, but neither its prices nor its judgement of its own plans take the episode for its own.
        """

    def limit(self, limits: Array, forget: bool) -> None:
        """Hold totals to other limits (m,) from now on; ``forget`` what earlier episodes cost too much."""

    def steady(self) -> Policy:
        """What plays where nothing is learned: the plan in use, without anything that is only tried."""

    def plan(self) -> dict[str, Numbers]:
        """The plan in use, as plain arrays by name: what :meth:`policy` needs, and nothing that is learned from."""

    def policy(self, plan: dict[str, Numbers]) -> Policy:
        """The policy of a plan, in whatever process; this mind need not have made it."""

    @property
    def dual(self) -> Array:
        """(m,) the price of each constraint that the plan in use was made with."""

    @property
    def estimate(self) -> Array:
        """(m,) the raw totals that the plan in use is expected to bring, nan where the mind makes no such estimate."""

    @property
    def replans(self) -> int:
        """How many plans were made."""

    def describe(self) -> list[str]:
        """All choices made so far, by whom or from what, one line each, for the agent's summary."""

    def memory_bound(self) -> int:
        """Bytes that it will need at most, until episode :attr:`bounded_until`."""

    @property
    def bounded_until(self) -> int | None:
        """Until which episode :meth:`memory_bound` holds; None for ever."""

    def adequacy(self, fresh: Sequence[PlayedEpisode]) -> Adequacy:
        """Judge by fresh episodes whether given features are good enough; refused where features were not given."""

    def arrays(self) -> dict[str, Numbers]:
        """All that it learned, as plain arrays by name, for a file."""

    def grown(self, defaults: Sequence[float], more: int) -> dict[str, Numbers]:
        """What :meth:`arrays` gives, for a mind whose observations have new numbers at their end, and more actions."""

    def restore(self, arrays: dict[str, Numbers]) -> None:
        """Take over what :meth:`arrays` gave. All of it is checked before any of it is used: the arrays may be forged."""
