r"""Admission to servers whose service is random: what a slot pays is seen only when it is over.

At most L jobs are in the system; x is their number, none at the start. In each of H slots two jobs ask to be let in, and the
action a = 0, 1, 2 says how many are, as far as there is room. Then each of at most c jobs in service finishes with probability
s, independently, so the number D that finish is binomial and x' = x + a − D. The reward is D/c: it depends on the next state,
and is random without any noise option. The cost is x'/L, what is still waiting; its expected total is at most ``limit``.

With the defaults: optimum 5.000000, dual 2.000000, Slater gap 2.5.
"""

from __future__ import annotations

from math import comb

import numpy as np

from noregret.problems import checks
from noregret.problems.base import Constraint, TabularCMDP
from noregret.problems.registry import register

#: Jobs that ask to be let in at each slot.
ASKING = 2


@register("admission")
def admission(limit: float = 2.5, H: int = 16, buffer: int = 6, servers: int = 2, service: float = 0.4) -> TabularCMDP:
    """Let jobs in to servers whose service is random, under a limit on what waits; pays by the next state.

    Args:
        limit: the most expected total of x'/L.
        H: slots of an episode.
        buffer: L, the most jobs in the system.
        servers: c, the most jobs in service.
        service: s, the probability that a job in service finishes in a slot.
    """
    L, c = checks.integer("buffer", buffer, 1), checks.integer("servers", servers, 1)
    checks.fits(H=H, S=L + 1, A=ASKING + 1, next=L + 1)
    s = checks.number("service", service, 0.0, 1.0)
    S, A = L + 1, ASKING + 1
    P, r = np.zeros((S, A, S)), np.zeros((S, A, S))
    available = np.zeros((S, A), dtype=np.bool_)
    for x in range(S):
        for a in range(min(A, L - x + 1)):
            busy = min(x + a, c)
            available[x, a] = True
            for done in range(busy + 1):
                P[x, a, x + a - done] = comb(busy, done) * s**done * (1.0 - s) ** (busy - done)
                r[x, a, x + a - done] = done / c
    waiting = np.broadcast_to(np.arange(S) / L, (H, S, A, S))
    constraint = Constraint(waiting, checks.number("limit", limit), "<=", "waiting")
    return TabularCMDP.with_constraints(
        np.broadcast_to(P, (H, *P.shape)), np.broadcast_to(r, (H, *r.shape)), [constraint], 0, share="all", available=available
    )
