"""Which mind learns for an agent: a learner on features that were given, or one that finds its own from data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noregret import DEFAULT_LEARNER
from noregret.agent.ranges import Ranges
from noregret.agent.regression import Regression
from noregret.errors import InputError
from noregret.gym import LinearEnv, Objectives, TabularEnv, World
from noregret.gym.spaces import is_discrete, spaces_of
from noregret.learners.minds import Mind
from noregret.problems.worlds import WorldSpec

#: The mind that needs no features.
AUTO = "soft-cells"
#: What only learners on given features take, beside their parameters, and why a mind without them does not.
REFUSED = {
    "preset": "it has one setting, and a certificate needs a safe policy, which is a table over states",
    "slater_gap": "it needs no Slater gap",
    "xi": "its dual has no cap to estimate",
    "safe_policy": "a safe policy is a table over states",
}
#: Presets that need a safe policy.
SAFE = ("safe", "cautious")


def _soft_cells(spec: WorldSpec, seed: int, **options: Any) -> Mind:
    from noregret.learners.cells import SoftCells

    return SoftCells(spec, seed, **options)


#: Minds that need no features, by name.
MINDS: dict[str, Callable[..., Mind]] = {AUTO: _soft_cells}


def is_problem(env: Any) -> bool:
    """Tell whether an environment is a problem of noregret, whose numbers are in [0,1] and which may bring features."""
    return isinstance(getattr(env, "unwrapped", env), TabularEnv | LinearEnv)


def finds_features(env: Any, features: Any, learner: str | None, options: Mapping[str, Any]) -> bool:
    """Tell whether a mind is wanted that finds its own features.

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
    asked = isinstance(features, str) and features == "auto"
    if isinstance(features, str) and not asked:
        raise InputError(f"features is {features!r}; expected 'auto', a feature map or a scikit-learn transformer")
    if learner in MINDS:
        if not (features is None or asked):
            raise InputError(f"learner is {learner!r}, which finds its own features; expected features=None")
        return True
    if asked:
        if learner is not None:
            raise InputError(f"features is 'auto' and learner {learner!r} needs features; expected learner=None or {AUTO!r}")
        return True
    if features is not None or learner is not None or is_problem(env):
        return False
    return not (is_discrete(spaces_of(env)[0]) and _of_regressions(options))


def _of_regressions(options: Mapping[str, Any]) -> bool:
    from noregret.learners.continuous import DensePrimalDualLSVI

    own = {"preset", "slater_gap", *DensePrimalDualLSVI.parameters} - {"states"}  # which both have
    return any(name in own for name in options)


def find_mind(name: str, spec: WorldSpec, seed: int, options: dict[str, Any]) -> Mind:
    """Make a mind that finds its own features.

    Args:
        name: of the mind.
        spec: what it may know.
        seed: of its randomness.
        options: its parameters.

    Raises:
        InputError: it does not take such options; the message says why.
    """
    for key, why in REFUSED.items():
        if options.get(key) is not None:
            raise InputError(f"{key} is {options[key]!r}; expected None with features='auto': {why}")
    given = {key: value for key, value in options.items() if key not in REFUSED}
    return MINDS[name](spec, seed, **given)


def usual(env: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a learner on given features is asked for: what was given; else steps share, but for the paper's own presets.

    Args:
        env: the environment; problems of noregret say themselves what their steps share.
        options: what was given of ``preset``, ``slater_gap`` and parameters.
    """
    preset = options.get("preset", "practical")
    share = {} if is_problem(env) or preset not in ("practical", "simple") else {"share": "all"}
    return {"preset": preset, "slater_gap": None, **options} | (share if options.get("share", "auto") == "auto" else {})


def regression(
    name: str | None, objectives: Objectives, features: Any, total: int | None, ranges: Ranges, options: dict[str, Any]
) -> Regression:
    """Make a learner on given features; see :class:`~noregret.agent.regression.Regression` for the arguments.

    Args:
        name: of the learner; None for the default one.
        objectives: horizon, limits and ranges.
        features: the given map.
        total: how many episodes there will be; None where nobody knows.
        ranges: of the numbers in an observation.
        options: preset, Slater gap and parameters of the learner.

    Raises:
        InputError: an option is for tables only; the message says why.
    """
    if ranges.outside == "widen":
        raise InputError(
            "outside is 'widen'; expected 'clip' or 'error' with given features: regressions keep sums of numbers in [0,1]"
        )
    if options.get("preset") in SAFE:
        raise InputError(
            f"preset is {options['preset']!r}; expected theory, paper, practical or simple: a safe policy is a table over "
            f"states, which an agent does not have (nr.run takes it)"
        )
    return Regression(name or DEFAULT_LEARNER, objectives, features, total, ranges, options)


def world_spec(world: World, objectives: Objectives) -> WorldSpec:
    """What a mind that finds its own features may know; from now on the world shows it numbers or vectors."""
    seen = world.flat()
    return make_spec(objectives, world.n_actions, seen.n_states, seen.dimension)


def make_spec(objectives: Objectives, n_actions: int, n_states: int, dimension: int) -> WorldSpec:
    """The same from its parts.

    Args:
        objectives: horizon, limits and ranges.
        n_actions: A.
        n_states: S; 0 where states are vectors.
        dimension: the numbers in such a vector.
    """
    o = objectives
    limits = np.array(o.limits)
    return WorldSpec(o.horizon, n_actions, n_states, dimension, limits, o.costs, o.names, o.reward_range, o.utility_ranges)
