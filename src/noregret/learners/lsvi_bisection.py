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
does (T = 20). The estimated V_g need not be monotone in Y; then one of the crossings is found. With a start distribution the
test is on its expectation. One constraint only: the paper has no order on price vectors to search.

Constants: ``theory`` has β = bonus_scale·dH√ι with the ι of Algorithm 1, λ = 1, cap H, α = log(A)√K/(4H), Y_max = √K.
``practical`` has β = 0.3·bonus_scale, λ = (β/H)², cap H−h+1, α = 100 and Y_max = 100. On some problems (media control,
streaming) some trials do not explore enough with them, and their regret stays linear.

References:
    Ghosh, Zhou, Shroff. Towards Achieving Sub-linear Regret and Hard Constraint Violation in Model-free RL. AISTATS 2024.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from noregret import theory
from noregret.kernels.bisection import attempt, bisect
from noregret.kernels.bisection import register as register_attempt
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram.base import Tables, learn
from noregret.kernels.jit import jit
from noregret.kernels.steps import start_value
from noregret.learners.choices import Choices, searched
from noregret.learners.least_squares import REGRESSION, LeastSquaresLearner
from noregret.learners.parts.rule import Rule
from noregret.learners.primal_dual_lsvi import backward
from noregret.learners.registry import register
from noregret.problems.base import Array


class BisectionState(NamedTuple):
    """What Algorithm 1 needs for a plan, and the search."""

    gram: Any  # OneHotGram or TableGram
    tables: Tables
    rule: Rule
    policy: Array  # (H,S,A) of the tables
    Y: Array  # (1,) the price of the last plan
    start: Array  # (S,)
    top: float  # Y_max
    passes: int


@jit
def plan_at(state: Any) -> None:
    """Alg. 1, l. 4-12, for the price in ``state.Y``."""
    backward(state.gram, state.tables, state.rule, state.Y, state.rule.alpha[0])


def plan_for(state: Any, price: float) -> Any:
    """Plan for a price; how far the optimistic V_g is above b."""
    state.Y[0] = price
    plan_at(state)
    return start_value(state.tables.V, 1, state.start) - state.rule.b[0]


def plan(state: Any) -> None:
    """The cheapest price that is believed to meet the constraint, else Y_max."""
    if attempt(state, 0.0) < 0.0 and attempt(state, state.top) >= 0.0:
        bisect(state, 0.0, state.top, state.passes)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
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
    parameters = (*REGRESSION, "alpha", "max_price", "passes")
    several = False
    promise = ("√(d³H³T)", "√(d³H³T) (hard)")
    source = "notes"
    space = searched(
        theory=("bonus_scale=1e-6:1:log", "lam_scale=1e-6:1:log", "alpha_scale=0.1:1000:log", "max_price_scale=0.1:10:log"),
        practical=(
            "bonus_scale=0.01:10:log",
            "lam_scale=0.01:10:log",
            "alpha_scale=0.1:10:log",
            "max_price_scale=0.1:10:log",
        ),
    )

    def _start(self, choices: Choices) -> BisectionState:
        spec, H, A, root = self.spec, self.spec.horizon, self.spec.n_actions, math.sqrt(self.episodes)
        beta = theory.beta(d=self.dimension, H=H, K=self.episodes, A=A, p=choices.probability())
        begin = self._regression(choices, 2, theory=(beta, "d·H·√ι"), practical=0.3)
        sharp = (math.log(max(A, 2)) * root / (4 * H), "log(A)√K/(4H)")
        begin.rule.alpha[0] = choices.number("alpha", sharp, (100.0, "chosen"), above=0.0, infinite=True)
        return BisectionState(
            *begin,
            policy=begin.tables.policy,
            Y=np.zeros(1),
            start=spec.start.copy(),
            top=choices.number("max_price", (root, "√K"), (100.0, "chosen"), above=0.0),
            passes=choices.count("passes", (20, "as in published code"), most=MOST_PASSES),
        )


register_attempt(BisectionState, plan_for)
register_kernels(BisectionState, plan, update)
