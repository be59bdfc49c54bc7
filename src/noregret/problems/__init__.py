"""Problems: the worlds to learn in. ``names()`` lists them, ``load("name:key=value")`` builds one."""

from noregret.problems import (
    frozen_lake,
    grid_world,
    inventory,
    job_scheduling,
    linear,
    linear_continuous,
    machine_load,
    media_control,
    queue,
    random,
    streaming,
)
from noregret.problems.base import Constraint, Spec, StepLimit, TabularCMDP
from noregret.problems.continuous import ContinuousSpec
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.npz import save
from noregret.problems.registry import describe, load, names, register

__all__ = [
    "Constraint",
    "ContinuousSpec",
    "LinearCMDP",
    "Spec",
    "StepLimit",
    "TabularCMDP",
    "describe",
    "frozen_lake",
    "grid_world",
    "inventory",
    "job_scheduling",
    "linear",
    "linear_continuous",
    "load",
    "machine_load",
    "media_control",
    "names",
    "queue",
    "random",
    "register",
    "save",
    "streaming",
]
