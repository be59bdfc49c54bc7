r"""CRPO (Xu, Liang, Lan 2021), its port to episodes: natural policy gradient for the reward, or for a violated constraint.

**A port**: the paper has discounted rewards and a simulator; here the horizon is H and the policy has a step. Episode k plays
π; with estimates of Q and V of π from the simulator (:mod:`noregret.learners.simulated`) it steps

    π_h(a|x) ← ∝ π_h(a|x) exp( α Q_{j,h}(x,a) ),    j = r if V_{g_i,1} ≥ b_i − tol for all i, else a violated i at random

from the uniform policy. There is no dual. The price that is reported is the one that the steps so far amount to: those for
constraint i over those for the reward; where the policy comes to rest it is a dual of the problem.

Constants: ``theory`` has α = 1/(H^1.5 √(SAK)) and tol = H^1.5 √(SA)/√K, the paper's orders with H for 1/(1−γ) and the constants
1; one rollout from each (h,x,a). ``practical``: an empirical model of the draws, α = 5/√K, tol = 0.

Deviations: the paper's output is the mixture of the policies for which all constraints were met; here every policy is played
and counts. Source: two public codes that follow the paper (the steps, the choice); the orders of α and tol from memory. With
constraints that no policy misses it is natural policy gradient.

References:
    Xu, Liang, Lan. CRPO: A New Approach for Safe Reinforcement Learning with Convergence Guarantee. ICML 2021,
    arXiv 2011.05869.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.draws import seed
from noregret.kernels.gradients import Iterate, crpo_choose, crpo_move, evaluate_by_draws
from noregret.kernels.simulator import Simulator
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.simulated import SimulatorLearner, own
from noregret.problems.base import Array, Spec


class CRPOState(NamedTuple):
    """What the next episode needs."""

    one: Iterate
    policy: Array  # (H,S,A) of it
    Y: Array  # (m,) of it
    Q: Array  # (H,J,S,A) of it
    V: Array  # (H+1,J,S) of it
    stream: NDArray[np.uint64]  # (1,)
    uniforms: Array  # (3,) the last one chooses among violated constraints
    tally: NDArray[np.int64]  # (1+m,) steps for the reward and for each constraint
    prices: Array  # (m,) of the last step: 1 for the constraint that it was for
    simulator: Simulator
    rolled: bool
    draws: int
    alpha: float
    tol: float


def plan(state: Any) -> None:
    """Draw, and evaluate the policy; the policy stands."""
    seed(state.stream, state.uniforms[0], state.uniforms[1])
    evaluate_by_draws(state.simulator, state.one, state.rolled, state.draws, state.stream)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """The step of the policy; the episode itself teaches nothing.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    chosen = crpo_choose(state.one, state.prices, state.tol, state.uniforms[2])
    crpo_move(state.one, state.tally, state.prices, chosen, state.alpha)


@register
class CRPO(SimulatorLearner):
    """``crpo``: natural policy gradient for the reward while all constraints are met, else for one that is not."""

    name = "crpo"
    summary = "CRPO (Xu, Liang, Lan 2021), episodic port: rectifies a violated constraint; needs a simulator"
    promise = ("√K (of the mixture)", "√K (of the mixture)")
    parameters = ("alpha", "tol", "draws", "estimate", "simulator")
    space = searched(
        theory=("alpha_scale=0.1:1000:log", "tol_scale=0.001:1:log"),
        practical=("alpha_scale=0.05:20:log", "tol=0:0.1"),
    )

    def _start(self, spec: Spec, K: int, choices: Choices) -> CRPOState:
        H, m, pairs = spec.horizon, spec.n_constraints, spec.n_states * spec.n_actions
        asked = self._asked(spec, choices)
        alpha = choices.number("alpha", (H**-1.5 / math.sqrt(pairs * K), "1/(H^1.5 √(SAK))"), (5.0 / math.sqrt(K), "5/√K"))
        tol = choices.number("tol", (H**1.5 * math.sqrt(pairs / K), "H^1.5 √(SA)/√K"), (0.0, "none: estimates come closer"))
        room: dict[str, Any] = {"uniforms": np.zeros(3), "tally": np.zeros(1 + m, dtype=np.int64), "prices": np.zeros(m)}
        return CRPOState(**own(self._iterate(spec)), **room, **asked, alpha=alpha, tol=tol)


register_kernels(CRPOState, plan, update)
