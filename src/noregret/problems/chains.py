"""Kernels on a line of states, shared by the buffers and queues."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noregret.problems.base import Array


def birth_death(up: ArrayLike, down: ArrayLike) -> Array:
    """Make P (S,A,S): one state up with probability ``up`` (S,A), one down with ``down`` (S,A), else stay.

    A move beyond either end stays where it is.
    """
    up, down = np.asarray(up, dtype=np.float64), np.asarray(down, dtype=np.float64)
    S, A = up.shape
    states = np.arange(S)
    P = np.zeros((S, A, S))
    P[states, :, np.minimum(states + 1, S - 1)] += up
    P[states, :, np.maximum(states - 1, 0)] += down
    P[states, :, states] += 1.0 - up - down
    return P


def buffer(S: int, arrival: ArrayLike, departure: float) -> Array:
    """Make P (S,A,S) of a buffer: up when a packet arrives and none leaves, down when one leaves and none arrives.

    Args:
        S: how many states, 0 to S-1 packets.
        arrival: (A,) probability that a packet arrives, by action.
        departure: probability that a packet leaves.
    """
    arrival = np.asarray(arrival, dtype=np.float64)
    up, down = arrival * (1.0 - departure), (1.0 - arrival) * departure
    return birth_death(np.tile(up, (S, 1)), np.tile(down, (S, 1)))
