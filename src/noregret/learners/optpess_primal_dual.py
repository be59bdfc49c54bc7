r"""OptPess-PrimalDual (Liu, Zhou, Kalathil, Kumar, Tian 2021): an optimistic policy, a pessimistic dual.

Let n count visits before episode k, p̂ and ĵ be the empirical transitions and means (divisor n v 1), γ the Slater gap,
δ' = p/(16S²AH). In episode k = 1, 2, ..., with the queue Z = 0 at first,

    j̃_h = ĵ_h + (1+SH) √(log(k/δ')/n)                                for the reward and the utility
    Q_{j,h} = clip( j̃_h + p̂_h V_{j,h+1}, 0, H−h+1 ),   π_h greedy on Q_r + Y Q_g,   Y = Z/η_k,   η_k = γH√k
    Z ← [ Z + b + ε_k − V_{g,1} ]_+
    ε_k = 5H² √(S³A) (log(k/δ')+1)/√(k log(k/δ'))                    the derivative of 10H² √(S³A k log(k/δ'))

with V_{g,1} of the policy played, its mean over the start distribution. The price that is reported is Y.

Constants: ``theory`` has the above with ``bonus_scale`` = ``eps_scale`` = 1; ε_k then exceeds H at any K one can run, the
queue grows and the policy looks at the utility only. ``practical``: ``bonus_scale`` 0.15/(1+SH), ``eps_scale`` 10⁻³,
η_k = √k, and the tightening stops at ``eps_cap``: γ/2 where γ is known, since b + ε > b + γ cannot be met, else 0.05.

Deviations: the cap on ε_k (∞ in ``theory``); exact ties are played uniformly; a pair never tried has Q = H−h+1. With
``tries`` above 1 a pair counts as untried until it was tried so often, for a plain ``dual_estimate`` too, which then has half
of the cap on top: with a small bonus one unlucky visit would rule a pair out for ever. The
constants are as recalled in the literature on this paper: ε_k agrees with the error it is to cover, η_k is less certain.
One constraint, as in the paper.

References:
    Liu, Zhou, Kalathil, Kumar, Tian. Learning Policies with Zero or Bounded Constraint Violation for Constrained MDPs.
    NeurIPS 2021, arXiv 2106.02684.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.empirical import NO_BONUS, UNTRIED, empirical_model, learn_episode
from noregret.kernels.flat import row
from noregret.kernels.gram.base import estimate
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import Pace, dual_step_from
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner, dual_tables, estimate_plain, pacing, steps_left
from noregret.problems.base import Array, Spec


class OptPessState(NamedTuple):
    """What the next episode needs. J = 1 + m objectives."""

    model: OneHotGram
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A)
    Y: Array  # (m,) the price Z/η_k
    queue: Array  # (m,) Z
    episode: Array  # (1,) k, from 1
    b: Array  # (m,)
    start: Array  # (S,)
    available: NDArray[np.bool_]  # (H,S,A)
    cap: Array  # (H,)
    width: float  # bonus_scale·(1+SH)
    delta: float  # δ'
    eps: float  # eps_scale·5H²√(S³A)
    eps_cap: float
    eta: float  # η_k/√k
    tries: float  # visits from which on a pair counts as tried
    own: Pace


#: The options of Algorithm 1 that it takes; its η_k is that of any time as it is.
OPTIONS = ("dual_estimate", "damping", "anti_windup")


def plan(state: Any) -> None:
    """The greedy policy on optimistic values, from the last step to the first."""
    beta = max(state.width * np.sqrt(np.log(state.episode[0] / state.delta)), NO_BONUS)
    for h in range(len(state.Q) - 1, -1, -1):
        estimate(state.model, h, state, beta, (0.0, state.cap[h]))
        estimate_plain(state.model, h, state, state.cap[h])
        soft_max(state.model, h, state, state.Y, np.inf)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """The queue takes b + ε_k − V_g; the price is for the next episode; then the counts.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    k = state.episode[0]
    log = np.log(k / state.delta)
    eps = min(state.eps * (log + 1.0) / np.sqrt(k * log), state.eps_cap)
    dual_step_from(state.queue, state.b, state.V, state.start, state.own, (1.0, np.inf, eps))
    for i in range(len(state.Y)):
        state.Y[i] = state.queue[i] / (state.eta * np.sqrt(k + 1.0))
    state.episode[0] = k + 1.0
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
    parameters = ("bonus_scale", "eps_scale", "eps_cap", "eta", "tries", "p", "share", *OPTIONS)
    sharing = ("all",)
    several = False
    space = searched(
        theory=(
            "bonus_scale=1e-5:1:log", "eps_scale=1e-7:1:log", "eta_scale=0.01:100:log",
        ),
        practical=(
            "bonus_scale_scale=0.03:10:log", "eps_scale=1e-7:0.1:log", "eps_cap_scale=0.1:30:log", "eta_scale=0.03:30:log",
            "dual_estimate=optimistic,plain", "damping=false,true", "anti_windup=false,true", "tries=1:30:log:int",
        ),
    )  # fmt: skip

    def _start(self, spec: Spec, K: int, choices: Choices) -> OptPessState:
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        p = choices.probability()
        scale = choices.number(
            "bonus_scale", (1.0, "the paper's bonus"), (0.15 / (1 + S * H), "0.15/(1+SH): the width without its factor SH")
        )
        eps_scale = choices.number("eps_scale", (1.0, "the paper's ε_k"), (1e-3, "tuned"))
        eta = choices.number("eta", (choices.gap() * H, "γH, times √k"), (1.0, "tuned, times √k"), above=0.0)
        known = choices.slater_gap
        eps_cap = choices.number(
            "eps_cap", (math.inf, "none"), (known / 2 if known else 0.05, "γ/2" if known else "γ unknown"), infinite=True
        )
        tries = float(choices.count("tries", (1, "as printed")))
        cap, own = steps_left(spec), pacing(spec, choices, OPTIONS)
        shared = choices.share(self.sharing, spec.share) == "all"
        return OptPessState(
            model=empirical_model(H, S, A, 1 + m, shared=shared), **dual_tables(spec, cap, own), Y=np.zeros(m),
            queue=np.zeros(m), episode=np.ones(1),
            b=spec.thresholds.copy(), start=spec.start.copy(), available=spec.available.copy(), cap=cap,
            width=scale * (1 + S * H), delta=p / (16 * S**2 * A * H), eps=eps_scale * 5 * H**2 * math.sqrt(S**3 * A),
            eps_cap=eps_cap, eta=eta, tries=tries, own=own,
        )  # fmt: skip


register_kernels(OptPessState, plan, update)
