"""Why soft-max: the paper's counter-example to greedy policies (paper.tex l. 1222-1235), as numbers.

Two actions, one state, dual Y = 1. The composite Q_r + Y·Q_g prefers the second action by ε/2, and after all entries moved by
at most ε the first one, by more than ε:

    Q_r = (M, 1)              Q_g = (1, M+ε/2)      Y = 1
    Q̃_r = (M+ε/2, 1−ε/2)      Q̃_g = (1+ε/2, M)      Ỹ = 1−ε/2

A greedy policy changes its mind, and V_r = Σ_a π(a) Q_r(a) jumps from 1 to M+ε/2 however small ε is: no ε-net of the Q's is
one of the V's. The soft-max policy moves by at most 2α times the change of the composite (l. 1056-1085), and so

    |V_r − Ṽ_r| ≤ ε (1 + 2αH(1+ξ+H)),   here with ξ = 1                          (l. 1090-1116).

The paper lets M grow without end. A Q is at most H, so M+ε/2 ≤ H and the jump is at most H − 1: that is what we take, M =
H − ε/2. Without a constraint (Y = 0) the greedy policy keeps the first action and V_r moves by ε/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret._system.checks import integer
from noregret.errors import InputError
from noregret.problems.base import Array

HORIZON = 10
ALPHAS: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
EPSILONS: tuple[float, ...] = tuple(float(e) for e in np.logspace(0, -8, 33))
#: The ε of the printed table.
SHOWN: tuple[float, ...] = (1.0, 1e-2, 1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Pair:
    """The two composites that are ε apart: rows Q (2,2) by objective and action, and the dual."""

    Q: Array
    Y: float
    Q_near: Array
    Y_near: float


def counter_example(horizon: int, epsilon: float, constrained: bool = True) -> Pair:
    """The paper's example with the largest M that Q ≤ H allows.

    Args:
        horizon: H, at least 2.
        epsilon: how far apart the two composites are, above 0 and at most 1.
        constrained: whether the dual is 1; else it is 0.
    """
    if not 0.0 < epsilon <= 1.0:
        raise InputError(f"epsilon is {epsilon!r}; expected a number above 0 and at most 1")
    horizon = integer("horizon", horizon, 2)
    M, half = horizon - epsilon / 2, epsilon / 2
    Q = np.array([[M, 1.0], [1.0, M + half]])
    near = np.array([[M + half, 1.0 - half], [1.0 + half, M]])
    return Pair(Q, 1.0 if constrained else 0.0, near, 1.0 - half if constrained else 0.0)


def value(Q: Array, Y: float, alpha: float) -> Array:
    """V_r and V_g under the soft-max of Algorithm 1, by its own kernel.

    Args:
        Q: the reward's and the utility's values of the two actions, (2,2).
        Y: the dual.
        alpha: the temperature's inverse; infinity is greedy.
    """
    from noregret.kernels.gram.base import Tables, everyone
    from noregret.kernels.steps.softmax import soft_max

    V, table, allowed = np.zeros((2, 2, 1)), np.ascontiguousarray(Q[None, :, None, :]), np.ones((1, 1, 2), dtype=np.bool_)
    soft_max(everyone(1), 0, Tables(table, V, np.zeros((1, 1, 2)), allowed, np.zeros((1, 2))), np.array([Y]), float(alpha))
    return V[0, :, 0]


def value_gap(horizon: int, epsilon: float, alpha: float, constrained: bool = True) -> float:
    """The change of the reward value, |V_r − Ṽ_r|, between the two composites that are ε apart.

    Args:
        horizon: H.
        epsilon: ε.
        alpha: of the soft-max; infinity is greedy.
        constrained: whether there is a constraint.

    Example:
        >>> round(value_gap(10, 1e-6, np.inf), 3)
        9.0
    """
    pair = counter_example(horizon, epsilon, constrained)
    return float(abs(value(pair.Q, pair.Y, alpha)[0] - value(pair.Q_near, pair.Y_near, alpha)[0]))


def lemma_bound(horizon: int, epsilon: float, alpha: float, xi: float = 1.0) -> float:
    """The change that the paper's lemma allows, ε(1 + 2αH(1+ξ+H)) (l. 1090-1116).

    Args:
        horizon: H.
        epsilon: ε.
        alpha: of the soft-max.
        xi: ξ, the cap of the dual.
    """
    return epsilon * (1.0 + 2.0 * alpha * horizon * (1.0 + xi + horizon))


@dataclass(frozen=True)
class Demo:
    """Value gaps by ε: greedy with and without a constraint, and soft-max for each α, with the lemma's bound."""

    horizon: int
    epsilons: Array  # (n,)
    alphas: tuple[float, ...]
    greedy: Array  # (n,)
    unconstrained: Array  # (n,)
    soft: Array  # (alphas,n)
    bound: Array  # (alphas,n)


def run(horizon: int = HORIZON, alphas: tuple[float, ...] = ALPHAS, epsilons: tuple[float, ...] = EPSILONS) -> Demo:
    """Compute all the numbers of the figure.

    Args:
        horizon: H.
        alphas: of the soft-max policies.
        epsilons: how far apart the two composites are.
    """
    return Demo(
        horizon=horizon,
        epsilons=np.array(epsilons),
        alphas=tuple(alphas),
        greedy=np.array([value_gap(horizon, e, math.inf) for e in epsilons]),
        unconstrained=np.array([value_gap(horizon, e, math.inf, constrained=False) for e in epsilons]),
        soft=np.array([[value_gap(horizon, e, alpha) for e in epsilons] for alpha in alphas]),
        bound=np.array([[lemma_bound(horizon, e, alpha) for e in epsilons] for alpha in alphas]),
    )
