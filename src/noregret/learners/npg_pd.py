r"""NPG-PD (Ding, Zhang, Başar, Jovanović 2020), its port to episodes: natural policy gradient, projected dual step.

**A port**: the paper has discounted rewards, one endless episode and a simulator. Here the horizon is H and the policy has a
step. Episode k plays π; with estimates of Q and V of π from the simulator (:mod:`noregret.learners.simulated`) it steps

    π_h(a|x) ← ∝ π_h(a|x) exp( α (Q_{r,h} + Σ_i Y_i Q_{g_i,h}) ),      Y_i ← clip( Y_i + η (b_i − V_{g_i,1}), 0, ξ )

from the uniform policy and Y = 0. In the paper the exponent is η₁ A/(1−γ): the factor 1/(1−γ) is that of the visitation, which
is 1 for each of H steps; the advantage A in place of Q changes nothing, as the policy is normalised.

Constants: ``theory`` has α = 2 log A, η = 1/(H√K), ξ = 2H/γ, the paper's with H for 1/(1−γ), and one rollout from each (h,x,a).
``practical``: an empirical model of the draws, α = 5/√K, η = 0.3, ξ = 2H (2H/γ where γ is known), as the other learners that
move by mirror descent.

Deviations: any number of constraints, with a price each. The paper's theorem is on averages with exact gradients, for which see
:func:`noregret.solve` with ``method="npg-pd"``. Source: notes on the paper and two public codes that follow it (the steps, the
sampled estimates); η from memory.

References:
    Ding, Zhang, Başar, Jovanović. Natural Policy Gradient Primal-Dual Method for Constrained Markov Decision Processes.
    NeurIPS 2020.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.draws import seed
from noregret.kernels.gradients import Iterate, evaluate_by_draws, npg_pd_step
from noregret.kernels.simulator import Simulator
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.simulated import SimulatorLearner, own
from noregret.problems.base import Array, Spec
from noregret.theory.gradients import npg_pd_steps


class NPGPDState(NamedTuple):
    """What the next episode needs."""

    one: Iterate
    policy: Array  # (H,S,A) of it
    Y: Array  # (m,) of it
    Q: Array  # (H,J,S,A) of it
    V: Array  # (H+1,J,S) of it
    stream: NDArray[np.uint64]  # (1,)
    uniforms: Array  # (2,)
    simulator: Simulator
    rolled: bool
    draws: int
    alpha: float
    eta: float
    xi: float


def plan(state: Any) -> None:
    """Draw, and evaluate the policy; the policy stands."""
    seed(state.stream, state.uniforms[0], state.uniforms[1])
    evaluate_by_draws(state.simulator, state.one, state.rolled, state.draws, state.stream)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """The steps of the policy and of the prices; the episode itself teaches nothing.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    npg_pd_step(state.one, state.alpha, state.eta, state.xi)


@register
class NPGPD(SimulatorLearner):
    """``npg-pd``: natural policy gradient on the Lagrangian, projected dual step; needs a simulator."""

    name = "npg-pd"
    summary = "NPG-PD (Ding et al. 2020), episodic port: natural policy gradient, dual step; needs a simulator"
    promise = ("√K (exact gradients)", "√K (exact gradients)")
    parameters = ("alpha", "eta", "xi", "draws", "estimate", "simulator")
    space = searched(
        theory=("alpha_scale=0.001:10:log", "eta_scale=0.1:1000:log"),
        practical=("alpha_scale=0.05:20:log", "eta_scale=0.03:10:log"),
    )

    def _start(self, spec: Spec, K: int, choices: Choices) -> NPGPDState:
        H, A = spec.horizon, spec.n_actions
        asked = self._asked(spec, choices)
        xi = choices.number("xi", (2 * H / choices.gap(), "2H/γ" + ("" if choices.slater_gap else ", γ unknown taken as 1")))
        printed = npg_pd_steps(H=H, A=A, T=K)
        alpha = choices.number("alpha", (printed[0], "2 log A"), (5.0 / math.sqrt(K), "5/√K"))
        eta = choices.number("eta", (printed[1], "1/(H√K)"), (0.3, "tuned; does not shrink with K"))
        return NPGPDState(**own(self._iterate(spec)), uniforms=np.zeros(2), **asked, alpha=alpha, eta=eta, xi=xi)


register_kernels(NPGPDState, plan, update)
