r"""OptCMDP and OptCMDP-bonus (Efroni, Mannor, Pirotta 2020, sections 4.1 and 4.2): the optimum of the best plausible CMDP.

Symbols, the radii ρ(x,a,x'), L_p and L_l are those of :mod:`noregret.learners.mirror.opt_primal_dual`, the program that of
:mod:`noregret.learners.programs.planning`. Before each episode

    ``ucrl-opt-lp``      solves  max V_r̃  s.t. V_g̃ ≥ b  over policies and models with |p − p̂| ≤ ρ,  j̃ = ĵ + √(L_l/n)
    ``optcmdp-bonus``    solves the same on the one model p̂,                    j̃ = ĵ + √(L_l/n) + H Σ_x' ρ(x,a,x')

and plays the solution. Both bound the sum of positive parts, hard regret and hard violation.

``bonus_scale`` multiplies all radii.

Deviations: untried pairs, and programs that cannot be met, as in :mod:`noregret.learners.programs.planning` (on the paper's
good event the program can always be met). Source: notes of the paper's programs and radii, confirmed by two published codes
of the extended program, one of them by the authors of DOPE; the constant in L_l is from memory.

References:
    Efroni, Mannor, Pirotta. Exploration-Exploitation in Constrained MDPs. 2020, arXiv 2003.02189.
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
class UCRLOptLP(PlanningLearner):
    """``ucrl-opt-lp``: the best policy in the best plausible model, by the extended linear program."""

    name = "ucrl-opt-lp"
    summary = "OptCMDP (Efroni, Mannor, Pirotta 2020): optimum of the best plausible CMDP, by the extended LP"
    promise = ("√(H³S²AT)", "√(H³S²AT) (hard)")
    source = "notes"
    recalled = "L_l"
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's radii"), tuned=(0.00162, FOUND), practical=(0.0023, FOUND)),
        Word("replan", REPLANS, theory=("always", "as printed"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        L_p, L_l = logarithms(self.spec, self.episodes, c.p)
        local = np.full(1 + self.spec.n_constraints, c.bonus_scale * math.sqrt(L_l))
        return {"local": local, "L": L_p, "scale": c.bonus_scale, "boxed": True}


@register
class OptCMDPBonus(PlanningLearner):
    """``optcmdp-bonus``: the optimum of the empirical model with a bonus on reward and utilities."""

    name = "optcmdp-bonus"
    summary = "OptCMDP-bonus (Efroni, Mannor, Pirotta 2020): optimum of the empirical CMDP with a bonus, by LP"
    promise = ("√(H³S²AT)", "√(H³S²AT) (hard)")
    source = "notes"
    recalled = "L_l"
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's bonus"), tuned=(1.87e-05, FOUND), practical=(2.49e-05, FOUND)),
        Word("replan", REPLANS, theory=("always", "as printed"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        L_p, L_l = logarithms(self.spec, self.episodes, c.p)
        ones = np.ones(1 + self.spec.n_constraints)
        return {"local": c.bonus_scale * math.sqrt(L_l) * ones, "spread": c.bonus_scale * self.spec.horizon * ones, "L": L_p}
