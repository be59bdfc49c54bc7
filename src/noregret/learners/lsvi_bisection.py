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
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret import theory
from noregret.kernels.bisection import attempt, bisect
from noregret.kernels.bisection import register as register_attempt
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram import estimate, learn
from noregret.kernels.jit import jit
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import start_value
from noregret.learners.base import Learner
from noregret.learners.least_squares import REGRESSION, empty_gram, feature_map, one_constraint, regression
from noregret.learners.presets import Choices
from noregret.learners.registry import register
from noregret.problems.base import Array, Spec


class BisectionState(NamedTuple):
    """The fields of Algorithm 1's state that its plan uses, and the search."""

    gram: Any  # OneHotGram or TableGram
    Q: Array  # (H,2,S,A)
    V: Array  # (H+1,2,S)
    policy: Array  # (H,S,A)
    Y: Array  # (1,) the price of the last plan
    b: Array  # (1,)
    start: Array  # (S,)
    available: NDArray[np.bool_]  # (H,S,A)
    cap: Array  # (H,)
    floor: float
    beta: float
    alpha: float
    top: float  # Y_max
    passes: int


@jit
def backward(state: Any) -> None:
    """Alg. 1, l. 4-12, for the price in ``state.Y``."""
    gram = state.gram
    for h in range(len(state.Q) - 1, -1, -1):
        estimate(gram, h, state.V, state.beta, state.floor, state.cap[h], state.Q)
        soft_max(state.Q, h, gram.active, gram.actives[h], state.Y, state.alpha, state.available, state.policy, state.V)


def plan_for(state: Any, price: float) -> Any:
    """Plan for a price; how far the optimistic V_g is above b."""
    state.Y[0] = price
    backward(state)
    return start_value(state.V, 1, state.start) - state.b[0]


def plan(state: Any) -> None:
    """The cheapest price that is believed to meet the constraint, else Y_max."""
    if attempt(state, 0.0) < 0.0 and attempt(state, state.top) >= 0.0:
        bisect(state, 0.0, state.top, state.passes)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Take in the episode; no dual variable is carried over."""
    learn(state.gram, states, actions, observed)


#: More halvings of a range of floats change nothing.
MOST_PASSES = 2000


@register
class LSVIBisection(Learner):
    """``lsvi-bisection``: Ghosh, Zhou and Shroff 2024, with a bisection for the price in every episode."""

    name: ClassVar[str] = "lsvi-bisection"
    summary: ClassVar[str] = "Ghosh, Zhou, Shroff 2024: hard violation, a bisection for the price in every episode"
    parameters: ClassVar[tuple[str, ...]] = (*REGRESSION, "alpha", "max_price", "passes")
    several: ClassVar[bool] = False
    promise: ClassVar[tuple[str, str]] = ("√(d³H³T)", "√(d³H³T) (hard)")

    def __init__(
        self,
        spec: Spec,
        *,
        episodes: int,
        preset: str = "practical",
        features: ArrayLike | None = None,
        slater_gap: float | None = None,
        **params: Any,
    ) -> None:
        H, A = spec.horizon, spec.n_actions
        one_constraint(self.name, spec)
        phi, d, called = feature_map(spec, features)
        choices = Choices(self.name, preset, slater_gap, params, self.parameters)
        theory_beta = theory.beta(d=d, H=H, K=episodes, A=A, p=choices.probability())
        fields = regression(choices, spec, 2, theory_beta=theory_beta, why_beta="d·H·√ι", practical_beta=0.3)
        root = math.sqrt(episodes)
        sharp = (math.log(max(A, 2)) * root / (4 * H), "log(A)√K/(4H)")
        self.spec, self.episodes, self.preset = spec, episodes, preset
        self._state = BisectionState(
            gram=empty_gram(spec, phi, 2, choices.values["lam"]),
            **fields,
            Y=np.zeros(1),
            b=spec.thresholds.copy(),
            start=spec.start.copy(),
            alpha=choices.number("alpha", sharp, (100.0, "chosen"), above=0.0, infinite=True),
            top=choices.number("max_price", (root, "√K"), (100.0, "chosen"), above=0.0),
            passes=choices.count("passes", (20, "as in published code"), most=MOST_PASSES),
        )
        self.constants, self.explain = choices.values | {"features": called}, choices.why


register_attempt(BisectionState, plan_for)
register_kernels(BisectionState, plan, update)
