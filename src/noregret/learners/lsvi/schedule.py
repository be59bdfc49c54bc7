r"""The schedule of Algorithm 1: what α and η are in episode k, with and without a known number of episodes.

By ``schedule``:

- "fixed": α and η of K episodes, as printed;
- "anytime": α_k = α√k and η_k = η/√k, which need no K;
- "doubling": episodes 2^i to 2^{i+1} − 1 are played as a run of K = 2^i episodes of its own. α, η and whatever else the preset
  computes from K (ζ, ξ, the theorem's β) are set for that K, and Y starts at 0; Λ and the sums stay. The parts' √2^i add up to
  at most √2/(√2 − 1) ≈ 3.4 times √K. The number of episodes asked for has no influence on any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.steps.balance import forget
from noregret.kernels.steps.primal_dual import untried_anew
from noregret.learners.presets import Resolved
from noregret.problems.base import Array

if TYPE_CHECKING:
    from noregret.learners.lsvi.gap import Gap
    from noregret.learners.lsvi.primal_dual import PrimalDualState
    from noregret.learners.lsvi.rule import Rule

#: The words of ``schedule``; the first is the printed one.
WORDS = ("fixed", "anytime", "doubling")
#: K = 2^i up to here has constants ready.
LONGEST = 48


def numbers(c: Resolved) -> dict[str, Any]:
    """The entries of the rule that are the schedule's."""
    anytime = c.schedule == "anytime"
    return {"alpha": np.array([c.alpha]), "alpha_anytime": anytime, "eta_anytime": anytime}


def fixed(alpha: float) -> dict[str, Any]:
    """The entries of the rule for one α in all episodes."""
    return {"alpha": np.array([alpha]), "alpha_anytime": False, "eta_anytime": False}


class Restarts(NamedTuple):
    """The constants of each part of a run that restarts."""

    numbers: Array  # (n,3+m+J) for K = 2^i: α, η, ξ, tightened thresholds, β


def restarts(c: Resolved, rule_for: Callable[[int], Rule]) -> Restarts | None:
    """The parts of a run; None where it does not restart, so that nothing of it is compiled.

    Args:
        c: the constants.
        rule_for: gives the rule for K episodes; called only for restarts.
    """
    if c.schedule != "doubling":
        return None
    rules = [rule_for(2**i) for i in range(LONGEST)]
    return Restarts(np.array([np.concatenate([r.alpha, r.eta, r.xi, r.b, r.beta]) for r in rules]))


@jit
def restart(state: PrimalDualState, parts: Restarts, gap: Gap | None) -> None:
    """Set the numbers of a run of K = k+1 = 2^i episodes, and begin it.

    Args:
        state: the learner's.
        parts: the constants of each part.
        gap: the estimate of γ, or None.
    """
    rule, dual, i, k = state.rule, state.dual, 0, state.dual.k[0]
    m = len(rule.b)
    while k > 0:
        k //= 2
        i += 1
    row = parts.numbers[min(i, len(parts.numbers) - 1)]
    rule.alpha[0], rule.eta[0], rule.xi[0] = row[0], row[1], row[2]
    if gap is not None:
        gap.most[0] = row[2]
    for j in range(m):
        rule.b[j] = row[3 + j]
    for j in range(len(rule.beta)):
        rule.beta[j] = row[3 + m + j]
    dual.Y[:] = 0.0
    dual.gain[:] = 1.0
    forget(dual.balance)
    dual.lack[:] = 0.0
    untried_anew(state.tables, rule, state.gram.lam)
