"""How much of a policy may be played: the largest share of it that, mixed with a safe policy, is still certified.

At every step and state the mixture plays the new policy with probability q and the safe one otherwise. It is certified when a
lower bound of its value for each utility reaches the threshold (:mod:`noregret.kernels.steps.certificate`). With no data
nothing is certified and the safe policy is played; as its neighbourhood becomes known, q grows, and when the new policy is
certified alone, q = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import add_body, by_type, jit
from noregret.kernels.steps.primal_dual import start_value
from noregret.kernels.types import Array, GramOfStates, Integers, Policies, SweepRule

#: Halvings of the interval that the share is sought in; the share played is its certified end.
HALVINGS = 7

if TYPE_CHECKING:
    from noregret.kernels.steps.certificate import Certified


class Safety(NamedTuple):
    """A safe policy to mix with, and scratch like that of a plan; empty arrays where there is none."""

    policy: Array  # (H,S,A)
    start: Array  # (S,) distribution of the first state
    share: Array  # (1,) how much of the planned policy is played
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S)
    bonus: Array  # (1,J)


def safety(policy: Array | None, start: Array, H: int, J: int) -> Safety:
    """Nothing certified yet, or no safe policy at all."""
    S, A = (0, 0) if policy is None else policy.shape[1:]
    return Safety(
        policy=np.zeros((0, 0, 0)) if policy is None else policy,
        start=start.copy(),
        share=np.ones(1),
        Q=np.zeros((H, J, S, A)),
        V=np.zeros((H + 1, J, S)),
        bonus=np.zeros((1, J)),
    )


@jit
def certified(V: Array, first: int, b: Array, start: Array) -> bool:
    """Whether the values V_j of the m objectives from ``first`` on reach their thresholds from the start."""
    for i in range(len(b)):
        if not start_value(V, first + i, start) >= b[i]:
            return False
    return True


@jit
def mix(safety: Safety | Certified, target: Array, policy: Array) -> None:
    """π ← (1 − q) π_safe + q π_target, at every step and state."""
    H, S, A = policy.shape
    safe, share = safety.policy, safety.share[0]
    for h in range(H):
        for s in range(S):
            for a in range(A):
                policy[h, s, a] = (1.0 - share) * safe[h, s, a] + share * target[h, s, a]


@partial(by_type, place=1)
def stay_safe(gram: GramOfStates, safety: Safety | Certified, tables: Policies, rule: SweepRule, policy: Array) -> None:
    """Play as much of the planned policy as is certified, and the safe policy for the rest."""


@by_type
def watch(safety: Safety | Certified, policy: Array, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in what an episode, played with ``policy``, says of the safe policy."""


def teach(kind: type, stay: Callable[..., None], watches: Callable[..., None]) -> None:
    """Give a kind of safety its bodies of :func:`stay_safe` and :func:`watch`."""
    add_body(stay_safe, kind, stay)
    add_body(watch, kind, watches)


def _no_policy(gram: GramOfStates, safety: Safety, tables: Policies, rule: SweepRule, policy: Array) -> None:
    """Without a safe policy the plan is played as it is."""


def _nothing(safety: Safety, policy: Array, states: Integers, actions: Integers, observed: Array) -> None:
    """Without a safe policy there is nothing to learn of it."""


teach(Safety, _no_policy, _nothing)
