r"""What the learners share whose policy moves by mirror descent: evaluate the policy, step, step of the price, learn.

Before an episode the policy π is evaluated on the empirical model, backwards from V_{j,H+1} = 0, for the reward and every
utility j,

    Q_{j,h} = clip( ĵ_h + β_j bonus_h + p̂_h V_{j,h+1}, 0, cap ),     V_{j,h} = ⟨π_h, Q_{j,h}⟩

where V_r has τ times the entropy of π_h beside it and Q_r the cap (1 + τ log A)(H−h+1), the others H−h+1. After it, with these
Q and V and the Y that is older than this V,

    π_h(a|x) ← ∝ ((1−θ) π_h(a|x) + θ/A)^(1−ατ) exp( α (Q_{r,h} + Σ_i Y_i Q_{g_i,h}) )
    Y_i ← clip( (1−ητ) Y_i + η (b_i − V_{g_i,1}), 0, ξ ).

Where a step is so long that 1−ατ or 1−ητ is below 0, it counts as 0. A pair never tried has Q at its cap.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import estimate
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.empirical import NO_BONUS, empirical_model, learn_episode
from noregret.kernels.steps.mirror import mirror_step, soft_value
from noregret.kernels.steps.primal_dual import Dual, PriceRule, dual_step, pace
from noregret.kernels.types import Array, Flags, Integers
from noregret.learners.lsvi.dual import no_dual
from noregret.learners.presets import Resolved
from noregret.learners.tabular import dual_tables, estimate_plain, known_of, prices, steps_left
from noregret.problems.base import Spec


class MirrorRule(NamedTuple):
    """The constants; step k, from 0, has α, η and τ divided by (k+3)^power."""

    alpha: float
    eta: float
    beta: Array  # (J,) what the bonus of a pair is multiplied by, for each objective
    local: float = 1.0  # the bonus of a pair: local·(n+λ)^-1/2 + transition·Σρ
    transition: float = 0.0
    L: float = 0.0  # the logarithm in ρ, or in the iterated bonus
    iterated: bool = False  # the bonus is that of the iterated logarithm
    theta: float = 0.0  # the weight of the uniform policy
    tau: float = 0.0  # what a unit of entropy is worth
    step_power: float = 0.0  # of α and η
    tau_power: float = 0.0
    anytime: bool = False  # whether α is divided by √k, too


class MirrorState(NamedTuple):
    """A policy that is evaluated on the empirical model and moves by mirror descent. J = 1 + m."""

    model: OneHotGram
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A), the policy to play next
    logits: Array  # (H,S,A), its weights as logarithms
    Y: Array  # (m,) of the dual
    dual: Dual
    prices: PriceRule
    start: Array  # (S,)
    available: Flags  # (H,S,A)
    cap: Array  # (H,)
    rule: MirrorRule


class MirrorNumbers(TypedDict, total=False):
    """The fields of :class:`MirrorRule` that a learner may set by name."""

    local: float
    transition: float
    L: float
    iterated: bool
    theta: float
    tau: float
    step_power: float
    tau_power: float


def mirror_state(spec: Spec, c: Resolved, beta: Array, *, lam: float = 0.0, **numbers: Unpack[MirrorNumbers]) -> MirrorState:
    """No data, the uniform policy, Y = 0.

    Args:
        spec: what is known of the problem.
        c: the constants: ``alpha``, ``eta``, ``xi``, ``share``, options of the dual.
        beta: (1+m,) what the bonus of each objective is multiplied by.
        lam: λ, the ridge parameter; 0 for plain means.
        numbers: other fields of the rule.
    """
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    cap, rule, dual = steps_left(spec), prices(spec, c, c.eta, c.xi), no_dual(m)
    filled = dual_tables(spec, cap, rule)
    weights = np.concatenate([np.maximum(beta, NO_BONUS), np.ones(filled["Q"].shape[1] - 1 - m)])
    return MirrorState(
        model=empirical_model(H, S, A, 1 + m, lam, shared=c.share == "all"),
        **filled,
        logits=np.zeros((H, S, A)),
        Y=dual.Y,
        dual=dual,
        prices=rule,
        **known_of(spec),
        cap=cap,
        rule=MirrorRule(c.alpha, c.eta, weights, anytime=c.values.get("alpha_schedule") == "anytime", **numbers),
    )


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
def iterated_bonus(model: OneHotGram, g: int, s: int, a: int, L: float) -> float:
    """Σ_x' √p̂ f + 5f² of a pair that was tried.

    Args:
        model: the data.
        g: the row of the step in it.
        s: the state.
        a: the action.
        L: the logarithm in f.
    """
    n, roots = model.visits[g, s, a], 0.0
    square = iterated(n, L)
    for place in range(model.successors[g, s, a]):
        roots += np.sqrt(model.times[g, s, a, place] / n)
    return float(roots * np.sqrt(square) + 5.0 * square)


def plan(state: MirrorState) -> None:
    """Evaluate the policy, with its entropy as a part of the reward. The policy stands."""
    rule = state.rule
    tau = shrunk(rule.tau, state.dual.k[0], rule.tau_power)
    richer = 1.0 + tau * np.log(state.Q.shape[3])
    for h in range(len(state.Q) - 1, -1, -1):
        top = richer * state.cap[h]
        estimate(state.model, h, state, rule.beta, (0.0, top))
        estimate_plain(state.model, h, state, state.cap[h])
        soft_value(state.model, h, state, tau, (top, state.cap[h]))


def update(state: MirrorState, states: Integers, actions: Integers, observed: Array) -> None:
    """Move the policy with the Q and Y it was played with, then Y with its V_g, then take in the episode.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    rule, model, k = state.rule, state.model, state.dual.k[0]
    tau = shrunk(rule.tau, k, rule.tau_power)
    alpha = shrunk(rule.alpha / pace(k, rule.anytime), k, rule.step_power)
    eta = shrunk(rule.eta, k, rule.step_power)
    for h in range(len(state.Q)):
        mirror_step(model, h, state, state.Y, alpha, rule.theta, max(1.0 - alpha * tau, 0.0), 1.0)
    for i in range(len(state.Y)):
        state.Y[i] *= max(1.0 - eta * tau, 0.0)
    state.prices.eta[0] = eta
    dual_step(state.dual, state.prices, state.V, state.start, observed, 1.0)
    learn_episode(model, states, actions, observed, (rule.local, rule.transition, rule.L))
    if rule.iterated:
        for h in range(len(actions)):
            g = row(model.visits, h)
            model.fit[g, states[h], actions[h], 1] = iterated_bonus(model, g, states[h], actions[h], rule.L)


register_kernels(MirrorState, plan, update)
