r"""OptPrimalDual-CMDP (Efroni, Mannor, Pirotta 2020, Algorithm 4): mirror descent on an optimistic empirical model.

Let n count visits before episode k, p̂ and ĵ the empirical transitions and means (divisor n v 1), I the number of
constraints, ρ (``xi`` here) a bound on the optimal multipliers, δ (``p``) the probability of failure. With

    L_p = log(6SAHK/δ),  L_l = 2 log(6SAH(I+1)K/δ)
    bonus_h(x,a) = √(L_l/n) + H Σ_{x'} [ 2 √(p̂(1−p̂) L_p/n) + (14/3) L_p/n ]

episode k evaluates its policy, backwards from V_{j,H+1} = 0, for the reward and every utility j,

    Q_{j,h} = clip( ĵ_h + bonus_h + p̂_h V_{j,h+1}, 0, H−h+1 ),   V_{j,h} = ⟨π_h, Q_{j,h}⟩

plays it, and steps

    π_h(a|x) ← ∝ π_h(a|x) exp( α (Q_{r,h} + Σ_i Y_i Q_{g_i,h}) ),     α = √(2 log A / (H² (1+Iρ)² K))       (t_K)
    Y_i ← clip( Y_i + η (b_i − V_{g_i,1}), 0, ρ ),                     η = ρ/√(H² I K)                      (1/t_λ)

with Y = 0 and the uniform policy before the first episode, V_{g_i,1} the mean over the start distribution. The printed bonus
exceeds H at any K one can run; ``bonus_scale`` multiplies it.

Deviations: the paper minimises costs and truncates at 0 from below, in utility form this is H−h+1 from above; the lower
truncation at 0 is implied by its model. A pair never tried has Q = H−h+1: the paper's zero row is optimistic for costs
and would be pessimistic here whenever the bonus is scaled down. The policy is kept as logarithms of weights. The printed
dual step has the value of π_k in a model p̃_k that the box does not define; here it is the truncated value on p̂. Source: the
printed box of Algorithm 4; ρ and L_p by notes on the paper; L_l, for rewards that must be learned, from memory.

References:
    Efroni, Mannor, Pirotta. Exploration-Exploitation in Constrained MDPs. 2020, arXiv 2003.02189.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.mirror.descent import MirrorState, mirror_state
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Flag, Number, Resolved, Word, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import ESTIMATES, SCHEDULES, TabularLearner
from noregret.problems.base import Spec


def logarithms(spec: Spec, K: int, p: float) -> tuple[float, float]:
    """L_p and L_l, the logarithms in the radii of transitions and of means.

    Args:
        spec: has the horizon and the numbers of states, actions and constraints.
        K: the number of episodes.
        p: the probability that the guarantees fail.
    """
    base = 6.0 * spec.n_states * spec.n_actions * spec.horizon * K / p
    return math.log(base), 2.0 * math.log(base * (spec.n_constraints + 1))


@register
class OptPrimalDual(TabularLearner):
    """``opt-primal-dual``: optimistic evaluation on the empirical model, mirror descent, projected dual step."""

    name = "opt-primal-dual"
    summary = "OptPrimalDual-CMDP (Efroni, Mannor, Pirotta 2020): optimistic model, mirror descent, dual step"
    promise = ("√(H⁵S²AT)", "√(H⁵S²AT)")
    source = "notes"
    recalled = "L_l"
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's bonus"), tuned=(9.51e-06, FOUND), practical=(9.51e-06, FOUND)),
        Number(
            "alpha",
            theory=("sqrt(2*log(A)/K)/(H*(1 + m*xi))", "as printed"),
            tuned=("788*(sqrt(2*log(A)/K)/(H*(1 + m*xi)))", FOUND),
            practical=("788*(sqrt(2*log(A)/K)/(H*(1 + m*xi)))", FOUND),
        ),
        Number(
            "eta",
            theory=("xi/(H*sqrt(m*K))", "as printed"),
            tuned=("427*(xi/(H*sqrt(m*K)))", FOUND),
            practical=("427*(xi/(H*sqrt(m*K)))", FOUND),
        ),
        Number("xi", theory=("H/gamma", "as printed"), tuned=("6.3*(H/gamma)", FOUND), practical=("6.3*(H/gamma)", FOUND)),
        Word("dual_estimate", ESTIMATES, theory=("optimistic", "as printed"), practical=("optimistic", FOUND)),
        Flag("damping", theory=(False, "as printed"), practical=(False, FOUND)),
        Flag("anti_windup", theory=(False, "as printed"), practical=(False, FOUND)),
        Word("alpha_schedule", SCHEDULES, theory=("fixed", "as printed"), practical=("fixed", FOUND)),
        Word("eta_schedule", SCHEDULES, theory=("fixed", "as printed"), practical=("fixed", FOUND)),
        sharing("all"),
        PROBABILITY,
    )

    def begin(self, c: Resolved) -> MirrorState:
        """No data, the uniform policy, Y = 0."""
        L_p, L_l = logarithms(self.spec, self.episodes, c.p)
        local, transition = c.bonus_scale * math.sqrt(L_l), c.bonus_scale * self.spec.horizon
        return mirror_state(self.spec, c, np.ones(1 + self.spec.n_constraints), local=local, transition=transition, L=L_p)
