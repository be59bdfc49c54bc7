r"""Regularised primal-dual (Müller, Alatur, Cevher, Ramponi, He 2024): a saddle point that single iterates come to rest at.

A plain primal-dual method circles its saddle point: the policies are right on average, and most single ones are wrong. Here
the Lagrangian has two more terms, the entropy 𝓗 of the policy over an episode and the square of the prices,

    L_τ(π, Y) = V_r + Σ_i Y_i (V_{g_i} − b_i) + τ 𝓗(π) + (τ/2) ‖Y‖²        (max over π, min over Y in [0, ξ])

so that both players have one best answer, and the last iterate comes to rest near the constrained optimum. That is why its
theorem bounds the sums of positive parts, hard regret and hard violation.

Let n count visits before episode k, p̂ and ĵ be the empirical transitions and means, A the number of actions, I that of
constraints. Episode k evaluates its policy, backwards from V_{j,H+1} = 0,

    Q_{r,h} = clip( r̂_h + bonus_r + p̂_h V_{r,h+1}, 0, (1 + τ log A)(H−h+1) ),     V_{r,h} = Σ_a π_h (Q_{r,h} − τ log π_h)
    Q_{g,h} = clip( ĝ_h + bonus_g + p̂_h V_{g,h+1}, 0, H−h+1 ),                     V_{g,h} = Σ_a π_h Q_{g,h}

plays it, and steps

    π_h(a|x) ← ∝ π_h(a|x)^(1−ατ) exp( α (Q_{r,h} + Σ_i Y_i Q_{g_i,h}) )
    Y_i ← clip( (1−ητ) Y_i + η (b_i − V_{g_i,1}), 0, ξ ).

Where a step is so long that 1−ατ or 1−ητ is below 0, it counts as 0 here; with the printed constants it never is.

The step of the policy is the mirror step with the Q of the reward r − τ log π, written out. With bonuses w_l/√n for means and
w_p/√n for transitions, w_l = √(2 log(2SAH(I+1)K/p)), w_p = H√(4S log(3SAHK/p)), bonus_g = (w_l + w_p)/√n, and bonus_r has
τ w_p log A/√n more, for the entropy of the steps to come.

With the exponents of ``theory`` the two largest terms of the bound, K√τ for the bias and √(K/(ητ)) for the way to the saddle
point, are both K^(13/14), the K^0.93 of the abstract. In ``practical`` the dual and the policy have steps of their own.

Deviations: reward and entropy of the steps to come are truncated together, as in :mod:`noregret.learners.mirror.uopt_rpgpd`;
whether the paper does so could not be checked. A pair never tried has Q at its cap. Source: the abstract, for the setting and
the order; formulas and constants from memory, exponents checked as said; the radii are those of Shani, Efroni, Rosenberg,
Mannor (2020).

References:
    Müller, Alatur, Cevher, Ramponi, He. Truly No-Regret Learning in Constrained MDPs. ICML 2024, arXiv 2402.15776.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.mirror.descent import MirrorState, mirror_state
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Number, Resolved, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner


@register
class RegularizedPrimalDual(TabularLearner):
    """``regularized-primal-dual``: entropy for the policy and a square for the prices, so that single iterates converge."""

    name = "regularized-primal-dual"
    summary = (
        "regularised primal-dual (Müller et al. 2024, truly no-regret): entropy and squared prices, the last iterate converges"
    )
    promise = ("K^(13/14), hard", "K^(13/14), hard")
    source = "memory"
    table = Constants(
        Number("bonus_scale", theory=(1, "the radii as remembered"), tuned=(0.000329, FOUND), practical=(8.09e-06, FOUND)),
        Number("alpha", theory=("eta", "the same step"), tuned=("2.92*(eta)", FOUND), practical=("0.25*(15/sqrt(K))", FOUND)),
        Number(
            "eta",
            theory=("gamma**2*K**(-5/7)/(H**2*m)", "from memory; the exponent agrees with the bound"),
            tuned=("287*(gamma**2*K**(-5/7)/(H**2*m))", FOUND),
            practical=(1.134, FOUND),
        ),
        Number(
            "tau",
            theory=("K**(-1/7)", "from memory; the exponent agrees with the bound"),
            tuned=("0.101*(K**(-1/7))", FOUND),
            practical=("0.767*(1/sqrt(K))", FOUND),
        ),
        Number(
            "xi",
            theory=("H*(1 + tau*log(A))/gamma", "from memory: a bound on the optimal prices"),
            practical=("2*H/gamma", "as in the other learners; γ unknown is taken as 1"),
        ),
        sharing("all"),
        PROBABILITY,
    )

    def begin(self, c: Resolved) -> MirrorState:
        """No data, the uniform policy, Y = 0."""
        H, S, A, m = self.spec.horizon, self.spec.n_states, self.spec.n_actions, self.spec.n_constraints
        K, p, scale = self.episodes, c.p, c.bonus_scale
        means = math.sqrt(2 * math.log(2 * S * A * H * (m + 1) * K / p))
        moves = H * math.sqrt(4 * S * math.log(3 * S * A * H * K / p))
        beta = np.full(1 + m, scale * (means + moves))
        beta[0] += scale * c.tau * math.log(A) * moves
        return mirror_state(self.spec, c, beta, tau=c.tau)
