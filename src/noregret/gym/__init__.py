"""Gymnasium both ways: every problem is an environment, and any environment is a problem for an agent.

``import noregret`` registers ``noregret/JobScheduling-v0`` and the others. :class:`EnvWorld` turns an environment into episodes
of at most H steps, each step with a reward and utilities. Names are imported when they are first used, so that the registration
is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

_HOME = {
    "LinearEnv": "problems",
    "Objectives": "objectives",
    "TabularEnv": "problems",
    "EnvWorld": "world",
    "env_id": "registration",
    "make_env": "problems",
    "register_envs": "registration",
    "sample_states": "world",
}

__all__ = ["EnvWorld", "LinearEnv", "Objectives", "TabularEnv", "env_id", "make_env", "register_envs", "sample_states"]

if TYPE_CHECKING:
    from noregret.gym.objectives import Objectives
    from noregret.gym.problems import LinearEnv, TabularEnv, make_env
    from noregret.gym.registration import env_id, register_envs
    from noregret.gym.world import EnvWorld, sample_states


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'noregret.gym' has no attribute {name!r}")
    return getattr(import_module(f"noregret.gym.{_HOME[name]}"), name)
