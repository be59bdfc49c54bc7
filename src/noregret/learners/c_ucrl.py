r"""C-UCRL (Zheng and Ratliff 2020), its port to episodes: optimistic rewards, pessimistic utilities, rounds that begin safely.

Symbols are those of :mod:`noregret.learners.planning`. Round i = 1, 2, ... plays one episode of a safe policy, then i−1
episodes of the solution, found once in the round, of

    max V_r̃  s.t.  V_g̃ ≥ b   on p̂,     r̃ = r̂ + β,  g̃ = ĝ − β,     β = √( log(SAH(1+m)π²K²/(3p)) / (2n) )

**A port, and the bound is not carried over**: the paper has one endless episode with average rewards and *knows the
transitions*; its round i has h steps of the safe policy and h(i−1) of the plan. Here the transitions are estimated, and β
does not cover their error.

Constants: ``theory`` has ``bonus_scale`` 1; ``practical`` scales the bonus. Both plan once in a round; ``replan`` "always" or
"doubling" drops the rounds, and with them the safe episodes. With such a bonus no promise of zero violation is left.

Deviations: an untried pair has the reward 1 and no utility, and may lead anywhere, as nothing is feared from transitions that
the paper knows. A program that cannot be met is answered by the safe policy. Source: third-party code for rounds and signs,
the paper's lemma on 6δ/(π²t²) for the union bound in β; the rest from memory.

References:
    Zheng, Ratliff. Constrained Upper Confidence Reinforcement Learning. L4DC 2020, arXiv 2001.09377.
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
class CUCRL(PlanningLearner):
    """``c-ucrl``: rounds of a safe episode and a plan with pessimistic utilities; is told a safe policy."""

    name = "c-ucrl"
    summary = "C-UCRL (Zheng, Ratliff 2020), episodic port: rounds, pessimistic utilities; is told a safe policy"
    promise = ("T^¾ (P known)", "0 (P known)")
    source = "memory"
    told = ("safe_policy",)
    parameters = (*PlanningLearner.parameters, "safe_policy")
    replans = ("rounds", "rounds")
    boxed = True
    space = searched(
        theory=("bonus_scale=1e-5:1:log",),
        practical=("bonus_scale=1e-5:1:log", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        J = 1 + spec.n_constraints
        L = math.log(spec.available.size * J * math.pi**2 * K**2 / (3 * choices.probability()))
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (2e-3, "tuned"))
        sign = np.array([1.0] + [-1.0] * (J - 1))
        return {"local": scale * math.sqrt(L / 2) * sign, "hope": np.maximum(sign, 0.0), "scale": 0.0}
