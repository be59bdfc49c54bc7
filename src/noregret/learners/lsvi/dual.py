"""The dual of Algorithm 1: the price Y of each constraint, and what its step after an episode looks at (Alg. 1, l. 16).

    Y_i  ←  clip( Y_i + η_k (b_i + ζ − V_i), 0, ξ )

By ``dual_estimate``, V_i is

- "optimistic": V_{g_i,1}(x_1) of the plan, as printed;
- "plain": the same regression without bonus, evaluated beside the others; untried pairs are worth ``dual_prior`` of the cap;
- "pessimistic": with the bonus taken off, times ``pessimism``, and 0 where there is no data;
- "observed": the utility of the episode played;
- "corrected": the plain estimate plus the running mean of observed − estimated.

``damping`` halves the gain of a dual whose lack changes sign, and ``anti_windup`` counts a lack as far as the room between 0, b
and H. ``price_step`` "balanced" has a target in place of b + ζ, which falls with the price. With several constraints, and with
one where payments vary, it moves all prices together, by the lack that is expected after the move, and makes the soft-max less
sharp where V_g swings (:mod:`noregret.kernels.steps.balance`).
The kernel is :func:`noregret.kernels.steps.primal_dual.dual_step`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.kernels.steps.balance import Balance
from noregret.kernels.steps.primal_dual import Dual
from noregret.learners.base import SomeSpec
from noregret.learners.presets import Resolved
from noregret.problems.base import Array

#: The words of ``dual_estimate``; the first is the printed one.
WORDS = ("optimistic", "plain", "pessimistic", "observed", "corrected")
#: The words of ``price_step``; the first is the printed one.
STEPS = ("printed", "balanced")


def room(spec: SomeSpec) -> Array:
    """(m,) the room between 0, b and H."""
    return np.asarray(np.minimum(spec.thresholds, spec.horizon - spec.thresholds))


def numbers(c: Resolved, spec: SomeSpec) -> dict[str, Any]:
    """The entries of the rule that are the dual's.

    Args:
        c: the constants.
        spec: has the horizon and the thresholds.
    """
    return {
        "b": spec.thresholds + c.zeta,
        "room": room(spec).clip(0.01) if c.anti_windup else np.zeros(0),
        "eta": np.array([c.eta]),
        "xi": np.array([c.xi]),
        "pessimistic": c.dual_estimate == "pessimistic",
        "corrected": c.dual_estimate == "corrected",
        "damping": c.damping,
    }


def nobody(spec: SomeSpec) -> dict[str, Any]:
    """The entries of the rule where there is no dual: Y stays 0."""
    none = np.zeros(1)
    return {
        "b": spec.thresholds.copy(),
        "room": np.zeros(0),
        "eta": none,
        "xi": none.copy(),
        "pessimistic": False,
        "corrected": False,
        "damping": False,
    }


def no_dual(m: int, dual_estimate: str = "optimistic", balance: Balance | None = None) -> Dual:
    """Y = 0 before the first episode (Alg. 1, l. 1), and a memory where the dual looks at what was observed.

    Args:
        m: constraints.
        dual_estimate: what the dual looks at.
        balance: of a dual whose ``price_step`` is "balanced".
    """
    return Dual(
        Y=np.zeros(m),
        gain=np.ones(m),
        lack=np.zeros(m),
        memory=np.zeros((2, m)) if dual_estimate in ("observed", "corrected") else None,
        k=np.zeros(1, dtype=np.int64),
        balance=balance,
    )
