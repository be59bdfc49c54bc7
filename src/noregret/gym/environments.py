"""What an agent needs before it plays: the environment as an object, the horizon, and features for its observations."""

from __future__ import annotations

from typing import Any

from noregret.errors import InputError, shown
from noregret.features import OneHot, Table, Transformer
from noregret.features.transformer import is_fitted
from noregret.gym.problems import LinearEnv, TabularEnv, make_env
from noregret.gym.world import World, is_discrete, sample_states
from noregret.problems.base import TabularCMDP
from noregret.problems.checks import integer
from noregret.problems.continuous import is_feature_map
from noregret.problems.linear_continuous import LinearCMDP


def as_environment(env: Any) -> Any:
    """Make a Gymnasium environment from an id or a problem; an environment is returned as it is.

    Raises:
        InputError: ``env`` is none of the three.
    """
    if isinstance(env, TabularCMDP | LinearCMDP):
        return make_env(env)
    if isinstance(env, str):
        import gymnasium

        return gymnasium.make(env)
    if not (hasattr(env, "reset") and hasattr(env, "step") and hasattr(env, "action_space")):
        raise InputError(f"env is {env!r}; expected a Gymnasium environment, its id, or a problem")
    return env


def horizon_of(env: Any, horizon: int | None) -> int:
    """Find the horizon H: the one given, or the environment's time limit.

    Raises:
        InputError: there is neither, or H is not a whole number of at least 1.
    """
    if horizon is None:
        horizon = getattr(getattr(env, "spec", None), "max_episode_steps", None)
        layer = env
        while layer is not None:  # a TimeLimit put on by hand is not in the spec
            limit = getattr(layer, "_max_episode_steps", None)
            horizon = limit if limit is not None else horizon
            layer = layer.__dict__.get("env")
    if horizon is None:
        raise InputError("horizon is None and the environment has no time limit; expected horizon=, the steps of an episode")
    return integer("horizon", horizon, 1)


def features_for(features: Any, world: World, horizon: int, seed: int, bound: float | None) -> Any:
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
    env, A = world.env, world.n_actions
    if features is None:
        inner = getattr(env, "unwrapped", env)
        if isinstance(inner, LinearEnv):
            return inner.problem.features
        if isinstance(inner, TabularEnv) and inner.problem.features is not None:
            return Table(inner.problem.features)
        if is_discrete(env.observation_space):
            return OneHot(int(env.observation_space.n), A)
        raise InputError(
            f"features is None; observations of {env.observation_space} need a feature map, e.g. noregret.features.Fourier, "
            f"TileCoding, or a scikit-learn transformer such as RBFSampler"
        )
    if hasattr(features, "transform"):
        fitted = is_fitted(features)
        known = fitted and hasattr(features, "n_features_in_")
        seen = None if known else sample_states(env, seed=seed, steps=horizon)
        features = Transformer(
            features, n_actions=A, sample=None if fitted else seen, probe=seen if fitted else None, bound=bound
        )
    if not is_feature_map(features):
        raise InputError(
            f"features is {shown(features)}; expected a feature map of noregret.features or a scikit-learn transformer"
        )
    if features.n_actions != A:
        raise InputError(f"features are for {features.n_actions} actions; expected {A}, as the environment has")
    return features
