r"""CSPDA (Bai, Bedi, Agarwal, Koppel, Aggarwal 2022), its port to episodes: a saddle point of the occupancy LP, conservatively.

**A port, and the equations are the least sure of all learners here**: of the paper the abstract was read; the method is as
remembered, in finite-horizon form. Let x_h be a distribution over the available pairs of step h (which need not flow yet), v_h
the multipliers of the flow, Y those of the constraints, tightened by κ:

    max_x min_{v,Y}  ⟨x,r⟩ + Σ_i Y_i (⟨x,g_i⟩ − b_i − κ) + Σ_{h,s} v_h(s) (inflow_h(s) − Σ_a x_h(s,a))

with inflow_1 = μ, inflow_{h+1} = P_hᵀ x_h. An episode takes one step of each, all from the same point:

    x_h ← ∝ x_h exp( α (r + Σ_i Y_i g_i + P v_{h+1} − v_h) ),    v_h ← clip( v_h − η_v (inflow_h − Σ_a x_h), 0, (H−h+1)(1+mξ) )
    Y_i ← clip( Y_i + η (b_i + κ − ⟨x,g_i⟩), 0, ξ )

and the policy played is that of the average of all x so far, which is the paper's output.

Gradients (``estimate``): "pairs" draws ``draws`` pairs a step from (1−δ)x_h + δ/N (``spread`` is δ) and weights them to be
unbiased, H·``draws`` draws an episode; the start and Σ_a x are known and not drawn. "model" draws from all N (h,x,a) and takes
the gradient on the empirical model of all draws so far.

Constants: ``theory`` has "pairs", δ = 1/2, ξ = 4H/γ (twice a bound on the dual for κ ≤ γ/2), κ = min(H/√K, γ/2),
α = √(log(SA)/K)/(H(1+mξ)), η = ξ/(H√K), η_v = H(1+mξ)/√K: the orders Θ(1/√K) are the paper's, the constants ours, by the widths
of the sets. ``practical`` has "model", ξ = 2H (2H/γ where γ is known), κ = 0, α = 10/√K, η = η_v = 1/√K.

References:
    Bai, Bedi, Agarwal, Koppel, Aggarwal. Achieving Zero Constraint Violation for Constrained Reinforcement Learning via
    Primal-Dual Approach. AAAI 2022, arXiv 2109.06332.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.draws import seed
from noregret.kernels.gradients import Flow, FlowRule, Iterate, flow_gradient, flow_on, flow_step, sample_gradient
from noregret.kernels.simulator import Simulator, sample_model
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.simulated import SimulatorLearner, own
from noregret.problems.base import Array, Spec


class CSPDAState(NamedTuple):
    """What the next episode needs. V_0 of the iterate is v, and its Q_0 is r + P v."""

    one: Iterate
    policy: Array  # (H,S,A) of it
    Y: Array  # (m,) of it
    stream: NDArray[np.uint64]  # (1,)
    uniforms: Array  # (2,)
    flow: Flow
    simulator: Simulator
    rolled: bool
    draws: int
    spread: float
    rule: FlowRule


def plan(state: Any) -> None:
    """Draw, and take the gradients; the policy stands."""
    seed(state.stream, state.uniforms[0], state.uniforms[1])
    if state.rolled:
        sample_gradient(state.simulator, state.one, state.flow, state.spread, state.draws, state.stream)
    else:
        sample_model(state.simulator, state.one.model, state.one.available, state.draws, state.stream)
        flow_gradient(state.one, state.flow)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """The steps of x, v and Y; the episode itself teaches nothing.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    flow_step(state.one, state.flow, state.rule)


@register
class CSPDA(SimulatorLearner):
    """``cspda``: stochastic primal-dual steps on the tightened occupancy LP; plays the average occupancy's policy."""

    name = "cspda"
    summary = "CSPDA (Bai et al. 2022), episodic port: saddle point of the tightened LP; needs a simulator"
    promise = ("√K (of the average)", "0 (of the average)")
    source = "memory"
    estimates = ("pairs", "model")
    parameters = (
        "alpha", "eta", "eta_v", "xi", "kappa", "spread", "draws", "estimate", "simulator",
    )  # fmt: skip
    space = searched(
        theory=("alpha_scale=0.1:1000:log", "eta_scale=0.01:100:log", "eta_v_scale=0.001:10:log", "kappa_scale=0.001:1:log"),
        practical=("alpha_scale=0.03:30:log", "eta_scale=0.03:30:log", "eta_v_scale=0.03:30:log", "kappa=0:0.1"),
    )

    def _start(self, spec: Spec, K: int, choices: Choices) -> CSPDAState:
        H, m, pairs = spec.horizon, spec.n_constraints, spec.n_states * spec.n_actions
        asked, gap, root = self._asked(spec, choices), choices.gap(), math.sqrt(K)
        spread = choices.number("spread", (0.5, "half of the draws are spread evenly"))
        if not 0.0 < spread <= 1.0:
            raise InputError(f"spread is {spread:g}; expected a share, above 0 and at most 1")
        xi = choices.number("xi", (4 * H / gap, "4H/γ"), (2 * H / gap, "2H/γ, γ unknown taken as 1"))
        kappa = choices.number("kappa", (min(H / root, gap / 2), "min(H/√K, γ/2)"), (0.0, "not tightened"))
        wide = H * (1 + m * xi)
        alpha = choices.number(
            "alpha", (math.sqrt(math.log(pairs)) / (wide * root), "√(log(SA)/K)/(H(1+mξ))"), (10 / root, "10/√K")
        )
        eta = choices.number("eta", (xi / (H * root), "ξ/(H√K)"), (1 / root, "1/√K"))
        eta_v = choices.number("eta_v", (wide / root, "H(1+mξ)/√K"), (1 / root, "1/√K"))
        one = self._iterate(spec)
        fields = {key: value for key, value in own(one).items() if key not in ("Q", "V")}
        return CSPDAState(
            **fields, uniforms=np.zeros(2), flow=flow_on(one, xi), **asked, spread=spread,
            rule=FlowRule(alpha, eta, eta_v, xi, kappa),
        )  # fmt: skip


register_kernels(CSPDAState, plan, update)
