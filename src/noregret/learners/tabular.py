"""What the learners on tables share: their constructor, and the state of those that move their policy by mirror descent.

A tabular learner knows states only by number; it takes no features, also where the problem has some.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError
from noregret.features import is_one_hot
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.empirical import UNTRIED, empirical_model, learn_episode
from noregret.kernels.gram.base import estimate, estimate_from
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.jit import jit
from noregret.kernels.mirror import mirror_step, policy_value
from noregret.kernels.steps import Pace, dual_step_from, paced
from noregret.learners.base import Asked, Learner
from noregret.learners.choices import Choices
from noregret.problems.base import Array, Spec, check_features


class TabularLearner(Learner):
    """A learner on tables. A subclass names its ``parameters`` and makes its state in ``_start``."""

    def _begin(self, asked: Asked) -> Any:
        spec = self.spec
        if asked.features is not None and not is_one_hot(check_features(asked.features, spec.n_states, spec.n_actions)):
            raise InputError(f"features are given; {self.name} works on tables and takes none (or one-hot)")
        choices = Choices(self.name, self.preset, asked.slater_gap, asked.params, self.parameters)
        state = self._start(spec, self.episodes, choices)
        choices.done()
        self.constants, self.explain = choices.values, choices.why
        return state

    def _start(self, spec: Spec, K: int, choices: Choices) -> Any:
        """The state before the first episode."""
        raise TypeError(f"{type(self).__name__} has no _start")


def tables(spec: Spec, top: Array) -> dict[str, Array]:
    """Q, V and policy when nothing was tried: ``top`` (H,) or (H,J) everywhere, the uniform policy; J is 1 + m unless given."""
    H, S, A = spec.horizon, spec.n_states, spec.n_actions
    top = np.repeat(top[:, None], 1 + spec.n_constraints, axis=1) if top.ndim == 1 else top
    J = top.shape[1]
    V = np.zeros((H + 1, J, S))
    V[:H] = top[:, :, None]
    Q = np.broadcast_to(top[:, :, None, None], (H, J, S, A)).copy()
    return {"Q": Q, "V": V, "policy": spec.available / spec.available.sum(axis=2, keepdims=True)}


def steps_left(spec: Spec) -> Array:
    """H − h + 1 for h = 1..H: the most the values can be."""
    return np.arange(spec.horizon, 0.0, -1.0)


#: The options of Algorithm 1 that other learners with a dual step take, by name.
PACING = ("dual_estimate", "damping", "anti_windup", "alpha_schedule", "eta_schedule")


def pacing(spec: Spec, choices: Choices, names: tuple[str, ...] = PACING) -> Pace:
    """The options of Algorithm 1, each off unless given or found by a search (:mod:`noregret.learners.primal_dual_lsvi`).

    Args:
        spec: has the horizon and the thresholds.
        choices: what was given.
        names: those that the learner takes.
    """
    on, m = dict.fromkeys(PACING, False), spec.n_constraints
    for name in names:
        printed, other = {"dual_estimate": ("optimistic", "plain")}.get(name, ("fixed", "anytime"))
        if name in ("damping", "anti_windup"):
            on[name] = choices.flag(name, False, False, "as printed")
        else:
            on[name] = choices.word(name, printed, (printed, other), "as printed") == other
    anytime = on["alpha_schedule"] or on["eta_schedule"]
    room = np.minimum(spec.thresholds, spec.horizon - spec.thresholds).clip(0.01)
    return Pace(
        gain=np.ones(m if on["damping"] else 0), lack=np.zeros(m if on["damping"] else 0),
        room=room if on["anti_windup"] else np.zeros(0), k=np.zeros(int(anytime), dtype=np.int64),
        alpha_anytime=on["alpha_schedule"], eta_anytime=on["eta_schedule"], prior=0.5 if on["dual_estimate"] else 0.0,
    )  # fmt: skip


def dual_tables(spec: Spec, top: Array, own: Pace) -> dict[str, Array]:
    """:func:`tables`, with the utilities once more where the dual has an estimate of its own.

    Args:
        spec: what is known of the problem.
        top: (H,) the most that values can be at each step.
        own: the options of the dual.
    """
    m = spec.n_constraints
    own_top = [own.prior * steps_left(spec)] * (m if own.prior > 0.0 else 0)
    return tables(spec, np.stack([*[top] * (1 + m), *own_top], axis=1))


@partial(jit, inline=True)
def estimate_plain(model: Any, h: int, state: Any, cap: float) -> None:
    """The dual's own objectives, where there are any: means without a bonus, ``prior`` of the cap at a pair never tried.

    Args:
        model: the empirical model.
        h: the step.
        state: has Q, V, Y and the options, ``own``.
        cap: what the steps left can give.
    """
    estimate_from(model, 1 + len(state.Y), h, state, state.own.prior * cap / UNTRIED, (0.0, cap))


class MirrorRule(NamedTuple):
    """The constants of a learner that moves its policy by mirror descent."""

    local: float  # the bonus: local·(n+λ)^-1/2 + transition·Σρ
    transition: float
    L: float  # the logarithm in ρ
    alpha: float
    theta: float
    eta: float
    xi: float


class MirrorState(NamedTuple):
    """A policy that is evaluated optimistically on the empirical model and moves by mirror descent. J = 1 + m."""

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
    rule: MirrorRule
    own: Pace


def mirror_state(spec: Spec, lam: float, rule: MirrorRule, shared: bool, own: Pace) -> MirrorState:
    """No data, the uniform policy, Y = 0.

    Args:
        spec: what is known of the problem.
        lam: λ, the ridge parameter; 0 for plain means.
        rule: the constants.
        shared: whether all steps have one model.
        own: the options of Algorithm 1.
    """
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    cap = steps_left(spec)
    return MirrorState(
        model=empirical_model(H, S, A, 1 + m, lam, shared=shared), **dual_tables(spec, cap, own), logits=np.zeros((H, S, A)),
        Y=np.zeros(m), b=spec.thresholds.copy(), start=spec.start.copy(), available=spec.available.copy(), cap=cap, rule=rule,
        own=own,
    )  # fmt: skip


def plan(state: Any) -> None:
    """Evaluate the policy: Q_j,h ← clip(mean + bonus + P̂ V_j,h+1, 0, H−h+1), V_j,h ← ⟨π_h, Q_j,h⟩. The policy stands."""
    for h in range(len(state.Q) - 1, -1, -1):
        estimate(state.model, h, state, 1.0, (0.0, state.cap[h]))
        estimate_plain(state.model, h, state, state.cap[h])
        policy_value(state.model, h, state)


@jit
def improve(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Improve the policy with the Q and Y it was played with, then move Y with its V_g, then take in the episode.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    rule, own = state.rule, state.own
    alpha = paced(rule.alpha, own, own.alpha_anytime)
    for h in range(len(state.Q)):
        mirror_step(state.model, h, state, state.Y, alpha, rule.theta, 1.0, 1.0)
    dual_step_from(state.Y, state.b, state.V, state.start, own, (rule.eta, rule.xi, 0.0))
    learn_episode(state.model, states, actions, observed, (rule.local, rule.transition, rule.L))


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Steps of the policy and of the dual, then the data.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    improve(state, states, actions, observed)


register_kernels(MirrorState, plan, update)
