"""All that decides an agent besides its environment: what the constructor makes of its arguments, and what a file holds.

There is one way from a setup to a learner (:meth:`Setup.mind`), for a new agent and for one that comes from a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from noregret import DEFAULT_LEARNER
from noregret.agent.minds.protocol import Mind
from noregret.agent.ranges import Ranges
from noregret.errors import InputError, shown, unknown_name
from noregret.features import FeatureMap
from noregret.gym import EnvWorld, LinearEnv, Objectives, TabularEnv
from noregret.gym.actions import Actions, check_mask
from noregret.gym.environments import features_for
from noregret.gym.spaces import Mask, Observations, is_discrete, plain, spaces_of
from noregret.learners.arrays import Numbers
from noregret.problems.worlds import WorldSpec
from noregret.store.identity import decode, encode

#: The learner that needs no features.
AUTO = "soft-cells"
#: What only learners on given features take, beside their parameters, and why a learner without them does not.
REFUSED = {
    "preset": "it has one setting, and a certificate needs a safe policy, which is a table over states",
    "slater_gap": "it needs no Slater gap",
    "xi": "its dual has no cap",
    "safe_policy": "a safe policy is a table over states",
}
#: Whole numbers among options, and episodes, are not larger; sums and products of them are computed.
LARGEST_OPTION = 1 << 40
#: A parameter whose name is as near as this to that of an argument is taken for a slip.
_NEAR = 0.75
#: Presets that need a safe policy.
SAFE = ("safe",)


def _soft_cells(spec: WorldSpec, seed: int, **options: Any) -> Mind:
    from noregret.agent.minds.soft_cells import SoftCells

    return SoftCells(spec, seed, **options)


#: Learners that find their own features, by name.
FINDERS: dict[str, Callable[..., Mind]] = {AUTO: _soft_cells}


class SupportsTransform(Protocol):
    """A scikit-learn transformer."""

    def transform(self, X: Any, /) -> Any:
        """Give the features of states."""


@dataclass(frozen=True)
class Setup:
    """What an agent is made of.

    Args:
        learner: its name.
        options: parameters of the learner, and for one on given features its preset and Slater gap; plain values.
        objectives: horizon, limits and ranges.
        total: how many episodes will be learned, or None for no end.
        seed: of everything random.
        outside: what becomes of numbers outside their ranges.
        overrun: what becomes of episodes that go on after the horizon.
        actions: how actions are numbered.
        observations: what the learner sees; only ``first`` matters where features are given.
        features: the map that was given; None where features are found from data.
    """

    learner: str
    options: dict[str, Any]
    objectives: Objectives
    total: int | None
    seed: int
    outside: str
    overrun: str
    actions: Actions
    observations: Observations
    features: FeatureMap | None

    def see(self, step: int, observation: object) -> Numbers:
        """Give an observation as the learner sees it; features that were given take it as it is."""
        return self.observations(step, observation) if self.features is None else plain(observation, self.observations.first)

    def mask(self, step: int, observation: object, given: object) -> Mask | None:
        """Which actions can be taken, by the mask that was given, else by the one that the observation brings.

        Args:
            step: h, for the error message.
            observation: as the environment gives it.
            given: a mask; None for that of the observation.

        Raises:
            InputError: it is no mask, or allows nothing.
        """
        read = self.actions.mask(self.observations.mask(step, observation) if given is None else given, step)
        check_mask(read, step)
        return read

    def shown(self) -> tuple[tuple[int, ...], str] | None:
        """The shape and the kind of what the learner sees; None where features that were given take it as it is."""
        if self.features is not None:
            return None
        return ((), "i") if self.observations.n_states else ((self.observations.dimension,), "f")

    def mind(self, ranges: Ranges) -> Mind:
        """Make the learner.

        Raises:
            InputError: an option is not one of this learner; the message says why.
        """
        for key, value in self.options.items():
            if isinstance(value, int) and abs(value) > LARGEST_OPTION:
                raise InputError(f"{key} is {shown(value)}; expected at most {LARGEST_OPTION:,}")
        if self.features is None:
            spec = world_spec(self.objectives, self.actions.n, self.observations.n_states, self.observations.dimension)
            return finder(self.learner, spec, self.seed, self.options)
        if self.outside == "widen":
            raise InputError(
                "outside is 'widen'; expected 'clip' or 'error' with given features: regressions keep sums of numbers in [0,1]"
            )
        if self.options.get("preset") in SAFE:
            raise InputError(
                f"preset is {self.options['preset']!r}; expected theory, paper or practical: a safe policy is a table "
                f"over states, which an agent does not have (nr.run takes it)"
            )
        from noregret.agent.minds.regression import RegressionMind

        return RegressionMind(self.learner, self.objectives, self.features, self.total, ranges, self.options)


def world_spec(objectives: Objectives, n_actions: int, n_states: int, dimension: int) -> WorldSpec:
    """What a learner that finds its own features may know of a world.

    Args:
        objectives: horizon, limits and ranges.
        n_actions: A.
        n_states: S; 0 where states are vectors.
        dimension: the numbers in such a vector.
    """
    o, limits = objectives, np.array(objectives.limits)
    return WorldSpec(o.horizon, n_actions, n_states, dimension, limits, o.costs, o.names, o.reward_range, o.utility_ranges)


def finder(name: str, spec: WorldSpec, seed: int, options: Mapping[str, Any]) -> Mind:
    """Make a learner that finds its own features.

    Args:
        name: of the learner.
        spec: what it may know.
        seed: of its randomness.
        options: its parameters.

    Raises:
        InputError: it does not take such options; the message says why.
    """
    for key, why in REFUSED.items():
        if options.get(key) is not None:
            raise InputError(f"{key} is {options[key]!r}; expected None with features='auto': {why}")
    return FINDERS[name](spec, seed, **{key: value for key, value in options.items() if key not in REFUSED})


def is_problem(env: object) -> bool:
    """Tell whether an environment is a problem of noregret, whose numbers are in [0,1] and which may bring features."""
    return isinstance(getattr(env, "unwrapped", env), TabularEnv | LinearEnv)


def check_names(given: Mapping[str, object], arguments: Iterable[str]) -> None:
    """Refuse what looks like an argument of Agent that was misspelt, before anything is made; learners refuse the rest.

    Args:
        given: parameters of a learner, by name.
        arguments: what an agent takes itself.

    Raises:
        InputError: a name is nearly that of an argument, or its value is a function, which no learner takes.
    """
    own = [name for name in arguments if name not in ("self", "params")]
    for name, value in given.items():
        near = difflib.get_close_matches(name, own, n=1, cutoff=_NEAR) and name not in _of_regressions()
        if near or (callable(value) and not isinstance(value, type)):
            raise unknown_name("argument of Agent", name, own)


def finds_features(env: object, features: object, learner: str | None, options: Mapping[str, Any]) -> bool:
    """Tell whether a learner is wanted that finds its own features.

    It is unless features, a learner on features or a problem of noregret are given. With numbered observations, a preset or a
    parameter that only ``primal-dual-lsvi`` has chooses that learner on one-hot features.

    Args:
        env: the environment.
        features: as given; "auto" asks for it, None lets the rest decide.
        learner: the name given, or None.
        options: what was given of ``preset``, ``slater_gap`` and parameters.

    Raises:
        InputError: what was given does not go together.
    """
    if learner is not None and learner not in FINDERS:
        from noregret import learners

        learners.get(learner)  # refused if there is none of this name
    asked = isinstance(features, str) and features == "auto"
    if isinstance(features, str) and not asked:
        raise InputError(f"features is {features!r}; expected 'auto', a feature map or a scikit-learn transformer")
    finder = learner in FINDERS
    if finder and not (features is None or asked):
        raise InputError(f"learner is {learner!r}, which finds its own features; expected features=None")
    if asked and not (finder or learner is None):
        raise InputError(f"features is 'auto' and learner {learner!r} needs features; expected learner=None or {AUTO!r}")
    if finder or asked:
        return True
    if features is not None or learner is not None or is_problem(env):
        return False
    own = _of_regressions() - {"states"}  # which both have
    return not (is_discrete(spaces_of(env)[0]) and any(name in own for name in options))


def _of_regressions() -> set[str]:
    """What a learner on given features can be told."""
    from noregret.learners.lsvi.continuous import DensePrimalDualLSVI

    return {"preset", "slater_gap", *DensePrimalDualLSVI.parameters}


def in_world(
    world: EnvWorld, learner: str | None, features: object, options: Mapping[str, Any], bound: float | None, **rest: Any
) -> Setup:
    """Make the setup of a new agent in an environment; from now on the world shows what the learner sees.

    Args:
        world: the environment.
        learner: the name given, or None.
        features: as given; None or "auto" where they are found from data, or the environment brings them.
        options: what was given of ``preset``, ``slater_gap`` and parameters.
        bound: on the norm of a transformer's features.
        rest: the other fields of :class:`Setup`.
    """
    objectives, auto = world.objectives, finds_features(world.env, features, learner, options)
    chosen = None if auto else features_for(features, world, objectives.horizon, rest["seed"], bound)
    taken = options if auto else _usual(world.env, options)
    fix(world, auto)
    seen = world.see if isinstance(world.see, Observations) else Observations(0, 0, world.starts[0])
    return Setup(
        learner=learner or (AUTO if auto else DEFAULT_LEARNER), options=decode(encode(taken)), objectives=objectives,
        actions=world.actions, observations=seen, features=chosen, overrun=world.overrun, **rest,
    )  # fmt: skip


def fix(world: EnvWorld, auto: bool) -> None:
    """Let a world show what a learner with or without given features sees, and say whether masks are looked at."""
    world.masked = auto or not is_problem(world.env)
    if auto:
        world.flat()


def _usual(env: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a learner on given features is asked for: what was given; else steps share, but for the paper's own presets."""
    preset = options.get("preset", "practical")
    share = {} if is_problem(env) or preset != "practical" else {"share": "all"}
    return {"preset": preset, "slater_gap": None, **options} | (share if options.get("share", "auto") == "auto" else {})
