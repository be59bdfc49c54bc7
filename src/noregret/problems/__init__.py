"""Problems: the worlds to learn in. ``names()`` lists them, ``load("name:key=value")`` builds one.

Every file of this folder is imported here, so that a problem is registered by being in a file of its own.
"""

import pkgutil
from importlib import import_module

from noregret.problems.base import Constraint, Spec, StepLimit, TabularCMDP
from noregret.problems.continuous import ContinuousSpec
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.npz import save
from noregret.problems.registry import describe, load, names, register

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "Constraint",
    "ContinuousSpec",
    "LinearCMDP",
    "Spec",
    "StepLimit",
    "TabularCMDP",
    "describe",
    "load",
    "names",
    "register",
    "save",
]
