"""ε-net rounding: the alternative to the soft-max that the paper's appendix compares with (after Xie, Chen, Wang, Yang 2020).

``primal-dual-lsvi`` with ``rounding=ε`` is Algorithm 1 with lines 8-12 replaced: w_r, w_g and β²Λ⁻¹ are rounded to a net of
radius ε (:mod:`noregret.kernels.rounding`), Y to a multiple of ε, and the policy is greedy on the composite of the rounded Q:

    Q̃_j = min{ ⟨w̃_j,φ⟩ + √(φᵀÃφ), cap },   Ỹ = ε round(Y/ε),   π = argmax_a Q̃_r + Σ_i Ỹ_i Q̃_{g_i},   V_j = ⟨π, Q̃_j⟩.

Then only finitely many value functions exist, which is what the proof needs of the soft-max. Where we choose: V_j comes from
the rounded Q (the unrounded one differs by at most ε a step), ties are played uniformly (rounding makes many), and ε is one
number for the whole run.

References:
    Xie, Chen, Wang, Yang. Learning Zero-Sum Simultaneous-Move Markov Games Using Function Approximation. COLT 2020.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram import estimate
from noregret.kernels.jit import jit
from noregret.kernels.rounding import nearest, round_estimate
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import step_bonus
from noregret.learners import primal_dual_lsvi
from noregret.learners.presets import number
from noregret.problems.base import Array

#: Alg. 1, l. 13-16.
learn_and_move = jit(primal_dual_lsvi.update)


class RoundedState(NamedTuple):
    """A state of Algorithm 1 (``inner``), the net, and what the loop and :class:`Plan` look for."""

    inner: Any  # PrimalDualState
    Q: Array
    V: Array
    policy: Array
    Y: Array
    Y_rounded: Array  # (m,)
    net_dual: float
    net_weight: float
    net_square: float


def rounded(state: Any, d: int, eps: Any) -> RoundedState:
    """Algorithm 1 with a net of radius ``eps`` in place of the soft-max; where nothing was seen the bonus is rounded too."""
    eps = number("rounding", eps, above=0.0)
    net_weight, net_square = float(eps / np.sqrt(d)), float(eps**2 / (2.0 * d))
    for j in range(1 + len(state.Y)):
        bonus = state.beta[j] * (state.span_floor if state.span_floor >= 0.0 else 1.0)
        state.Q[:, j] = np.minimum(np.sqrt(nearest(bonus**2 / state.gram.lam, net_square)), state.cap)[:, None, None]
    state.V[:-1] = state.Q[..., 0]
    return RoundedState(
        inner=state, Q=state.Q, V=state.V, policy=state.policy, Y=state.Y, Y_rounded=np.zeros_like(state.Y),
        net_dual=eps, net_weight=net_weight, net_square=net_square,
    )  # fmt: skip


def plan(state: Any) -> None:
    """Alg. 1, l. 4-12, with the net: the bonus is part of what is rounded, so the regression comes without it."""
    one = state.inner
    gram, Q, V = one.gram, one.Q, one.V
    for i in range(len(one.Y)):
        state.Y_rounded[i] = nearest(one.Y[i], state.net_dual)
    for h in range(len(Q) - 1, -1, -1):
        step_bonus(gram, h, V, one.beta, len(one.Y), one.pessimistic, one.cap[h], one.span_floor, one.bonus)
        estimate(gram, h, V, 0.0, -np.inf, np.inf, Q)
        round_estimate(gram, h, one.bonus, state.net_weight, state.net_square, one.floor, one.cap[h], Q)
        soft_max(Q, h, gram.active, gram.actives[h], state.Y_rounded, np.inf, one.available, one.target, V)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Alg. 1, l. 13-16, as they are; Y itself is not rounded."""
    learn_and_move(state.inner, states, actions, observed)


register_kernels(RoundedState, plan, update)
