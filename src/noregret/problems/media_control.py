r"""Media control (Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland: DOPE, NeurIPS 2022).

A device streams media over a link that it shares. Its buffer holds x = 0..9 packets, none at the start. In each of
H = 10 steps a packet is played with probability λ = 0.8, and one arrives with probability μ = 0.9 on the fast service
or 0.1 on the slow one:

.. math::  x \to x+1 \text{ w.p. } μ(1-λ),\quad x-1 \text{ w.p. } (1-μ)λ,\quad\text{else } x,

where a move beyond either end stays. The reward is 1 unless the buffer is empty; the cost is 1 for fast service, and
its expected total is at most 5 of the 10 steps.

With the defaults: optimum 3.253296, dual 0.495190, Slater gap 5 (never fast).
"""

from __future__ import annotations

import numpy as np

from noregret.problems import chains, checks
from noregret.problems.base import Constraint, TabularCMDP
from noregret.problems.registry import register

SLOW, FAST = 0, 1


@register("media-control")
def media_control(
    limit: float = 5.0, H: int = 10, buffer: int = 9, mu_fast: float = 0.9, mu_slow: float = 0.1, departure: float = 0.8
) -> TabularCMDP:
    """Keep a media buffer from running empty with a limited share of fast service.

    Args:
        limit: the most expected steps of fast service.
        H: steps of an episode.
        buffer: the most packets held.
        mu_fast: probability of an arrival on fast service (action 1).
        mu_slow: probability of an arrival on slow service (action 0).
        departure: probability that a packet is played.
    """
    S = checks.integer("buffer", buffer, 1) + 1
    checks.fits(H=H, S=S, A=2, next=S)
    arrival = [checks.number("mu_slow", mu_slow, 0.0, 1.0), checks.number("mu_fast", mu_fast, 0.0, 1.0)]
    P = chains.buffer(S, arrival, checks.number("departure", departure, 0.0, 1.0))
    r = np.ones((H, S, 2))
    r[:, 0] = 0.0
    cost = np.zeros((H, S, 2))
    cost[:, :, FAST] = 1.0
    fast = Constraint(cost, checks.number("limit", limit), "<=", "fast service")
    return TabularCMDP.with_constraints(np.broadcast_to(P, (H, *P.shape)), r, [fast], 0, share="all")
