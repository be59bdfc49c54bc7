r"""Random linear CMDPs on finitely many states (the linear-MDP assumption of Jin, Yang, Wang, Jordan, COLT 2020).

The feature φ(x,a) is a point of the simplex in d dimensions, and at every step h coordinate j has its own
distribution μ_{h,j} of the next state and its own reward and utility, so that

.. math::  P_h(x'|x,a) = \sum_j φ_j(x,a)\,μ_{h,j}(x'),\quad r_h = φ^\top θ_h,\quad g_{i,h} = φ^\top ω_{i,h}

hold exactly with ‖φ‖ ≤ 1 and θ, ω in [0,1]^d. All are drawn from the seed: φ and μ from symmetric Dirichlet
distributions, θ and ω uniformly; the start is state 0. Thresholds as in :mod:`noregret.problems.thresholds`. The
dimension d is much smaller than S·A, which is what a learner with features can use.

With the defaults: optimum 2.367495, dual 0.517568, Slater gap 0.091349.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks, thresholds
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import register


@register("linear")
def linear_finite(
    seed: int = 0,
    S: int = 100,
    A: int = 3,
    d: int = 5,
    H: int = 4,
    m: int = 1,
    concentration: float = 0.3,
    fraction: float = 0.5,
) -> TabularCMDP:
    """Random linear CMDPs on finitely many states, features attached, d much smaller than S·A.

    Args:
        seed: determines everything.
        S: states.
        A: actions.
        d: dimension of the features.
        H: steps of an episode.
        m: constraints.
        concentration: of the Dirichlet draws of φ and μ; small means near the corners.
        fraction: where the thresholds lie, 0 (reward alone) to 1 (utility alone).
    """
    checks.fits(S=S, A=A, H=H, next=S)
    checks.fits(S=S, A=A, H=H, m=m)
    checks.fits(S=S, d=d, more=max(A, H))
    checks.positive("concentration", concentration)
    checks.number("fraction", fraction, 0.0, 1.0)
    rng = np.random.default_rng(checks.integer("seed", seed, 0))
    phi = rng.dirichlet(np.full(d, concentration), size=(S, A))
    mu = rng.dirichlet(np.full(S, concentration), size=(H, d))
    theta = rng.uniform(size=(H, d))
    omega = rng.uniform(size=(m, H, d))
    P = np.einsum("sad,hdx->hsax", phi, mu)
    r = np.einsum("sad,hd->hsa", phi, theta)
    g = np.einsum("sad,mhd->mhsa", phi, omega)
    b = thresholds.binding(P, r, g, np.eye(S)[0], fraction)
    return TabularCMDP(P, r, g, b, 0, features=phi)
