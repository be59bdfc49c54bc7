r"""UOpt-RPGPD (Kitamura, Kozuno, Kato, Ichihara, Nishimori, Sannai, Sonoda, Kumagai, Matsuo 2024): regularisation that fades.

It is the regularised primal-dual of :mod:`noregret.learners.mirror.regularized_primal_dual`, whose formulas it has, with steps
and regularisation that need no number of episodes,

    α_k = α (k+3)^−s,   η_k = η (k+3)^−s,   τ_k = τ (k+3)^−t        (k = 0, 1, ...; s is ``step_power``, t is ``tau_power``)

no cap of the prices, and a bonus whose radii hold for all n at once, which is what makes its guarantee uniform in accuracy:

    bonus = bonus_scale (Σ_x' √p̂(x'|x,a) f + 5f²),    f² = (2 log log max(2n, e) + 2 log(48S²AH/p))/n.

Deviations: published code weighs the entropy of each action by its probability once more, which is not the entropy; here V_r
has Σ_a π (Q_r − τ log π). Published code knows reward and utilities; here they are means with the same bonus. Published code
takes in episode k and then evaluates the policy that was played; here the policy is evaluated before, on the data of episodes
before k, as in the other learners. The authors' dual step weighs the old Q_g of step 1 with the updated policy; here with the
one that was played. They differ by the order of one step of the policy. A pair never tried has Q at its cap; in published code
it leads anywhere. Source: authors' code, line by line; the order of its guarantee from memory.

References:
    Kitamura et al. A Policy Gradient Primal-Dual Algorithm for Constrained MDPs with Uniform PAC Guarantees. 2024,
    arXiv 2401.17780.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.mirror.descent import MirrorState, mirror_state
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Number, Resolved, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner


@register
class UOptRPGPD(TabularLearner):
    """``uopt-rpgpd``: regularised primal-dual whose steps and regularisation fade, for any number of episodes."""

    name = "uopt-rpgpd"
    summary = "UOpt-RPGPD (Kitamura et al. 2024): regularised primal-dual with fading steps, uniform-PAC bonus"
    promise = ("K^(6/7), hard", "K^(6/7), hard")
    source = "code"
    table = Constants(
        Number("bonus_scale", theory=(1, "the radii as printed"), tuned=(2.31e-05, FOUND), practical=(2.31e-05, FOUND)),
        Number("alpha", theory=("eta", "the same step"), tuned=("0.0387*(eta)", FOUND), practical=("0.0387*(eta)", FOUND)),
        Number("eta", theory=(1, "as in published code"), tuned=(23.0, FOUND), practical=(23.0, FOUND)),
        Number("tau", theory=(1, "as in published code"), tuned=(0.487, FOUND), practical=(0.487, FOUND)),
        Number("step_power", theory=(0.53, "as in published code"), practical=(0.53, FOUND)),
        Number("tau_power", theory=(0.4, "as in published code"), practical=(0.4, FOUND)),
        Number("xi", infinite=True, every=("inf", "the prices have no cap")),
        sharing("all"),
        PROBABILITY,
    )

    def begin(self, c: Resolved) -> MirrorState:
        """No data, the uniform policy, Y = 0."""
        L = math.log(48 * self.spec.n_states**2 * self.spec.n_actions * self.spec.horizon / c.p)
        beta = np.full(1 + self.spec.n_constraints, c.bonus_scale)
        fading = {"tau": c.tau, "step_power": c.step_power, "tau_power": c.tau_power}
        return mirror_state(self.spec, c, beta, iterated=True, L=L, **fading)
