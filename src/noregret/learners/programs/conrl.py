r"""ConRL (Brantley, Dudík, Lykouris, Miryoosefi, Simchowitz, Slivkins, Sun 2020): the optimum of an optimistic empirical CMDP.

Symbols are those of :mod:`noregret.learners.programs.planning`. On the empirical model p̂, before each episode,

    j̃ = ĵ + b,   b = H √(2 log(8SAH(m+1)K²/p)/n),     max V_r̃  s.t.  V_g̃ ≥ b       (the paper's ConPlanner)

and the solution is played. With linear reward and constraints, as here, the ConPlanner is the linear program; the paper also
has concave rewards and convex constraints, which no problem here has.

``bonus_scale`` multiplies the bonus; published code has 10⁻³/√n in all.

Deviations: the authors' code solves the program by ten steps of dual descent, whose price goes on from episode to episode, and
plays the greedy policy for the mean of these prices; here it is solved exactly, and mixtures are played. That code has one
model for all steps, and an untried pair leads back to itself with the bonus 1. Untried pairs and programs that cannot be met
here: see :mod:`noregret.learners.programs.planning`. Source: authors' code, line by line; the factor of the bonus from memory.

References:
    Brantley et al. Constrained episodic reinforcement learning in concave-convex and knapsack settings. NeurIPS 2020,
    arXiv 2006.05051.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import REPLANS, Program
from noregret.learners.programs.planning import PlanningLearner
from noregret.learners.registry import register


@register
class ConRL(PlanningLearner):
    """``conrl``: the optimum of the empirical model with a bonus H√(log/n)."""

    name = "conrl"
    summary = "ConRL (Brantley et al. 2020): optimum of the empirical CMDP with Hoeffding bonuses, by LP"
    promise = ("√K", "√K")
    source = "code"
    recalled = "the factor of the bonus"
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's bonus"), tuned=(0.000121, FOUND), practical=(0.000421, FOUND)),
        Word("replan", REPLANS, theory=("always", "as printed"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        J = 1 + self.spec.n_constraints
        L = math.log(8 * self.spec.available.size * J * self.episodes**2 / c.p)
        return {"local": np.full(J, c.bonus_scale * self.spec.horizon * math.sqrt(2 * L))}
