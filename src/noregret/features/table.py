"""Features of finitely many states as a table φ (S,A,d)."""

from __future__ import annotations

import numpy as np

from noregret.problems.base import Array


def one_hot(S: int, A: int) -> Array:
    """φ(x,a) = e_{x,a}: the table (S, A, S·A) with which the linear algorithm is the tabular one."""
    return np.eye(S * A).reshape(S, A, S * A)


def is_one_hot(phi: Array) -> bool:
    """Whether a table is exactly :func:`one_hot`; then Λ is diagonal and counts do."""
    S, A, d = phi.shape
    return d == S * A and bool((phi.reshape(S * A, d) == np.eye(d)).all())
