"""What is certified of Algorithm 1: with preset ``safe`` a safe policy is mixed with the plan, as far as a proof allows.

The user hands over a policy that meets every constraint with room. What is played is the mixture with the largest share of the
plan that :mod:`noregret.kernels.steps.certificate` certifies: with probability 1 − p no episode of the run violates.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.kernels.steps.certificate import Certified, certified
from noregret.kernels.steps.safety import Safety, safety
from noregret.learners.presets import Resolved, told_safe_policy
from noregret.problems.base import Array, Spec


def safe_policy(given: ArrayLike | None, preset: str, c: Resolved, spec: Spec) -> Array | None:
    """The safe policy (H,S,A) where there is one: preset ``safe`` needs it, and it needs the dual of that preset.

    Args:
        given: what the user handed over.
        preset: where the constants come from.
        c: the constants.
        spec: says which actions are available.

    Raises:
        InputError: it is missing, or of no use.
    """
    if preset != "safe" and given is None:
        return None
    if c.dual_estimate != "pessimistic":
        raise InputError(f"dual_estimate is {c.dual_estimate!r}; with a safe_policy expected 'pessimistic' (preset 'safe')")
    return told_safe_policy("preset 'safe'", given, spec.available)


def guard(policy: Array | None, spec: Spec, c: Resolved, K: int, one_hot: bool) -> Safety | Certified:
    """What keeps a run safe; without a safe policy, nothing.

    Args:
        policy: the safe policy, or None.
        spec: has sizes, thresholds and the start.
        c: the constants λ and p.
        K: the number of episodes.
        one_hot: whether features are one-hot; then counts certify something too.
    """
    if policy is None:
        return safety(None, spec.start, spec.horizon, 1 + spec.n_constraints)
    return certified(policy, spec, K, c.p, (c.lam, one_hot))
