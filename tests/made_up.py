"""Results with made-up curves, for tests of what is done with results."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.results import RunResult


def a_result(trials: int = 3, points: int = 40, m: int = 1, zeta: float = 0.1, seed: int = 0, **changes: Any) -> RunResult:
    """Regret grows like √k, violations and duals are random."""
    rng = np.random.default_rng(seed)
    episodes = np.arange(1, points + 1) * 25
    regret = np.sqrt(episodes) * (2.0 + rng.random((trials, 1)))
    entries = dict(
        problem="made-up", learner="nobody", preset="practical", constants={"zeta": zeta, "beta": 1.0, "lam": 0.01}, seed=3,
        episodes=episodes, regret=regret, hard_regret=regret + 1.0, violations=rng.random((trials, points, m)),
        hard_violations=1 + rng.random((trials, points, m)), dual=rng.random((trials, points, m)), optimal_value=9.0,
        tightened_value=9.0 - zeta, optimal_dual=np.full(m, 0.5), slater_gap=0.5, slater_gap_used=None,
        episodes_requested=int(episodes[-1]), seconds=2.0, kernel_seconds=3.0, threads=2,
    )  # fmt: skip
    return RunResult(**(entries | changes))
