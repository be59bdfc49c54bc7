r"""A bandit with a constraint: one state, some actions, H pulls an episode, rewards and utilities that are seen as 0 or 1.

The mean reward and the mean utilities of each action are uniform on [0,1], the same at every step, drawn from the seed. With
``slack`` the threshold lies below the utility of the action with the best reward, so that the constraint does not bind. Else it
lies between what the best reward gives and the best utility (:mod:`noregret.problems.thresholds`). What is hard about it: two
actions may be close, and whoever believes the first few pulls stays with the wrong one.

With the defaults: optimum 2.266871, dual 3.690745, Slater gap 0.248713.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks, thresholds
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import register


@register("bandit")
def bandit(seed: int = 0, A: int = 4, H: int = 5, m: int = 1, fraction: float = 0.5, slack: bool = False) -> TabularCMDP:
    """Pull arms whose rewards and utilities are 0 or 1, under a constraint that binds or is slack.

    Args:
        seed: determines all means.
        A: arms.
        H: pulls of an episode.
        m: constraints.
        fraction: where the thresholds lie, 0 (reward alone) to 1 (utility alone).
        slack: whether the thresholds lie below what the arm with the best reward gives.
    """
    checks.fits(A=A, H=H, m=m)
    checks.number("fraction", fraction, 0.0, 1.0)
    rng = np.random.default_rng(checks.integer("seed", seed, 0))
    shape = (H, 1, A)
    r = np.broadcast_to(rng.uniform(size=A), shape)
    g = np.broadcast_to(rng.uniform(size=(m, 1, 1, A)), (m, *shape))
    P = np.ones((*shape, 1))
    best = g[:, 0, 0, r[0, 0].argmax()]
    b = 0.5 * H * (best + g[:, 0, 0].min(axis=1)) if slack else thresholds.binding(P, r, g, np.ones(1), fraction)
    return TabularCMDP(P, r, g, b, 0, noise="bernoulli", share="all")
