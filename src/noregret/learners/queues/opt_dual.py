r"""OptDual-CMDP (Efroni, Mannor, Pirotta 2020, Algorithm 3): the best policy in the best model of a box, and a dual step.

Symbols and the radii ρ(x,a,x'), L_p, L_l are those of :mod:`noregret.learners.mirror.opt_primal_dual`; I is the number of
constraints. The model of step h may be any row-stochastic p with |p − p̂_h| ≤ ρ_h entry by entry, within [0,1]. For
j̃ = ĵ + √(L_l/n), episode k plays

    (π, p) ∈ argmax V^π( r̃ + Σ_i Y_i g̃_i ; p )

found backwards: with v = V_{r,h+1} + Σ_i Y_i V_{g_i,h+1} each row takes the p of its box that maximises ⟨p, v⟩
(:mod:`noregret.kernels.steps.box`), Q_{j,h} = j̃_h + ⟨p, V_{j,h+1}⟩ for every j, π_h is greedy on Q_r + Σ_i Y_i Q_{g_i}. Then

    Y_i ← [ Y_i + η (b_i − V_{g_i,1}) ]_+ ,   η = ρ/√(H² I K)   (1/t_λ; no upper bound),

with V_{g_i,1} of the same policy in the same model, its mean over the start distribution.

``bonus_scale`` multiplies both radii. With small radii the greedy policy stops exploring on some problems; ``tries`` helps.

Deviations: exact ties are played uniformly. ``truncate`` (off in ``theory``, as printed) clips every Q_j to [0, H−h+1]: the
truth lies there, though the argmax of the sum is then no longer exact. A pair never tried has Q_j = H−h+1 (times
1 + √L_l·bonus_scale when not truncated: what a pair shows at most, and a hair more, so that rounding decides no tie), and
every state is possible after it. With ``tries`` above 1 a pair counts as untried until it was tried so often: with small
radii one unlucky visit would rule a pair out for ever. The box prints one index of the model as k−1 and one as k; here both
are what was known before episode k. Source: the printed box of Algorithm 3; radii as in
:mod:`noregret.learners.mirror.opt_primal_dual`.

References:
    Efroni, Mannor, Pirotta. Exploration-Exploitation in Constrained MDPs. 2020, arXiv 2003.02189.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.box import Box, optimistic_step, set_box, sort_next, whole_box
from noregret.kernels.steps.empirical import empirical_model, learn_episode
from noregret.kernels.steps.primal_dual import Dual, PriceRule, dual_step
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import Array, Flags, Integers
from noregret.learners.lsvi.dual import no_dual
from noregret.learners.mirror.opt_primal_dual import logarithms
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Flag, Number, Resolved, Word, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import (
    ESTIMATES,
    SCHEDULES,
    TabularLearner,
    dual_tables,
    estimate_plain,
    known_of,
    prices,
    steps_left,
)

#: An untried pair is worth this much more than the best that a tried one can show.
HAIR = 1.0 + 1e-9


class OptDualState(NamedTuple):
    """What the next episode needs. J = 1 + m objectives."""

    model: OneHotGram
    box: Box
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A)
    Y: Array  # (m,) of the dual
    dual: Dual
    prices: PriceRule
    start: Array  # (S,)
    available: Flags  # (H,S,A)
    cap: Array  # (H,) H−h+1, or ∞
    scale: float  # of the box
    local: float  # the bonus of the means is local·n^-1/2
    L: float
    tries: float  # visits from which on a pair counts as tried


def plan(state: OptDualState) -> None:
    """The greedy policy in the best model of the box, from the last step to the first."""
    model, box, Q, V = state.model, state.box, state.Q, state.V
    for h in range(len(Q) - 1, -1, -1):
        sort_next(box, h, V, state.Y)
        optimistic_step(box, model, h, V, (0.0, state.cap[h], state.tries), Q)
        estimate_plain(model, h, state, len(Q) - h)
        soft_max(model, h, state, state.Y, np.inf)


def update(state: OptDualState, states: Integers, actions: Integers, observed: Array) -> None:
    """The dual step with the V_g the episode was planned with; then counts and boxes of the pairs visited.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    dual_step(state.dual, state.prices, state.V, state.start, observed, 1.0)
    learn_episode(state.model, states, actions, observed, (state.local, 0.0, 0.0))
    for h in range(len(actions)):
        set_box(state.box, state.model, (h, states[h], actions[h]), state.L, state.scale)


@register
class OptDual(TabularLearner):
    """``opt-dual``: the best policy in the best plausible model, and a dual step."""

    name = "opt-dual"
    summary = "OptDual-CMDP (Efroni, Mannor, Pirotta 2020): best policy in the best plausible model, dual step"
    promise = ("√(H³S²AT)", "√(H³S²AT)")
    source = "notes"
    recalled = "L_l"
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's radii"), tuned=(0.00991, FOUND), practical=(5.05e-05, FOUND)),
        Number(
            "eta",
            theory=("1/(gamma*sqrt(m*K))", "as printed, with ρ = H/γ"),
            tuned=("0.662*(1/(gamma*sqrt(m*K)))", FOUND),
            practical=("0.0374*(2 if eta_schedule == 'anytime' else 2/sqrt(K))", FOUND),
        ),
        Flag("truncate", theory=(False, "as printed"), practical=(True, "values are at most H−h+1")),
        Count("tries", theory=(1, "as printed"), practical=(1, FOUND)),
        Word("dual_estimate", ESTIMATES, theory=("optimistic", "as printed"), practical=("plain", FOUND)),
        Flag("damping", theory=(False, "as printed"), practical=(False, FOUND)),
        Flag("anti_windup", theory=(False, "as printed"), practical=(True, FOUND)),
        Word("eta_schedule", SCHEDULES, theory=("fixed", "as printed"), practical=("anytime", FOUND)),
        sharing("all"),
        PROBABILITY,
    )

    def begin(self, c: Resolved) -> OptDualState:
        """No data: every model is possible, and Y = 0."""
        spec = self.spec
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        L_p, L_l = logarithms(spec, self.episodes, c.p)
        local, top = c.bonus_scale * math.sqrt(L_l), steps_left(spec)
        rule, dual, shared = prices(spec, c, c.eta, np.inf), no_dual(m), c.share == "all"
        return OptDualState(
            model=empirical_model(H, S, A, 1 + m, shared=shared),
            box=whole_box(H, S, A, shared=shared),
            **dual_tables(spec, top if c.truncate else top * (1.0 + local) * HAIR, rule),
            Y=dual.Y,
            dual=dual,
            prices=rule,
            **known_of(spec),
            cap=top if c.truncate else np.full(H, np.inf),
            scale=c.bonus_scale,
            local=local,
            L=L_p,
            tries=float(c.tries),
        )


register_kernels(OptDualState, plan, update)
