"""Learners: one algorithm, one file. A learner sees a problem's spec and the episodes it plays, nothing else."""

from noregret.learners import (
    continuous,
    fixed,
    opdop,
    opt_dual,
    opt_primal_dual,
    optpess_primal_dual,
    primal_dual_lsvi,
    triple_q,
)
from noregret.learners.base import Learner, Plan, get, make, names, register
from noregret.learners.reservoir import PolicyReservoir

__all__ = [
    "Learner",
    "Plan",
    "PolicyReservoir",
    "continuous",
    "fixed",
    "get",
    "make",
    "names",
    "opdop",
    "opt_dual",
    "opt_primal_dual",
    "optpess_primal_dual",
    "primal_dual_lsvi",
    "register",
    "triple_q",
]
