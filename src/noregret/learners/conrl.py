r"""ConRL (Brantley, Dudík, Lykouris, Miryoosefi, Simchowitz, Slivkins, Sun 2020): the optimum of an optimistic empirical CMDP.

Symbols are those of :mod:`noregret.learners.planning`. On the empirical model p̂, before each episode,

    j̃ = ĵ + b,   b = H √(2 log(8SAH(m+1)K²/p)/n),     max V_r̃  s.t.  V_g̃ ≥ b       (the paper's ConPlanner)

and the solution is played. With linear reward and constraints, as here, the ConPlanner is the linear program; the paper also
has concave rewards and convex constraints, which no problem here has.

Constants: ``theory`` has ``bonus_scale`` 1; ``practical`` scales the bonus (published code: 10⁻³/√n in all) and plans when a
count has doubled.

Deviations: published code solves the program by ten steps of dual descent; here it is solved exactly. Untried pairs and
programs that cannot be met: see :mod:`noregret.learners.planning`. Source: authors' code for the loop; the constant in the
bonus from memory.

References:
    Brantley et al. Constrained episodic reinforcement learning in concave-convex and knapsack settings. NeurIPS 2020,
    arXiv 2006.05051.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.learners.choices import Choices, searched
from noregret.learners.planning import PlanningLearner
from noregret.learners.registry import register
from noregret.problems.base import Spec


@register
class ConRL(PlanningLearner):
    """``conrl``: the optimum of the empirical model with a bonus H√(log/n)."""

    name = "conrl"
    summary = "ConRL (Brantley et al. 2020): optimum of the empirical CMDP with Hoeffding bonuses, by LP"
    promise = ("√K", "√K")
    source = "memory"
    space = searched(
        theory=("bonus_scale=1e-6:1:log",),
        practical=("bonus_scale=1e-6:1:log", "replan=doubling,squares", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        J = 1 + spec.n_constraints
        L = math.log(8 * spec.available.size * J * K**2 / choices.probability())
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (1e-3, "tuned"))
        return {"local": np.full(J, scale * spec.horizon * math.sqrt(2 * L))}
