r"""Random tabular CMDPs: every step has its own kernel, rewards and utilities.

P_h(.|x,a) is a draw from a symmetric Dirichlet distribution on ``successors`` random states, r_h(x,a) and
g_{i,h}(x,a) are uniform on [0,1], all independent; the start is state 0. The thresholds lie at a ``fraction`` of the
way from the utility of the best rewards to the best utility (:mod:`noregret.problems.thresholds`), so the constraint
binds. The seed determines everything.

With the defaults: optimum 2.483992, dual 1.572911, Slater gap 0.261553.
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks, thresholds
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import register


@register("random")
def random_tabular(
    seed: int = 0,
    S: int = 5,
    A: int = 3,
    H: int = 4,
    m: int = 1,
    concentration: float = 0.3,
    successors: int | None = None,
    fraction: float = 0.5,
) -> TabularCMDP:
    """Random kernels, rewards and utilities, with a threshold that binds.

    Args:
        seed: determines everything.
        S: states.
        A: actions.
        H: steps of an episode.
        m: constraints.
        concentration: of the Dirichlet draws; small means nearly deterministic moves.
        successors: how many states a move can lead to; None for all.
        fraction: where the thresholds lie, 0 (reward alone) to 1 (utility alone).
    """
    checks.fits(S=S, A=A, H=H, next=S)
    checks.fits(S=S, A=A, H=H, m=m)
    checks.positive("concentration", concentration)
    checks.number("fraction", fraction, 0.0, 1.0)
    n = S if successors is None else checks.integer("successors", successors, 1, S)
    rng = np.random.default_rng(checks.integer("seed", seed, 0))
    P = np.zeros((H, S, A, S))
    where = rng.permuted(np.broadcast_to(np.arange(S), P.shape), axis=-1)[..., :n]
    np.put_along_axis(P, where, rng.dirichlet(np.full(n, concentration), size=(H, S, A)), axis=-1)
    r = rng.uniform(size=(H, S, A))
    g = rng.uniform(size=(m, H, S, A))
    b = thresholds.binding(P, r, g, np.eye(S)[0], fraction)
    return TabularCMDP(P, r, g, b, 0)
