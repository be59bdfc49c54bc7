r"""LSVI-UCB of Jin, Yang, Wang and Jordan (COLT 2020): optimistic least squares without a constraint.

Let β be the bonus and λ the ridge. Before episode k, for h = H..1 (V_{H+1} = 0):

    Λ_h  ←  λI + Σ_τ φ_τ φ_τᵀ
    w_h  ←  Λ_h⁻¹ Σ_τ φ_τ [ r_τ + V_{h+1}(x'_τ) ]
    Q_h  ←  min{ ⟨w_h,φ⟩ + β ‖φ‖_{Λ_h⁻¹}, cap }
    π_h  greedy on Q_h, uniform over exact ties;   V_h(x) = max_a Q_h(x,a)

It ignores the constraints: what it shows beside the others is what they cost. So no search that counts violation sets its
numbers. It is Algorithm 1 with Y = 0 and α = ∞, and a test holds it to that bit for bit.

Constants: ``theory`` has λ = 1, cap H and β = bonus_scale·dH√log(2dT/p), whose constant c the paper leaves open.
``practical`` has β = 0.3·bonus_scale and λ = (β/H)², so that an untried pair is worth exactly H, as in ``primal-dual-lsvi``.
Not in the paper: the cap H−h+1 and the lower clip at 0 of ``practical``, and action masks.

References:
    Jin, Yang, Wang, Jordan. Provably Efficient Reinforcement Learning with Linear Function Approximation. COLT 2020.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram.base import Tables, learn
from noregret.learners.choices import Choices
from noregret.learners.least_squares import REGRESSION, LeastSquaresLearner
from noregret.learners.parts.rule import Rule
from noregret.learners.primal_dual_lsvi import backward
from noregret.learners.registry import register
from noregret.problems.base import Array


class LSVIState(NamedTuple):
    """What the next episode needs; the only objective is the reward."""

    gram: Any  # OneHotGram or TableGram
    tables: Tables
    rule: Rule
    policy: Array  # (H,S,A) of the tables
    Y: Array  # (m,), stays 0
    prices: Array  # (0,) no utility has a say


def plan(state: Any) -> None:
    """From the last step to the first: regress, add the bonus, truncate, be greedy."""
    backward(state.gram, state.tables, state.rule, state.prices, np.inf)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Take in the episode.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    learn(state.gram, states, actions, observed)


#: β of the ``practical`` preset.
PRACTICAL_BETA = 0.3


def theory_beta(d: int, H: int, K: int, p: float) -> float:
    """d·H·√log(2dT/p), T = KH, with the paper's constant c taken as 1.

    Args:
        d: the dimension of φ.
        H: the horizon.
        K: the number of episodes.
        p: the probability that the guarantees fail.
    """
    return d * H * math.sqrt(math.log(2 * d * K * H / p))


@register
class LSVIUCB(LeastSquaresLearner):
    """``lsvi-ucb``: greedy optimistic least squares; the constraints are not looked at."""

    name = "lsvi-ucb"
    summary = "LSVI-UCB (Jin et al. 2020): greedy LSVI with bonus; ignores the constraints"
    parameters = REGRESSION
    promise = ("√(d³H³T)", "none")
    source = "notes"

    def _start(self, choices: Choices) -> LSVIState:
        spec = self.spec
        beta = theory_beta(self.dimension, spec.horizon, self.episodes, choices.probability())
        begin = self._regression(choices, 1, theory=(beta, "d·H·√log(2dT/p)"), practical=PRACTICAL_BETA)
        return LSVIState(*begin, policy=begin.tables.policy, Y=np.zeros(spec.n_constraints), prices=np.zeros(0))


register_kernels(LSVIState, plan, update)
