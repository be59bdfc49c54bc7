"""The bonus of Algorithm 1: what is added for what is not known, and how much of it each objective gets.

By ``bonus``, the β of objective j at step h is multiplied by

- "constant": 1, as printed;
- "span": the spread of V_{j,h+1} over the next states seen, at least ``span_floor``. The spread is far above the deviation of
  the next values, which is what counts once a pair was tried often. So with numbered states ‖φ‖ is multiplied by
  min(1, ``late_bonus`` + 2.5‖φ‖) (:func:`noregret.kernels.gram.base.faded`); with vectors ``late_bonus`` is 1;
- "variance": the deviation of V_{j,h+1} over the next states of the pair, with the spread divided by the visits beside it. It
  has the two terms of an empirical Bernstein bound and no logarithm, so that it is none.

All three look at the next values. What the step itself pays is covered by ``noise_bonus`` c: the bonus is √(B² + (cD)²), with D
from the noise seen so far (:mod:`noregret.kernels.gram.noise`), and B alone where nothing varies.

None of the three grows again where a pair was given up. ``retry_bonus`` c' adds the same again for next values,
√(B² + (cD)² + (c'E)²), with a logarithm that grows until the pair is tried again (:mod:`noregret.kernels.gram.retry`).

The utilities have ``utility_bonus`` times the reward's β, and the same c and c'. The objectives that the dual alone looks at
(:mod:`noregret.learners.lsvi.dual`) have a bonus of their own: what was never tried is worth ``dual_prior`` of the cap, or the
bonus is taken off, times ``pessimism``. Kernels: ``step_bonus`` and ``untried`` of :mod:`noregret.kernels.steps.primal_dual`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.learners.base import SomeSpec
from noregret.learners.presets import Resolved
from noregret.problems.base import Array

if TYPE_CHECKING:
    from noregret.learners.lsvi.rule import Rule

#: The words of ``bonus``; the first is the printed one.
WORDS = ("constant", "span", "variance")


def numbers(c: Resolved, spec: SomeSpec, lam: float) -> dict[str, Any]:
    """The entries of the rule that are the bonus's.

    There are J objectives: the reward, m utilities, and these once more where the dual has an estimate of its own.

    Args:
        c: the constants.
        spec: has the number of constraints.
        lam: the λ in use.
    """
    m = spec.n_constraints
    beta = np.full(1 + (m if c.dual_estimate in ("optimistic", "observed") else 2 * m), c.beta * c.utility_bonus)
    beta[0] = c.beta
    beta[1 + m :] = -c.pessimism * beta[1] if c.dual_estimate == "pessimistic" else c.dual_prior * np.sqrt(lam)
    noise = np.full(len(beta), c.noise_bonus)
    noise[1 + m :] = c.pessimism * noise[1] if c.dual_estimate == "pessimistic" else 0.0
    return constant(beta) | {
        "late": c.late_bonus,
        "noise": noise,
        "retry": np.where(np.arange(len(beta)) <= m, c.retry_bonus, 0.0),
        "span_floor": c.span_floor if c.bonus != "constant" else -1.0,
        "by_variance": c.bonus == "variance",
    }


def constant(beta: Array) -> dict[str, Any]:
    """The entries of the rule for the printed bonus, β (J,) of each objective."""
    return {"beta": beta, "span_floor": -1.0, "by_variance": False, "late": 1.0} | {
        name: np.zeros(len(beta)) for name in ("noise", "retry")
    }


def own_bonus(rule: Rule) -> Array:
    """β' (J,): the bonus of what one step pays, where steps share their transitions only.

    A reward spreads over at most ``span_floor`` where the bonus is by span. With a constant β it is one of H steps, so 1/H of
    it: with λ = (β/H)² an untried pair pays exactly 1. The dual's own objectives take ``dual_prior`` of 1.
    """
    m, H = len(rule.b), len(rule.cap)
    own = rule.beta * (rule.span_floor if rule.span_floor >= 0.0 else 1.0 / H)
    if not rule.pessimistic:
        own[1 + m :] = rule.beta[1 + m :]
    return np.asarray(own)
