r"""LSVI-UCB of Jin, Yang, Wang and Jordan (COLT 2020): optimistic least squares without a constraint.

Let β be the bonus and λ the ridge. Before episode k, for h = H..1 (V_{H+1} = 0):

    Λ_h  ←  λI + Σ_τ φ_τ φ_τᵀ
    w_h  ←  Λ_h⁻¹ Σ_τ φ_τ [ r_τ + V_{h+1}(x'_τ) ]
    Q_h  ←  min{ ⟨w_h,φ⟩ + β ‖φ‖_{Λ_h⁻¹}, cap }
    π_h  greedy on Q_h, uniform over exact ties;   V_h(x) = max_a Q_h(x,a)

It ignores the constraints: what it shows beside the others is what they cost. So no search that counts violation sets its
numbers. It is Algorithm 1 with Y = 0 and α = ∞, and a test holds it to that bit for bit.

The paper leaves the constant of its bonus open. Not in the paper: the cap H−h+1 and the lower clip at 0 of ``practical``, and
action masks.

References:
    Jin, Yang, Wang, Jordan. Provably Efficient Reinforcement Learning with Linear Function Approximation. COLT 2020.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.gram.base import Tables, learn
from noregret.kernels.types import GramOfStates, Integers
from noregret.learners.lsvi.least_squares import RIDGE, LeastSquaresLearner
from noregret.learners.lsvi.primal_dual import backward
from noregret.learners.lsvi.rule import Rule
from noregret.learners.presets import PROBABILITY, Constants, Number, Resolved
from noregret.learners.registry import register
from noregret.problems.base import Array


class LSVIState(NamedTuple):
    """What the next episode needs; the only objective is the reward."""

    gram: GramOfStates  # OneHotGram or TableGram
    tables: Tables
    rule: Rule
    policy: Array  # (H,S,A) of the tables
    Y: Array  # (m,), stays 0
    prices: Array  # (0,) no utility has a say


def plan(state: LSVIState) -> None:
    """From the last step to the first: regress, add the bonus, truncate, be greedy."""
    backward(state.gram, state.tables, state.rule, state.prices, np.inf)


def update(state: LSVIState, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in the episode.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    learn(state.gram, states, actions, observed)


@register
class LSVIUCB(LeastSquaresLearner):
    """``lsvi-ucb``: greedy optimistic least squares; the constraints are not looked at."""

    name = "lsvi-ucb"
    summary = "LSVI-UCB (Jin et al. 2020): greedy LSVI with bonus; ignores the constraints"
    table = Constants(
        Number(
            "beta",
            theory=("d*H*sqrt(log(2*d*K*H/p))", "the paper's bonus, with its constant c taken as 1"),
            practical=(0.3, "chosen, as in primal-dual-lsvi"),
        ),
        *RIDGE,
        PROBABILITY,
    )
    promise = ("√(d³H³T)", "none")
    source = "notes"

    def begin(self, c: Resolved) -> LSVIState:
        """No data: only the bonus counts."""
        start = self.regression(c, 1)
        return LSVIState(*start, policy=start.tables.policy, Y=np.zeros(self.spec.n_constraints), prices=np.zeros(0))


register_kernels(LSVIState, plan, update)
