"""The constants of Algorithm 1 as its kernels take them: the truncation, and the entries that the other parts add."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.learners.base import SomeSpec
from noregret.learners.lsvi import bonus, dual, schedule
from noregret.learners.presets import Resolved
from noregret.problems.base import Array


class Rule(NamedTuple):
    """The constants. What may change on the way (restarts, an estimate of γ) is an array."""

    b: Array  # (m,) thresholds, tightened by ζ
    room: Array  # (m,) the most that a step of the dual takes a lack for, and its unit where that is below 1; (0,) as printed
    beta: Array  # (J,) β of each objective; for the dual's own objectives prior·√λ (times the cap), or −pessimism·β
    alpha: Array  # (1,) each
    eta: Array
    xi: Array
    cap: Array  # (H,)
    floor: float  # 0, or −∞ without the lower clip
    span_floor: float  # least spread that β is multiplied by; negative for a constant β
    by_variance: bool  # whether β is multiplied by the deviation of the next values of a pair, and the spread divided by n
    late: float  # what is left of the bonus by span where much is known; 1 for all of it
    noise: Array  # (J,) c of each objective, of the bonus for what a step pays; 0 as printed
    retry: Array  # (J,) c' of each objective, of the bonus that tries a pair again; 0 as printed
    pessimistic: bool  # what the dual's own objectives are
    corrected: bool  # whether a dual with a memory follows the estimate, corrected by what was observed, or that alone
    alpha_anytime: bool
    eta_anytime: bool
    damping: bool


def truncation(c: Resolved, horizon: int) -> dict[str, Any]:
    """The entries of the rule that truncate Q (Alg. 1, l. 8-9): at H or at the number of steps left, and at 0 or not at all.

    Args:
        c: the constants ``cap`` and ``lower_clip``.
        horizon: H.
    """
    cap = np.full(horizon, float(horizon)) if c.cap == "H" else np.arange(horizon, 0.0, -1.0)
    return {"cap": cap, "floor": 0.0 if c.lower_clip else -np.inf}


def assemble(c: Resolved, spec: SomeSpec, lam: float | None = None) -> Rule:
    """The rule of Algorithm 1 from its constants, part by part (Alg. 1, l. 1).

    Args:
        c: the constants.
        spec: has the horizon and the thresholds.
        lam: the λ in use, where it is not that of the constants.
    """
    parts = bonus.numbers(c, spec, c.lam if lam is None else lam) | dual.numbers(c, spec) | schedule.numbers(c)
    return Rule(**truncation(c, spec.horizon), **parts)


def greedy(c: Resolved, spec: SomeSpec, J: int) -> Rule:
    """The rule of a learner without a soft-max and without a dual: β, the truncation, α = ∞.

    Args:
        c: the constants ``beta``, ``cap`` and ``lower_clip``.
        spec: has the horizon and the thresholds.
        J: objectives that are estimated, the reward first.
    """
    parts = bonus.constant(np.full(J, float(c.beta))) | dual.nobody(spec) | schedule.fixed(np.inf)
    return Rule(**truncation(c, spec.horizon), **parts)
