r"""UC-CFH (Kalagarla, Jain, Nuzzo 2021): the optimum of the best plausible CMDP, planned anew when a count has doubled.

Symbols are those of :mod:`noregret.learners.programs.planning`. With L = log(4/δ₁) the radius of a transition probability is
the smaller of Hoeffding's and the empirical Bernstein one,

    ρ(x,a,x') = min{ √(L/(2n)),  √(2 p̂(1−p̂) L/n) + 7L/(3(n−1)) },     δ₁ = p/(2SU),   U = SAH log₂(2K)

where U bounds the number of plans. The extended program is solved when some n(h,x,a) has doubled, as in the paper. Its
theorem is of the PAC kind: but for O(S A C² H²/ε²) episodes every policy is ε-optimal and ε-feasible, C the number of
successors.

``bonus_scale`` multiplies all radii.

Deviations: the paper knows r and g. Here they are means, with Hoeffding's radius √(L/(2n)). Its cap on counts, which depends
on ε, is left out: a count goes on to double. Untried pairs and programs that cannot be met: see
:mod:`noregret.learners.programs.planning`. Source: the abstract, for principle and theorem; the two intervals from memory, and
δ₁ by a union bound of our own.

References:
    Kalagarla, Jain, Nuzzo. A Sample-Efficient Algorithm for Episodic Finite-Horizon MDP with Constraints. AAAI 2021,
    arXiv 2009.11348.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import REPLANS, SMALLER, Program
from noregret.learners.programs.planning import PlanningLearner
from noregret.learners.registry import register


@register
class UCCFH(PlanningLearner):
    """``uc-cfh``: the extended program with the smaller of two intervals, at doublings."""

    name = "uc-cfh"
    summary = "UC-CFH (Kalagarla, Jain, Nuzzo 2021): optimum of the best plausible CMDP, planned at doublings"
    promise = ("SAC²H²/ε² episodes (PAC)", "SAC²H²/ε² episodes (PAC)")
    source = "memory"
    table = Constants(
        Number("bonus_scale", theory=(1, "the radii as remembered"), tuned=(0.00801, FOUND), practical=(0.00549, FOUND)),
        Word("replan", REPLANS, theory=("doubling", "as remembered"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as remembered"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        plans = self.spec.available.size * math.log2(2 * self.episodes)
        L = math.log(4 * 2 * self.spec.n_states * plans / c.p)
        local = np.full(1 + self.spec.n_constraints, c.bonus_scale * math.sqrt(L / 2))
        return {"local": local, "L": L, "scale": c.bonus_scale, "boxed": True, "interval": SMALLER}
