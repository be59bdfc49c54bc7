r"""Thresholds that bind: chosen between what the best rewards give and what the best utilities give.

Let low_i be the value of utility i under a policy of highest reward (ties go to utility), and high_i its value under
the even mixture of the m policies that maximise one utility each. With a fraction f in (0,1)

.. math::  b_i = low_i + f\,(high_i - low_i),

where low_i is the least value that utility i can have if high_i is not above the first choice, and b_i = f·high_i if no
policy makes a difference to utility i. The mixture meets every constraint with room to spare, so the problem is strictly
feasible; and where high_i is above the utility of the highest reward, that reward violates constraint i, so with one
constraint that constraint binds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.problems.base import Array

#: Values of policies that differ by less are taken as equal.
DIFFERENCE = 1e-9


def binding(P: Array, r: Array, g: Array, mu: Array, fraction: float) -> Array:
    """Choose thresholds b (m,) between what the best rewards give and what the best utilities give; see the module.

    Args:
        P: (H,S,A,S) transition probabilities.
        r: (H,S,A) rewards.
        g: (m,H,S,A) utilities.
        mu: (S,) start distribution.
        fraction: f, from 0 (the best rewards) to 1 (the best utilities).
    """
    m = len(g)
    low = values(P, best(P, r, g.mean(axis=0)), g, mu)
    high = np.mean([values(P, best(P, g[i], r), g, mu) for i in range(m)], axis=0)
    least = np.array([values(P, best(P, -g[i], r), g, mu)[i] for i in range(m)])
    low = np.where(high > low + DIFFERENCE, low, least)
    return np.asarray(np.where(high > low + DIFFERENCE, low + fraction * (high - low), fraction * high))


def best(P: Array, f: Array, ties: Array) -> NDArray[np.int64]:
    """Find a deterministic policy (H,S) of highest total ``f``.

    Args:
        P: (H,S,A,S) transition probabilities.
        f: (H,S,A) what is maximised.
        ties: (H,S,A) what is maximised among actions that are equal in ``f`` to 1e-12.
    """
    H, S, _, _ = P.shape
    policy = np.zeros((H, S), dtype=np.int64)
    V, W = np.zeros(S), np.zeros(S)
    for h in reversed(range(H)):
        Q, R = f[h] + P[h] @ V, ties[h] + P[h] @ W
        near = Q >= Q.max(axis=1, keepdims=True) - 1e-12
        policy[h] = np.where(near, R, -np.inf).argmax(axis=1)
        V, W = Q[np.arange(S), policy[h]], R[np.arange(S), policy[h]]
    return policy


def values(P: Array, policy: NDArray[np.int64], g: Array, mu: Array) -> Array:
    """Compute the expected total of each of m tables under a deterministic policy.

    Args:
        P: (H,S,A,S) transition probabilities.
        policy: (H,S) actions.
        g: (m,H,S,A) the tables.
        mu: (S,) start distribution.
    """
    m, H, S, _ = g.shape
    V = np.zeros((m, S))
    for h in reversed(range(H)):
        V = g[:, h, np.arange(S), policy[h]] + V @ P[h, np.arange(S), policy[h]].T
    return np.asarray(V @ mu)
