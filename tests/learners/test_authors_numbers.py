"""Numbers that authors of a system published, met by our learner in the same worlds with the same constants."""

from __future__ import annotations

from typing import Any

import numpy as np

import noregret as nr
from noregret.problems import chains
from noregret.problems.base import TabularCMDP

#: The rates μ and ρ of streaming that seeds 0 to 9 of the published code of OPSE-LCMDP draw.
RATES = (
    (0.83692563, 0.18481600), (0.78104609, 0.24945599), (0.75451720, 0.34958375), (0.50347817, 0.33422387),
    (0.71873337, 0.33725715), (0.76441294, 0.28506398), (0.78115404, 0.28943318), (0.84694815, 0.15665923),
    (0.87270689, 0.33462495), (0.71670753, 0.17360085),
)  # fmt: skip
#: The constants of that code, in our names.
CONSTANTS: dict[str, Any] = {
    "C_r": 2.0, "C_g": 2.0, "C_plus": 2.0, "B": 1.0, "kappa": 0.1, "lam": 1.0, "max_price": 300.0, "passes": 20,
    "share": "nothing", "cap": "H-h+1", "safe_policy": "safest",
}  # fmt: skip
#: Means over the ten worlds that its figure shows: what the uniform policy loses an episode, what OPSE-LCMDP has lost by 1,000.
UNIFORM, BY_1000 = 0.36046, 560.1


def streaming(mu: float, rho: float) -> TabularCMDP:
    """The problem ``streaming`` with rates of our choice."""
    H, P = 4, chains.buffer(6, [mu, 1.0 - mu], rho)
    r, g = np.ones((H, 6, 2)), np.zeros((H, 6, 2))
    r[:, 0], g[:, :, 1] = 0.0, 1.0
    return TabularCMDP(np.broadcast_to(P, (H, *P.shape)), r, g, 0.6 * H, 0)


def test_opse_loses_what_its_authors_show() -> None:
    same = streaming(*np.random.default_rng(0).uniform((0.5, 0.1), (0.9, 0.4)))
    assert np.array_equal(same.P, nr.problems.load("streaming").P) and np.array_equal(same.r, nr.problems.load("streaming").r)
    worlds = [streaming(*rates) for rates in RATES]
    lost = [nr.run(world, "uniform", episodes=1, trials=1, progress=False).hard_regret[0, -1] for world in worlds]
    assert abs(np.mean(lost) - UNIFORM) < 1e-3  # the same worlds; the code finds the optimum by steps, we exactly
    runs = [
        nr.run(world, "opse-lcmdp", episodes=1000, trials=1, seed=i, preset="theory", progress=False, **CONSTANTS)
        for i, world in enumerate(worlds)
    ]
    assert all(run.last("hard_violation").mean == 0.0 for run in runs)
    regret = np.mean([run.last("hard_regret").mean for run in runs])
    assert abs(regret - BY_1000) < 30.0  # three standard errors of the difference; cap="H-h" is 79 below
