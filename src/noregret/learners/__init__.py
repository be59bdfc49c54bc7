"""Learners: one algorithm, one file. A learner sees a problem's spec and the episodes it plays, nothing else."""

from noregret.learners import fixed, primal_dual_lsvi
from noregret.learners.base import Learner, Plan, get, make, names, register

__all__ = ["Learner", "Plan", "fixed", "get", "make", "names", "primal_dual_lsvi", "register"]
