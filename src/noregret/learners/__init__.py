"""Learners: one algorithm, one file. A learner sees a problem's spec and the episodes it plays, nothing else.

Every file of this folder is imported here, so that a learner is registered by being in a file of its own.
"""

import pkgutil
from importlib import import_module

from noregret.learners.base import Learner, Plan
from noregret.learners.registry import get, make, meaning, names, register, shared_by
from noregret.learners.reservoir import PolicyReservoir
from noregret.learners.vectors import ContinuousLearner, ContinuousPlan

for _module in pkgutil.iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")

__all__ = [
    "ContinuousLearner",
    "ContinuousPlan",
    "Learner",
    "Plan",
    "PolicyReservoir",
    "get",
    "make",
    "meaning",
    "names",
    "register",
    "shared_by",
]
