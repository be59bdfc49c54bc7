r"""OptPess-PrimalDual (Liu, Zhou, Kalathil, Kumar, Tian 2021): an optimistic policy, a pessimistic dual.

Let n count visits before episode k, p̂ and ĵ be the empirical transitions and means (divisor n v 1), γ the Slater gap,
δ' = p/(16S²AH). In episode k = 1, 2, ..., with the queue Z = 0 at first,

    j̃_h = ĵ_h + (1+SH) √(log(k/δ')/n)                                for the reward and the utility
    Q_{j,h} = clip( j̃_h + p̂_h V_{j,h+1}, 0, H−h+1 ),   π_h greedy on Q_r + Y Q_g,   Y = Z/η_k,   η_k = γH√k
    Z ← [ Z + b + ε_k − V_{g,1} ]_+
    ε_k = 5H² √(S³A) (log(k/δ')+1)/√(k log(k/δ'))                    the derivative of 10H² √(S³A k log(k/δ'))

with V_{g,1} of the policy played, its mean over the start distribution. The price that is reported is Y.

``bonus_scale`` multiplies the bonus, ``eps`` is the factor of ε_k in front of its logarithms. The printed ε_k exceeds H at any
K one can run: the queue grows, and the policy looks at the utility only. So ``practical`` has a smaller ``eps``. The
tightening can stop at ``eps_cap``, since b + ε > b + γ cannot be met.

Deviations: the cap on ε_k (∞ in ``theory``); exact ties are played uniformly; a pair never tried has Q = H−h+1. With
``tries`` above 1 a pair counts as untried until it was tried so often, for a plain ``dual_estimate`` too, which then has half
of the cap on top: with a small bonus one unlucky visit would rule a pair out for ever. One constraint, as in the paper. Source:
of the paper the abstract alone could be read, which has the principle and the orders. The steps are from memory: ε_k agrees
with the error it is to cover, η_k is less certain.

References:
    Liu, Zhou, Kalathil, Kumar, Tian. Learning Policies with Zero or Bounded Constraint Violation for Constrained MDPs.
    NeurIPS 2021, arXiv 2106.02684.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.flat import row
from noregret.kernels.gram.base import estimate
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.empirical import NO_BONUS, UNTRIED, empirical_model, learn_episode
from noregret.kernels.steps.primal_dual import Dual, PriceRule, dual_step
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import Array, Flags, Integers
from noregret.learners.lsvi.dual import no_dual
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Flag, Number, Resolved, Word, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import ESTIMATES, TabularLearner, dual_tables, estimate_plain, known_of, prices, steps_left


class OptPessState(NamedTuple):
    """What the next episode needs. J = 1 + m objectives."""

    model: OneHotGram
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A)
    Y: Array  # (m,) the price Z/η_k
    dual: Dual  # its Y is the queue, Z
    prices: PriceRule  # b in it is b + ε_k
    b: Array  # (m,)
    start: Array  # (S,)
    available: Flags  # (H,S,A)
    cap: Array  # (H,)
    width: float  # bonus_scale·(1+SH)
    delta: float  # δ'
    eps: float  # the factor of ε_k
    eps_cap: float
    eta: float  # η_k/√k
    tries: float  # visits from which on a pair counts as tried


def plan(state: OptPessState) -> None:
    """The greedy policy on optimistic values, from the last step to the first."""
    beta = max(state.width * np.sqrt(np.log((state.dual.k[0] + 1.0) / state.delta)), NO_BONUS)
    for h in range(len(state.Q) - 1, -1, -1):
        estimate(state.model, h, state, beta, (0.0, state.cap[h]))
        estimate_plain(state.model, h, state, state.cap[h])
        soft_max(state.model, h, state, state.Y, np.inf)


def update(state: OptPessState, states: Integers, actions: Integers, observed: Array) -> None:
    """The queue takes b + ε_k − V_g; the price is for the next episode; then the counts.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    k = state.dual.k[0] + 1.0
    log = np.log(k / state.delta)
    eps = min(state.eps * (log + 1.0) / np.sqrt(k * log), state.eps_cap)
    for i in range(len(state.b)):
        state.prices.b[i] = state.b[i] + eps
    dual_step(state.dual, state.prices, state.V, state.start, observed, 1.0)
    for i in range(len(state.Y)):
        state.Y[i] = state.dual.Y[i] / (state.eta * np.sqrt(k + 1.0))
    learn_episode(state.model, states, actions, observed, (1.0, 0.0, 0.0))
    for h in range(len(actions)):
        g = row(state.model.visits, h)
        if state.model.visits[g, states[h], actions[h]] < state.tries:
            state.model.fit[g, states[h], actions[h], 1] = UNTRIED


@register
class OptPessPrimalDual(TabularLearner):
    """``optpess-primal-dual``: greedy on optimistic values, a queue that is tightened by ε_k."""

    name = "optpess-primal-dual"
    summary = "OptPess-PrimalDual (Liu et al. 2021): optimistic greedy policy, queue with a shrinking tightening"
    promise = ("√(H⁵S³AT)", "1")
    source = "memory"
    several = False
    table = Constants(
        Number(
            "bonus_scale",
            theory=(1, "the bonus as remembered"),
            tuned=(4.37e-05, FOUND),
            practical=(4.37e-05, FOUND),
        ),
        Number(
            "eps",
            theory=("5*H**2*sqrt(S**3*A)", "as remembered"),
            tuned=("6.14e-05*5*H**2*sqrt(S**3*A)", FOUND),
            practical=("6.14e-05*5*H**2*sqrt(S**3*A)", FOUND),
        ),
        Number(
            "eps_cap",
            infinite=True,
            theory=("inf", "as remembered: no cap"),
            practical=("inf", FOUND),
        ),
        Number(
            "eta",
            above=0.0,
            theory=("gamma*H", "as remembered; times √k"),
            tuned=("0.168*(gamma*H)", FOUND),
            practical=("0.168*(gamma*H)", FOUND),
        ),
        Count("tries", theory=(1, "as remembered"), practical=(1, FOUND)),
        Word("dual_estimate", ESTIMATES, theory=("optimistic", "as remembered"), practical=("optimistic", FOUND)),
        Flag("damping", theory=(False, "as remembered"), practical=(False, FOUND)),
        Flag("anti_windup", theory=(False, "as remembered"), practical=(False, FOUND)),
        sharing("all", practical=("nothing", FOUND)),
        PROBABILITY,
        like={"tuned": "theory", "soft": "tuned"},
        presets=("theory", "practical", "tuned", "soft"),
    )

    def begin(self, c: Resolved) -> OptPessState:
        """No data, an empty queue."""
        spec = self.spec
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        cap, rule = steps_left(spec), prices(spec, c, 1.0, np.inf)
        return OptPessState(
            model=empirical_model(H, S, A, 1 + m, shared=c.share == "all"),
            **dual_tables(spec, cap, rule),
            Y=np.zeros(m),
            dual=no_dual(m),
            prices=rule,
            b=spec.thresholds.copy(),
            **known_of(spec),
            cap=cap,
            width=c.bonus_scale * (1 + S * H),
            delta=c.p / (16 * S**2 * A * H),
            eps=c.eps,
            eps_cap=c.eps_cap,
            eta=c.eta,
            tries=float(c.tries),
        )


register_kernels(OptPessState, plan, update)
