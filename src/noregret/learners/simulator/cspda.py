r"""CSPDA (Bai, Bedi, Agarwal, Koppel, Aggarwal 2022), its port to episodes: a saddle point of the occupancy LP, conservatively.

**A port, and the equations are the least sure of all learners here**: of the paper the abstract was read; the method is as
remembered, in finite-horizon form. Let x_h be a distribution over the available pairs of step h (which need not flow yet), v_h
the multipliers of the flow, Y those of the constraints, tightened by κ:

    max_x min_{v,Y}  ⟨x,r⟩ + Σ_i Y_i (⟨x,g_i⟩ − b_i − κ) + Σ_{h,s} v_h(s) (inflow_h(s) − Σ_a x_h(s,a))

with inflow_1 = μ, inflow_{h+1} = P_hᵀ x_h. An episode takes one step of each, all from the same point:

    x_h ← ∝ x_h exp( α (r + Σ_i Y_i g_i + P v_{h+1} − v_h) ),    v_h ← clip( v_h − η_v (inflow_h − Σ_a x_h), 0, (H−h+1)(1+mξ) )
    Y_i ← clip( Y_i + η (b_i + κ − ⟨x,g_i⟩), 0, ξ )

and the policy played is that of the average of all x so far, which is the paper's output, as remembered.

Gradients (``estimate``): "pairs" draws ``draws`` pairs a step from (1−δ)x_h + δ/N (``spread`` is δ) and weights them to be
unbiased, H·``draws`` draws an episode; the start and Σ_a x are known and not drawn. "model" draws from all N (h,x,a) and takes
the gradient on the empirical model of all draws so far.

Of the constants of ``theory`` the orders Θ(1/√K) are as remembered, the factors ours, by the widths of the sets.

References:
    Bai, Bedi, Agarwal, Koppel, Aggarwal. Achieving Zero Constraint Violation for Constrained Reinforcement Learning via
    Primal-Dual Approach. AAAI 2022, arXiv 2109.06332.
"""

from __future__ import annotations

from typing import NamedTuple

from noregret.kernels.compiler.jit import add_body
from noregret.kernels.steps.gradients import Flow, FlowRule, flow_gradient, flow_on, flow_step, sample_gradient
from noregret.kernels.worlds.simulator import sample_model
from noregret.learners.presets import FOUND, Constants, Number, Resolved, Word
from noregret.learners.registry import register
from noregret.learners.simulator.simulated import DRAWS, SimulatorLearner, SimulatorState, look, move
from noregret.problems.base import Array


class Saddle(NamedTuple):
    """The occupancy with its gradients, and the constants. V_0 of the state's tables is v, and their Q_0 is r + P v."""

    flow: Flow
    rule: FlowRule
    spread: float


def gradients(method: Saddle, state: SimulatorState) -> None:
    """Draw, and take the gradients."""
    if state.kept:
        sample_model(state.simulator, state.tables.model, state.tables.available, state.draws, state.stream)
        flow_gradient(state.tables, method.flow)
    else:
        sample_gradient(state.simulator, state.tables, method.flow, method.spread, state.draws, state.stream)


def step(method: Saddle, state: SimulatorState) -> None:
    """The steps of x, v and Y."""
    flow_step(state.tables, method.flow, method.rule)


@register
class CSPDA(SimulatorLearner):
    """``cspda``: stochastic primal-dual steps on the tightened occupancy LP; plays the average occupancy's policy."""

    name = "cspda"
    summary = "CSPDA (Bai et al. 2022), episodic port: saddle point of the tightened LP; needs a simulator"
    promise = ("√K (of the average)", "0 (of the average)")
    source = "memory"
    table = Constants(
        Number(
            "alpha",
            theory=("sqrt(log(S*A))/(H*(1 + m*xi)*sqrt(K))", "the order as remembered"),
            tuned=("525*(sqrt(log(S*A))/(H*(1 + m*xi)*sqrt(K)))", FOUND),
            practical=("2.53*(10/sqrt(K))", FOUND),
        ),
        Number(
            "eta",
            theory=("xi/(H*sqrt(K))", "the order as remembered"),
            tuned=("0.346*(xi/(H*sqrt(K)))", FOUND),
            practical=("4.23*(1/sqrt(K))", FOUND),
        ),
        Number(
            "eta_v",
            theory=("H*(1 + m*xi)/sqrt(K)", "the order as remembered"),
            tuned=("0.0114*(H*(1 + m*xi)/sqrt(K))", FOUND),
            practical=("7.39*(1/sqrt(K))", FOUND),
        ),
        Number(
            "xi",
            theory=("4*H/gamma", "twice a bound on the dual for κ ≤ γ/2"),
            practical=("2*H/gamma", "as in the other learners; γ unknown is taken as 1"),
        ),
        Number(
            "kappa",
            theory=("min(H/sqrt(K), gamma/2)", "the order as remembered"),
            tuned=("0.0532*min(H/sqrt(K), gamma/2)", FOUND),
            practical=(0.0254, FOUND),
        ),
        Number("spread", above=0.0, most=1.0, every=(0.5, "half of the draws are spread evenly")),
        DRAWS,
        Word(
            "estimate",
            ("pairs", "model"),
            theory=("pairs", "as remembered: each episode's draws alone"),
            practical=("model", "draws are kept in an empirical model"),
        ),
    )

    def begin(self, c: Resolved) -> SimulatorState:
        """The uniform policy and occupancy, Y = 0."""
        tables = self.iterate()
        rule = FlowRule(c.alpha, c.eta, c.eta_v, c.xi, c.kappa)
        return self.on(tables, c, Saddle(flow_on(tables, c.xi), rule, c.spread))

    def _estimates(self) -> dict[str, Array]:
        """None: v is a multiplier, and no value of a policy."""
        return {}


add_body(look, Saddle, gradients)
add_body(move, Saddle, step)
