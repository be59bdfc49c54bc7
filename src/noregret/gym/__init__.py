"""Gymnasium both ways: every problem is an environment, and any environment is a problem for an agent.

``import noregret.gym`` registers ``noregret/JobScheduling-v0`` and the others; an installed noregret does that when Gymnasium
is imported. :class:`World` turns an environment into episodes in [0,1] with utilities.
"""

from noregret.gym.objectives import Objectives
from noregret.gym.problems import LinearEnv, TabularEnv, make_env
from noregret.gym.registration import env_id, register_envs
from noregret.gym.world import World, sample_states

register_envs()

__all__ = ["LinearEnv", "Objectives", "TabularEnv", "World", "env_id", "make_env", "register_envs", "sample_states"]
