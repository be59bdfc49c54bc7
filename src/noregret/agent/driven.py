"""An agent for systems that drive the loop themselves, with any number of episodes in flight at once.

    action = agent.act(observation, episode="truck 7", step=0)
    ...
    agent.tell(reward, cost, observation, terminated=False, truncated=False, episode="truck 7", step=0)

An episode begins with the first ``act`` of its name and ends when ``tell`` says so, or after H steps. It is learned from when
its end is known and every step was told. Whoever names the step may ask and tell again after a lost answer, in any order
(:mod:`noregret.agent.flights` has the rules). Episodes that come one after the other are those of ``learn``, bit for bit, if
the environment is reset with ``agent.env_seed``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret.agent.episodes import draw, ready, seeds
from noregret.agent.flight import Flight, Name, called
from noregret.agent.flights import Flights, numbers
from noregret.agent.minds.protocol import Mind, PlayedEpisode
from noregret.agent.setup import Setup
from noregret.errors import InputError, shown
from noregret.gym.actions import Action
from noregret.learners.arrays import Numbers


class Driven:
    """Turns what a system asks and tells into decisions and whole episodes; it learns nothing.

    Args:
        setup: sizes, limits and how actions are numbered.
        mind: whose plan is played.
        flights: the episodes in flight.
        see: gives the observation of a step as the mind sees it.
    """

    def __init__(self, setup: Setup, mind: Mind, flights: Flights, see: Callable[[int, Any], Numbers]) -> None:
        self.setup, self.mind, self.flights, self.see = setup, mind, flights, see

    def act(
        self, observation: object, episode: Name, step: int | None, mask: ArrayLike | None, begins: Callable[[], None]
    ) -> Action:
        """Choose the next action of an episode, or give the one that was chosen before at the same step.

        Args:
            observation: as the environment gives it.
            episode: its name.
            step: h; None for the next one.
            mask: which actions can be taken; None for what the observation says, else all.
            begins: called before a new episode begins; it may refuse.
        """
        flights, actions = self.flights, self.setup.actions
        h = step if step is not None else len(flights[episode].steps) if episode in flights else 0
        read, seen = self.setup.mask(h, observation, mask), self.see(h, observation)
        if (known := flights.ask(episode, step, seen, read)) is None:
            if episode not in flights:
                begins()
                ready(self.mind)
            uniforms = seeds(self.setup.seed, 0, flights.number(episode), self.setup.objectives.horizon)[1]
            chosen = draw(self.mind.chances(h, seen, read), float(uniforms[h]))
            known = flights.decide(episode, seen, read, chosen)
        return actions.to_env(known.action)

    def tell(
        self,
        reward: ArrayLike,
        values: ArrayLike,
        observation: object,
        ends: tuple[bool, bool],
        episode: Name,
        step: int | None,
        taken: object,
    ) -> PlayedEpisode | None:
        """Take in what one or several actions brought; gives the whole episode once it is complete.

        Args:
            reward: raw, one number or (n,).
            values: raw utilities or costs, (m,) or (n,m).
            observation: what came after the last of these actions; needed at the end of the episode.
            ends: whether the world ended the episode, and whether it was cut.
            episode: its name.
            step: of the first of these actions; None for the first that was not told.
            taken: the action that was done, where it is not the one that was chosen.
        """
        flights, H = self.flights, self.setup.objectives.horizon
        flight, n = flights[episode], np.size(numbers("reward", reward))
        first = flight.first_open() if step is None else step
        end = None
        if any(ends) or first + n == H:
            if observation is None:
                raise InputError(f"observation is None; expected what came after the last action of {called(episode)}")
            end = (self.see(first + n, observation), bool(ends[0]))
        done = None if taken is None else self.setup.actions.number(taken, first)
        flights.report(episode, reward, values, step=first, taken=done, end=end)
        return flights.complete(episode)

    def whole(
        self,
        observations: Sequence[object],
        actions: Sequence[object],
        rewards: ArrayLike,
        values: ArrayLike,
        terminated: bool,
        masks: Sequence[object] | None,
    ) -> PlayedEpisode:
        """Check a whole episode that was played elsewhere.

        Args:
            observations: L+1 of them.
            actions: L of them, as the environment takes them.
            rewards: (L,) raw.
            values: (L,m) raw, or (L,) where m = 1.
            terminated: whether the world ended the episode.
            masks: L masks; None for those that observations bring, else all actions.

        Raises:
            InputError: there are more steps than the horizon has, or a part cannot be used; the message names the step.
        """
        o, known = self.setup.objectives, self.setup.actions
        L, H, m = len(actions), o.horizon, len(o.limits)
        given, earned = numbers("values", values), numbers("rewards", rewards)
        if not 1 <= L <= H:
            raise InputError(f"actions has {L} entries; expected 1 to the horizon {H}")
        for name, n, wanted in (
            ("observations", len(observations), L + 1), ("rewards", earned.size, L), ("values", given.size, L * m),
            ("masks", L if masks is None else len(masks), L),
        ):  # fmt: skip
            if n != wanted:
                raise InputError(f"{name} has {n} entries; expected {wanted} for {L} actions")
        flight = Flight(0, terminated=bool(terminated))
        for h, (action, reward, row) in enumerate(zip(actions, earned.ravel(), given.reshape(L, m), strict=True)):
            mask = known.mask(self.setup.observations.mask(h, observations[h]) if masks is None else masks[h], h)
            number = known.number(action, h)
            if masks is None and mask is not None and not mask[number]:
                mask = None  # whoever played did not keep to it
            step = flight.decide(self.see(h, observations[h]), mask, number)
            if mask is not None and not mask[step.action]:
                raise InputError(f"step {h}: action is {shown(action)}; expected one that its mask allows")
            step.reward, step.values = o.check(h, reward, row)
        flight.last = self.see(L, observations[L])
        return flight.played()
