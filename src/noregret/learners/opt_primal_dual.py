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

with Y = 0 and the uniform policy before the first episode, V_{g_i,1} the mean over the start distribution.

Constants: ``theory`` has the above with ρ = H/γ and ``bonus_scale`` 1 (the bonus then exceeds H at any K one can run).
``practical``: ``bonus_scale`` 10⁻⁴, α = 5/√K, η = 0.3, ρ = 2H (2H/γ where γ is known).

Deviations: the paper minimises costs and truncates at 0 from below, in utility form this is H−h+1 from above; the lower
truncation at 0 is implied by its model. A pair never tried has Q = H−h+1: the paper's zero row is optimistic for costs
and would be pessimistic here whenever the bonus is scaled down. The policy is kept as logarithms of weights.

References:
    Efroni, Mannor, Pirotta. Exploration-Exploitation in Constrained MDPs. 2020, arXiv 2003.02189.
"""

from __future__ import annotations

import math

from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.tabular import PACING, MirrorRule, MirrorState, TabularLearner, mirror_state, pacing
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
    source = "memory"
    parameters = ("bonus_scale", "alpha", "eta", "xi", "p", "share", *PACING)
    sharing = ("all",)
    space = searched(
        theory=(
            "bonus_scale=1e-6:1:log", "alpha_scale=1:1e4:log", "eta_scale=0.1:1000:log", "xi_scale=0.1:10:log",
        ),
        practical=(
            "bonus_scale=1e-6:1e-2:log", "alpha_scale=0.1:10:log", "eta_scale=0.03:30:log", "xi_scale=0.1:10:log",
            "dual_estimate=optimistic,plain", "damping=false,true", "anti_windup=false,true", "alpha_schedule=fixed,anytime",
            "eta_schedule=fixed,anytime",
        ),
    )  # fmt: skip

    def _start(self, spec: Spec, K: int, choices: Choices) -> MirrorState:
        H, A, m = spec.horizon, spec.n_actions, spec.n_constraints
        p = choices.probability()
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (1e-4, "tuned"))
        xi = choices.number("xi", (H / choices.gap(), "H/γ"), (2 * H / choices.gap(), "2H/γ, γ unknown taken as 1"))
        own = pacing(spec, choices)
        alpha = choices.number(
            "alpha",
            (math.sqrt(2 * math.log(A) / K) / (H * (1 + m * xi)), "√(2 log A/(H²(1+Iρ)²K))"),
            (5.0, "5/√k") if own.alpha_anytime else (5.0 / math.sqrt(K), "5/√K"),
        )
        constant = (0.3, "tuned; does not shrink with K")
        printed = (xi / (H * math.sqrt(m * K)), "ρ/√(H²IK)")
        eta = choices.number("eta", printed, (3.0, "3/√k") if own.eta_anytime else constant)
        L_p, L_l = logarithms(spec, K, p)
        rule = MirrorRule(scale * math.sqrt(L_l), transition=scale * H, L=L_p, alpha=alpha, theta=0.0, eta=eta, xi=xi)
        return mirror_state(spec, 0.0, rule, choices.share(self.sharing, spec.share) == "all", own)
