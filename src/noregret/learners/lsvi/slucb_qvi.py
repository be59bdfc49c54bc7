r"""RSLUCB-QVI (Amani, Thrampoulidis, Yang 2021): optimistic least squares that keeps a limit on the cost of every single step.

It is the one learner here with another kind of constraint: at every step and in every state, the expected cost of the action
drawn, Σ_a π_h(a|x) c_h(x,a), is at most τ. The cost c = 1 − g is unknown. In every state an action a₀ is known that costs
τ_h(x) < τ. A finite set of actions is not star-convex around a₀, so this is the paper's form for policies that draw actions.
Before episode k, for h = H..1 (V_{H+1} = 0):

    Λ_h     ←  λI + Σ_j φ_j φ_jᵀ,    w_h ← Λ_h⁻¹ Σ_j φ_j [ r_j + V_{h+1}(x'_j) ]
    C_h(x,a) ←  ⟨γ_{h,x},Φ⊥φ⟩ + β_c ‖Φ⊥φ‖ + (the part of φ along φ(x,a₀), which costs τ_h(x)),   the pessimistic cost
    Q_h     ←  min{ ⟨w_h,φ⟩ + κ_h(x) β ‖φ‖_{Λ_h⁻¹}, cap },    κ_h(x) = 1 + 2H/(τ − τ_h(x))
    π_h(x)  ∈  argmax { ⟨θ,Q_h(x,·)⟩ : ⟨θ,C_h(x,·)⟩ ≤ τ },    V_h(x) its value

where γ_{h,x} regresses what is left of the costs on Φ⊥φ, the part of φ orthogonal to φ(x,a₀). With one-hot features, the only
ones taken here, that is C_h(x,a₀) = τ_h(x) and else C_h(x,a) = Σ_j c_j/(n+λ) + β_c/√(n+λ), with n visits of (h,x,a). The best
vertices of the program mix at most two actions. Exact ties among them are shared evenly; the paper leaves that open.

In ``theory`` reward and cost have one β = max{β_1, β_2}. Here β_1 = σ√(d log((2+2T/λ)/p)) + √(λd) is the radius of the costs
with σ = 1/2, as costs are in [0,1], and β_2 = dH√log(2dT/p) with its constant c taken as 1. With such a β_c, actions not known
to be safe are drawn seldom: the regret stays linear for any K one can run. In ``practical`` β_c is Hoeffding's bound for each
pair, so on tables no step is unsafe with probability 1 − p, as promised. With ``optimism`` o, κ_h(x) = 1 + o/(τ − τ_h(x)).

Not in the paper: action masks, the lower clip and the cap H−h+1 of ``practical``, and ``share``. Source: the abstract was
read; the program, κ, β_1 and β_2 are from memory of the paper.

References:
    Amani, Thrampoulidis, Yang. Safe Reinforcement Learning with Linear Function Approximation. ICML 2021, arXiv 2106.06239.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError
from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import Tables, estimate, learn
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.types import Integers
from noregret.learners.lsvi.least_squares import RIDGE, LeastSquaresLearner
from noregret.learners.lsvi.rule import Rule
from noregret.learners.presets import PROBABILITY, Constants, Number, Resolved, sharing
from noregret.learners.registry import register
from noregret.problems.base import Array


class Safe(NamedTuple):
    """The limit on a step, and what is known of the costs."""

    limit: float  # τ
    action: NDArray[np.int64]  # (H,S) a₀
    cost: Array  # (H,S) τ_h(x), what a₀ costs
    kappa: Array  # (H,S) κ_h(x)
    beta: float  # β_c
    cap: float  # the most that a cost is taken for
    C: Array  # (A,) pessimistic costs of the state at hand, infinite for actions that are not available


class SLUCBState(NamedTuple):
    """What the next episode needs; the only value that is estimated is that of the reward."""

    gram: OneHotGram
    tables: Tables
    rule: Rule
    policy: Array  # (H,S,A) of the tables
    Y: Array  # (1,), stays 0
    safe: Safe


def plan(state: SLUCBState) -> None:
    """From the last step to the first: regress, add the bonus, and take the best distribution that is surely safe."""
    gram, active = state.gram, state.gram.active
    for h in range(len(state.rule.cap) - 1, -1, -1):
        estimate(gram, h, state.tables, 0.0, (-np.inf, np.inf))
        g = row(gram.visits, h)
        for i in range(gram.actives[g]):
            improve(gram, state.tables, state.rule, state.safe, h, active[g, i])


@jit
def improve(gram: OneHotGram, tables: Tables, rule: Rule, safe: Safe, h: int, s: int) -> None:
    """Q_h, π_h and V_h of one state, where Q_h holds ⟨w_h,φ⟩.

    Args:
        gram: the data.
        tables: Q, V and the policy.
        rule: has β, the cap and the floor.
        safe: has τ, the safe action and its cost, κ and β_c.
        h: the step.
        s: the state.
    """
    Q, C, limit, g = tables.Q, safe.C, safe.limit, row(gram.visits, h)
    for a in range(Q.shape[3]):
        inverse, norm = gram.fit[g, s, a, 0], gram.fit[g, s, a, 1]
        Q[h, 0, s, a] = max(min(Q[h, 0, s, a] + safe.kappa[h, s] * rule.beta[0] * norm, rule.cap[h]), rule.floor)
        paid = gram.visits[g, s, a] - gram.fit[g, s, a, 3]  # Σ_j c_j = Σ_j (1 − g_j)
        C[a] = min(paid * inverse + safe.beta * norm, safe.cap) if tables.available[h, s, a] else np.inf
    C[safe.action[h, s]] = safe.cost[h, s]
    best, ties = -np.inf, 0.0
    for a in range(len(C)):
        for other in range(len(C)):
            if is_vertex(C, limit, a, other):
                value = Q[h, 0, s, a] + part(C, limit, a, other) * (Q[h, 0, s, other] - Q[h, 0, s, a])
                ties = 1.0 if value > best else ties + 1.0 if value == best else ties
                best = max(best, value)
    for a in range(len(C)):
        tables.policy[h, s, a] = 0.0
    for a in range(len(C)):
        for other in range(len(C)):
            if is_vertex(C, limit, a, other):
                share = part(C, limit, a, other)
                if Q[h, 0, s, a] + share * (Q[h, 0, s, other] - Q[h, 0, s, a]) == best:
                    tables.policy[h, s, a] += (1.0 - share) / ties
                    tables.policy[h, s, other] += share / ties
    tables.V[h, 0, s] = best


@partial(jit, inline=True)
def is_vertex(C: Array, limit: float, a: int, other: int) -> bool:
    """Whether a, alone (``other`` = a) or mixed with a costlier ``other``, is a vertex of the distributions that are safe.

    Args:
        C: (A,) pessimistic costs.
        limit: τ.
        a: an action.
        other: the action that it is mixed with, or the same.
    """
    return bool(C[a] <= limit if a == other else C[a] < limit < C[other] < np.inf)


@partial(jit, inline=True)
def part(C: Array, limit: float, a: int, other: int) -> float:
    """How often ``other`` is drawn, so that the mixture with a costs exactly the limit; 0 for a alone.

    Args:
        C: (A,) pessimistic costs.
        limit: τ.
        a: an action.
        other: the action that it is mixed with, or the same.
    """
    return 0.0 if a == other else (limit - C[a]) / (C[other] - C[a])


@jit
def nothing_known(gram: OneHotGram, tables: Tables, rule: Rule, safe: Safe) -> None:
    """Fill the tables, whose Q is 0, as they are without data; a state never visited at a step keeps these.

    Args:
        gram: the data, none so far.
        tables: Q, V and the policy.
        rule: has β, the cap and the floor.
        safe: has τ, the safe action and its cost, κ and β_c.
    """
    for h in range(tables.Q.shape[0]):
        for s in range(tables.Q.shape[2]):
            improve(gram, tables, rule, safe, h, s)


def update(state: SLUCBState, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in the episode.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,2) the reward and the utility of each step.
    """
    learn(state.gram, states, actions, observed)


#: max{β_1, β_2}, for λ = 1.
PRINTED = "max(0.5*sqrt(d*log((2 + 2*(K*H))/p)) + sqrt(d), d*H*sqrt(log(2*d*K*H/p)))"


@register
class SLUCBQVI(LeastSquaresLearner):
    """``slucb-qvi``: LSVI-UCB within what is surely safe, where the expected cost of every step is limited."""

    name = "slucb-qvi"
    summary = "SLUCB-QVI (Amani et al. 2021, its form that draws actions): the cost of every step is limited"
    table = Constants(
        Number("beta", theory=(PRINTED, "max{β_1, β_2}, as remembered"), practical=(0.3, "chosen, as in lsvi-ucb")),
        *(row for row in RIDGE if row.name != "share"),
        sharing("all"),
        Number(
            "cost_beta",
            theory=(PRINTED, "β, as remembered"),
            practical=("sqrt(log(2*S*A*H*K/p)/2) + sqrt(lam)", "Hoeffding's bound for each pair"),
        ),
        Number("cost_cap", above=0.0, infinite=True, theory=("inf", "as remembered"), practical=(1, "no cost is more")),
        Number("optimism", theory=("2*H", "as remembered"), practical=(0, "κ = 1: chosen")),
        PROBABILITY,
    )
    several = False
    tables_only = True
    stepwise = True
    promise = ("κ√(d³H³T)", "0 (every step)")
    source = "memory"

    def begin(self, c: Resolved) -> SLUCBState:
        """No data: what is surely safe."""
        step = self.spec.step
        if step is None:
            raise InputError(
                f"the problem has no limit on a step; {self.name} needs one: TabularCMDP(..., step_limit=, safe_actions=)"
            )
        start = self.regression(c, 1)
        if self.phi is not None:
            raise InputError(
                f"features is a table φ with d={self.dimension}; {self.name} takes one-hot features: expected None"
            )
        safe = Safe(
            limit=step.limit,
            action=step.actions.copy(),
            cost=step.costs.copy(),
            kappa=1.0 + c.optimism / (step.limit - step.costs),
            beta=c.cost_beta,
            cap=c.cost_cap,
            C=np.zeros(self.spec.n_actions),
        )
        start.tables.Q[:] = 0.0
        gram = cast(OneHotGram, start.gram)
        nothing_known(gram, start.tables, start.rule, safe)
        return SLUCBState(gram, start.tables, start.rule, policy=start.tables.policy, Y=np.zeros(1), safe=safe)


register_kernels(SLUCBState, plan, update)
