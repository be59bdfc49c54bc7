r"""UCRL-CMDP (Singh, Gupta, Shroff 2020), its port to episodes: the optimum of the best plausible CMDP, in fixed epochs.

Symbols are those of :mod:`noregret.learners.planning`. At the beginning of an epoch

    max V_r̃  s.t.  V_g̃ ≥ b  over policies and models with |p − p̂| ≤ ρ,     ρ(x,a,x') = √(L/n),   L = log(SAH·T/p)

is solved, and its solution is played to the end of the epoch, T^⅓ steps.

**A port, and the bound is not carried over**: the paper has one endless episode with average rewards and costs. Here an epoch
is ⌈T^⅓/H⌉ episodes, T = KH.

Constants: ``theory`` has ``bonus_scale`` 1; ``practical`` scales the radii and plans when a count has doubled.

Deviations: the paper knows r and g. Here they are means, with the radius √(L/n). Its confidence T^−b has a free power b; here
it is p/T. Untried pairs and programs that cannot be met: see :mod:`noregret.learners.planning`. Source: abstract for the
principle and the bound, third-party code for the set of models (an interval for each probability, ∝ 1/√n) and the epochs T^a;
L from memory.

References:
    Singh, Gupta, Shroff. Learning in Markov Decision Processes under Constraints. 2020, arXiv 2002.12435.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.learners.choices import Choices, searched
from noregret.learners.planning import HOEFFDING, PlanningLearner
from noregret.learners.registry import register
from noregret.problems.base import Spec


@register
class CMDPRL(PlanningLearner):
    """``cmdp-rl``: the extended program with Hoeffding's intervals, at the beginning of each epoch."""

    name = "cmdp-rl"
    summary = "UCRL-CMDP (Singh, Gupta, Shroff 2020), episodic port: best plausible CMDP, in epochs of T^⅓ steps"
    promise = ("T^⅔", "T^⅔")
    source = "memory"
    boxed = True
    replans = ("epochs", "doubling")
    space = searched(
        theory=("bonus_scale=1e-5:1:log",),
        practical=("bonus_scale=1e-5:1:log", "replan=doubling,squares", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        T = K * spec.horizon
        L = math.log(spec.available.size * T / choices.probability())
        scale = choices.number("bonus_scale", (1.0, "the paper's radii"), (1e-3, "tuned"))
        local = np.full(1 + spec.n_constraints, scale * math.sqrt(L))
        length = math.ceil(T ** (1 / 3) / spec.horizon)
        return {"local": local, "L": L, "scale": scale, "interval": HOEFFDING, "length": length}
