r"""Posterior sampling for CMDPs: the optimum of a CMDP that is drawn from what is believed.

Before a plan, with n counting visits,

    p(·|x,a) ~ Dirichlet(κ + n(x,a,x'), x' = 1..S),     max V_r  s.t.  V_g ≥ b   in the drawn model

at every step, and the solution is played. Reward and utilities are means; those of a pair never tried are drawn uniformly
from [0,1]. The program is that of :mod:`noregret.learners.programs.planning`. The bounds known for such algorithms are on the
expectation over a prior that the truth is drawn from; for drawn models that cannot be met the theory has no answer, here it
is the policy that lacks least.

Random numbers: two uniforms of the run's own stream begin a generator for the plan (:mod:`noregret.kernels.worlds.draws`).

A small κ (``prior``) suits worlds where few states follow a pair.

Source: code of Provodin et al., line by line (draw, means, the program on the draw), and the abstracts. That code is for one
endless episode, which it cuts into epochs of 1, 2, 3, ... times H steps with a draw each; it has max(n, 1) in place of κ + n,
and reward 0 for a pair never tried. ``safe`` variants with a tightened constraint are not here.

References:
    Osband, Russo, Van Roy. (More) efficient reinforcement learning via posterior sampling. NeurIPS 2013.
    Provodin, Gajane, Pechenizkiy, Kaptein. Provably Efficient Exploration in Constrained Reinforcement Learning: Posterior
    Sampling Is All You Need. 2023.
    Kalagarla, Jain, Nuzzo. Safe Posterior Sampling for Constrained MDPs with Bounded Constraint Violation. 2023,
    arXiv 2301.11547.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import add_body, jit
from noregret.kernels.steps.programs import Rows
from noregret.kernels.types import STREAMS, Array, Stream
from noregret.kernels.worlds.draws import dirichlet, seed, uniform
from noregret.learners.presets import FOUND, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.programs.plan_rule import REPLANS, PlanRule, Program
from noregret.learners.programs.planning import PlanningLearner, PlanState, believe
from noregret.learners.registry import register


class Dirichlet(NamedTuple):
    """The model of a plan is drawn."""

    prior: float  # κ
    stream: Stream  # (1,)

    def limits(self) -> dict[str, tuple[int, int]]:
        """What the stream may be."""
        return {"stream": STREAMS}


@jit
def draw(visits: Array, sums: Array, rows: Rows, rule: PlanRule, belief: Dirichlet) -> None:
    """Put a drawn model in the place of the estimated one.

    Args:
        visits: (G,S,A) how often each pair was tried.
        sums: (F,S,A,1+J) visits, and sums of reward and utilities.
        rows: the program's, with the estimates, and nothing where a pair counts as untried.
        rule: says from which visit on a pair counts as tried.
        belief: κ, and where random numbers come from.
    """
    lower, worth, prior, stream = rows.lower, rows.worth, belief.prior, belief.stream
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


def drawn(belief: Dirichlet, state: PlanState) -> None:
    """Draw a model; two uniforms begin its stream."""
    seed(belief.stream, state.uniforms[0], state.uniforms[1])
    draw(state.model.visits, state.sums, state.rows, state.rule, belief)


@register
class PosteriorSampling(PlanningLearner):
    """``posterior-sampling``: the optimum of a CMDP drawn from a Dirichlet belief."""

    name = "posterior-sampling"
    summary = "posterior sampling for CMDPs: transitions drawn from a Dirichlet belief, the optimum of the draw by LP"
    promise = ("√K (Bayesian)", "√K (Bayesian)")
    source = "code"
    table = Constants(
        Number(
            "prior", above=0.0, theory=(1, "the uniform prior"), tuned=(0.0406, FOUND), practical=("0.0419*(0.9*0.1)", FOUND)
        ),
        Word("replan", REPLANS, theory=("always", "as printed"), practical=("squares", FOUND)),
        Count("tries", theory=(1, "as printed"), practical=(1, FOUND)),
        sharing("transitions", "all"),
    )

    def numbers(self, c: Resolved) -> Program:
        """No bonus, and nothing on top of what is drawn."""
        return {"local": np.zeros(1 + self.spec.n_constraints), "hope": np.zeros(1 + self.spec.n_constraints)}

    def belief(self, c: Resolved) -> tuple[Dirichlet, int]:
        """What models are drawn from, by two random numbers."""
        return Dirichlet(c.prior, np.zeros(1, dtype=np.uint64)), 2


add_body(believe, Dirichlet, drawn)
