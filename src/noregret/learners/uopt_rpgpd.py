r"""UOpt-RPGPD (Kitamura, Kozuno, Kato, Ichihara, Nishimori, Sannai, Sonoda, Kumagai, Matsuo 2024): regularisation that fades.

It is the regularised primal-dual of :mod:`noregret.learners.regularized_primal_dual`, whose formulas it has, with steps and
regularisation that need no number of episodes,

    α_k = η_k = η (k+3)^(−0.53),   τ_k = τ (k+3)^(−0.4)        (k = 0, 1, ...; η = τ = 1)

no cap of the prices, and a bonus whose radii hold for all n at once, which is what makes its guarantee uniform in accuracy:

    bonus = bonus_scale (Σ_x' √p̂(x'|x,a) f + 5f²),    f² = (2 log log max(2n, e) + 2 log(48S²AH/p))/n.

Constants: ``theory`` has the above with ``bonus_scale`` 1. ``practical`` has ``bonus_scale`` 10⁻³, as published code, τ = 0.1
and η = 3 for the prices.

Deviations: published code weighs the entropy of each action by its probability once more, which is not the entropy; here V_r
has Σ_a π (Q_r − τ log π). It knows reward and utilities, here they are means with the same bonus. It takes in episode k and
then evaluates the policy that was played; here the policy is evaluated before, on the data of episodes before k, as in the
other learners. A pair never tried has Q at its cap; there it leads anywhere. Source: authors' code; the
order of its guarantee from memory.

References:
    Kitamura et al. A Policy Gradient Primal-Dual Algorithm for Constrained MDPs with Uniform PAC Guarantees. 2024,
    arXiv 2401.17780.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.regularized_primal_dual import ITERATED, RegularRule, RegularState, regular_state
from noregret.learners.tabular import TabularLearner
from noregret.problems.base import Spec


@register
class UOptRPGPD(TabularLearner):
    """``uopt-rpgpd``: regularised primal-dual whose steps and regularisation fade, for any number of episodes."""

    name = "uopt-rpgpd"
    summary = "UOpt-RPGPD (Kitamura et al. 2024): regularised primal-dual with fading steps, uniform-PAC bonus"
    promise = ("K^(6/7), hard", "K^(6/7), hard")
    parameters = (
        "bonus_scale", "alpha", "eta", "tau", "step_power", "tau_power", "xi", "p", "share",
    )  # fmt: skip
    sharing = ("all",)
    source = "code"
    space = searched(
        theory=("bonus_scale=1e-6:1:log", "alpha_scale=0.01:30:log", "eta_scale=0.01:30:log", "tau_scale=1e-4:1:log"),
        practical=(
            "bonus_scale=1e-6:0.1:log", "alpha_scale=0.03:30:log", "eta_scale=0.03:30:log", "tau_scale=0.01:10:log",
            "step_power=0:0.7", "tau_power=0.2:0.8",
        ),
    )  # fmt: skip

    def _start(self, spec: Spec, K: int, choices: Choices) -> RegularState:
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        p = choices.probability()
        scale = choices.number("bonus_scale", (1.0, "the radii as printed"), (1e-3, "as in published code"))
        eta = choices.number("eta", (1.0, "η_k = (k+3)^(−0.53)"), (3.0, "tuned"))
        alpha = choices.number("alpha", (eta, "η"), (1.0, "tuned"))
        tau = choices.number("tau", (1.0, "τ_k = (k+3)^(−0.4)"), (0.1, "tuned"))
        rule = RegularRule(
            np.full(1 + m, scale), alpha, eta, tau,
            step_power=choices.number("step_power", (0.53, "as in published code")),
            tau_power=choices.number("tau_power", (0.4, "as in published code")),
            xi=choices.number("xi", (math.inf, "none"), infinite=True),
            bonus=ITERATED, L=math.log(48 * S**2 * A * H / p),
        )  # fmt: skip
        return regular_state(spec, rule, choices.share(self.sharing, spec.share) == "all")
