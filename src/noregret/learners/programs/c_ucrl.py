r"""C-UCRL (Zheng and Ratliff 2020), its port to episodes: optimistic rewards, pessimistic utilities, rounds that begin safely.

Symbols are those of :mod:`noregret.learners.programs.planning`. Round i = 1, 2, ... plays one episode of a safe policy, then
i−1 episodes of the solution, found once in the round, of

    max V_r̃  s.t.  V_g̃ ≥ b   on p̂,     r̃ = r̂ + β,  g̃ = ĝ − β,     β = √( log(SAH(1+m)π²K²/(3p)) / (2n) )

**A port, and the bound is not carried over**: the paper has one endless episode with average rewards and *knows the
transitions*; its round i has h steps of the safe policy and h(i−1) of the plan. Here the transitions are estimated, and β
does not cover their error.

``bonus_scale`` multiplies β; below 1 no promise of zero violation is left. ``replan`` "always", "doubling" or "squares" drops
the rounds, and with them the safe episodes.

Deviations: an untried pair has the reward 1 and no utility, and may lead anywhere, as nothing is feared from transitions that
the paper knows. A program that cannot be met is answered by the safe policy, as in the paper. The paper's logarithm has t³, t
the steps so far, and no H; here it has HK². The paper cuts r̃ at 1 and the cost at 1; here neither is cut. Source: the paper,
line by line.

References:
    Zheng, Ratliff. Constrained Upper Confidence Reinforcement Learning. L4DC 2020, arXiv 2001.09377.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import REPLANS, Program
from noregret.learners.programs.planning import PlanningLearner
from noregret.learners.registry import register


@register
class CUCRL(PlanningLearner):
    """``c-ucrl``: rounds of a safe episode and a plan with pessimistic utilities; is told a safe policy."""

    name = "c-ucrl"
    summary = "C-UCRL (Zheng, Ratliff 2020), episodic port: rounds, pessimistic utilities; is told a safe policy"
    promise = ("T^¾ (P known)", "0 (P known)")
    source = "paper"
    things = ("safe_policy",)
    told = ("safe_policy",)
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's bonus"), tuned=(7.13e-05, FOUND), practical=(1.53e-05, FOUND)),
        Word("replan", (*REPLANS, "rounds"), every=("rounds", "as printed")),
        Count("tries", every=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        J = 1 + self.spec.n_constraints
        L = math.log(self.spec.available.size * J * math.pi**2 * self.episodes**2 / (3 * c.p))
        sign = np.array([1.0] + [-1.0] * (J - 1))
        return {"local": c.bonus_scale * math.sqrt(L / 2) * sign, "hope": np.maximum(sign, 0.0), "boxed": True}
