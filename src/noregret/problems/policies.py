"""Policies as tables: the Markov policy of an occupancy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.problems.base import Array


def markov_policy(occupancy: Array, available: NDArray[np.bool_]) -> Array:
    """Make the Markov policy π_h(a|x) = q_h(x,a)/Σ_a q_h(x,a) of an occupancy (H,S,A), or of a positive multiple of one.

    Values are linear in the occupancy, so for the average occupancy of a mixture of policies this policy has exactly the
    mixture's values. States that are never reached have uniform actions.
    """
    reached = occupancy.sum(axis=2, keepdims=True)
    uniform = available / available.sum(axis=2, keepdims=True)
    return np.asarray(np.where(reached > 1e-100, occupancy / np.maximum(reached, 1e-100), uniform))
