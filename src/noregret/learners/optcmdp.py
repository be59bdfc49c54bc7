r"""OptCMDP and OptCMDP-bonus (Efroni, Mannor, Pirotta 2020, sections 4.1 and 4.2): the optimum of the best plausible CMDP.

Symbols, the radii ρ(x,a,x'), L_p and L_l are those of :mod:`noregret.learners.opt_primal_dual`, the program that of
:mod:`noregret.learners.planning`. Before each episode

    ``ucrl-opt-lp``      solves  max V_r̃  s.t. V_g̃ ≥ b  over policies and models with |p − p̂| ≤ ρ,  j̃ = ĵ + √(L_l/n)
    ``optcmdp-bonus``    solves the same on the one model p̂,                    j̃ = ĵ + √(L_l/n) + H Σ_x' ρ(x,a,x')

and plays the solution. Both bound the sum of positive parts, hard regret and hard violation.

Constants: ``theory`` has ``bonus_scale`` 1 and plans before each episode, as printed. ``practical`` scales all radii and
plans when a count has doubled.

Deviations: untried pairs, and programs that cannot be met, as in :mod:`noregret.learners.planning` (on the paper's good event
the program can always be met). Source: secondary notes of the paper's programs and radii, confirmed by two published codes of
the extended program; the constant in L_l is from memory.

References:
    Efroni, Mannor, Pirotta. Exploration-Exploitation in Constrained MDPs. 2020, arXiv 2003.02189.
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
class UCRLOptLP(PlanningLearner):
    """``ucrl-opt-lp``: the best policy in the best plausible model, by the extended linear program."""

    name = "ucrl-opt-lp"
    summary = "OptCMDP (Efroni, Mannor, Pirotta 2020): optimum of the best plausible CMDP, by the extended LP"
    promise = ("√(H³S²AT)", "√(H³S²AT) (hard)")
    source = "memory"
    boxed = True
    space = searched(
        theory=("bonus_scale=1e-5:1:log",),
        practical=("bonus_scale=1e-5:1:log", "replan=doubling,squares", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        L_p, L_l = logarithms(spec, K, choices.probability())
        scale = choices.number("bonus_scale", (1.0, "the paper's radii"), (2e-3, "tuned"))
        return {"local": np.full(1 + spec.n_constraints, scale * math.sqrt(L_l)), "L": L_p, "scale": scale}


@register
class OptCMDPBonus(PlanningLearner):
    """``optcmdp-bonus``: the optimum of the empirical model with a bonus on reward and utilities."""

    name = "optcmdp-bonus"
    summary = "OptCMDP-bonus (Efroni, Mannor, Pirotta 2020): optimum of the empirical CMDP with a bonus, by LP"
    promise = ("√(H³S²AT)", "√(H³S²AT) (hard)")
    source = "memory"
    space = searched(
        theory=("bonus_scale=1e-6:1:log",),
        practical=("bonus_scale=1e-6:1:log", "replan=doubling,squares", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        L_p, L_l = logarithms(spec, K, choices.probability())
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (3e-5, "tuned"))
        each = np.ones(1 + spec.n_constraints)
        return {"local": scale * math.sqrt(L_l) * each, "spread": scale * spec.horizon * each, "L": L_p}
