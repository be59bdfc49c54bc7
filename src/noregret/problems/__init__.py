"""Problems: the worlds to learn in. ``names()`` lists them, ``load("name:key=value")`` builds one."""

from noregret.problems import job_scheduling, linear_finite, random
from noregret.problems.base import Constraint, Spec, TabularCMDP
from noregret.problems.npz import save
from noregret.problems.registry import describe, load, names, register

__all__ = [
    "Constraint",
    "Spec",
    "TabularCMDP",
    "describe",
    "job_scheduling",
    "linear_finite",
    "load",
    "names",
    "random",
    "register",
    "save",
]
