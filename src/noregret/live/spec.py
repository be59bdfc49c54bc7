"""What a live learner is for: observations, actions, the horizon, limits and ranges; kept in the database as JSON.

An observation may be given as a list of numbers, as a mapping from the names of its fields, or, where observations are
numbered, as a whole number. Actions are names, or numbers from 0. Costs are a mapping from names, a list, or one number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST
from noregret._system.checks import integer
from noregret.agent.flights import Flights
from noregret.agent.minds.protocol import Mind
from noregret.agent.ranges import Ranges
from noregret.agent.setup import AUTO, FINDERS, Setup, finder, world_spec
from noregret.errors import InputError, shown, unknown_name
from noregret.features import OneHot
from noregret.gym import Objectives
from noregret.gym.actions import Actions, check_mask
from noregret.gym.spaces import Mask, Observations
from noregret.problems.base import Array

#: Learners on one-hot features, for numbered observations.
ON_TABLES = ("primal-dual-lsvi", "lsvi-ucb")
#: Options of :meth:`noregret.Live.open` that make up a spec.
FIELDS = ("observations", "actions", "horizon", "limit", "threshold", "reward_range", "ranges", "learner", "seed", "options")


@dataclass(frozen=True)
class LiveSpec:
    """Sizes, names and limits.

    Args:
        fields: a name for each number of an observation; empty where observations are numbered.
        n_states: how many numbered observations there are; 0 where they are vectors.
        first: the first of the numbered observations.
        actions: a name for each action; empty where actions are numbers.
        n_actions: A.
        horizon: H.
        limits: (m,) what raw totals are held to.
        costs: whether totals are to stay below their limits; if not, above.
        names: one for each constraint.
        reward_range: (low, high) of a step's reward, or None.
        ranges: (low, high) or None for each constraint.
        learner: the mind.
        seed: of everything random.
        options: of the mind.
    """

    fields: tuple[str, ...]
    n_states: int
    first: int
    actions: tuple[str, ...]
    n_actions: int
    horizon: int
    limits: tuple[float, ...]
    costs: bool
    names: tuple[str, ...]
    reward_range: tuple[float, float] | None = None
    ranges: tuple[tuple[float, float] | None, ...] | None = None
    learner: str = AUTO
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def make(
        *,
        observations: Any,
        actions: Any,
        horizon: int,
        limit: Any = None,
        threshold: Any = None,
        reward_range: Sequence[float] | None = None,
        ranges: Mapping[str, Sequence[float]] | None = None,
        learner: str | None = None,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> LiveSpec:
        """Read and check what :meth:`noregret.Live.open` was given.

        Args:
            observations: how many numbers an observation has, or a name for each, or a space of Gymnasium.
            actions: how many there are, or a name for each, or a Discrete space.
            horizon: H, the most steps of an episode.
            limit: the most raw total of each cost: a mapping from names, or a number.
            threshold: in place of ``limit``, the least raw total of each utility.
            reward_range: (low, high) of a step's reward; None to find it from data.
            ranges: (low, high) of a step's costs or utilities, by name; others are found from data.
            learner: "soft-cells"; or "primal-dual-lsvi" or "lsvi-ucb" on numbered observations, whose numbers are in [0,1]
                unless ranges are given, and whose limits and observations stay.
            seed: of everything random.
            options: of the mind.

        Raises:
            InputError: a part cannot be used.
        """
        fields, n_states, first = _observed(observations)
        named, n_actions = _acted(actions)
        given = limit if threshold is None else threshold
        bounds = given if isinstance(given, Mapping) else {"cost" if threshold is None else "utility": given}
        word = {"limit" if threshold is None else "threshold": None if given is None else list(bounds.values())}
        both = {"limit": limit, "threshold": threshold} if limit is not None and threshold is not None else word
        o = Objectives.make(
            integer("horizon", horizon, 1), names=tuple(bounds), reward_range=reward_range, utility_range=None, **both
        )
        spans = None
        if ranges is not None:
            for name in ranges:
                if name not in o.names:
                    raise unknown_name("cost or utility", name, o.names)
            spans = tuple(_range(name, ranges.get(name)) for name in o.names)
        if learner not in (None, *FINDERS, *ON_TABLES):
            raise unknown_name("learner", learner, (*FINDERS, *ON_TABLES))
        if learner in ON_TABLES and not n_states:
            raise InputError(f"learner is {learner!r} and observations are vectors; expected a Discrete space, or {AUTO!r}")
        made = LiveSpec(
            fields, n_states, first, named, n_actions, o.horizon, o.limits, o.costs, o.names, o.reward_range, spans,
            learner or AUTO, integer("seed", seed or 0, 0), dict(options or {}),
        )  # fmt: skip
        made.mind()  # an option that the mind does not take is refused now
        return made

    def text(self) -> str:
        """The spec as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> LiveSpec:
        """The spec that :meth:`text` wrote."""
        data = json.loads(text)
        for name in ("fields", "actions", "limits", "names"):
            data[name] = tuple(data[name])
        data["reward_range"] = None if data["reward_range"] is None else tuple(data["reward_range"])
        if data["ranges"] is not None:
            data["ranges"] = tuple(None if span is None else tuple(span) for span in data["ranges"])
        return LiveSpec(**data)

    # --- parts ---------------------------------------------------------------------------------------------------------

    def flights(self) -> Flights:
        """Room for episodes in flight."""
        return Flights(self.horizon, self.n_actions, len(self.limits))

    def mind(self) -> Mind:
        """A mind that knows nothing."""
        word: dict[str, Any] = {"limit" if self.costs else "threshold": list(self.limits)}
        given = None if self.ranges is None or None in self.ranges else self.ranges
        if self.whole:  # a learner on one-hot features, whose numbers are in given ranges
            unit = (0.0, 1.0)
            o = Objectives.make(
                self.horizon, names=self.names, reward_range=self.reward_range or unit, utility_range=given or unit, **word
            )
            options = {"preset": "practical", "slater_gap": None} | self.options
            features = OneHot(self.n_states, self.n_actions)
            setup = Setup(
                self.learner, options, o, None, self.seed, "clip", "cut", Actions(self.n_actions), self._observations, features
            )
            return setup.mind(Ranges(o, "clip"))
        o = Objectives.make(self.horizon, names=self.names, reward_range=self.reward_range, utility_range=given, **word)
        return finder(self.learner, world_spec(o, self.n_actions, self.n_states, len(self.fields)), self.seed, self.options)

    @property
    def whole(self) -> bool:
        """Whether the learner takes only episodes that the world ended or that took all their steps."""
        return self.learner not in FINDERS

    def fixed(self, what: str) -> None:
        """Refuse to change what a learner on given features planned with: it cannot be undone.

        Raises:
            InputError: this is such a learner.
        """
        if self.learner not in FINDERS:
            able = ", ".join(FINDERS)
            raise InputError(
                f"{what} of {self.learner} stay as they were made; expected a learner that can change them: {able}"
            )

    def limited(self, limits: Mapping[str, float]) -> LiveSpec:
        """The same with other limits on some constraints.

        Raises:
            InputError: there is no such constraint, the limit is no finite number, or the learner's limits stay.
        """
        self.fixed("limits")
        found = dict(zip(self.names, self.limits, strict=True))
        for name, value in limits.items():
            if name not in found:
                raise unknown_name("cost or utility", name, self.names)
            found[name] = _number(f"limit of {name}", value)
        return replace(self, limits=tuple(found.values()))

    # --- reading -------------------------------------------------------------------------------------------------------

    def see(self, step: int, observation: Any) -> NDArray[Any]:
        """An observation as the mind sees it.

        Raises:
            InputError: it is no observation of this learner; the message names the step.
        """
        if self._usual(observation):  # what comes thousands of times a second
            return np.array(observation, dtype=np.float64) if self.fields else np.asarray(observation - self.first)
        if isinstance(observation, Mapping):
            if set(observation) != set(self.fields):
                odd = sorted(set(observation) ^ set(self.fields))[0]
                raise InputError(f"step {step}: observation disagrees on {shown(odd)}; expected {shown(list(self.fields))}")
            observation = [observation[name] for name in self.fields]
        found = self._observations(step, observation)
        if found.ndim and (np.abs(found) > LARGEST).any():
            raise InputError(f"step {step}: observation is {shown(observation)}; expected numbers up to {LARGEST:g}")
        return found

    def _usual(self, observation: Any) -> bool:
        """Whether an observation is surely good: a plain whole number, or a list of plain numbers."""
        if type(observation) is int:
            return not self.fields and self.first <= observation < self.first + self.n_states
        if type(observation) is not list or not 0 < len(observation) == len(self.fields):
            return False
        for number in observation:
            if (type(number) is not float and type(number) is not int) or not -LARGEST <= number <= LARGEST:
                return False
        return True

    @cached_property
    def _observations(self) -> Observations:
        return Observations(self.n_states, len(self.fields), self.first)

    def mask(self, step: int, mask: Any) -> Mask | None:
        """Read a mask: zeros and ones for all actions, the names of those that can be taken, or a set of names or numbers."""
        if mask is None:
            return None
        if isinstance(mask, list | tuple) and any(isinstance(action, str) for action in mask):
            mask = set(mask)
        if isinstance(mask, set | frozenset):
            numbers = {self.number(action, step) for action in mask}
            mask = [a in numbers for a in range(self.n_actions)]
        read = Actions(self.n_actions).mask(mask, step)
        check_mask(read, step)
        return read

    def number(self, action: Any, step: int) -> int:
        """The number 0..A-1 of an action.

        Raises:
            InputError: it is none of the actions; the message names the step.
        """
        if self.actions and isinstance(action, str):
            if action not in self.actions:
                raise InputError(f"step {step}: action is {shown(action)}; expected one of {shown(list(self.actions))}")
            return self.actions.index(action)
        return Actions(self.n_actions).number(action, step)

    def action(self, number: int) -> Any:
        """An action as the user knows it: its name, or its number."""
        return self.actions[number] if self.actions else number

    def paid(self, step: int, values: Any) -> Array:
        """(m,) the costs or utilities of a step.

        Raises:
            InputError: there are not m finite numbers.
        """
        if isinstance(values, Mapping):
            if set(values) != set(self.names):
                odd = sorted(set(values) ^ set(self.names), key=str)[0]
                raise InputError(f"step {step}: costs disagree on {shown(odd)}; expected {shown(list(self.names))}")
            values = [values[name] for name in self.names]
        given = np.atleast_1d(np.asarray(values, dtype=np.float64)) if _numeric(values) else np.zeros(0)
        if given.shape != (len(self.names),) or not (np.abs(given) <= LARGEST).all():
            raise InputError(
                f"step {step}: costs are {shown(values)}; expected a finite number for each of {shown(list(self.names))}"
            )
        return given

    def earned(self, step: int, reward: Any) -> float:
        """The reward of a step.

        Raises:
            InputError: it is no finite number.
        """
        return _number(f"step {step}: reward", reward)


def _numeric(values: Any) -> bool:
    try:
        return np.asarray(values).dtype.kind in "iuf"
    except ValueError:
        return False


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not _numeric(value) or np.size(value) != 1 or not np.abs(value) <= LARGEST:
        raise InputError(f"{name} is {shown(value)}; expected a finite number")
    return float(np.asarray(value).item())


def _range(name: str, span: Any) -> tuple[float, float] | None:
    if span is None:
        return None
    if not _numeric(span) or np.shape(span) != (2,) or not span[0] < span[1] or not np.isfinite(span).all():
        raise InputError(f"ranges[{name!r}] is {shown(span)}; expected (low, high)")
    return float(span[0]), float(span[1])


def _observed(observations: Any) -> tuple[tuple[str, ...], int, int]:
    """The names of fields, or the number of states and the first of them."""
    if isinstance(observations, int | np.integer) and not isinstance(observations, bool):
        return tuple(f"x{i}" for i in range(integer("observations", observations, 1, 10_000))), 0, 0
    if hasattr(observations, "sample"):
        found = Observations.of(observations)
        if found.parts:
            raise InputError(
                f"observations is {shown(observations)}; expected a Box or Discrete space: flatten others yourself"
            )
        return tuple(f"x{i}" for i in range(found.dimension)), found.n_states, found.first
    return _names("observations", observations), 0, 0


def _acted(actions: Any) -> tuple[tuple[str, ...], int]:
    if isinstance(actions, int | np.integer) and not isinstance(actions, bool):
        return (), integer("actions", actions, 1, 1000)
    if hasattr(actions, "sample"):
        found = Actions.of(actions)
        if found.table is not None or found.first:
            raise InputError(f"actions is {shown(actions)}; expected a Discrete space from 0, or a name for each action")
        return (), found.n
    named = _names("actions", actions)
    return named, len(named)


def _names(what: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not given or not all(isinstance(name, str) and name for name in given):
        raise InputError(f"{what} is {shown(given)}; expected how many there are, or a name for each")
    if len(set(given)) != len(given):
        raise InputError(f"{what} is {shown(given)}; expected different names")
    return tuple(given)
