r"""UC-CFH (Kalagarla, Jain, Nuzzo 2021): the optimum of the best plausible CMDP, planned anew when a count has doubled.

Symbols are those of :mod:`noregret.learners.planning`. With L = log(4/δ₁) the radius of a transition probability is the
smaller of Hoeffding's and the empirical Bernstein one,

    ρ(x,a,x') = min{ √(L/(2n)),  √(2 p̂(1−p̂) L/n) + 7L/(3(n−1)) },     δ₁ = p/(2SU),   U = SAH log₂(2K)

where U bounds the number of plans. The extended program is solved when some n(h,x,a) has doubled, as printed. The paper's
theorem is of the PAC kind: but for O(S A C² H²/ε²) episodes every policy is ε-optimal and ε-feasible, C the number of
successors.

Constants: ``theory`` has ``bonus_scale`` 1, ``practical`` scales all radii.

Deviations: the paper knows r and g. Here they are means, with Hoeffding's radius √(L/(2n)). Its cap on counts, which depends
on ε, is left out: a count goes on to double. Untried pairs and programs that cannot be met: see
:mod:`noregret.learners.planning`. Source: the abstract for principle and theorem; the two intervals from memory, and δ₁ by a
union bound of our own.

References:
    Kalagarla, Jain, Nuzzo. A Sample-Efficient Algorithm for Episodic Finite-Horizon MDP with Constraints. AAAI 2021,
    arXiv 2009.11348.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.learners.choices import Choices, searched
from noregret.learners.planning import SMALLER, PlanningLearner
from noregret.learners.registry import register
from noregret.problems.base import Spec


@register
class UCCFH(PlanningLearner):
    """``uc-cfh``: the extended program with the smaller of two intervals, at doublings."""

    name = "uc-cfh"
    summary = "UC-CFH (Kalagarla, Jain, Nuzzo 2021): optimum of the best plausible CMDP, planned at doublings"
    promise = ("SAC²H²/ε² episodes (PAC)", "SAC²H²/ε² episodes (PAC)")
    source = "memory"
    boxed = True
    replans = ("doubling", "doubling")
    space = searched(
        theory=("bonus_scale=1e-5:1:log",),
        practical=("bonus_scale=1e-5:1:log", "replan=doubling,squares", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        S, plans = spec.n_states, spec.available.size * math.log2(2 * K)
        L = math.log(4 * 2 * S * plans / choices.probability())
        scale = choices.number("bonus_scale", (1.0, "the paper's radii"), (0.01, "tuned"))
        local = np.full(1 + spec.n_constraints, scale * math.sqrt(L / 2))
        return {"local": local, "L": L, "scale": scale, "interval": SMALLER}
