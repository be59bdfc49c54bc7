r"""DOPE (Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland 2022): optimistic rewards, pessimistic utilities, best model.

Symbols are those of :mod:`noregret.learners.planning`; γ = V_g^{π_b} − b is the room that the safe policy π_b has, ρ and L_l
are Efroni's with L = log(2SAHK/p) in ρ. The first K₀ episodes play π_b. Then, before each episode,

    max V_r̃  s.t.  V_g̃ ≥ b  over policies and models with |p − p̂| ≤ ρ
    r̃ = r̂ + √(L_l/n) + C_r Σ_x' ρ(x,a,x'),     g̃ = ĝ − √(L_l/n) − C_g Σ_x' ρ(x,a,x'),     C_r = H²/γ,  C_g = H

and π_b is played where this cannot be met. The violation is 0 in every episode, with probability 1 − p.

Constants: ``theory`` has ``bonus_scale`` 1 and K₀ = S²AH⁴/γ² (``safe_episodes``; its constant and logarithms are not known to
us), more than any K one can run. ``practical`` scales all radii, has C_r = 25, C_g = 1 and K₀ = 0: π_b is played while the
program cannot be met. With such a bonus no promise of zero violation is left.

Deviations: the paper knows r and g; here they are means with the radius √(L_l/n). An untried pair has at most the reward 1
and no utility, and may lead anywhere. Source: authors' code and two sets of notes on the paper; K₀ of the code has H³ in
place of H⁴. One constraint, as in the paper.

References:
    Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland. DOPE: Doubly Optimistic and Pessimistic Exploration for Safe
    Reinforcement Learning. NeurIPS 2022, arXiv 2112.00885.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.learners.choices import Choices, searched
from noregret.learners.opt_primal_dual import logarithms
from noregret.learners.planning import PlanningLearner
from noregret.learners.registry import register
from noregret.problems.base import Spec


@register
class DOPE(PlanningLearner):
    """``dope``: doubly optimistic, pessimistic for the constraint; is told a safe policy."""

    name = "dope"
    summary = "DOPE (Bura et al. 2022): optimistic reward and model, pessimistic utility; is told a safe policy"
    promise = ("S√(AK)", "0 (hard)")
    source = "code"
    told = ("safe_policy",)
    several = False
    boxed = True
    parameters = (*PlanningLearner.parameters, "C_r", "C_g", "safe_episodes", "safe_policy")
    space = searched(
        theory=(
            "bonus_scale=1e-6:1:log",
            "C_r_scale=1e-3:10:log",
            "C_g_scale=1e-3:10:log",
            "safe_episodes_scale=1e-8:1e-3:log",
        ),
        practical=(
            "bonus_scale=1e-6:1:log",
            "C_r_scale=0.01:10:log",
            "C_g_scale=0.01:10:log",
            "replan=doubling,squares",
            "tries=1:30:log:int",
        ),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        H, S, A, p, gap = spec.horizon, spec.n_states, spec.n_actions, choices.probability(), choices.gap()
        scale = choices.number("bonus_scale", (1.0, "the paper's radii"), (1e-4, "tuned"))
        C_r = choices.number("C_r", (H**2 / gap, f"H²/γ, γ={gap:.6g}"), (25.0, "tuned"))
        C_g = choices.number("C_g", (float(H), "H"), (1.0, "chosen"))
        first = choices.number("safe_episodes", (S**2 * A * H**4 / gap**2, "S²AH⁴/γ²"), (0.0, "the program decides"))
        sign, local = np.array([1.0, -1.0]), scale * math.sqrt(logarithms(spec, K, p)[1])
        return {
            "local": local * sign, "spread": scale * np.array([C_r, -C_g]), "hope": np.maximum(sign, 0.0), "scale": scale,
            "L": math.log(2 * S * A * H * K / p), "first": int(min(math.ceil(first), K)),
        }  # fmt: skip
