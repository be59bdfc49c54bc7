r"""OptDual-CMDP (Efroni, Mannor, Pirotta 2020, Algorithm 3): the best policy in the best model of a box, and a dual step.

Symbols and the radii ρ(x,a,x'), L_p, L_l are those of :mod:`noregret.learners.opt_primal_dual`; I is the number of
constraints. The model of step h may be any row-stochastic p with |p − p̂_h| ≤ ρ_h entry by entry, within [0,1]. For
j̃ = ĵ + √(L_l/n), episode k plays

    (π, p) ∈ argmax V^π( r̃ + Σ_i Y_i g̃_i ; p )

found backwards: with v = V_{r,h+1} + Σ_i Y_i V_{g_i,h+1} each row takes the p of its box that maximises ⟨p, v⟩
(:mod:`noregret.kernels.box`), Q_{j,h} = j̃_h + ⟨p, V_{j,h+1}⟩ for every j, π_h is greedy on Q_r + Σ_i Y_i Q_{g_i}. Then

    Y_i ← [ Y_i + η (b_i − V_{g_i,1}) ]_+ ,   η = ρ/√(H² I K)   (1/t_λ; no upper bound),

with V_{g_i,1} of the same policy in the same model, its mean over the start distribution.

Constants: ``theory`` has ρ = H/γ and ``bonus_scale`` 1. ``practical`` scales both radii by ``bonus_scale`` = 0.01, takes
η = 2/√K, and truncates; with smaller radii the greedy policy stops exploring on some problems.

Deviations: exact ties are played uniformly. ``truncate`` (off in ``theory``, as printed) clips every Q_j to [0, H−h+1]: the
truth lies there, though the argmax of the sum is then no longer exact. A pair never tried has Q_j = H−h+1 (times
1 + √L_l·bonus_scale when not truncated: what a pair shows at most, and a hair more, so that rounding decides no tie), and
every state is possible after it. With ``tries`` above 1 a pair counts as untried until it was tried so often: with small
radii one unlucky visit would rule a pair out for ever.

References:
    Efroni, Mannor, Pirotta. Exploration-Exploitation in Constrained MDPs. 2020, arXiv 2003.02189.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.box import Box, optimistic_step, set_box, sort_next, whole_box
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.empirical import empirical_model, learn_episode
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import Pace, dual_step_from
from noregret.learners.choices import Choices, searched
from noregret.learners.opt_primal_dual import logarithms
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner, dual_tables, estimate_plain, pacing, steps_left
from noregret.problems.base import Array, Spec

#: An untried pair is worth this much more than the best that a tried one can show.
HAIR = 1.0 + 1e-9

#: The options of Algorithm 1 that it takes.
OPTIONS = ("dual_estimate", "damping", "anti_windup", "eta_schedule")


class OptDualState(NamedTuple):
    """What the next episode needs. J = 1 + m objectives."""

    model: OneHotGram
    box: Box
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A)
    Y: Array  # (m,)
    b: Array  # (m,)
    start: Array  # (S,)
    available: NDArray[np.bool_]  # (H,S,A)
    cap: Array  # (H,) H−h+1, or ∞
    scale: float  # of the box
    local: float  # the bonus of the means is local·n^-1/2
    L: float
    eta: float
    tries: float  # visits from which on a pair counts as tried
    own: Pace


def plan(state: Any) -> None:
    """The greedy policy in the best model of the box, from the last step to the first."""
    model, box, Q, V = state.model, state.box, state.Q, state.V
    for h in range(len(Q) - 1, -1, -1):
        sort_next(box, h, V, state.Y)
        optimistic_step(box, model, h, V, (0.0, state.cap[h], state.tries), Q)
        estimate_plain(model, h, state, len(Q) - h)
        soft_max(model, h, state, state.Y, np.inf)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """The dual step with the V_g the episode was planned with; then counts and boxes of the pairs visited.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    dual_step_from(state.Y, state.b, state.V, state.start, state.own, (state.eta, np.inf, 0.0))
    learn_episode(state.model, states, actions, observed, (state.local, 0.0, 0.0))
    for h in range(len(actions)):
        set_box(state.box, state.model, (h, states[h], actions[h]), state.L, state.scale)


@register
class OptDual(TabularLearner):
    """``opt-dual``: the best policy in the best plausible model, and a dual step."""

    name = "opt-dual"
    summary = "OptDual-CMDP (Efroni, Mannor, Pirotta 2020): best policy in the best plausible model, dual step"
    promise = ("√(H³S²AT)", "√(H³S²AT)")
    source = "memory"
    parameters = ("bonus_scale", "eta", "truncate", "tries", "p", "share", *OPTIONS)
    sharing = ("all",)
    space = searched(
        theory=(
            "bonus_scale=1e-5:1:log", "eta_scale=0.01:100:log",
        ),
        practical=(
            "bonus_scale=1e-5:0.3:log", "eta_scale=0.03:30:log", "dual_estimate=optimistic,plain", "damping=false,true",
            "anti_windup=false,true", "eta_schedule=fixed,anytime", "tries=1:30:log:int",
        ),
    )  # fmt: skip

    def _start(self, spec: Spec, K: int, choices: Choices) -> OptDualState:
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        p = choices.probability()
        scale = choices.number("bonus_scale", (1.0, "the paper's radii"), (1e-2, "tuned"))
        own, tries = pacing(spec, choices, OPTIONS), float(choices.count("tries", (1, "as printed")))
        printed = (1.0 / (choices.gap() * math.sqrt(m * K)), "ρ/√(H²IK), ρ=H/γ")
        eta = choices.number("eta", printed, (2.0, "2/√k") if own.eta_anytime else (2.0 / math.sqrt(K), "2/√K"))
        truncate = choices.flag("truncate", False, True, "as printed" if choices.theory else "values are at most H−h+1")
        L_p, L_l = logarithms(spec, K, p)
        local = scale * math.sqrt(L_l)
        top = steps_left(spec)
        shared = choices.share(self.sharing, spec.share) == "all"
        return OptDualState(
            model=empirical_model(H, S, A, 1 + m, shared=shared), box=whole_box(H, S, A, shared=shared),
            **dual_tables(spec, top if truncate else top * (1.0 + local) * HAIR, own), Y=np.zeros(m), b=spec.thresholds.copy(),
            start=spec.start.copy(), available=spec.available.copy(), cap=top if truncate else np.full(H, np.inf),
            scale=scale, local=local, L=L_p, eta=eta, tries=tries, own=own,
        )  # fmt: skip


register_kernels(OptDualState, plan, update)
