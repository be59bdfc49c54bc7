"""The constants of Algorithm 1 as its kernels take them, assembled in one place for states of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noregret.learners.presets import Constants
from noregret.problems.base import Array


class Rule(NamedTuple):
    """The constants. What may change on the way (restarts, an estimate of γ) is an array."""

    b: Array  # (m,) thresholds, tightened by ζ
    room: Array  # (m,) the most that a step of the dual takes a lack for, and its unit where that is below 1; (0,) as printed
    beta: Array  # (J,) β of each objective; for the dual's own objectives prior·√λ (times the cap), or −pessimism·β
    alpha: Array  # (1,) each
    eta: Array
    xi: Array
    cap: Array  # (H,)
    floor: float  # 0, or −∞ without the lower clip
    span_floor: float  # least spread that β is multiplied by; negative for a constant β
    by_variance: bool  # whether β is multiplied by the deviation of the next values of a pair, and the spread divided by n
    pessimistic: bool  # what the dual's own objectives are
    corrected: bool  # whether a dual with a memory follows the estimate, corrected by what was observed, or that alone
    alpha_anytime: bool
    eta_anytime: bool
    damping: bool


class Dual(NamedTuple):
    """The dual variable and what its step remembers."""

    Y: Array  # (m,)
    gain: Array  # (m,)
    lack: Array  # (m,) last b − V_g
    memory: Array  # (2,m) running means of observed − estimated and of (b − observed)²; (0,m) where only the estimate counts
    k: Any  # (1,) episodes so far


#: Constants and the reason for each, for a number of episodes.
ForLength = Callable[[int], tuple[Constants, dict[str, str]]]


def caps(horizon: int, cap: str) -> Array:
    """The upper truncation of each step: H, or the number of steps left."""
    return np.full(horizon, float(horizon)) if cap == "H" else np.arange(horizon, 0.0, -1.0)


def assemble(c: Constants, spec: Any, lam: float | None = None) -> Rule:
    """The rule of Algorithm 1 from its constants.

    There are J objectives: the reward, m utilities, and these once more where the dual has an estimate of its own.
    With ``dual_estimate`` "observed" it needs none.

    Args:
        c: the constants.
        spec: has the horizon and the thresholds.
        lam: the λ in use, where it is not that of the constants.
    """
    m = spec.n_constraints
    beta = np.full(1 + (m if c.dual_estimate in ("optimistic", "observed") else 2 * m), c.beta * c.utility_bonus)
    beta[0], pessimistic = c.beta, c.dual_estimate == "pessimistic"
    beta[1 + m :] = -c.pessimism * beta[1] if pessimistic else c.dual_prior * np.sqrt(c.lam if lam is None else lam)
    return Rule(
        b=spec.thresholds + c.zeta,
        room=np.minimum(spec.thresholds, spec.horizon - spec.thresholds).clip(0.01) if c.anti_windup else np.zeros(0),
        beta=beta,
        alpha=np.array([c.alpha]),
        eta=np.array([c.eta]),
        xi=np.array([c.xi]),
        cap=caps(spec.horizon, c.cap),
        floor=0.0 if c.lower_clip else -np.inf,
        span_floor=c.span_floor if c.bonus != "constant" else -1.0,
        by_variance=c.bonus == "variance",
        pessimistic=pessimistic,
        corrected=c.dual_estimate == "corrected",
        alpha_anytime=c.alpha_schedule == "anytime",
        eta_anytime=c.eta_schedule == "anytime",
        damping=c.damping,
    )


def own_bonus(rule: Rule) -> Array:
    """β' (J,): the bonus of what one step pays, where steps share their transitions only.

    A reward spreads over at most ``span_floor`` where the bonus is by span. With a constant β it is one of H steps, so 1/H of
    it: with λ = (β/H)² an untried pair pays exactly 1. The dual's own objectives take ``dual_prior`` of 1.
    """
    m, H = len(rule.b), len(rule.cap)
    own = rule.beta * (rule.span_floor if rule.span_floor >= 0.0 else 1.0 / H)
    if not rule.pessimistic:
        own[1 + m :] = rule.beta[1 + m :]
    return np.asarray(own)


def no_dual(m: int, dual_estimate: str = "optimistic") -> Dual:
    """Y = 0 before the first episode, and a memory where the dual looks at what was observed."""
    memory = np.zeros((2 if dual_estimate in ("observed", "corrected") else 0, m))
    return Dual(Y=np.zeros(m), gain=np.ones(m), lack=np.zeros(m), memory=memory, k=np.zeros(1, dtype=np.int64))
