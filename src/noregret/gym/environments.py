"""What an agent needs before it plays: the environment as an object, the horizon, and features for its observations."""

from __future__ import annotations

from typing import Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from noregret._system.text import value
from noregret.errors import InputError, shown, unknown_name
from noregret.features import Fourier, OneHot, Table, TileCoding, Transformer
from noregret.features.base import FeatureMap
from noregret.features.transformer import is_fitted
from noregret.gym.actions import Actions
from noregret.gym.objectives import Objectives
from noregret.gym.problems import LinearEnv, TabularEnv, make_env
from noregret.gym.spaces import is_discrete, is_vector, spaces_of
from noregret.gym.vector import VectorEnvironment, VectorWorld, one_of
from noregret.gym.world import Environment, EnvWorld, WorldOptions, sample_states
from noregret.problems.base import Array
from noregret.problems.checks import integer
from noregret.problems.continuous import is_feature_map
from noregret.problems.kinds import is_problem

#: Features that have a name, and their parameters.
NAMED: dict[str, tuple[str, ...]] = {"auto": (), "one-hot": (), "fourier": ("order",), "tiles": ("tiles", "tilings")}


def as_environment(env: object) -> Environment:
    """Make a Gymnasium environment from an id or a problem; an environment is returned as it is.

    Raises:
        InputError: ``env`` is none of the three.
    """
    if is_problem(env):
        return make_env(env)
    if isinstance(env, str):
        import gymnasium

        try:
            return gymnasium.make(env)
        except (gymnasium.error.Error, ImportError) as error:
            raise InputError(f"env is {env!r}; Gymnasium cannot make it: {' '.join(str(error).split())}") from None
    if not (hasattr(env, "reset") and hasattr(env, "step") and hasattr(env, "action_space")):
        raise InputError(f"env is {env!r}; expected a Gymnasium environment, its id, or a problem")
    return cast(Environment, env)


def world_of(env: Environment, objectives: Objectives, **options: Unpack[WorldOptions]) -> EnvWorld:
    """Make the world of an environment, or of several side by side; the options are those of EnvWorld.

    Args:
        env: one environment or a vector of them.
        objectives: what is counted at each step.
        options: those of EnvWorld.
    """
    if is_vector(env):
        return VectorWorld(cast(VectorEnvironment, env), objectives, **options)
    return EnvWorld(env, objectives, **options)


def horizon_of(env: object, horizon: int | None) -> int:
    """Find the horizon H: the one given, or the environment's time limit.

    Raises:
        InputError: there is neither, or H is not a whole number of at least 1.
    """
    if horizon is None:
        horizon = time_limit(env)
    if horizon is None:
        raise InputError("horizon is None and the environment has no time limit; expected horizon=, the steps of an episode")
    return integer("horizon", horizon, 1)


def time_limit(env: object) -> int | None:
    """Find after how many steps an environment cuts an episode; None where it does not say so."""
    steps: int | None = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    if is_vector(env):
        with one_of(env) as single:
            return steps if single is None else time_limit(single)
    base = layer = env
    while layer is not None:  # a TimeLimit put on by hand is not in the spec
        limit = getattr(layer, "_max_episode_steps", None)
        steps = limit if limit is not None else steps
        base, layer = layer, layer.__dict__.get("env")
    counted = (getattr(base, name, None) for name in ("max_steps", "horizon"))  # by themselves, as MiniGrid and pyRDDLGym do
    own = next((n for n in counted if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
    return own if steps is None else steps


def features_for(features: object, world: EnvWorld, horizon: int, seed: int, bound: float | None) -> FeatureMap:
    """Choose the feature map for an environment.

    Args:
        features: a feature map, a scikit-learn transformer, or None. A transformer that is not fitted is fitted on states of
            random play. None takes a problem's own features, or one-hot features for Discrete observations.
        world: the environment.
        horizon: H, where episodes of random play end.
        seed: of random play.
        bound: on the norm of a transformer's features, where none is proven.

    Returns:
        A feature map for as many actions as the environment has.

    Raises:
        InputError: ``features`` cannot serve, or None is given and nothing can be chosen.
    """
    env, A, space = world.env, world.n_actions, world.observation_space
    if features is None:
        inner = getattr(env, "unwrapped", env)
        of_problem = inner.problem.features if isinstance(inner, LinearEnv | TabularEnv) else None
        if of_problem is not None:
            return cast(FeatureMap, of_problem) if is_feature_map(of_problem) else Table(cast(Array, of_problem))
        if is_discrete(space):
            return OneHot(int(space.n), A)
        raise InputError(
            f"features is None; observations of {space} need a feature map, e.g. noregret.features.Fourier, "
            f"TileCoding, or a scikit-learn transformer such as RBFSampler"
        )
    if hasattr(features, "transform"):
        fitted = is_fitted(features)
        known = fitted and hasattr(features, "n_features_in_")
        if not known and (world.size > 1 or world.actions.table is not None):
            raise InputError(
                "features is a transformer that was not fitted; expected one that is, or a single env with Discrete actions"
            )
        seen = None if known else sample_states(env, seed=seed, steps=horizon)
        features = Transformer(
            features, n_actions=A, sample=None if fitted else seen, probe=seen if fitted else None, bound=bound
        )
    if not is_feature_map(features):
        raise InputError(
            f"features is {shown(features)}; expected a feature map of noregret.features or a scikit-learn transformer"
        )
    feature_map = cast(FeatureMap, features)
    if feature_map.n_actions != A:
        raise InputError(f"features are for {feature_map.n_actions} actions; expected {A}, as the environment has")
    return feature_map


def named_features(text: str, env: object, actions: ArrayLike | None = None) -> FeatureMap | str:
    """Make the features that a text names: "auto", "one-hot", "fourier:order=3" or "tiles:tiles=8,tilings=8".

    Args:
        text: a name, and for some names parameters.
        env: the environment; the box of its observations must have ends for the last two.
        actions: of a Box of actions, the points of a grid in each dimension.

    Raises:
        InputError: the name or a parameter is unknown, or the environment is not of such a kind.
    """
    name, _, given = text.partition(":")
    if name not in NAMED or (given and not NAMED[name]):
        raise unknown_name("features", text, NAMED)
    if name == "auto":
        return "auto"
    space, taken = spaces_of(env)
    n = Actions.of(taken, actions).n
    if name == "one-hot":
        if not is_discrete(space):
            raise InputError(f"features is 'one-hot' and observations are {space}; expected Discrete ones")
        return OneHot(int(space.n), n)
    options = {}
    for pair in filter(None, given.split(",")):
        key, _, number = pair.partition("=")
        if key not in NAMED[name]:
            raise unknown_name(f"parameter of features {name}", key, NAMED[name])
        options[key] = integer(key, value(number), 0)
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if low is None or high is None or not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InputError(f"features is {text!r} and observations are {space}; expected a Box with ends, or 'auto'")
    maps: dict[str, type[Fourier] | type[TileCoding]] = {"fourier": Fourier, "tiles": TileCoding}
    return maps[name](np.ravel(low), np.ravel(high), n_actions=n, **options)
