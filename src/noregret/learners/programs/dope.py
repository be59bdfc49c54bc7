r"""DOPE (Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland 2022): optimistic rewards, pessimistic utilities, best model.

Symbols are those of :mod:`noregret.learners.programs.planning`; γ = V_g^{π_b} − b is the room that the safe policy π_b has, ρ
and L_l are Efroni's with L = log(2SAHK/p) in ρ. The first K₀ episodes play π_b. Then, before each episode,

    max V_r̃  s.t.  V_g̃ ≥ b  over policies and models with |p − p̂| ≤ ρ
    r̃ = r̂ + √(L_l/n) + C_r Σ_x' ρ(x,a,x'),     g̃ = ĝ − √(L_l/n) − C_g Σ_x' ρ(x,a,x'),     C_r = H²/γ,  C_g = H

and π_b is played where this cannot be met. The violation is 0 in every episode, with probability 1 − p.

``bonus_scale`` multiplies all radii; below 1 no promise of zero violation is left. K₀ is ``safe_episodes``; the printed one is
more than any K one can run. With K₀ = 0 the safe policy is played while the program cannot be met.

Deviations: the paper knows r and g; here they are means with the radius √(L_l/n). An untried pair has at most the reward 1
and no utility, and may lead anywhere. Source: authors' code, line by line, and two sets of notes on the paper. The code has
one model for all steps, log(6S²HK/p) for L, radii of at most 1, knows which transitions are possible, and has H³ in place of
H⁴ in K₀; here K₀ and L are as in the notes. One constraint, as in the paper.

References:
    Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland. DOPE: Doubly Optimistic and Pessimistic Exploration for Safe
    Reinforcement Learning. NeurIPS 2022, arXiv 2112.00885.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.mirror.opt_primal_dual import logarithms
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import REPLANS, Program
from noregret.learners.programs.planning import PlanningLearner
from noregret.learners.registry import register


@register
class DOPE(PlanningLearner):
    """``dope``: doubly optimistic, pessimistic for the constraint; is told a safe policy."""

    name = "dope"
    summary = "DOPE (Bura et al. 2022): optimistic reward and model, pessimistic utility; is told a safe policy"
    promise = ("S√(AK)", "0 (hard)")
    source = "code"
    things = ("safe_policy",)
    told = ("safe_policy",)
    several = False
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's radii"), tuned=(4.61e-05, FOUND), practical=(5.19e-05, FOUND)),
        Number("C_r", theory=("H**2/gamma", "as printed"), tuned=("1.68*(H**2/gamma)", FOUND), practical=(20.875, FOUND)),
        Number("C_g", theory=("H", "as printed"), tuned=("0.0471*H", FOUND), practical=(3.52, FOUND)),
        Number(
            "safe_episodes",
            theory=("S**2*A*H**4/gamma**2", "the paper's order; its factor and logarithms are not known to us"),
            tuned=("4.54e-07*(S**2*A*H**4/gamma**2)", FOUND),
            practical=(0, "the program decides"),
        ),
        Word("replan", REPLANS, theory=("always", "as printed"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        K, p, scale = self.episodes, c.p, c.bonus_scale
        sign, local = np.array([1.0, -1.0]), scale * math.sqrt(logarithms(self.spec, K, p)[1])
        return {
            "local": local * sign,
            "spread": scale * np.array([c.C_r, -c.C_g]),
            "hope": np.maximum(sign, 0.0),
            "scale": scale,
            "L": math.log(2 * self.spec.n_states * self.spec.n_actions * self.spec.horizon * K / p),
            "boxed": True,
            "first": int(min(math.ceil(c.safe_episodes), K)),
        }
