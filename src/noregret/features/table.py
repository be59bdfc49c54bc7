"""Features of finitely many states as a table φ (S,A,d)."""

from __future__ import annotations

import numpy as np

from noregret.problems.base import Array, TabularCMDP


def one_hot(S: int, A: int) -> Array:
    """Make the table φ(x,a) = e_{x,a}, (S, A, S·A). With these features the linear algorithm is the tabular one.

    >>> one_hot(1, 2).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    return np.eye(S * A).reshape(S, A, S * A)


def is_one_hot(phi: Array) -> bool:
    """Tell whether a table is exactly :func:`one_hot`. The Gram matrix Λ is then diagonal: it only counts visits."""
    S, A, d = phi.shape
    return d == S * A and bool((phi.reshape(S * A, d) == np.eye(d)).all())


def is_linear(problem: TabularCMDP, phi: Array | None) -> bool:
    """Tell whether transitions, rewards and utilities are linear in φ at every step, as in a linear MDP; None is one-hot."""
    if phi is None:
        return True
    for h in range(problem.horizon):
        pairs = problem.available[h]
        rows = phi[pairs]
        truth = np.column_stack([problem.P[h][pairs], problem.r[h][pairs], problem.g[:, h, pairs].T])
        if np.abs(rows @ np.linalg.lstsq(rows, truth, rcond=None)[0] - truth).max() > 1e-9:
            return False
    return True
