r"""Regularised primal-dual (Müller, Alatur, Cevher, Ramponi, He 2024): a saddle point that single iterates come to rest at.

A plain primal-dual method circles its saddle point: the policies are right on average, and most single ones are wrong. Here
the Lagrangian has two more terms, the entropy 𝓗 of the policy over an episode and the square of the prices,

    L_τ(π, Y) = V_r + Σ_i Y_i (V_{g_i} − b_i) + τ 𝓗(π) + (τ/2) ‖Y‖²        (max over π, min over Y in [0, ξ])

so that both players have one best answer, and the last iterate comes to rest near the constrained optimum. That is why its
theorem bounds the sums of positive parts, hard regret and hard violation.

Let n count visits before episode k, p̂ and ĵ be the empirical transitions and means, A the number of actions, I that of
constraints. Episode k evaluates its policy, backwards from V_{j,H+1} = 0,

    Q_{r,h} = clip( r̂_h + bonus_r + p̂_h V_{r,h+1}, 0, (1 + τ log A)(H−h+1) ),     V_{r,h} = Σ_a π_h (Q_{r,h} − τ log π_h)
    Q_{g,h} = clip( ĝ_h + bonus_g + p̂_h V_{g,h+1}, 0, H−h+1 ),                     V_{g,h} = Σ_a π_h Q_{g,h}

plays it, and steps

    π_h(a|x) ← ∝ π_h(a|x)^(1−ατ) exp( α (Q_{r,h} + Σ_i Y_i Q_{g_i,h}) )
    Y_i ← clip( (1−ητ) Y_i + η (b_i − V_{g_i,1}), 0, ξ ).

Where a step is so long that 1−ατ or 1−ητ is below 0, it counts as 0 here; with the printed constants it never is.

The step of the policy is the mirror step with the Q of the reward r − τ log π, written out. With bonuses w_l/√n for means and
w_p/√n for transitions, w_l = √(2 log(2SAH(I+1)K/p)), w_p = H√(4S log(3SAHK/p)), bonus_g = (w_l + w_p)/√n, and bonus_r has
τ w_p log A/√n more, for the entropy of the steps to come.

Constants of ``theory``: τ = K^(−1/7), α = η = γ² K^(−5/7)/(H²I), ξ = H(1 + τ log A)/γ, ``bonus_scale`` 1. With these exponents
the two largest terms of the bound, K√τ for the bias and √(K/(ητ)) for the way to the saddle point, are both K^(13/14), the
K^0.93 of the abstract. ``practical``: ``bonus_scale`` 10⁻⁵, α = 15/√K, η = 0.3, τ = K^(−1/2), ξ = 2H/γ: the dual and the policy
have steps of their own.

Deviations: reward and entropy of the steps to come are truncated together, as in :mod:`noregret.learners.uopt_rpgpd`; whether
the paper does so could not be checked. A pair never tried has Q at its cap. Source: the abstract for the setting and the
order; formulas and constants from memory, exponents checked as said; the radii are those of Shani, Efroni, Rosenberg, Mannor
(2020).

References:
    Müller, Alatur, Cevher, Ramponi, He. Truly No-Regret Learning in Constrained MDPs. ICML 2024, arXiv 2402.15776.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.empirical import NO_BONUS, empirical_model
from noregret.kernels.flat import row
from noregret.kernels.gram.base import estimate, learn
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.jit import jit
from noregret.kernels.mirror import mirror_step, soft_value
from noregret.kernels.steps import dual_move, start_value
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner, steps_left, tables
from noregret.problems.base import Array, Spec

#: Bonuses: β/√n, or β(Σ_x' √p̂ f + 5f²) with f that of the iterated logarithm.
ROOT, ITERATED = range(2)


class RegularRule(NamedTuple):
    """The constants; step k, from 0, has α, η and τ divided by (k+3)^power."""

    beta: Array  # (J,) the bonus of each objective in units of its shape
    alpha: float
    eta: float
    tau: float
    step_power: float  # of α and η
    tau_power: float
    xi: float
    bonus: int
    L: float  # the logarithm in an iterated bonus


class RegularState(NamedTuple):
    """A policy and prices that forget. J = 1 + m; the reward's Q and V have the entropy of the steps to come in them."""

    model: OneHotGram
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A), the policy to play next
    logits: Array  # (H,S,A), its weights as logarithms
    Y: Array  # (m,)
    b: Array  # (m,)
    start: Array  # (S,)
    available: NDArray[np.bool_]  # (H,S,A)
    cap: Array  # (H,)
    played: NDArray[np.int64]  # (1,) episodes so far
    rule: RegularRule


@jit
def shrunk(value: float, k: int, power: float) -> float:
    """Divide by (k+3)^power.

    Args:
        value: what it is without fading.
        k: episodes so far.
        power: 0 for what does not fade.
    """
    return float(value / (k + 3.0) ** power) if power > 0.0 else value


@jit
def iterated(n: float, L: float) -> float:
    """f² = (2 log log max(2n, e) + 2L)/n, by the law of the iterated logarithm: it holds for all n at once."""
    return (2.0 * float(np.log(np.log(max(2.0 * n, np.e)))) + 2.0 * L) / n


@jit
def bonus_shape(model: Any, g: int, s: int, a: int, rule: Any) -> float:
    """What β multiplies, for a pair that was tried: 1/√n, or Σ_x' √p̂ f + 5f².

    Args:
        model: the data.
        g: the row of the step in it.
        s: the state.
        a: the action.
        rule: says which of the two.
    """
    n = model.visits[g, s, a]
    if rule.bonus == ROOT:
        return float(np.sqrt(1.0 / n))
    square, roots = iterated(n, rule.L), 0.0
    for place in range(model.successors[g, s, a]):
        roots += np.sqrt(model.times[g, s, a, place] / n)
    return float(roots * np.sqrt(square) + 5.0 * square)


def plan(state: Any) -> None:
    """Evaluate the policy, with its entropy as a part of the reward. The policy stands."""
    rule = state.rule
    tau = shrunk(rule.tau, state.played[0], rule.tau_power)
    richer = 1.0 + tau * np.log(state.Q.shape[3])
    for h in range(len(state.Q) - 1, -1, -1):
        top = richer * state.cap[h]
        estimate(state.model, h, state, rule.beta, (0.0, top))
        soft_value(state.model, h, state, tau, (top, state.cap[h]))


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Steps of the policy and of the prices, both of which forget a little, then the data.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    rule, model, k = state.rule, state.model, state.played[0]
    tau = shrunk(rule.tau, k, rule.tau_power)
    alpha, eta = shrunk(rule.alpha, k, rule.step_power), shrunk(rule.eta, k, rule.step_power)
    for h in range(len(state.Q)):
        mirror_step(model, h, state, state.Y, alpha, 0.0, max(1.0 - alpha * tau, 0.0), 1.0)
    keep = max(1.0 - eta * tau, 0.0)
    for i in range(len(state.Y)):
        state.Y[i] = dual_move(keep * state.Y[i], state.b[i] - start_value(state.V, 1 + i, state.start), eta, rule.xi)
    learn(model, states, actions, observed)
    for h in range(len(actions)):
        s, a, g = states[h], actions[h], row(model.fit, h)
        model.fit[g, s, a, 1] = bonus_shape(model, g, s, a, rule)
    state.played[0] += 1


def regular_state(spec: Spec, rule: RegularRule, shared: bool) -> RegularState:
    """No data, the uniform policy, Y = 0.

    Args:
        spec: what is known of the problem.
        rule: the constants.
        shared: whether all steps have one model.
    """
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    cap = steps_left(spec)
    return RegularState(
        model=empirical_model(H, S, A, 1 + m, shared=shared), **tables(spec, cap), logits=np.zeros((H, S, A)),
        Y=np.zeros(m), b=spec.thresholds.copy(), start=spec.start.copy(), available=spec.available.copy(), cap=cap,
        played=np.zeros(1, dtype=np.int64), rule=rule._replace(beta=np.maximum(rule.beta, NO_BONUS)),
    )  # fmt: skip


@register
class RegularizedPrimalDual(TabularLearner):
    """``regularized-primal-dual``: entropy for the policy and a square for the prices, so that single iterates converge."""

    name = "regularized-primal-dual"
    summary = (
        "regularised primal-dual (Müller et al. 2024, truly no-regret): entropy and squared prices, the last iterate converges"
    )
    promise = ("K^(13/14), hard", "K^(13/14), hard")
    parameters = ("bonus_scale", "alpha", "eta", "tau", "xi", "p", "share")
    sharing = ("all",)
    source = "memory"
    space = searched(
        theory=("bonus_scale=1e-6:1:log", "alpha_scale=1:1e5:log", "eta_scale=1:1e5:log", "tau_scale=1e-4:1:log"),
        practical=("bonus_scale=1e-6:0.01:log", "alpha_scale=0.1:30:log", "eta_scale=0.01:10:log", "tau_scale=0.01:100:log"),
    )

    def _start(self, spec: Spec, K: int, choices: Choices) -> RegularState:
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        gap, p = choices.gap(), choices.probability()
        scale = choices.number("bonus_scale", (1.0, "the radii as printed"), (1e-5, "tuned"))
        tau = choices.number("tau", (K ** (-1 / 7), "K^(−1/7)"), (1.0 / math.sqrt(K), "K^(−1/2)"))
        xi = choices.number(
            "xi", (H * (1 + tau * math.log(A)) / gap, "H(1 + τ log A)/γ"), (2 * H / gap, "2H/γ, γ unknown taken as 1")
        )
        eta = choices.number(
            "eta", (gap**2 * K ** (-5 / 7) / (H**2 * m), "γ²K^(−5/7)/(H²I)"), (0.3, "tuned; does not shrink with K")
        )
        alpha = choices.number("alpha", (eta, "η"), (15.0 / math.sqrt(K), "15/√K"))
        means = math.sqrt(2 * math.log(2 * S * A * H * (m + 1) * K / p))
        moves = H * math.sqrt(4 * S * math.log(3 * S * A * H * K / p))
        beta = np.full(1 + m, scale * (means + moves))
        beta[0] += scale * tau * math.log(A) * moves
        rule = RegularRule(beta, alpha, eta, tau, step_power=0.0, tau_power=0.0, xi=xi, bonus=ROOT, L=0.0)
        return regular_state(spec, rule, choices.share(self.sharing, spec.share) == "all")


register_kernels(RegularState, plan, update)
