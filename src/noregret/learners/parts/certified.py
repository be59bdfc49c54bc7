"""Algorithm 1 that plays only what is certified: its policy mixed with a safe one (:mod:`noregret.kernels.certificate`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from noregret.kernels.certificate import Evidence, confident_share, no_evidence, weigh
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram import OneHotGram
from noregret.kernels.jit import jit
from noregret.kernels.safety import mix
from noregret.learners import primal_dual_lsvi
from noregret.problems.base import Array, Spec

#: Alg. 1, l. 4-12 and l. 13-16.
plan_target, learn_and_move = jit(primal_dual_lsvi.plan), jit(primal_dual_lsvi.update)


class CertifiedState(NamedTuple):
    """A state of Algorithm 1 (``inner``), which plans the target; the safe policy, and what is known of it."""

    inner: Any  # PrimalDualState
    Q: Array
    V: Array
    policy: Array  # (H,S,A) what is played
    Y: Array
    safe: Array  # (H,S,A)
    b: Array  # (m,) thresholds, as they are
    evidence: Evidence


def certified_state(state: Any, safe: Array, spec: Spec, K: int, p: float) -> CertifiedState:
    """Nothing is certified yet: the safe policy is played."""
    sizes = (spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints)
    counted = isinstance(state.gram, OneHotGram)
    return CertifiedState(
        inner=state, Q=state.Q, V=state.V, policy=safe.copy(), Y=state.Y, safe=safe, b=spec.thresholds.copy(),
        evidence=no_evidence(sizes, K, p, float(state.gram.lam), counted),
    )  # fmt: skip


def plan(state: Any) -> None:
    """Plan, and play as much of it as is certified."""
    one = state.inner
    plan_target(one)
    share = confident_share(state.evidence, one.gram, state.safe, one.policy, state.b, one.cap, one.start)
    mix(state.safe, one.policy, share, state.policy)
    one.share[0] = share


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """What the episode says of the safe policy; then as Algorithm 1."""
    weigh(state.evidence, state.safe, state.policy, state.inner.share[0], states, actions, observed)
    learn_and_move(state.inner, states, actions, observed)


register_kernels(CertifiedState, plan, update)
