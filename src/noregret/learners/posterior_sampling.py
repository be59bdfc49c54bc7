r"""Posterior sampling for CMDPs: the optimum of a CMDP that is drawn from what is believed.

Before a plan, with n counting visits,

    p(·|x,a) ~ Dirichlet(κ + n(x,a,x'), x' = 1..S),     max V_r  s.t.  V_g ≥ b   in the drawn model

at every step, and the solution is played. Reward and utilities are means; those of a pair never tried are drawn uniformly
from [0,1]. The program is that of :mod:`noregret.learners.planning`. The bounds known for such algorithms are on the
expectation over a prior that the truth is drawn from; for drawn models that cannot be met the theory has no answer, here it
is the policy that lacks least.

Random numbers: two uniforms of the run's own stream begin a generator for the plan (:mod:`noregret.kernels.draws`).

Constants: ``theory`` has κ = 1 (the uniform prior) and draws before each episode. ``practical`` has a small κ, since few
states follow a pair, and draws when a count has doubled.

Source: third-party code (draw, means, the program on the draw; it has max(n, 0.05) in place of κ + n), the abstract of
Kalagarla et al.; no primary text was read. ``safe`` variants with a tightened constraint are not here.

References:
    Osband, Russo, Van Roy. (More) efficient reinforcement learning via posterior sampling. NeurIPS 2013.
    Provodin, Gajane, Pechenizkiy, Kaptein. Provably Efficient Exploration in Constrained Reinforcement Learning: Posterior
    Sampling Is All You Need. 2023.
    Kalagarla, Jain, Nuzzo. Safe Posterior Sampling for Constrained MDPs with Bounded Constraint Violation. 2023,
    arXiv 2301.11547.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.draws import dirichlet, seed, uniform
from noregret.kernels.flat import row
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.jit import jit
from noregret.kernels.programs import Basis, Rows
from noregret.learners.choices import Choices, searched
from noregret.learners.planning import (
    WANTED,
    PlanningLearner,
    PlanRule,
    note_counts,
    refresh,
    solve_program,
    update,
)
from noregret.learners.registry import register
from noregret.problems.base import Array, Spec


class PosteriorState(NamedTuple):
    """The fields of :class:`~noregret.learners.planning.PlanState`, and what is drawn with."""

    model: OneHotGram
    rows: Rows
    basis: Basis
    policy: Array  # (H,S,A)
    Y: Array  # (m,)
    prices: Array  # (m,)
    sums: Array  # (F,S,A,1+J)
    counted: Array  # (F,S,A)
    tally: NDArray[np.int64]  # (8,)
    safe: Array  # (0,0,0)
    b: Array  # (m,)
    start: Array  # (S,)
    available: NDArray[np.bool_]  # (H,S,A)
    rule: PlanRule
    uniforms: Array  # (2,)
    stream: NDArray[np.uint64]  # (1,)
    prior: float  # κ


@jit
def draw(visits: Any, sums: Any, rows: Any, rule: Any, prior: float, stream: Any) -> None:
    """Put a drawn model in the place of the estimated one.

    Args:
        visits: (G,S,A) how often each pair was tried.
        sums: (F,S,A,1+J) visits, and sums of reward and utilities.
        rows: the program's, with the estimates, and nothing where a pair counts as untried.
        rule: says from which visit on a pair counts as tried.
        prior: κ.
        stream: where random numbers come from.
    """
    lower, worth = rows.lower, rows.worth
    G, S, A = visits.shape
    for g in range(G):
        for s in range(S):
            for a in range(A):
                for x in range(S):
                    lower[g, s, a, x] = lower[g, s, a, x] * visits[g, s, a] + prior
                dirichlet(stream, lower[g, s, a])
    for h in range(len(worth)):
        for s in range(S):
            for a in range(A):
                if sums[row(sums, h), s, a, 0] < rule.tries:
                    for j in range(worth.shape[3]):
                        worth[h, s, a, j] = uniform(stream)


def plan(state: Any) -> None:
    """Draw a model and solve its program if a plan is wanted; else the policy stands."""
    if state.tally[WANTED] == 1:
        refresh(state.model, state.sums, state.rows, state.rule)
        seed(state.stream, state.uniforms[0], state.uniforms[1])
        draw(state.model.visits, state.sums, state.rows, state.rule, state.prior, state.stream)
        world, own = (state.start, state.b, state.available), (state.policy, state.safe, state.Y, state.prices)
        solve_program(state.rows, state.basis, world, own, state.tally, state.rule.margin)
        note_counts(state.counted, state.sums)


@register
class PosteriorSampling(PlanningLearner):
    """``posterior-sampling``: the optimum of a CMDP drawn from a Dirichlet belief."""

    name = "posterior-sampling"
    summary = "posterior sampling for CMDPs: transitions drawn from a Dirichlet belief, the optimum of the draw by LP"
    promise = ("√K (Bayesian)", "√K (Bayesian)")
    source = "code"
    parameters = ("prior", "replan", "tries", "share")
    space = searched(
        theory=("prior_scale=1e-3:3:log",),
        practical=("prior_scale=0.01:30:log", "replan=doubling,squares", "tries=1:30:log:int"),
    )

    def _rule(self, spec: Spec, K: int, choices: Choices) -> dict[str, Any]:
        choices.number("prior", (1.0, "the uniform prior"), (0.1, "tuned"), above=0.0)
        return {"local": np.zeros(1 + spec.n_constraints), "hope": np.zeros(1 + spec.n_constraints)}

    def _start(self, spec: Spec, K: int, choices: Choices) -> PosteriorState:
        shared = super()._start(spec, K, choices)._asdict()
        drawn = {"uniforms": np.zeros(2), "stream": np.zeros(1, dtype=np.uint64), "prior": choices.values["prior"]}
        return PosteriorState(**shared, **drawn)


register_kernels(PosteriorState, plan, update)
