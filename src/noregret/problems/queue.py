r"""A single-server queue with service and admission control (in the manner of Altman, Constrained MDPs, chapter 5).

At most L = 10 jobs fit; x is their number, none at the start. In each of H = 20 slots the server completes a job with
probability s, slow or fast, and a job arrives with probability u, throttled or free; the two choices make four
actions. For 0 < x < L

.. math::  x \to x+1 \text{ w.p. } (1-s)u,\quad x-1 \text{ w.p. } s(1-u),\quad\text{else } x.

An arrival to an empty queue may be served in its slot, so 0 goes up with probability (1-s)u and stays otherwise; a
full queue admits nobody and goes down with probability s. Our rates: s = 0.3 or 0.6, u = 0.2 or 0.7. The reward is the
rate of admission (0 when full), the throughput. Two costs are limited: fast service costs 1 a slot, at most 6 of 20 in
expectation, and the queue costs x/L a slot, at most 3 in total (1.5 jobs on average).

With the defaults: optimum 11.862756, duals 0.243721 (service) and 1.068346 (queue), Slater gap 2.420618.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import chains, checks
from noregret.problems.base import Constraint, TabularCMDP
from noregret.problems.registry import register


@register("queue")
def queue(
    service_limit: float = 6.0,
    queue_limit: float = 3.0,
    H: int = 20,
    buffer: int = 10,
    slow: float = 0.3,
    fast: float = 0.6,
    throttled: float = 0.2,
    free: float = 0.7,
) -> TabularCMDP:
    """Admit jobs to a queue and choose the speed of its server, under limits on fast service and on queue length.

    Action 2·i + j serves slow (i=0) or fast (i=1) and admits throttled (j=0) or free (j=1).

    Args:
        service_limit: the most expected slots of fast service.
        queue_limit: the most expected total of x/L.
        H: slots of an episode.
        buffer: L, the most jobs held.
        slow: probability that the slow server completes a job.
        fast: probability that the fast server completes a job.
        throttled: probability of an arrival when throttled.
        free: probability of an arrival when free.
    """
    L = checks.integer("buffer", buffer, 1)
    checks.fits(H=H, S=L + 1, A=4, next=L + 1)
    for key, rate in {"slow": slow, "fast": fast, "throttled": throttled, "free": free}.items():
        checks.number(key, rate, 0.0, 1.0)
    service, arrival = np.array([slow, slow, fast, fast]), np.array([throttled, free, throttled, free])
    jobs = np.arange(L + 1)[:, None]
    admitted = np.where(jobs < L, arrival, 0.0)
    P = chains.birth_death((1.0 - service) * admitted, np.where(jobs > 0, service * (1.0 - admitted), 0.0))
    shape = (H, L + 1, 4)
    is_fast, length = np.broadcast_to([0.0, 0.0, 1.0, 1.0], shape), np.broadcast_to(jobs / L, shape)
    constraints = [
        Constraint(is_fast, checks.number("service_limit", service_limit), "<=", "fast service"),
        Constraint(length, checks.number("queue_limit", queue_limit), "<=", "queue length"),
    ]
    return TabularCMDP.with_constraints(
        np.broadcast_to(P, (H, *P.shape)), np.broadcast_to(admitted, shape), constraints, 0, share="all"
    )
