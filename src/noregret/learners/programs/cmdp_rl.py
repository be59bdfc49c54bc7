r"""UCRL-CMDP (Singh, Gupta, Shroff 2020), its port to episodes: the optimum of the best plausible CMDP, in fixed epochs.

Symbols are those of :mod:`noregret.learners.programs.planning`. At the beginning of an epoch

    max V_r̃  s.t.  V_g̃ ≥ b  over policies and models with |p − p̂| ≤ ρ,     ρ(x,a,x') = √(L/n),   L = log(SAH·T/p)

is solved, and its solution is played to the end of the epoch, T^⅓ steps.

**A port, and the bound is not carried over**: the paper has one endless episode with average rewards and costs. Here an epoch
is ⌈T^⅓/H⌉ episodes, T = KH.

``bonus_scale`` multiplies the radii.

Deviations: the paper knows r and g. Here they are means, with the radius √(L/n). Its confidence T^−b has a free power b; here
it is p/T. Untried pairs and programs that cannot be met: see :mod:`noregret.learners.programs.planning`. Source: abstract for
the principle and the bound, code of Provodin et al. for the set of models (an interval for each probability, ∝ 1/√n; it
has the rounds of C-UCRL and says that the paper has epochs T^a); L from memory.

References:
    Singh, Gupta, Shroff. Learning in Markov Decision Processes under Constraints. 2020, arXiv 2002.12435.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import HOEFFDING, REPLANS, Program
from noregret.learners.programs.planning import PlanningLearner
from noregret.learners.registry import register


@register
class CMDPRL(PlanningLearner):
    """``cmdp-rl``: the extended program with Hoeffding's intervals, at the beginning of each epoch."""

    name = "cmdp-rl"
    summary = "UCRL-CMDP (Singh, Gupta, Shroff 2020), episodic port: best plausible CMDP, in epochs of T^⅓ steps"
    promise = ("T^⅔", "T^⅔")
    source = "notes"
    recalled = "L"
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's radii"), tuned=(0.00204, FOUND), practical=(0.00204, FOUND)),
        Word(
            "replan",
            (*REPLANS, "epochs"),
            theory=("epochs", "as printed"),
            practical=("epochs", FOUND),
        ),
        Count("tries", every=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
        PROBABILITY,
    )

    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""
        T = self.episodes * self.spec.horizon
        L = math.log(self.spec.available.size * T / c.p)
        return {
            "local": np.full(1 + self.spec.n_constraints, c.bonus_scale * math.sqrt(L)),
            "L": L,
            "scale": c.bonus_scale,
            "boxed": True,
            "interval": HOEFFDING,
            "length": math.ceil(T ** (1 / 3) / self.spec.horizon),
        }
