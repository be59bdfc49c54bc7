"""Learners: one algorithm, one file. A learner sees a problem's spec and the episodes it plays, nothing else."""

from noregret.learners import (
    c_ucrl,
    cmdp_rl,
    conrl,
    continuous,
    dope,
    fixed,
    lsvi_bisection,
    lsvi_ucb,
    opdop,
    opse_lcmdp,
    opt_dual,
    opt_primal_dual,
    optcmdp,
    optpess_lp,
    optpess_primal_dual,
    posterior_sampling,
    primal_dual_lsvi,
    triple_q,
    uc_cfh,
)
from noregret.learners.base import Learner, Plan
from noregret.learners.registry import get, make, meaning, names, register
from noregret.learners.reservoir import PolicyReservoir
from noregret.learners.vectors import ContinuousLearner, ContinuousPlan

__all__ = [
    "ContinuousLearner",
    "ContinuousPlan",
    "Learner",
    "Plan",
    "PolicyReservoir",
    "c_ucrl",
    "cmdp_rl",
    "conrl",
    "continuous",
    "dope",
    "fixed",
    "get",
    "lsvi_bisection",
    "lsvi_ucb",
    "make",
    "meaning",
    "names",
    "opdop",
    "opse_lcmdp",
    "opt_dual",
    "opt_primal_dual",
    "optcmdp",
    "optpess_lp",
    "optpess_primal_dual",
    "posterior_sampling",
    "primal_dual_lsvi",
    "register",
    "triple_q",
    "uc_cfh",
]
