r"""Streaming with random rates (Kitamura et al.: OPSE-LCMDP, NeurIPS 2025, arXiv 2502.10138).

The buffer holds x = 0..5 packets, none at the start, for H = 4 steps. The seed draws μ uniformly from [0.5, 0.9] and
the rate of leaving ρ from [0.1, 0.4]; a packet arrives with probability μ on the fast service (action 0) and 1 - μ on
the slow one (action 1). As in media control the buffer goes up with probability μ(1-ρ), down with (1-μ)ρ, and stays
otherwise. The reward is 1 while the buffer holds something; the utility is 1 for slow service, which can always be
chosen, so the most is H; at least 0.6 of it is wanted.

With the defaults (seed 0: μ = 0.754785, ρ = 0.180936): optimum 2.206978, dual 0.417370, Slater gap 1.6.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import chains, checks
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import register

FAST, SLOW = 0, 1


@register("streaming")
def streaming(seed: int = 0, fraction: float = 0.6, H: int = 4, buffer: int = 5) -> TabularCMDP:
    """Keep a small buffer from running empty at random rates, on the slow service most of the time.

    Args:
        seed: draws the rates.
        fraction: the threshold, as a share of the largest utility H.
        H: steps of an episode.
        buffer: the most packets held.
    """
    S = checks.integer("buffer", buffer, 1) + 1
    checks.fits(H=H, S=S, A=2, next=S)
    checks.number("fraction", fraction, 0.0, 1.0)
    rng = np.random.default_rng(checks.integer("seed", seed, 0))
    mu, rho = rng.uniform(0.5, 0.9), rng.uniform(0.1, 0.4)
    P = chains.buffer(S, [mu, 1.0 - mu], rho)
    r = np.ones((H, S, 2))
    r[:, 0] = 0.0
    g = np.zeros((H, S, 2))
    g[:, :, SLOW] = 1.0
    return TabularCMDP(np.broadcast_to(P, (H, *P.shape)), r, g, fraction * H, 0, constraint_names=["slow service"], share="all")
