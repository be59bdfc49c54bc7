r"""CRPO (Xu, Liang, Lan 2021), its port to episodes: natural policy gradient for the reward, or for a violated constraint.

**A port**: the paper has discounted rewards and a simulator; here the horizon is H and the policy has a step. Episode k plays
π; with estimates of Q and V of π from the simulator (:mod:`noregret.learners.simulator.simulated`) it steps

    π_h(a|x) ← ∝ π_h(a|x) exp( α Q_{j,h}(x,a) ),    j = r if V_{g_i,1} ≥ b_i − tol for all i, else a violated i at random

from the uniform policy. There is no dual. The price that is reported is the one that the steps so far amount to: those for
constraint i over those for the reward; where the policy comes to rest it is a dual of the problem.

The constants of ``theory`` are the paper's orders with H for 1/(1−γ), and factors 1.

Deviations: the paper's output is the mixture of the policies for which all constraints were met; here every policy is played
and counts. Source: two codes of others that follow the paper, line by line (the steps, the choice), and a summary of it that
has the same orders of α and tol. With constraints that no policy misses it is natural policy gradient.

References:
    Xu, Liang, Lan. CRPO: A New Approach for Safe Reinforcement Learning with Convergence Guarantee. ICML 2021,
    arXiv 2011.05869.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import add_body
from noregret.kernels.steps.gradients import crpo_choose, crpo_move
from noregret.kernels.types import COUNTS, Array, Integers
from noregret.learners.presets import FOUND, Constants, Number, Resolved
from noregret.learners.registry import register
from noregret.learners.simulator.simulated import DRAWS, ESTIMATE, SimulatorLearner, SimulatorState, evaluate, look, move


class Rectified(NamedTuple):
    """The constants of the steps, and how many were made for what."""

    alpha: float
    tol: float
    tally: Integers  # (1+m,) steps for the reward and for each constraint
    prices: Array  # (m,) of the last step: 1 for the constraint that it was for

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"tally": COUNTS}


def step(method: Rectified, state: SimulatorState) -> None:
    """The step of the policy; the last uniform chooses among violated constraints."""
    chosen = crpo_choose(state.tables, method.prices, method.tol, state.uniforms[2])
    crpo_move(state.tables, method.tally, method.prices, chosen, method.alpha)


@register
class CRPO(SimulatorLearner):
    """``crpo``: natural policy gradient for the reward while all constraints are met, else for one that is not."""

    name = "crpo"
    summary = "CRPO (Xu, Liang, Lan 2021), episodic port: rectifies a violated constraint; needs a simulator"
    promise = ("√K (of the mixture)", "√K (of the mixture)")
    table = Constants(
        Number(
            "alpha",
            theory=("H**-1.5/sqrt(S*A*K)", "the paper's order"),
            tuned=("744*(H**-1.5/sqrt(S*A*K))", FOUND),
            practical=("5.42*(5/sqrt(K))", FOUND),
        ),
        Number(
            "tol",
            theory=("H**1.5*sqrt(S*A/K)", "the paper's order"),
            tuned=("0.0868*(H**1.5*sqrt(S*A/K))", FOUND),
            practical=(0.00251, FOUND),
        ),
        DRAWS,
        ESTIMATE,
    )

    def begin(self, c: Resolved) -> SimulatorState:
        """The uniform policy, no step made."""
        m = self.spec.n_constraints
        method = Rectified(c.alpha, c.tol, np.zeros(1 + m, dtype=np.int64), np.zeros(m))
        return self.on(self.iterate(), c, method, uniforms=3)


add_body(look, Rectified, evaluate)
add_body(move, Rectified, step)
