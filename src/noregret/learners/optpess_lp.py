r"""OptPess-LP (Liu, Zhou, Kalathil, Kumar, Tian 2021): optimistic rewards and pessimistic utilities on the empirical model.

Symbols are those of :mod:`noregret.learners.planning`; γ = V_g^{π₀} − b is the room that the safe policy π₀ has,
β = √(log(16S²AHK/p)/n). Before each episode

    r̃ = r̂ + C_r β,     g̃ = ĝ − C_g β,     C_r = 1 + SH + 4H(1+SH)/γ,   C_g = 1 + SH
    if V_g̃ of π₀ on p̂ is at most b + γ/2 (``margin``): play π₀
    else  max V_r̃  s.t.  V_g̃ ≥ b  on p̂, and π₀ where this cannot be met.

The violation is 0 in every episode, with probability 1 − p.

``tuned`` takes a γ that it is not told for 1. Where the room of π₀ is at most half of that, the test with γ/2 never passes and
π₀ is played for ever: ``margin`` has a scale of its own.

Constants: ``theory`` has ``bonus_scale`` 1; π₀ is then played at any K one can run. ``practical`` scales the bonus, has C_r =
25, C_g = 1, leaves out the test on π₀ (``test``), plans when a count has doubled, and lets an untried pair lead anywhere
(``anywhere``): where nothing comes after it, as printed, it is not worth its utility, and regret grows for ever. With such a
bonus no promise of zero violation is left.

Deviations: an untried pair has H−h+1 more of reward (1 where it may lead anywhere); its utility is −C_g β. Source: the
constants by the same group's published re-implementation, whose test on π₀ uses stale arrays; here it is as the paper has it.
One constraint, as in the paper.

References:
    Liu, Zhou, Kalathil, Kumar, Tian. Learning Policies with Zero or Bounded Constraint Violation for Constrained MDPs.
    NeurIPS 2021, arXiv 2106.02684.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.learners.choices import Choices, searched
from noregret.learners.planning import PlanningLearner
from noregret.learners.registry import register
from noregret.problems.base import Spec


@register
class OptPessLP(PlanningLearner):
    """``optpess-lp``: optimistic reward, pessimistic utility on the empirical model; is told a safe policy."""

    name = "optpess-lp"
    summary = "OptPess-LP (Liu et al. 2021): optimistic reward, pessimistic utility, by LP; is told a safe policy"
    promise = ("√(H⁵S³AT)/γ", "0 (hard)")
    source = "code"
    told = ("safe_policy",)
    several = False
    parameters = (
        *PlanningLearner.parameters,
        "C_r",
        "C_g",
        "test",
        "margin",
        "anywhere",
        "safe_policy",
    )
    space = searched(
        theory=(
            "bonus_scale=1e-6:1:log",
            "C_r_scale=1e-3:10:log",
            "C_g_scale=1e-3:10:log",
            "margin_scale=0.01:1:log",
        ),
        practical=(
            "bonus_scale=1e-5:1:log",
            "C_r_scale=0.01:10:log",
            "C_g_scale=0.01:10:log",
            "replan=doubling,squares",
            "tries=1:30:log:int",
        ),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        H, S, A, gap = spec.horizon, spec.n_states, spec.n_actions, choices.gap()
        Z = math.log(16 * S**2 * A * H * K / choices.probability())
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (0.01, "tuned"))
        C = 1.0 + S * H
        C_r = choices.number("C_r", (C + 4 * H * C / gap, f"1+SH+4H(1+SH)/γ, γ={gap:.6g}"), (25.0, "tuned"))
        C_g = choices.number("C_g", (C, "1+SH"), (1.0, "chosen"))
        test = choices.flag("test", True, False, "as printed" if choices.theory else "the program decides")
        margin = choices.number("margin", (gap / 2, f"γ/2, γ={gap:.6g}"))
        reason = "n v 1: nothing comes after an untried pair" if choices.theory else "else what is not known is not tried"
        anywhere = choices.flag("anywhere", False, True, reason)
        local = scale * math.sqrt(Z) * np.array([C_r, -C_g])
        return {"local": local, "hope": np.array([1.0, 0.0]), "margin": margin if test else -math.inf, "boxed": anywhere}
