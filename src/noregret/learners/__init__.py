"""Learners: one algorithm, one file, in the folder of its family. A learner sees a problem's spec and the episodes it plays.

Every file of this folder and of its families is imported here, so that a learner is registered by being in a file of its own.
"""

import pkgutil
from importlib import import_module

from noregret.learners.base import EpisodePlan, Learner
from noregret.learners.lsvi.vectors import ContinuousLearner, ContinuousPlan
from noregret.learners.registry import get, make, names, register

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = [
    "ContinuousLearner",
    "ContinuousPlan",
    "EpisodePlan",
    "Learner",
    "get",
    "make",
    "names",
    "register",
]
