"""What an agent tells of its episodes: records while it learns, and an evaluation of fresh ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noregret.errors import InputError
from noregret.gym import Objectives
from noregret.metrics import Interval, mean_interval
from noregret.problems.base import Array

if TYPE_CHECKING:
    from noregret.agent.agent import Agent


class EpisodeRecord(NamedTuple):
    """What the agent earned in one episode that it learned from, in raw units."""

    episode: int  # from 0; -1 for one that does not count
    reward: float
    values: Array
    length: int


class Callback:
    """What :meth:`Agent.learn` calls while it learns. A plain function serves as ``on_episode`` alone."""

    def on_start(self, agent: Agent) -> None:
        """Called before the first episode of a call to learn."""

    def on_episode(self, agent: Agent, record: EpisodeRecord) -> bool | None:
        """Called after each episode; return False to stop learning."""

    def on_end(self, agent: Agent) -> None:
        """Called after the last episode, also when learning was stopped or failed."""


@dataclass(frozen=True)
class Evaluation:
    """Means of raw totals over fresh episodes, with 95% intervals (low, mean, high); of one episode the ends are nan."""

    episodes: int
    reward: tuple[float, float, float]
    values: tuple[tuple[float, float, float], ...]
    limits: tuple[float, ...]
    names: tuple[str, ...]
    costs: bool
    satisfied: tuple[bool, ...]  # whether the mean meets its limit
    rewards: Array  # (n,)
    totals: Array  # (n,m)

    @staticmethod
    def of(objectives: Objectives, rewards: Array, totals: Array) -> Evaluation:
        """Sum up the raw totals of n episodes: rewards (n,) and values (n,m).

        Args:
            objectives: limits, and whether they are on costs.
            rewards: (n,).
            totals: (n,m).
        """
        r, v = mean_interval(rewards), mean_interval(totals)
        if len(rewards) == 1:  # one episode says nothing of the spread
            r, v = (Interval(i.mean, np.full_like(i.mean, np.nan), np.full_like(i.mean, np.nan)) for i in (r, v))
        return Evaluation(
            episodes=len(rewards),
            reward=(float(r.low), float(r.mean), float(r.high)),
            values=tuple((float(a), float(b), float(c)) for a, b, c in zip(v.low, v.mean, v.high, strict=True)),
            limits=objectives.limits,
            names=objectives.names,
            costs=objectives.costs,
            satisfied=tuple(bool(x) for x in objectives.meets(v.mean)),
            rewards=rewards,
            totals=totals,
        )

    def __str__(self) -> str:
        """The means with their intervals and whether each constraint is met, in a few lines."""
        lines = [f"reward {self.reward[1]:.4g} [{self.reward[0]:.4g}, {self.reward[2]:.4g}] over {self.episodes} episodes"]
        for name, (low, mean, high), limit, good in zip(self.names, self.values, self.limits, self.satisfied, strict=True):
            sense = "at most" if self.costs else "at least"
            lines.append(f"{name} {mean:.4g} [{low:.4g}, {high:.4g}], {sense} {limit:.4g}: {'met' if good else 'not met'}")
        return "\n".join(lines)


class Function(Callback):
    """A function as a callback."""

    def __init__(self, function: Callable[[Agent, EpisodeRecord], bool | None] | None) -> None:
        if function is not None and not callable(function):
            raise InputError(f"callback is {function!r}; expected a function or a noregret.agent.Callback")
        self.function = function

    def on_episode(self, agent: Agent, record: EpisodeRecord) -> bool | None:
        """Call the function."""
        return None if self.function is None else self.function(agent, record)
