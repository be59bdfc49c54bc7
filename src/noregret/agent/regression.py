"""A learner on features that were chosen, as a mind: it maps raw numbers to [0,1] and encodes observations.

Its regressions keep sums of numbers in [0,1], so a range cannot be made wider later: numbers outside are clipped or refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret import learners
from noregret.agent.episodes import Episode, totals
from noregret.agent.ranges import Ranges
from noregret.errors import InputError
from noregret.gym import Objectives
from noregret.gym.spaces import Mask
from noregret.learners.minds import Played
from noregret.learners.vectors import ContinuousLearner
from noregret.problems.base import Array
from noregret.problems.continuous import ContinuousSpec

#: Without a total, constants are at first those of this many episodes.
FIRST_TOTAL = 1024
#: Encoded observations that are kept until they are learned from.
KEPT = 1 << 14


class Regression:
    """``primal-dual-lsvi`` or ``lsvi-ucb`` in an agent's hands.

    Args:
        name: of the learner.
        objectives: ranges and limits.
        features: the feature map.
        total: how many episodes will be learned in all, or None for no end: then constants that depend on it are those of the
            next power of two, at least 1024.
        ranges: what becomes of numbers outside their ranges.
        options: the preset and all parameters of the learner.
    """

    def __init__(
        self, name: str, objectives: Objectives, features: Any, total: int | None, ranges: Ranges, options: dict[str, Any]
    ) -> None:
        self.objectives, self.features, self.total, self.ranges = objectives, features, total, ranges
        absorbing = objectives.absorbing
        if absorbing is None and ranges.outside == "clip":
            absorbing = objectives.to_unit(0, *nearest_zero(objectives))
        self.spec = ContinuousSpec(objectives.horizon, objectives.thresholds, features, objectives.names, absorbing)
        made = learners.make(name, self.spec, episodes=total or FIRST_TOTAL, **options)
        assert isinstance(made, ContinuousLearner)
        self.learner, self.learned = made, 0
        self._rows: dict[bytes, Array] = {}

    def ready(self) -> None:
        """Make a new plan if the one in use is out of date."""
        self.learner.current()

    def chances(self, step: int, observation: NDArray[Any], mask: Mask | None = None) -> Array:
        """The probabilities (A,) of the actions. A mask takes away what cannot be done; the plan does not know of it.

        Args:
            step: h, from 0.
            observation: its numbers, as the environment shows them.
            mask: (A,) which actions can be taken; None for all.
        """
        policy = np.asarray(self.learner.current().chances(step, self._encoded(step, observation)[None])[0])
        if mask is None or mask.all():
            return policy
        policy = np.where(mask, policy, 0.0)
        whole = float(policy.sum())
        return policy / whole if whole > 0.0 else mask / mask.sum()

    def _encoded(self, step: int, observation: NDArray[Any]) -> Array:
        key = observation.tobytes()
        if (rows := self._rows.get(key)) is None:
            rows = self.learner.encode(step, observation)
            if len(self._rows) >= KEPT:
                self._rows.clear()
            self._rows[key] = rows
        return rows

    def learn(self, played: Played) -> None:
        """Learn from an episode."""
        episode = self.encoded(played)
        self.learner.observe_rows(episode.rows, episode.actions, episode.observed, played.terminated)
        self._rows.clear()
        self.learned += 1
        self.retune()

    def encoded(self, played: Played) -> Episode:
        """The episode with features, and its numbers in [0,1].

        Raises:
            InputError: it was cut before the horizon, or ended early where that is refused.
        """
        L, H = len(played.actions), self.objectives.horizon
        if L < H and not played.terminated:
            raise InputError(f"step {L - 1}: the episode was cut after {L} steps; expected the horizon {H}, or features='auto'")
        if L < H and self.objectives.absorbing is None:
            self.ranges.early(L - 1)
        after = self.learner.shares and not played.terminated  # then the state after the last step is learned from too
        rows = np.array([self._encoded(h, played.observations[h]) for h in range(L + after)])
        observed = np.array([self.objectives.to_unit(h, played.rewards[h], played.values[h]) for h in range(L)])
        reward, values = totals(played)
        return Episode(list(played.observations), rows, played.actions, observed, reward, values, played.terminated)

    def retune(self) -> None:
        """Without a total, take the constants of the next power of two episodes, before anything plans with the old ones."""
        K = max(FIRST_TOTAL, 1 << self.learned.bit_length())
        if self.total is None and K != self.learner.episodes:
            self.learner.retune(K)

    @property
    def dual(self) -> Array:
        """(m,) the price of each constraint."""
        return self.learner.dual

    @property
    def replans(self) -> int:
        """How many plans were made."""
        return self.learner.replans

    def describe(self) -> list[str]:
        """What was chosen, one line each."""
        o = self.objectives
        absorbing = "unknown" if self.spec.absorbing is None else np.round(self.spec.absorbing, 4).tolist()
        return [
            f"features: {self.features.describe()}",
            f"ranges: reward {o.reward_range}, {o.word} {o.utility_ranges}, as given; a number outside: {self.ranges.outside}",
            f"after an end: every step that would have followed is worth raw 0 (absorbing); in [0,1]: {absorbing}",
            f"states kept: {self._states()}",
        ]

    def _states(self) -> str:
        learner, kept = self.learner, int(self.learner.kept.max())
        if "states" not in learner.constants:
            return f"at most {kept} a step"
        per, tolerance = "for all steps" if learner.shares else "a step", float(learner.gram.tolerance[1])
        return (
            f"{kept} of at most {learner.constants['states']} {per}; each stands for features within {tolerance:.3g} of its own"
        )

    def memory_bound(self) -> int:
        """Bytes that it will need at most, as long as its constants stand."""
        return self.learner.memory_bound()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it learned."""
        return self.learner.state()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave."""
        self.learner.restore(arrays)
        self._rows.clear()


def nearest_zero(objectives: Objectives) -> tuple[float, Array]:
    """The raw reward and values nearest to 0 that the ranges hold."""
    ends = [float(np.clip(0.0, *span)) for span in objectives.ranges if span is not None]
    return ends[0], np.array(ends[1:])
