r"""A Gymnasium environment as episodes of at most H steps with a reward and m utilities.

Where the utilities come from (``utility=``):

- "utility": ``info["utility"]``; "cost": ``info["cost"]``;
- "tuple": the third of a step's six results, as in safety-gymnasium: observation, reward, cost, terminated, truncated, info;
- "vector": a reward that is a vector, as in mo-gymnasium: ``reward_weights`` makes the reward of it (the first entry by
  default) and ``utility_weights`` (m, n) the utilities (the other entries);
- a function (observation, action, next observation, reward, info) of the user's, all as the environment has them; it returns
  one number or m of them;
- None: the first of "tuple", "vector", "utility", "cost" that the first step shows and that is of the right kind: costs for
  ``limit``, utilities for ``threshold``, a vector for either. An environment that only shows the other kind is refused.

Observations and actions of a Discrete space that starts at n are n, n+1, ... for the environment and its user, and 0, 1, ...
for the learner; ``starts`` says by how much they differ. Which actions can be taken is read from ``info["action_mask"]`` of
reset and step, else from a method ``action_masks()`` of the environment or of one that it wraps, else from the entry
``"action_mask"`` of a Dict observation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    pass


from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Protocol, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError, shown, unknown_name
from noregret.gym.actions import Actions, check_mask
from noregret.gym.objectives import Objectives
from noregret.gym.sources import SOURCES, Source, check_source
from noregret.gym.spaces import MASK, Mask, Observations, is_discrete, plain, spaces_of
from noregret.problems.base import Array
from noregret.problems.validation import floats

if TYPE_CHECKING:
    from gymnasium.spaces import Discrete

#: What becomes of an episode that goes on after the horizon.
OVERRUNS = ("error", "cut")


class StepOutcome(NamedTuple):
    """What a step gave: the next observation, the raw reward and raw values (m,), and whether the episode ended or was cut.

    ``mask`` says which actions can be taken next; None for all.
    """

    observation: NDArray[np.generic]
    reward: float
    values: Array
    terminated: bool
    truncated: bool
    mask: Mask | None = None


class Environment(Protocol):
    """What is asked of an environment beside its spaces."""

    def reset(self, *, seed: int | None = None) -> object:
        """Start an episode."""

    def step(self, action: Any, /) -> object:
        """Take an action."""

    def close(self) -> object:
        """End what the environment holds."""


#: The cost of a step that returned five results.
NO_COST = object()


class Stepped(NamedTuple):
    """The results of a step as the environment returned them; ``cost`` is :data:`NO_COST` where there were five of them."""

    observation: object
    reward: object
    terminated: object
    truncated: object
    info: Mapping[str, object]
    cost: object = NO_COST


class WorldOptions(TypedDict, total=False):
    """What :class:`EnvWorld` takes beside the environment and its objectives."""

    utility: Source
    reward_weights: ArrayLike | None
    utility_weights: ArrayLike | None
    overrun: str
    actions: ArrayLike | None


class EnvWorld:
    """An environment with numbered actions, its utilities and its masks.

    Args:
        env: a Gymnasium environment.
        objectives: horizon and limits.
        utility: where utilities come from; see the head of this module.
        reward_weights: (n,) weights of a vector reward.
        utility_weights: (m,n) weights of a vector reward.
        overrun: "error" refuses an episode that goes on after H steps; "cut" ends it there.
        actions: for a Box of actions, the points of a grid in each dimension, or the list of actions.
    """

    #: How many episodes are played side by side.
    size = 1

    def __init__(
        self,
        env: Environment,
        objectives: Objectives,
        *,
        utility: Source = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        overrun: str = "error",
        actions: ArrayLike | None = None,
    ) -> None:
        check_source(utility)
        if overrun not in OVERRUNS:
            raise unknown_name("overrun", overrun, OVERRUNS)
        self.env, self.objectives, self.utility, self.overrun = env, objectives, utility, overrun
        self.observation_space, space = spaces_of(env)
        base = getattr(env, "unwrapped", env)
        self.actions = Actions.of(space, actions, getattr(base, "max_allowed_actions", None))  # as pyRDDLGym calls it
        self.n_actions, self.starts = self.actions.n, (first_state(self.observation_space), self.actions.first)
        #: What makes a learner's observation of the environment's: of step and observation.
        self.see: Callable[[int, object], NDArray[np.generic]] = lambda step, observation: plain(observation, self.starts[0])
        #: Whether masks are looked at, and episodes that the environment cuts before the horizon are refused.
        self.masked, self.whole = True, True
        self.reward_weights = None if reward_weights is None else np.ravel(floats("reward_weights", reward_weights))
        self.utility_weights = None if utility_weights is None else np.atleast_2d(floats("utility_weights", utility_weights))
        self._check_weights()
        self._source: Source = utility
        self._shown = mask_method(env)
        self._x: object = None

    def _check_weights(self) -> None:
        """Refuse weights of a wrong length where the environment says how long its vector of rewards is."""
        m, space = len(self.objectives.limits), getattr(getattr(self.env, "unwrapped", self.env), "reward_space", None)
        shape: tuple[int, ...] = getattr(space, "shape", None) or ()
        n = int(shape[0]) if len(shape) == 1 else None
        rows = self.utility_weights
        if rows is not None and (rows.ndim != 2 or len(rows) != m):
            raise InputError(f"utility_weights has shape {rows.shape}; expected ({m}, n), a row for each constraint")
        for name in ("reward_weights", "utility_weights"):
            if (weights := getattr(self, name)) is not None:
                if name == "utility_weights" and self.utility not in (None, "vector"):
                    raise InputError(f"utility_weights is {shown(weights)}; expected None, as cost or utility says what counts")
                if n is not None and weights.shape[-1] != n:
                    raise InputError(f"{name} has {weights.shape[-1]} entries; expected {n}, as the environment's reward has")
                n = weights.shape[-1]

    def flat(self) -> Observations:
        """Show a learner without features numbers or vectors from now on, and take episodes that are cut early."""
        self.see = observations = Observations.of(self.observation_space)
        self.whole = False
        return observations

    def reset(self, seed: int) -> NDArray[np.generic]:
        """Start an episode, all of whose randomness comes from the seed, and return the first observation."""
        return self.start(seed)[0]

    def start(self, seed: int) -> tuple[NDArray[np.generic], Mask | None]:
        """:meth:`reset`, with the mask of the first step."""
        observation, info = reset_of(self.env, seed)
        self._x = deepcopy(observation)  # an environment may write the next observation into the same array
        mask = self._mask(0, info, self._shown, self._x)
        check_mask(mask, 0)
        return self.see(0, self._x), mask

    def step(self, h: int, action: int) -> StepOutcome:
        """Take an action at step h and return what the environment gave, in raw numbers."""
        taken = self.actions.to_env(action)
        results = step_of(self.env, h, taken)
        outcome = self._read(h, taken, results, self._x, self._shown)
        self._x = deepcopy(results.observation)
        return outcome

    def start_all(self, seeds: Sequence[int]) -> list[tuple[NDArray[np.generic], Mask | None]]:
        """Start as many episodes as seeds are given, at most ``size``."""
        return [self.start(seed) for seed in seeds]

    def step_all(self, h: int, actions: Sequence[int | None]) -> list[StepOutcome | None]:
        """Take an action in each episode that goes on; None where it does not."""
        return [None if action is None else self.step(h, action) for action in actions]

    def _read(self, h: int, taken: object, results: Stepped, x: object, asked: Callable[[], object] | None) -> StepOutcome:
        """What the results of a step are, given the observation before."""
        shown_values, raw = self._values(h, x, taken, results), results.reward
        if _ndim(raw) or self.reward_weights is not None:
            raw = self._weigh(h, raw, "reward_weights", 0)
        reward, values = self.objectives.check(h, raw, shown_values)
        ends = [_truth(h, name, getattr(results, name)) for name in ("terminated", "truncated")]
        over = any(ends) or h + 1 == self.objectives.horizon  # then nothing is to be done
        mask = None if over else self._mask(h + 1, results.info, asked, results.observation)
        check_mask(mask, h + 1)
        return StepOutcome(self.see(h + 1, results.observation), reward, values, ends[0], ends[1], mask)

    def _mask(self, h: int, info: Mapping[str, object], asked: Callable[[], object] | None, observation: object) -> Mask | None:
        if not self.masked:
            return None
        mask = info.get(MASK)
        if mask is None and asked is not None:
            mask = asked()
        if mask is None and isinstance(self.see, Observations):
            mask = self.see.mask(h, observation)
        return self.actions.mask(mask, h)

    def _find(self, h: int, results: Stepped) -> str:
        """Where the utilities are, from what a step returned."""
        info, costs = results.info, self.objectives.costs
        there = {"tuple": results.cost is not NO_COST, "vector": _ndim(results.reward) > 0}
        there |= {name: name in info for name in ("utility", "cost")}
        found = [name for name in SOURCES if there[name]]
        for name in found:
            if name == "vector" or (name == "utility") != costs:
                self._source = name
                return name
        if found:
            kind, given, other = ("utility", "limit", "threshold") if costs else ("cost", "threshold", "limit")
            raise InputError(
                f"step {h}: the environment shows a {kind}, and {given}= is for the opposite; expected {other}=, or "
                f"utility={found[0]!r} to take it for what {given}= is for"
            )
        raise InputError(
            f"step {h}: the environment shows no {self.objectives.word}; expected info['utility'], info['cost'], a cost in the "
            f"step, a vector reward, or a function as cost= or utility= (in a shell: --cost)"
        )

    def _weigh(self, h: int, reward: object, name: str, default: int | slice) -> Array:
        """A vector reward times the weights called ``name``; without these the entries ``default`` of the vector."""
        try:
            vector, weights = np.asarray(reward).ravel().astype(np.float64), getattr(self, name)
        except (TypeError, ValueError):
            raise InputError(f"step {h}: reward is {shown(reward)}; expected numbers") from None
        if weights is None:
            return np.asarray(vector[default])
        if weights.shape[-1] != len(vector):
            raise InputError(f"step {h}: reward has {len(vector)} entries; expected {weights.shape[-1]}, as {name}")
        return np.asarray(weights @ vector)

    def _values(self, h: int, x: object, taken: object, results: Stepped) -> Array:
        source = self._source if self._source is not None else self._find(h, results)
        info, values = results.info, results.cost
        if callable(source):
            counted = {"step": h} if getattr(source, "takes_step", False) else {}
            values = source(x, taken, results.observation, results.reward, info, **counted)
        elif source == "vector":
            values = self._weigh(h, results.reward, "utility_weights", slice(1, None))
        elif source == "tuple":
            if values is NO_COST:
                raise InputError(f"step {h}: the environment returned five results; expected six, with a cost after the reward")
        elif source in info:
            values = info[source]
        else:
            raise InputError(f"step {h}: info has no {source!r}; expected it at every step (found {sorted(map(str, info))})")
        try:
            found = np.atleast_1d(np.asarray(values))
            if found.dtype.kind not in "biuf":  # None and texts too would become numbers
                raise TypeError
            return found.astype(np.float64).ravel()
        except (TypeError, ValueError):
            raise InputError(f"step {h}: {self.objectives.word} is {shown(values)}; expected numbers") from None


def reset_of(env: Environment, seed: int) -> tuple[object, Mapping[str, object]]:
    """What ``reset`` returned: an observation and a dictionary.

    Raises:
        InputError: the environment returned something else.
    """
    results = env.reset(seed=seed)
    if not isinstance(results, tuple | list) or len(results) != 2 or not isinstance(results[1], Mapping):
        raise InputError(f"reset: the environment returned {shown(results)}; expected (observation, info), info a dictionary")
    return results[0], results[1]


def step_of(env: Environment, h: int, taken: object) -> Stepped:
    """What ``step`` returned: five results, or six with a cost, the last a dictionary.

    Args:
        env: the environment.
        h: the step, for the error message.
        taken: the action as the environment takes it.

    Raises:
        InputError: the environment returned something else.
    """
    results = env.step(taken)
    if not isinstance(results, tuple | list) or len(results) not in (5, 6) or not isinstance(results[-1], Mapping):
        raise InputError(
            f"step {h}: the environment returned {shown(results)}; expected (observation, reward, terminated, truncated, "
            f"info), or six results with a cost after the reward, info a dictionary"
        )
    observation, reward, *cost, terminated, truncated, info = results
    return Stepped(observation, reward, terminated, truncated, info, *cost)


def _ndim(reward: object) -> int:
    """How many axes a reward has; 0 for what is no array of numbers, which is refused elsewhere."""
    try:
        return np.asarray(reward).ndim
    except ValueError:  # lists of different lengths
        return 1


def _truth(h: int, name: str, value: object) -> bool:
    """Whether an episode ended: a truth value, or an array with one.

    Raises:
        InputError: it is something else.
    """
    said = np.asarray(value)
    if said.size == 1 and said.dtype.kind in "biuf":
        return bool(said.item())
    raise InputError(f"step {h}: {name} is {shown(value)}; expected True or False")


def mask_method(env: object) -> Callable[[], object] | None:
    """Give the method ``action_masks`` of an environment, or of the first one that it wraps and that has it."""
    layer = env
    while layer is not None:
        if callable(method := getattr(layer, "action_masks", None)):
            return method  # type: ignore[no-any-return]
        layer = getattr(layer, "__dict__", {}).get("env")
    return None


def first_state(space: object) -> int:
    """Give the least observation of a Discrete space; 0 for any other."""
    return int(space.start) if is_discrete(space) else 0


def sample_states(env: Environment, n: int = 1000, seed: int = 0, steps: int = 1000) -> NDArray[np.generic]:
    """Collect about n observations of random play as a learner sees them, to fit a transformer on.

    Args:
        env: a Gymnasium environment with Discrete actions.
        n: how many observations.
        seed: of all randomness.
        steps: the most steps of an episode.

    Returns:
        The observations, along the first axis.

    >>> import noregret as nr
    >>> sample_states(nr.gym.make_env("job-scheduling"), n=20).shape
    (20,)
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    states: list[NDArray[np.generic]] = []
    observations, actions = spaces_of(env)
    first, least = int(getattr(actions, "start", 0)), first_state(observations)
    while len(states) < n:
        observation, _ = reset_of(env, int(rng.integers(2**31)))
        states.append(plain(observation, least))
        for h in range(steps):
            results = step_of(env, h, first + int(rng.integers(cast("Discrete", actions).n)))
            states.append(plain(results.observation, least))
            if results.terminated or results.truncated or len(states) >= n:
                break
    return np.asarray(states)
