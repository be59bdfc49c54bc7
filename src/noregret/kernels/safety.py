"""How much of a policy may be played: the largest share of it that, mixed with a safe policy, is still certified.

At every step and state the mixture plays the new policy with probability q and the safe one otherwise. It is certified when its
value for each utility, estimated with a *negative* bonus (and 0 where nothing is known), reaches the threshold. With no data
nothing is certified and the safe policy is played; as its neighbourhood becomes known, q grows, and when the new policy is
certified alone, q = 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.flat import row
from noregret.kernels.gram.base import estimate_from, spread
from noregret.kernels.jit import add_body, by_type, jit
from noregret.kernels.steps import start_value

#: Halvings of the interval that the share is sought in; the share played is its certified end.
HALVINGS = 7

Array = NDArray[np.float64]


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
        policy=np.zeros((0, 0, 0)) if policy is None else policy, start=start.copy(), share=np.ones(1),
        Q=np.zeros((H, J, S, A)), V=np.zeros((H + 1, J, S)), bonus=np.zeros((1, J)),
    )  # fmt: skip


@jit
def certified(V: Any, first: int, b: Any, start: Any) -> bool:
    """Whether the values V_j of the m objectives from ``first`` on reach their thresholds from the start."""
    for i in range(len(b)):
        if not start_value(V, first + i, start) >= b[i]:
            return False
    return True


@jit
def mix(safety: Any, target: Any, policy: Any) -> None:
    """π ← (1 − q) π_safe + q π_target, at every step and state."""
    H, S, A = policy.shape
    safe, share = safety.policy, safety.share[0]
    for h in range(H):
        for s in range(S):
            for a in range(A):
                policy[h, s, a] = (1.0 - share) * safe[h, s, a] + share * target[h, s, a]


@partial(jit, references=False)
def pessimistic_values(gram: Any, safety: Any, target: Any, rule: Any, share: float) -> None:
    """V_j of a mixture for the last m objectives, with bonus β_j times the spread of its own next values."""
    safe, Q, V, bonus, first = safety.policy, safety.Q, safety.V, safety.bonus, 1 + len(rule.b)
    for h in range(len(Q) - 1, -1, -1):
        for j in range(first, Q.shape[1]):
            bonus[0, j] = rule.beta[j] * max(spread(gram, h, safety, j), rule.span_floor)
        estimate_from(gram, first, h, safety, bonus[0], (0.0, rule.cap[h]))
        g = row(gram.actives, h)
        for i in range(gram.actives[g]):
            s = gram.active[g, i]
            for j in range(first, Q.shape[1]):
                value = 0.0
                for a in range(Q.shape[3]):
                    value += ((1.0 - share) * safe[h, s, a] + share * target[h, s, a]) * Q[h, j, s, a]
                V[h, j, s] = value


@jit
def safe_share(gram: Any, safety: Any, target: Any, rule: Any) -> float:
    """The largest share q (to a halving) whose mixture is certified."""
    low, high, first = 0.0, 1.0, 1 + len(rule.b)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        pessimistic_values(gram, safety, target, rule, middle)
        if certified(safety.V, first, rule.b, safety.start):
            low = middle
        else:
            high = middle
    return low


@partial(by_type, place=1)
def stay_safe(gram: Any, safety: Any, tables: Any, rule: Any, policy: Any) -> None:
    """Play as much of the planned policy as is certified, and the safe policy for the rest."""


@by_type
def watch(safety: Any, policy: Any, states: Any, actions: Any, observed: Any) -> None:
    """Take in what an episode, played with ``policy``, says of the safe policy."""


def teach(kind: type, stay: Any, watches: Any) -> None:
    """Give a kind of safety its bodies of :func:`stay_safe` and :func:`watch`."""
    add_body(stay_safe, kind, stay)
    add_body(watch, kind, watches)


def _tuned(gram: Any, safety: Any, tables: Any, rule: Any, policy: Any) -> None:
    """By the pessimistic estimate."""
    safety.share[0] = 1.0
    if not certified(tables.V, 1 + len(rule.b), rule.b, safety.start):
        safety.share[0] = safe_share(gram, safety, tables.policy, rule)
    mix(safety, tables.policy, policy)


def _nothing(safety: Any, policy: Any, states: Any, actions: Any, observed: Any) -> None:
    """The pessimistic estimate has all it needs in the data."""


teach(Safety, _tuned, _nothing)
