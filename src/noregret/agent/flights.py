"""Episodes that have begun and are not over: what was decided at each step, and what was reported of it so far.

For everybody who lets another system drive the loop: :class:`noregret.Agent` and the live service. Nothing here chooses an
action, learns, maps a number or reads a clock. Observations, actions and masks go in and come out as a mind sees them.

    flights = Flights(horizon=60, n_actions=4, n_constraints=1)
    known = flights.ask("eu-742", step=0, observation=x, mask=None)  # an earlier answer to the same question, or None
    if known is None:
        flights.decide("eu-742", x, None, action=2)
    flights.report("eu-742", rewards=[1.0], values=[[0.0]], step=0)
    ...
    flights.end("eu-742", last=y, terminated=False)  # or end= of report
    if (played := flights.complete("eu-742")) is not None:
        mind.learn(played)
        flights.remove("eu-742")

Rules, each of which a test holds:

- An episode begins with the decision at step 0 and no other; a question about a later step of an unknown episode is refused.
- The same question (episode, step, observation, mask) gets the same decision, however often it is asked, and nothing advances.
  Another observation or mask at a step that was decided is refused, and so is a step that is not the next one.
- Reports may come in any order, late, and again. The same report counts once; another content for a step that was reported is
  refused. A report without a step belongs to the first steps that were not reported yet.
- An episode is complete when its end is known and every step before the end was reported.
- A refused call changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret._system.checks import integer
from noregret.agent import flight_arrays
from noregret.agent.flight import Flight, FlightStep, Name, called, name_of
from noregret.agent.minds.protocol import PlayedEpisode
from noregret.errors import ConflictError, InputError, shown
from noregret.gym.objectives import MOST
from noregret.gym.spaces import Mask
from noregret.learners.arrays import Numbers
from noregret.problems.base import Array


class Flights:
    """All episodes in flight, by name. See the head of this module for the rules.

    Args:
        horizon: H, the most steps of an episode.
        n_actions: A; actions are 0..A-1.
        n_constraints: m, the values of a report.
    """

    def __init__(self, horizon: int, n_actions: int, n_constraints: int) -> None:
        self.horizon, self.n_actions, self.m = horizon, n_actions, n_constraints
        self.next = 0  # the number of the next episode that begins
        self._flights: dict[Name, Flight] = {}

    def __contains__(self, episode: Name) -> bool:
        return name_of(episode) in self._flights

    def __len__(self) -> int:
        return len(self._flights)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._flights)

    def __getitem__(self, episode: Name) -> Flight:
        """The flight of an episode.

        Raises:
            InputError: there is none of this name.
        """
        if (flight := self.find(episode)) is None:
            some = [shown(name, 40) for name, _ in zip(self._flights, range(3), strict=False)]
            more = f"{len(self):,} are in flight, such as {', '.join(some)}" if some else "none is in flight"
            raise InputError(f"{called(episode)} is not in flight; expected one that began with its step 0 ({more})")
        return flight

    def find(self, episode: Name) -> Flight | None:
        """The flight of an episode; None where there is none of this name."""
        return self._flights.get(name_of(episode))

    def number(self, episode: Name) -> int:
        """The number of an episode, or the one that it gets if it begins now."""
        flight = self.find(episode)
        return self.next if flight is None else flight.number

    def ask(self, episode: Name, step: int | None, observation: Numbers, mask: Mask | None) -> FlightStep | None:
        """Find what was decided before at the same question; None where the next step of the episode is to be decided now.

        Args:
            episode: its name.
            step: h, from 0; None for the next one.
            observation: what is seen.
            mask: (A,) which actions can be taken; None for all.

        Raises:
            InputError: the step is neither the next one nor one that was decided at the same observation; or it was the last.
        """
        made = self.find(episode)
        known = [] if made is None else made.steps
        h = len(known) if step is None else integer("step", step, 0)
        if 0 <= h < len(known):
            if not known[h].asked(observation, mask):
                raise ConflictError(
                    f"{called(episode)}: step {h} was decided at another observation or mask; expected the same ones, or the "
                    f"next step, {len(known)}"
                )
            return known[h]
        if h != len(known):
            began = "0, with which an episode begins: it is not in flight" if made is None else f"{len(known)}, its next step"
            raise InputError(f"{called(episode)}: step is {h}; expected {began}")
        if made is not None and made.last is not None:
            raise InputError(f"{called(episode)} ended after {len(known)} steps; expected no further step")
        if h >= self.horizon:
            raise InputError(f"{called(episode)} took its {h} steps; expected a report of what they brought")
        return None

    def decide(
        self, episode: Name, observation: Numbers, mask: Mask | None, action: int, note: dict[str, Any] | None = None
    ) -> FlightStep:
        """Note the decision at the next step of an episode, which begins if no episode of this name is in flight.

        Args:
            episode: its name.
            observation: what was seen.
            mask: (A,) which actions could be taken; None for all.
            action: what was decided.
            note: plain JSON to be kept with it.
        """
        self.ask(episode, None, observation, mask)
        name = name_of(episode)
        if (flight := self._flights.get(name)) is None:
            flight = self._flights[name] = Flight(self.next)
            self.next += 1
        return flight.decide(observation, mask, action, note)

    def report(
        self,
        episode: Name,
        rewards: ArrayLike,
        values: ArrayLike,
        *,
        step: int | None = None,
        taken: int | None = None,
        end: tuple[Numbers, bool] | None = None,
    ) -> None:
        """Note what one step brought, or several in a row.

        Args:
            episode: its name.
            rewards: a number or (n,).
            values: (m,) or (n,m).
            step: the first of these steps; None for the first that was not reported yet.
            taken: the action that was done, where it is not the one that was decided; for a single step.
            end: what was seen after the last of these steps and whether the world ended the episode, if this is its end.

        Raises:
            InputError: a step was not decided, or was reported otherwise, or the end cannot be here.
        """
        flight = self[episode]
        earned, known = np.atleast_1d(numbers("reward", rewards)), flight.steps
        paid = numbers("values", values)
        n = len(earned)
        if earned.ndim != 1 or not n or paid.size != n * self.m:
            raise InputError(
                f"{called(episode)}: reward has shape {earned.shape} and values {paid.shape}; expected {self.m} for each reward"
            )
        first = flight.first_open() if step is None else integer("step", step, 0)
        if not 0 <= first <= first + n <= len(known):
            raise InputError(
                f"{called(episode)}: steps {first} to {first + n - 1} are reported and {len(known)} were decided; expected a "
                f"decision first"
            )
        if taken is not None:
            taken = integer("taken", taken, 0, self.n_actions - 1)
            if n > 1:
                raise InputError(f"{called(episode)}: taken is {taken} for {n} steps; expected a report of one step")
        rows = paid.reshape(n, self.m)
        for h, each, reward, row in zip(range(first, first + n), known[first:], earned.tolist(), rows, strict=False):
            done = each.action if taken is None else taken
            for what, number in (("reward", reward), *((f"values[{i}]", value) for i, value in enumerate(row.tolist()))):
                if not abs(number) <= MOST:
                    said = f"{called(episode)}: step {h}: {what} is {number:g}"
                    raise InputError(f"{said}; expected a finite number, at most {MOST:g} in size")
            if each.mask is not None and not each.mask[done]:
                raise InputError(f"{called(episode)}: step {h}: taken is {done}; expected an action that its mask allows")
            if each.reward is not None and (each.reward != reward or not np.array_equal(each.values, row) or each.done != done):  # type: ignore[arg-type]
                raise ConflictError(
                    f"{called(episode)}: step {h} was reported with reward {each.reward:g}, values {each.values} and action "
                    f"{each.done}; expected the same report, or none"
                )
        if end is not None:
            self._check_end(episode, first + n, *end)
        for each, reward, row in zip(known[first : first + n], earned.tolist(), rows, strict=True):
            each.reward, each.values, each.taken = reward, row.copy(), taken
        if end is not None:
            flight.last, flight.terminated = end[0], bool(end[1])

    def end(self, episode: Name, last: Numbers, terminated: bool) -> None:
        """Note that an episode is over after the steps that were decided; reports may still come.

        Args:
            episode: its name.
            last: what was seen after the last action.
            terminated: whether the world ended the episode; if not, it was cut.

        Raises:
            InputError: the end was said before, and was another one.
        """
        flight = self[episode]
        self._check_end(episode, len(flight.steps), last, terminated)
        flight.last, flight.terminated = last, bool(terminated)

    def _check_end(self, episode: Name, length: int, last: Numbers, terminated: bool) -> None:
        flight = self[episode]
        if length != len(flight.steps):
            raise InputError(f"{called(episode)} ends after {length} steps, and {len(flight.steps)} were decided")
        again = flight.last is None or (np.array_equal(last, flight.last) and bool(terminated) == flight.terminated)
        if not again:
            raise ConflictError(f"{called(episode)} ended with another observation or in another way; expected the same end")

    def complete(self, episode: Name) -> PlayedEpisode | None:
        """The whole episode once its end is known and all steps were reported, else None. :meth:`remove` it when learned."""
        flight = self[episode]
        return flight.played() if flight.complete else None

    def take(self, episode: Name, flight: Flight) -> None:
        """Take in an episode that was put together elsewhere.

        Raises:
            ConflictError: one of this name is in flight.
        """
        if (name := name_of(episode)) in self._flights:
            raise ConflictError(f"{called(episode)} is in flight; expected another name")
        self._flights[name] = flight

    def remove(self, episode: Name) -> Flight:
        """Take an episode out: it was learned from, or is abandoned.

        Raises:
            InputError: it is not in flight.
        """
        flight = self[episode]
        del self._flights[name_of(episode)]
        return flight

    def arrays(self) -> dict[str, Numbers]:
        """All of it as plain arrays by name, for a file or a snapshot; see :mod:`noregret.agent.flight_arrays`."""
        return flight_arrays.pack(self._flights, self.next, self.m)

    def restore(self, arrays: Mapping[str, Numbers], like: tuple[tuple[int, ...], str] | None = None) -> None:
        """Take over what :meth:`arrays` gave; nothing is kept if it cannot be from such a place.

        Args:
            arrays: by name.
            like: the shape of an observation and the kinds of its type, such as "f"; None where they are not known.

        Raises:
            InputError: an array is missing, of another shape or type, or says what cannot be.
        """
        self._flights, self.next = flight_arrays.unpack(arrays, (self.horizon, self.n_actions, self.m), like)


def numbers(name: str, value: ArrayLike) -> Array:
    """Numbers of any shape, finite or not; whoever knows the step says which is not.

    Raises:
        InputError: they are no numbers.
    """
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {shown(value)}; expected numbers") from None
