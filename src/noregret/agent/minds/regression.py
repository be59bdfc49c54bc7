"""A learner on features that were chosen, as a mind: it maps raw numbers to [0,1] and encodes observations.

Its regressions keep sums of numbers in [0,1], so a range cannot be made wider later: numbers outside are clipped or refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from noregret import DEFAULT_LEARNER, learners
from noregret._system.arrays import check_range
from noregret.agent.adequacy import Adequacy, Encoded, assess
from noregret.agent.minds.checking import Checked
from noregret.agent.minds.protocol import PlayedEpisode, Policy
from noregret.agent.ranges import Ranges
from noregret.errors import InputError, shown
from noregret.features import FeatureMap
from noregret.gym import Objectives
from noregret.gym.spaces import Mask
from noregret.learners.arrays import Numbers
from noregret.learners.lsvi.vectors import ContinuousLearner, ContinuousPlan
from noregret.problems.base import Array
from noregret.problems.continuous import ContinuousSpec

#: Without a total, constants are at first those of this many episodes.
FIRST_TOTAL = 1024
#: What a dual step changes.
PRICES = ("Y", "gain", "lack", "memory")
#: What is never below 0; of ``memory`` the second row, a mean of squares.
NOT_NEGATIVE = ("planned_alpha", "planned_dual", "bonus", "gain", "memory")
#: Encoded observations that are kept until they are learned from.
KEPT = 1 << 14
#: What a plan is made of, besides the features.
_PLAN = ("w", "inverse", "Y", "bonus", "noise", "alpha", "floor", "cap")


class RegressionMind:
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
        self,
        name: str,
        objectives: Objectives,
        features: FeatureMap,
        total: int | None,
        ranges: Ranges,
        options: dict[str, Any],
    ) -> None:
        self.objectives, self.features, self.total, self.ranges = objectives, features, total, ranges
        absorbing = objectives.absorbing
        if absorbing is None and ranges.outside == "clip":
            absorbing = objectives.to_unit(0, *nearest_zero(objectives))
        self.spec = ContinuousSpec(objectives.horizon, objectives.thresholds, features, objectives.names, absorbing)
        made = learners.make(name, self.spec, episodes=total or FIRST_TOTAL, **options)
        assert isinstance(made, ContinuousLearner)
        self.algorithm, self.learned = made, 0
        self._rows: dict[bytes, Array] = {}

    def ready(self) -> None:
        """Make a new plan if the one in use is out of date."""
        self.algorithm.current()

    def chances(self, step: int, observation: Numbers, mask: Mask | None = None) -> Array:
        """The probabilities (A,) of the actions. A mask takes away what cannot be done; the plan does not know of it.

        Args:
            step: h, from 0.
            observation: its numbers, as the environment shows them.
            mask: (A,) which actions can be taken; None for all.
        """
        return _masked(np.asarray(self.algorithm.current().chances(step, self._encoded(step, observation)[None])[0]), mask)

    def steady(self) -> Policy:
        """What plays where nothing is learned: the plan in use."""
        return self

    def table(self, most: int) -> None:
        """None: observations are vectors."""

    def plan(self) -> dict[str, Numbers]:
        """The plan in use, as plain arrays."""
        made = self.algorithm.current()
        return {name: np.array(getattr(made, name)) for name in _PLAN}

    def policy(self, plan: dict[str, Numbers]) -> Policy:
        """What a plan does; an empty one is that of now.

        Raises:
            InputError: an array is missing, is not like those of this mind's plans, or is not finite.
        """
        now = self.plan()
        plan = plan or now
        c = Checked(plan)
        for name, like in now.items():
            c.take(name, " ".join(map(str, like.shape)), low=-np.inf, high=np.inf)
        c.nothing_else()
        given: dict[str, Any] = {name: plan[name] if plan[name].ndim else float(plan[name]) for name in _PLAN}
        return _Fixed(self.algorithm, ContinuousPlan(self.features, **given))

    def limit(self, limits: Array, forget: bool) -> None:
        """Refused: what a learner on given features planned with cannot be undone.

        Raises:
            InputError: always.
        """
        raise InputError(
            f"limit is {limits.tolist()}; expected the one it was made with, or a mind that finds its own features"
        )

    def _encoded(self, step: int, observation: Numbers) -> Array:
        key = observation.tobytes()
        if (rows := self._rows.get(key)) is None:
            rows = self.algorithm.encode(step, observation)
            if len(self._rows) >= KEPT:
                self._rows.clear()
            self._rows[key] = rows
        return rows

    def __repr__(self) -> str:
        """Which learner it is, in one line."""
        return (
            f"<RegressionMind {self.name} ({self.algorithm.preset}): d={self.spec.dimension}, {self.learned} episodes learned>"
        )

    @property
    def name(self) -> str:
        """What the learner is called."""
        return self.algorithm.name

    @property
    def about(self) -> str:
        """What the learner is, in one line."""
        what = "Algorithm 1 of the paper" if self.name == DEFAULT_LEARNER else "optimistic regression that knows no constraint"
        return f"{self.name} ({self.algorithm.preset}): {what}, on features that were given"

    def learn(self, played: PlayedEpisode, counts: bool = True) -> None:
        """Learn from an episode; one that does not count leaves the prices as they are."""
        episode, before = self.encoded(played), {} if counts else self.algorithm.state()
        self.algorithm.observe_rows(episode.rows, episode.actions, episode.observed, played.terminated)
        if not counts:
            self.algorithm.restore(self.algorithm.state() | {key: before[key] for key in PRICES if key in before})
        self._rows.clear()
        self.learned += 1
        self.retune()

    def encoded(self, played: PlayedEpisode) -> Encoded:
        """The episode with features, and its numbers in [0,1].

        Raises:
            InputError: it was cut before the horizon, or ended early where that is refused.
        """
        L, H = len(played.actions), self.objectives.horizon
        if L < H and not played.terminated:
            raise InputError(f"step {L - 1}: the episode was cut after {L} steps; expected the horizon {H}, or features='auto'")
        if L < H and self.objectives.absorbing is None:
            self.ranges.early(L - 1)
        after = self.algorithm.shares and not played.terminated  # then the state after the last step is learned from too
        rows = np.array([self._encoded(h, played.observations[h]) for h in range(L + after)])
        observed = np.array([self.objectives.to_unit(h, played.rewards[h], played.values[h]) for h in range(L)])
        return Encoded(played.observations, rows, played.actions, observed, played.terminated)

    def retune(self) -> None:
        """Without a total, take the constants of the next power of two episodes, before anything plans with the old ones."""
        K = max(FIRST_TOTAL, 1 << self.learned.bit_length())
        if self.total is None and K != self.algorithm.episodes:
            self.algorithm.retune(K)

    @property
    def dual(self) -> Array:
        """(m,) the price of each constraint."""
        return self.algorithm.dual

    @property
    def estimate(self) -> Array:
        """(m,) nan: optimistic values are no estimates of what a plan brings."""
        return np.full(len(self.objectives.limits), np.nan)

    @property
    def bounded_until(self) -> int | None:
        """Without a total and a budget of states, memory is bounded until the constants change."""
        return self.algorithm.episodes if self.total is None and self.algorithm.constants["states"] == math.inf else None

    def adequacy(self, fresh: Sequence[PlayedEpisode]) -> Adequacy:
        """Judge the features by fresh episodes."""
        return assess(self.algorithm, [self.encoded(self.ranges.fit(played)) for played in fresh])

    @property
    def replans(self) -> int:
        """How many plans were made."""
        return self.algorithm.replans

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
        algorithm, kept = self.algorithm, int(self.algorithm.kept.max())
        if algorithm.constants["states"] == math.inf:
            return f"at most {kept} a step"
        per, tolerance = "for all steps" if algorithm.shares else "a step", float(algorithm.gram.tolerance[1])
        return f"{kept} of at most {algorithm.constants['states']} {per}; each stands for features within {tolerance:.3g}"

    def memory_bound(self) -> int:
        """Bytes that it will need at most, as long as its constants stand."""
        return self.algorithm.memory_bound()

    def arrays(self) -> dict[str, Numbers]:
        """All that it learned, and how many episodes it learned from."""
        return self.algorithm.state() | {"learned": np.array(self.learned)}

    def grown(self, defaults: Sequence[float], more: int) -> dict[str, Numbers]:
        """Refused: features are of the observations and actions that there were.

        Raises:
            InputError: always.
        """
        raise InputError(f"{self.name} learns on features that were given; expected the same observations and actions")

    def restore(self, arrays: dict[str, Numbers]) -> None:
        """Take over what :meth:`arrays` gave; the algorithm checks its own arrays.

        Raises:
            InputError: an array is missing, or is not what such an algorithm has.
        """
        learned = np.asarray(arrays.get("learned"))
        if learned.dtype != np.int64 or learned.shape != () or not 0 <= learned <= 1 << 53:
            raise InputError(f"state['learned'] is {shown(learned.tolist())}; expected how many episodes were learned from")
        for name in NOT_NEGATIVE:
            if (given := np.asarray(arrays.get(name, [0.0]))).dtype.kind == "f":
                check_range(f"state[{name!r}]", given[1:] if name == "memory" else given, (0.0, np.inf))
        self.algorithm.restore({name: value for name, value in arrays.items() if name != "learned"})
        self.learned = int(learned)
        self.retune()
        self._rows.clear()


class _Fixed(NamedTuple):
    """What a plan of a learner on given features does."""

    learner: ContinuousLearner
    made: ContinuousPlan

    def chances(self, step: int, observation: Numbers, mask: Mask | None = None) -> Array:
        """The probabilities (A,) of the actions.

        Args:
            step: h, from 0.
            observation: its numbers, as the environment shows them.
            mask: (A,) which actions can be taken; None for all.
        """
        return _masked(np.asarray(self.made.chances(step, self.learner.encode(step, observation)[None])[0]), mask)

    def table(self, most: int) -> None:
        """None: each answer is found by itself."""


def _masked(policy: Array, mask: Mask | None) -> Array:
    """The chances (A,) without what a mask takes away."""
    if mask is None or mask.all():
        return policy
    policy = np.where(mask, policy, 0.0)
    whole = float(policy.sum())
    return policy / whole if whole > 0.0 else mask / mask.sum()


def nearest_zero(objectives: Objectives) -> tuple[float, Array]:
    """The raw reward and values nearest to 0 that the ranges hold."""
    ends = [float(np.clip(0.0, *span)) for span in objectives.ranges if span is not None]
    return ends[0], np.array(ends[1:])
