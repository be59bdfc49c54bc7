"""The best mixture of known policies: the tiny master program of the oracle's column generation."""

from __future__ import annotations

import numpy as np

from noregret._system.interrupts import held
from noregret.errors import OracleError
from noregret.problems.base import Array

#: HiGHS takes no tighter tolerances, so the master's rows are slacks times ``SCALE``: policies close in utility then
#: differ by more than a tolerance, and a threshold that is just within reach is not called infeasible.
HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SCALE = 1e4


def master(values: Array, b: Array, reward: float) -> tuple[Array, Array, float]:
    """Find the best mixture of known policies by linear programming.

    The variables are the weights and t, which is 0 when the reward is maximised and the worst slack otherwise.

    Args:
        values: (K,1+m) the values (V_r, V_g) of each policy.
        b: (m,) thresholds.
        reward: 1 to maximise V_r subject to V_g ≥ b, 0 to maximise the worst slack.

    Returns:
        The weights (K,) of the mixture, the dual (m,) and the value that is maximised.

    Raises:
        OracleError: HiGHS found no solution.
    """
    with held():  # its compiled parts make an ImportError of a Ctrl-C
        from scipy.optimize import linprog  # a quarter of a second, so not at import

    K, m = len(values), len(b)
    objective = np.append(-reward * values[:, 0], reward - 1.0)
    short = np.column_stack([b[:, None] - values[:, 1:].T, np.ones(m)])
    total = np.append(np.ones(K), 0.0)[None]
    bounds = [(0.0, None)] * K + [(0.0, 0.0) if reward else (None, None)]
    for scale, presolve in ((SCALE, False), (SCALE, True), (1.0, False)):  # HiGHS gives up on few, on none in all ways
        options = HIGHS | {"presolve": presolve}
        found = linprog(objective, scale * short, np.zeros(m), total, [1.0], bounds, method="highs-ds", options=options)
        if found.status == 0:
            break
    else:
        raise OracleError(f"the master program over {K} policies was not solved: {found.message}")
    weights = np.maximum(found.x[:-1], 0.0)
    return weights / weights.sum(), np.maximum(-scale * found.ineqlin.marginals, 0.0), -float(found.fun)
