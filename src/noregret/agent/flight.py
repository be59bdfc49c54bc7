"""One episode in flight: its name, its decisions, and what was reported of them so far."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.errors import InputError, shown
from noregret.gym.spaces import Mask
from noregret.learners.arrays import Numbers
from noregret.problems.base import Array

#: What an episode may be called; None for a system that plays one episode after the other.
Name = str | int | None
#: The most characters of a name.
LONGEST = 200


@dataclass(slots=True)
class FlightStep:
    """One step of an episode: what was seen, what was decided, and what was reported of it.

    ``note`` is for the caller: plain JSON that is kept with the decision, such as probabilities or the version of a plan.
    """

    observation: Numbers
    mask: Mask | None
    action: int  # what was decided
    note: dict[str, Any] = field(default_factory=dict)
    taken: int | None = None  # what was done in place of ``action``, if a guard rail overrode it
    reward: float | None = None  # None until it is reported
    values: Array | None = None  # (m,)

    @property
    def done(self) -> int:
        """The action that was done."""
        return self.action if self.taken is None else self.taken

    def asked(self, observation: Numbers, mask: Mask | None) -> bool:
        """Tell whether this is what was decided at an observation with a mask."""
        same = (mask is None) == (self.mask is None) and (mask is None or np.array_equal(mask, self.mask))  # type: ignore[arg-type]
        return same and np.array_equal(observation, self.observation)


@dataclass
class Flight:
    """One episode, as far as it is known. ``number`` counts the episodes that began; random numbers are drawn by it."""

    number: int
    steps: list[FlightStep] = field(default_factory=list)
    last: Numbers | None = None  # what was seen after the last action; None while the end is not known
    terminated: bool = False

    def decide(self, observation: Numbers, mask: Mask | None, action: int, note: dict[str, Any] | None = None) -> FlightStep:
        """Add the next step.

        Args:
            observation: what was seen.
            mask: (A,) which actions could be taken; None for all.
            action: what was decided.
            note: plain JSON to be kept with it.
        """
        self.steps.append(FlightStep(observation, mask, action, {} if note is None else note))
        return self.steps[-1]

    def first_open(self) -> int:
        """The first step that was not reported; the number of steps where all were."""
        return next((h for h, step in enumerate(self.steps) if step.reward is None), len(self.steps))

    @property
    def complete(self) -> bool:
        """Whether the end is known and every step was reported."""
        return self.last is not None and all(step.reward is not None for step in self.steps)

    def played(self) -> PlayedEpisode:
        """The whole episode, for a mind to learn from; it must be complete."""
        masks, given = None, [step.mask for step in self.steps if step.mask is not None]
        if given:
            every = np.ones(len(given[0]), dtype=np.bool_)
            masks = np.array([*(every if step.mask is None else step.mask for step in self.steps), every])
        return PlayedEpisode(
            np.array([*(step.observation for step in self.steps), self.last]),
            np.array([step.done for step in self.steps], dtype=np.int64), np.array([step.reward for step in self.steps]),
            np.array([step.values for step in self.steps]), self.terminated, masks,
        )  # fmt: skip


def name_of(episode: Name) -> Name:
    """The name of an episode as it is kept.

    Raises:
        InputError: it is no text, whole number or None, or too long.
    """
    if episode is None or (isinstance(episode, str) and len(episode) <= LONGEST and episode.isprintable()):
        return episode
    try:
        if not isinstance(episode, bool | str):
            return operator.index(episode)
    except TypeError:
        pass
    raise InputError(f"episode is {shown(episode)}; expected a text of at most {LONGEST} characters, a whole number or None")


def called(episode: Name) -> str:
    """What a message calls an episode."""
    return "the episode" if episode is None else f"episode {shown(episode)}"
