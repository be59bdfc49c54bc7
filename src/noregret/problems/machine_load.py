r"""A machine that gets hot: how hard to run it when every step may fail with a small probability only.

The state is its temperature x = 0..L, 0 at the start. It idles (a=0), runs at half load (1) or at full load (2). The reward is
the load a/2. A step fails with probability

.. math::  c(x,a) = 0.05 + \frac a2 \Bigl(0.2 + 0.7 \frac xL\Bigr),

which is the cost; the utility is 1 - c. Idle, it cools down by one with probability 0.8; at half load it warms up by one with
0.3 and cools down by one with 0.1; at full load it warms up by one with 0.7; else the temperature stays.

What is limited is every step, not the total: in each state the expected cost of the load drawn is at most 0.3. Idling is known
to be safe. The threshold b = H(1 - limit) follows from that limit. It is all that learners without step limits know of.
Failures and work are seen as 0 or 1, unless noise=none.

With the defaults: optimum 4.129515, dual 0.000000, Slater gap 1.5. Held to the total alone, 4.643382 could be had, and without
any limit 6.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import register

#: By load: the probabilities to cool down by one and to warm up by one.
MOVES = ((0.8, 0.0), (0.1, 0.3), (0.0, 0.7))

#: The probability that an idle machine fails.
IDLE = 0.05


@register("machine-load")
def machine_load(limit: float = 0.3, H: int = 6, levels: int = 4) -> TabularCMDP:
    """Run a machine that gets hot; the cost of every single step is limited, and idling is known to be safe.

    Args:
        limit: the most that a step may fail with, in expectation over the load drawn.
        H: steps of an episode.
        levels: temperatures.
    """
    checks.fits(H=H, levels=checks.integer("levels", levels, 2), loads=len(MOVES), next=levels)
    x = np.arange(levels)
    P = np.zeros((levels, len(MOVES), levels))
    for a, (cooler, warmer) in enumerate(MOVES):
        for to, chance in ((x, 1.0 - cooler - warmer), (np.maximum(x - 1, 0), cooler), (np.minimum(x + 1, levels - 1), warmer)):
            P[x, a, to] += chance
    load = np.arange(len(MOVES)) / 2.0
    cost = IDLE + load * (0.2 + 0.7 * x[:, None] / (levels - 1))
    most = checks.number("limit", limit, 0.0, 1.0)
    return TabularCMDP(
        np.broadcast_to(P, (H, *P.shape)),
        np.broadcast_to(load, (H, levels, len(MOVES))),
        np.broadcast_to(1.0 - cost, (H, *cost.shape)),
        H * (1.0 - most),
        0,
        noise="bernoulli",
        constraint_names=["no failure"],
        share="all",
        step_limit=most,
        safe_actions=np.zeros(levels, dtype=np.int64),
    )
