r"""NPG-PD (Ding, Zhang, Başar, Jovanović 2020), its port to episodes: natural policy gradient, projected dual step.

**A port**: the paper has discounted rewards, one endless episode and a simulator. Here the horizon is H and the policy has a
step. Episode k plays π; with estimates of Q and V of π from the simulator (:mod:`noregret.learners.simulator.simulated`) it
steps

    π_h(a|x) ← ∝ π_h(a|x) exp( α (Q_{r,h} + Σ_i Y_i Q_{g_i,h}) ),      Y_i ← clip( Y_i + η (b_i − V_{g_i,1}), 0, ξ )

from the uniform policy and Y = 0. In the paper the exponent is η₁ A/(1−γ): the factor 1/(1−γ) is that of the visitation, which
is 1 for each of H steps; the advantage A in place of Q changes nothing, as the policy is normalised.

The constants of ``theory`` are the paper's with H for 1/(1−γ). ``practical`` has steps as the other learners that move by
mirror descent.

Deviations: any number of constraints, with a price each. The paper's theorem is on averages with exact gradients, for which see
:func:`noregret.solve` with ``method="npg-pd"``. Source: the code that made the paper's plots (its file for features), line by
line, a code that follows its file for tables, and notes; η from memory. These codes have fixed steps, 0.1 and 0.1 or 1 and 1, a
cap of the price that is never met, and estimates of 100 rollouts of geometric length in place of ``draws``.

References:
    Ding, Zhang, Başar, Jovanović. Natural Policy Gradient Primal-Dual Method for Constrained Markov Decision Processes.
    NeurIPS 2020.
"""

from __future__ import annotations

from typing import NamedTuple

from noregret.kernels.compiler.jit import add_body
from noregret.kernels.steps.gradients import npg_pd_step
from noregret.learners.presets import FOUND, Constants, Number, Resolved
from noregret.learners.registry import register
from noregret.learners.simulator.simulated import DRAWS, ESTIMATE, SimulatorLearner, SimulatorState, evaluate, look, move


class NPG(NamedTuple):
    """The constants of the steps."""

    alpha: float
    eta: float
    xi: float


def step(method: NPG, state: SimulatorState) -> None:
    """The steps of the policy and of the prices."""
    npg_pd_step(state.tables, method.alpha, method.eta, method.xi)


@register
class NPGPD(SimulatorLearner):
    """``npg-pd``: natural policy gradient on the Lagrangian, projected dual step; needs a simulator."""

    name = "npg-pd"
    summary = "NPG-PD (Ding et al. 2020), episodic port: natural policy gradient, dual step; needs a simulator"
    promise = ("√K (exact gradients)", "√K (exact gradients)")
    source = "code"
    recalled = "η"
    table = Constants(
        Number(
            "alpha",
            theory=("2*log(max(A, 2))", "as printed"),
            tuned=("0.0185*(2*log(max(A, 2)))", FOUND),
            practical=("1.95*(5/sqrt(K))", FOUND),
        ),
        Number(
            "eta",
            theory=("1/(H*sqrt(K))", "from memory, with H for 1/(1−γ)"),
            tuned=("22.5*(1/(H*sqrt(K)))", FOUND),
            practical=(21.9, FOUND),
        ),
        Number("xi", every=("2*H/gamma", "as printed, with H for 1/(1−γ); γ unknown is taken as 1")),
        DRAWS,
        ESTIMATE,
    )

    def begin(self, c: Resolved) -> SimulatorState:
        """The uniform policy, Y = 0."""
        return self.on(self.iterate(), c, NPG(c.alpha, c.eta, c.xi))


add_body(look, NPG, evaluate)
add_body(move, NPG, step)
