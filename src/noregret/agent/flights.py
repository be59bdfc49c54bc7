"""Ask and tell: an agent for systems that drive the loop themselves, with any number of episodes in flight at once.

    action = agent.act(observation, episode="truck 7")
    ...
    agent.tell(reward, cost, observation, terminated=False, truncated=False, episode="truck 7")

An episode begins with the first ``act`` of its name and ends when ``tell`` says so, or after H steps. It is learned from at its
end. Results may be told after every action, or late, or all at once; ``tell_episode`` takes whole episodes from elsewhere.
Episodes that come one after the other are those of ``learn``, bit for bit, if the environment is reset with ``agent.env_seed``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.agent.episodes import Trace, ready, seeds
from noregret.agent.records import Record
from noregret.errors import InputError, shown
from noregret.gym.spaces import Actions, check_mask
from noregret.learners.minds import Mind, Played

if TYPE_CHECKING:
    from noregret.gym import Objectives


class Flights:
    """The part of an agent that is asked and told."""

    if TYPE_CHECKING:
        seed: int
        objectives: Objectives
        actions: Actions
        mind: Mind

        def see(self, step: int, obs: Any) -> NDArray[Any]: ...  # noqa: D102
        def _take(self, number: int, played: Played) -> Record: ...
        def _check_room(self, episodes: int) -> None: ...

    def _prepare_flights(self) -> None:
        self._flights: dict[Hashable, Trace] = {}
        self._next = 0  # the number of the next episode

    @property
    def in_flight(self) -> tuple[Hashable, ...]:
        """The names of the episodes that began and did not end."""
        return tuple(self._flights)

    @property
    def env_seed(self) -> int:
        """The seed with which :meth:`~noregret.Agent.learn` would reset the environment for the next episode that begins."""
        return seeds(self.seed, 0, self._next, self.objectives.horizon)[0]

    def act(self, observation: Any, episode: Hashable = None, mask: Any = None) -> Any:
        """Choose the next action of an episode, which begins if no episode of this name is in flight.

        Args:
            observation: as the environment gives it.
            episode: the name of the episode; one episode after the other needs none.
            mask: which actions can be taken; None for all.

        Returns:
            The action, as the environment takes it.

        Raises:
            InputError: the episode has taken all its steps, or the observation or the mask cannot be used.
        """
        H, trace = self.objectives.horizon, self._flights.get(episode)
        h = 0 if trace is None else len(trace.actions)
        if h >= H:
            raise InputError(f"{_named(episode)} took its {H} steps; expected tell() of what they brought")
        read = self.actions.mask(mask, h)
        check_mask(read, h)
        seen = self.see(h, observation)
        if trace is None:
            self._check_room(1 + len(self._flights))
            trace = Trace(self._next, seeds(self.seed, 0, self._next, H)[1])
            ready(self.mind)
        trace.see(seen, read)
        try:
            action = trace.act(self.mind)
        except BaseException:  # the episode is as it was, also after Ctrl-C
            del trace.observations[h:], trace.masks[h:], trace.actions[h:]
            raise
        if h == 0:
            self._flights[episode] = trace
            self._next += 1
        return self.actions.to_env(action)

    def tell(
        self,
        reward: ArrayLike,
        values: ArrayLike,
        observation: Any = None,
        *,
        terminated: bool = False,
        truncated: bool = False,
        episode: Hashable = None,
    ) -> Record | None:
        """Tell what the next action of an episode brought, or all actions that were not told yet.

        Args:
            reward: raw, of the next action that was not told; or one for each action that was not told.
            values: raw utilities or costs, m of them (a number where m = 1); or (n,m) for n actions.
            observation: what came after the last action; needed at the end of the episode.
            terminated: whether the world ended the episode with the last of these actions.
            truncated: whether the episode was cut after it.
            episode: its name.

        Returns:
            What the episode brought, if it is over now; else None.

        Raises:
            InputError: there is no such episode, or no action to tell of, or a number cannot be used.
        """
        if (trace := self._flights.get(episode)) is None:
            known = ", ".join(map(repr, self._flights)) or "none"
            raise InputError(f"{_named(episode)} is not in flight; expected act() first (in flight: {known})")
        told, rewards = len(trace.rewards), np.atleast_1d(_numbers("reward", reward))
        n, m = len(rewards), len(self.objectives.limits)
        if rewards.ndim != 1 or n > len(trace.actions) - told or not n:
            left = len(trace.actions) - told
            raise InputError(f"{_named(episode)} is told of {rewards.size} actions; expected at most {left}: act() comes first")
        given = _numbers("values", values)
        if given.size != n * m:
            raise InputError(f"values has shape {given.shape}; expected {m} for each of {n} actions")
        checked = [self.objectives.check(told + i, rewards[i], row) for i, row in enumerate(given.reshape(n, m))]
        over = terminated or truncated or told + n == self.objectives.horizon
        if over and told + n < len(trace.actions):
            raise InputError(f"{_named(episode)} ends after {told + n} steps, and {len(trace.actions)} actions were taken")
        if over and observation is None:
            raise InputError(f"observation is None; expected what came after the last action of {_named(episode)}")
        last = self.see(told + n, observation) if over else None
        trace.rewards += [r for r, _ in checked]
        trace.values += [v for _, v in checked]
        if last is None:
            return None
        del self._flights[episode]
        trace.see(last, None)
        return self._take(trace.number, trace.played(bool(terminated)))

    def tell_episode(
        self,
        observations: Any,
        actions: Any,
        rewards: ArrayLike,
        values: ArrayLike,
        *,
        terminated: bool = False,
        masks: Any = None,
    ) -> Record:
        """Tell a whole episode that the agent was not asked for, such as one from a log.

        Args:
            observations: L+1 of them, the last one after the last action.
            actions: L of them, as the environment takes them.
            rewards: (L,) raw.
            values: (L,m) raw utilities or costs, or (L,) where m = 1.
            terminated: whether the world ended the episode.
            masks: L masks, which actions could be taken; None for all.

        Raises:
            InputError: there are more steps than the horizon has, or a part cannot be used; the message names the step.
        """
        L, H, m = len(actions), self.objectives.horizon, len(self.objectives.limits)
        given, earned = _numbers("values", values), _numbers("rewards", rewards)
        if not 1 <= L <= H:
            raise InputError(f"actions has {L} entries; expected 1 to the horizon {H}")
        for name, n, wanted in (
            ("observations", len(observations), L + 1), ("rewards", earned.size, L), ("values", given.size, L * m),
            ("masks", L if masks is None else len(masks), L),
        ):  # fmt: skip
            if n != wanted:
                raise InputError(f"{name} has {n} entries; expected {wanted} for {L} actions")
        self._check_room(1 + len(self._flights))
        trace = Trace(self._next, np.zeros(0))
        for h, (action, reward, row) in enumerate(zip(actions, earned.ravel(), given.reshape(L, m), strict=True)):
            mask = None if masks is None else self.actions.mask(masks[h], h)
            trace.see(self.see(h, observations[h]), mask)
            trace.actions.append(self.actions.number(action, h))
            if mask is not None and not mask[trace.actions[h]]:
                raise InputError(f"step {h}: action is {shown(action)}; expected one that its mask allows")
            number, checked = self.objectives.check(h, reward, row)
            trace.rewards.append(number)
            trace.values.append(checked)
        trace.see(self.see(L, observations[L]), None)
        ready(self.mind)
        return self._take(trace.number, trace.played(bool(terminated)))

    def drop(self, episode: Hashable = None) -> None:
        """Forget an episode in flight; nothing is learned from it."""
        if self._flights.pop(episode, None) is None:
            raise InputError(f"{_named(episode)} is not in flight; expected one of {list(self._flights)}")


def _named(episode: Hashable) -> str:
    return "the episode" if episode is None else f"episode {shown(episode)}"


def _numbers(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Numbers of any shape, finite or not; the check of each step says which is not."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {shown(value)}; expected numbers") from None
