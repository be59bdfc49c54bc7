r"""OptPess-LP (Liu, Zhou, Kalathil, Kumar, Tian 2021): optimistic rewards and pessimistic utilities on the empirical model.

Symbols are those of :mod:`noregret.learners.programs.planning`; γ = V_g^{π₀} − b is the room that the safe policy π₀ has,
β = √(log(16S²AHK/p)/n). Before each episode

    r̃ = r̂ + C_r β,     g̃ = ĝ − C_g β,     C_r = 1 + SH + 4H(1+SH)/γ,   C_g = 1 + SH
    if V_g̃ of π₀ on p̂ is at most b + γ/2 (``margin``): play π₀
    else  max V_r̃  s.t.  V_g̃ ≥ b  on p̂, and π₀ where this cannot be met.

The violation is 0 in every episode, with probability 1 − p.

A γ that is not known is taken for 1. Where the room of π₀ is at most half of that, the test with γ/2 never passes and π₀ is
played for ever; hence ``tuned`` has a smaller ``margin``.

``bonus_scale`` multiplies β. As printed π₀ is played at any K one can run; below 1 no promise of zero violation is left.
``practical`` leaves out the test on π₀ (``test``) and lets an untried pair lead anywhere (``anywhere``): where nothing comes
after it, as printed, it is not worth its utility, and regret grows for ever.

Deviations: an untried pair has H−h+1 more of reward (1 where it may lead anywhere); its utility is −C_g β. Source: notes on
the paper, which have the constants, the test and the program, and a re-implementation that shares an author with it. There
the test on π₀ uses stale arrays, and a mistaken return value makes π₀ the policy of every episode. One constraint, as in the
paper.

References:
    Liu, Zhou, Kalathil, Kumar, Tian. Learning Policies with Zero or Bounded Constraint Violation for Constrained MDPs.
    NeurIPS 2021, arXiv 2106.02684.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Flag, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import REPLANS, Program
from noregret.learners.programs.planning import PlanningLearner
from noregret.learners.registry import register


@register
class OptPessLP(PlanningLearner):
    """``optpess-lp``: optimistic reward, pessimistic utility on the empirical model; is told a safe policy."""

    name = "optpess-lp"
    summary = "OptPess-LP (Liu et al. 2021): optimistic reward, pessimistic utility, by LP; is told a safe policy"
    promise = ("√(H⁵S³AT)/γ", "0 (hard)")
    source = "notes"
    things = ("safe_policy",)
    told = ("safe_policy",)
    several = False
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's bonus"), tuned=(6.37e-05, FOUND), practical=(8.88e-05, FOUND)),
        Number(
            "C_r",
            theory=("1 + S*H + 4*H*(1 + S*H)/gamma", "as printed"),
            tuned=("0.615*(1 + S*H + 4*H*(1 + S*H)/gamma)", FOUND),
            practical=(6.44, FOUND),
        ),
        Number("C_g", theory=("1 + S*H", "as printed"), tuned=("0.0102*(1 + S*H)", FOUND), practical=(0.0039, FOUND)),
        Flag("test", theory=(True, "as printed"), practical=(False, "the program decides")),
        Number("margin", every=("gamma/2", "as printed"), tuned=("0.0385*(gamma/2)", FOUND)),
        Flag(
            "anywhere",
            theory=(False, "n v 1: nothing comes after an untried pair"),
            practical=(True, "else what is not known is not tried"),
        ),
        Word("replan", REPLANS, theory=("always", "as printed"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as printed"), practical=(2, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        H, S, A = self.spec.horizon, self.spec.n_states, self.spec.n_actions
        Z = math.log(16 * S**2 * A * H * self.episodes / c.p)
        return {
            "local": c.bonus_scale * math.sqrt(Z) * np.array([c.C_r, -c.C_g]),
            "hope": np.array([1.0, 0.0]),
            "margin": c.margin if c.test else -math.inf,
            "boxed": c.anywhere,
        }
