r"""OPDOP (Ding, Wei, Yang, Wang, Jovanović 2021): optimistic evaluation, mirror descent with mixing, dual step.

Let α be the step of the policy, θ the weight of uniform mixing, η the step and χ (``xi`` here) the cap of the dual, β the
bonus, λ the ridge, n the visits before episode k. Before the first episode π is uniform and Y = 0: the paper has Y⁰ = 0 and
V_g⁰ = b. Episode k plays π, evaluates it backwards from V_{j,H+1} = 0 for j in {r, g},

    Q_{j,h} = clip( ĵ_h + p̂_h V_{j,h+1} + 2β(n+λ)^-1/2, 0, H−h+1 ),   V_{j,h} = ⟨π_h, Q_{j,h}⟩

with p̂ = n(x,a,x')/(n(x,a)+λ), ĵ = Σj/(n+λ), and then, with these Q and V and the Y that is older than this V,

    π_h(a|x) ← ∝ ((1−θ) π_h(a|x) + θ/A) exp( α (Q_{r,h} + Y Q_{g,h}) ),    Y ← clip( Y + η (b − V_{g,1}), 0, χ ).

This is the paper's variant for tables: its Algorithm 1 with its Algorithm 3, and the constants of its Theorem 2. Its
linear-kernel algorithm, which regresses on the values of past episodes, is not here. The constant C₁ of the paper's bonus is
taken as 1. With the steps that a search finds the policy is random enough to explore by itself, so that smaller bonuses do
better on the problems tried.

Deviations: a pair never tried has Q = H−h+1 (in ``theory`` the bonus gives that anyhow). With a start distribution V_{g,1} is
its mean over it; the paper has one start. One constraint, as in the paper. Source: the paper, line by line.

References:
    Ding, Wei, Yang, Wang, Jovanović. Provably Efficient Safe Exploration via Primal-Dual Policy Optimization. AISTATS 2021,
    arXiv 2003.00534.
"""

from __future__ import annotations

import numpy as np

from noregret.learners.mirror.descent import MirrorState, mirror_state
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Flag, Number, Resolved, Word, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import ESTIMATES, SCHEDULES, TabularLearner


@register
class OPDOP(TabularLearner):
    """``opdop``: optimistic primal-dual proximal policy optimisation, on tables."""

    name = "opdop"
    summary = "OPDOP (Ding et al. 2021): optimistic evaluation, mirror descent with mixing, dual step"
    promise = ("√(d²H⁵T)", "√(d²H⁵T)")
    source = "paper"
    several = False
    table = Constants(
        Number(
            "beta",
            theory=("H*sqrt(S*log(S*A*K*H/p))", "the paper's bonus, with its C₁ taken as 1"),
            tuned=("1.81e-05*(H*sqrt(S*log(S*A*K*H/p)))", FOUND),
            practical=("1.81e-05*(H*sqrt(S*log(S*A*K*H/p)))", FOUND),
        ),
        Number("lam", above=0.0, theory=(1, "as printed"), tuned=(0.00213, FOUND), practical=(0.00213, FOUND)),
        Number(
            "alpha",
            theory=("sqrt(log(A)/K)/H**2", "as printed"),
            tuned=("219*(sqrt(log(A)/K)/H**2)", FOUND),
            practical=("219*(sqrt(log(A)/K)/H**2)", FOUND),
        ),
        Number("theta", most=1.0, every=("1/K", "as printed")),
        Number(
            "eta",
            theory=("1/sqrt(K)", "as printed"),
            tuned=("346*(1/sqrt(K))", FOUND),
            practical=("346*(1/sqrt(K))", FOUND),
        ),
        Number(
            "xi",
            theory=("2*H/gamma", "as printed"),
            tuned=("0.85*(2*H/gamma)", FOUND),
            practical=("0.85*(2*H/gamma)", FOUND),
        ),
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
        return mirror_state(self.spec, c, np.ones(2), lam=c.lam, local=2 * c.beta, theta=c.theta)
