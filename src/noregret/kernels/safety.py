"""How much of a policy may be played: the largest share of it that, mixed with a safe policy, is still certified.

At every step and state the mixture plays the new policy with probability q and the safe one otherwise. It is certified when its
value for each utility, estimated with a *negative* bonus (and 0 where nothing is known), reaches the threshold. With no data
nothing is certified and the safe policy is played; as its neighbourhood becomes known, q grows, and when the new policy is
certified alone, q = 1.
"""

from __future__ import annotations

from typing import Any

from noregret.kernels.gram import estimate_from, spread
from noregret.kernels.jit import jit
from noregret.kernels.steps import start_value

#: Halvings of the interval that the share is sought in; the share played is its certified end.
HALVINGS = 7


@jit
def certified(V: Any, first: int, b: Any, start: Any) -> bool:
    """Whether the values V_j of the m objectives from ``first`` on reach their thresholds from the start."""
    for i in range(len(b)):
        if not start_value(V, first + i, start) >= b[i]:
            return False
    return True


@jit
def mix(safe: Any, target: Any, share: float, policy: Any) -> None:
    """π ← (1 − q) π_safe + q π_target, at every step and state."""
    H, S, A = policy.shape
    for h in range(H):
        for s in range(S):
            for a in range(A):
                policy[h, s, a] = (1.0 - share) * safe[h, s, a] + share * target[h, s, a]


@jit
def pessimistic_values(
    gram: Any, safe: Any, target: Any, share: float, first: int, beta: Any, least: float, bonus: Any, cap: Any, Q: Any, V: Any
) -> None:
    """V_j of a mixture for the objectives from ``first`` on, with bonus β_j times the spread of its own next values."""
    for h in range(len(Q) - 1, -1, -1):
        for j in range(first, Q.shape[1]):
            bonus[j] = beta[j] * max(spread(gram, h, V, j), least)
        estimate_from(gram, first, h, V, bonus, 0.0, cap[h], Q)
        for i in range(gram.actives[h]):
            s = gram.active[h, i]
            for j in range(first, Q.shape[1]):
                value = 0.0
                for a in range(Q.shape[3]):
                    value += ((1.0 - share) * safe[h, s, a] + share * target[h, s, a]) * Q[h, j, s, a]
                V[h, j, s] = value


@jit
def safe_share(
    gram: Any,
    safe: Any,
    target: Any,
    first: int,
    beta: Any,
    least: float,
    bonus: Any,
    cap: Any,
    Q: Any,
    V: Any,
    b: Any,
    start: Any,
) -> float:
    """The largest share q (to a halving) whose mixture is certified; Q and V are scratch."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        pessimistic_values(gram, safe, target, middle, first, beta, least, bonus, cap, Q, V)
        if certified(V, first, b, start):
            low = middle
        else:
            high = middle
    return low
