r"""The algorithm of Ghosh, Zhou and Shroff (AISTATS 2024) for hard violation: a fresh price in every episode.

Algorithm 1 moves its dual variable a little after each episode, so episodes with too much utility pay for those with too
little. Here nothing is carried over: before each episode the price Y is searched for which the optimistic plan of Algorithm 1
(l. 4-12, as printed) is believed to meet the constraint,

    Y  ←  0                                         if V_{g,1}(x_1) ≥ b with Y = 0,
          Y_max                                     if V_{g,1}(x_1) < b with Y = Y_max,
          the upper end after T halvings of [0, Y_max]   otherwise (low end: V_g < b, upper end: V_g ≥ b),

and that plan is played. So what is bounded is Σ_k [b − V_g^{π_k}]₊, in which good episodes do not pay for bad ones.

Deviations. The paper does not halve: it tries Y = 0, s, 2s, ... with s = 1/(d^{H−1} K^{1.5H} log(A)^H), at most Y_max = √K. At
H = 10 and K = 10⁴ that is more than 10⁶⁰ backward passes, so no one can run it; the halving is what published code
does. The estimated V_g need not be monotone in Y; then one of the crossings is found. With a start distribution the
test is on its expectation. One constraint only: the paper has no order on price vectors to search. Its experiment, on the
job-scheduling world, steps by 1/√(KH). Published code (of Kitamura et al., with an author of this paper) starts with a safe
policy, and cuts what comes after a step at H−h+1 and adds the reward to it; here Q is cut at H, as printed. Source: the
paper, line by line.

With the constants of ``practical`` some trials do not explore enough on some problems (media control, streaming), and their
regret stays linear.

References:
    Ghosh, Zhou, Shroff. Towards Achieving Sub-linear Regret and Hard Constraint Violation in Model-free RL. AISTATS 2024.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import Tables, learn
from noregret.kernels.steps.bisection import attempt, bisect, register_attempt
from noregret.kernels.steps.primal_dual import start_value
from noregret.kernels.types import GramOfStates, Integers
from noregret.learners.lsvi.least_squares import TRUNCATION, LeastSquaresLearner
from noregret.learners.lsvi.primal_dual import backward
from noregret.learners.lsvi.rule import Rule
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved
from noregret.learners.registry import register
from noregret.problems.base import Array


class BisectionState(NamedTuple):
    """What Algorithm 1 needs for a plan, and the search."""

    gram: GramOfStates  # OneHotGram or TableGram
    tables: Tables
    rule: Rule
    policy: Array  # (H,S,A) of the tables
    Y: Array  # (1,) the price of the last plan
    start: Array  # (S,)
    top: float  # Y_max
    passes: int


@jit
def plan_at(state: BisectionState) -> None:
    """Alg. 1, l. 4-12, for the price in ``state.Y``."""
    backward(state.gram, state.tables, state.rule, state.Y, state.rule.alpha[0])


def plan_for(state: BisectionState, price: float) -> float:
    """Plan for a price; how far the optimistic V_g is above b."""
    state.Y[0] = price
    plan_at(state)
    return float(start_value(state.tables.V, 1, state.start) - state.rule.b[0])


def plan(state: BisectionState) -> None:
    """The cheapest price that is believed to meet the constraint, else Y_max."""
    if attempt(state, 0.0) < 0.0 and attempt(state, state.top) >= 0.0:
        bisect(state, 0.0, state.top, state.passes)


def update(state: BisectionState, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in the episode; no dual variable is carried over.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    learn(state.gram, states, actions, observed)


#: More halvings of a range of floats change nothing.
MOST_PASSES = 2000


@register
class LSVIBisection(LeastSquaresLearner):
    """``lsvi-bisection``: Ghosh, Zhou and Shroff 2024, with a bisection for the price in every episode."""

    name = "lsvi-bisection"
    summary = "Ghosh, Zhou, Shroff 2024: hard violation, a bisection for the price in every episode"
    table = Constants(
        Number(
            "beta",
            theory=("d*H*sqrt(log(4*log(max(A, 2))*d*(K*H)/p))", "as in Algorithm 1"),
            tuned=("0.000134*(d*H*sqrt(log(4*log(max(A, 2))*d*(K*H)/p)))", FOUND),
            practical=("0.026*0.3", FOUND),
        ),
        Number("lam", above=0.0, theory=(1, "as printed"), tuned=(3e-06, FOUND), practical=("0.146*((beta/H)**2 or 1)", FOUND)),
        *TRUNCATION,
        Number(
            "alpha",
            above=0.0,
            infinite=True,
            theory=("log(max(A, 2))*sqrt(K)/(4*H)", "as printed"),
            tuned=("32.3*(log(max(A, 2))*sqrt(K)/(4*H))", FOUND),
            practical=("0.79*100", FOUND),
        ),
        Number(
            "max_price",
            above=0.0,
            theory=("sqrt(K)", "as printed"),
            tuned=("3.12*sqrt(K)", FOUND),
            practical=("4.49*100", FOUND),
        ),
        Count("passes", most=MOST_PASSES, every=(20, "as in published code")),
        PROBABILITY,
    )
    several = False
    promise = ("√(d³H³T)", "√(d³H³T) (hard)")
    source = "paper"

    def begin(self, c: Resolved) -> BisectionState:
        """No data: only the bonus counts."""
        start = self.regression(c, 2)
        start.rule.alpha[0] = c.alpha
        return BisectionState(
            *start,
            policy=start.tables.policy,
            Y=np.zeros(1),
            start=self.spec.start.copy(),
            top=c.max_price,
            passes=c.passes,
        )


register_attempt(BisectionState, plan_for)
register_kernels(BisectionState, plan, update)
