"""What becomes of a raw reward or cost outside the range that was given for it."""

from __future__ import annotations

import warnings

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.errors import InputError, unknown_name
from noregret.gym.objectives import SLACK, Objectives

#: Make the range wider; take the nearest number inside; refuse the episode.
OUTSIDE = ("widen", "clip", "error")


class Ranges:
    """Lets numbers through that are in their ranges. Of others it warns once for each range, and does as asked.

    Args:
        objectives: with the ranges; those that are None hold everything.
        outside: "widen" leaves it to the mind, which makes its range wider; "clip" takes the nearest number inside; "error"
            refuses the episode.
    """

    def __init__(self, objectives: Objectives, outside: str) -> None:
        if outside not in OUTSIDE:
            raise unknown_name("outside", outside, OUTSIDE)
        self.objectives, self.outside = objectives, outside
        self._told: set[int] = set()

    def fit(self, played: PlayedEpisode) -> PlayedEpisode:
        """Give the episode as the mind is to learn it.

        Raises:
            InputError: a number is outside its range and ``outside`` is "error"; the message names the step.
        """
        columns = np.column_stack([played.rewards, played.values])
        for i, span in enumerate(self.objectives.ranges):
            if span is None:
                continue
            low, high = span
            slack = SLACK * (high - low)
            beyond = (columns[:, i] < low - slack) | (columns[:, i] > high + slack)
            if beyond.any():
                h = int(beyond.argmax())
                self._say(i, self.objectives.outside(h, i, float(columns[h, i])))
                if self.outside == "clip":
                    columns[:, i] = np.clip(columns[:, i], low, high)
        return played._replace(rewards=columns[:, 0].copy(), values=columns[:, 1:].copy())

    def early(self, step: int) -> None:
        """Take note of an early end where no range holds 0, what a missing step is worth."""
        o = self.objectives
        self._say(
            -1,
            f"step {step}: the episode ended early, and 0 lies outside reward_range {o.reward_range} or utility_range "
            f"{o.utility_ranges}; expected ranges that hold 0, what a missing step is worth",
        )

    def _say(self, key: int, message: str) -> None:
        if self.outside == "error":
            raise InputError(message)
        if key not in self._told:
            self._told.add(key)
            done = "the range is made wider" if self.outside == "widen" else "the nearest number inside is taken"
            warnings.warn(f"{message}; {done}, now and from here on", stacklevel=6)
