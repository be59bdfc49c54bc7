r"""Triple-Q (Wei, Liu, Ying 2022): Q-learning for reward and utility, and a virtual queue. No model, one visit an update.

Let χ and η be the paper's constants, F the length of a frame, ε the tightening, N_h(x,a) the visits within the frame. At
first Q_{r,h} = Q_{g,h} = H (or H−h+1, ``cap``), N = 0, the queue Z = 0. Each episode plays, at every step,

    a_h ∈ argmax_a Q_{r,h}(x_h,a) + (Z/η) Q_{g,h}(x_h,a)

and after it, for j in {r, g}, t = N_h(x_h,a_h) + 1 and the action a_{h+1} taken next (nothing after the last step),

    Q_{j,h}(x_h,a_h) ← (1−α_t) Q_{j,h}(x_h,a_h) + α_t ( j_h + Q_{j,h+1}(x_{h+1},a_{h+1}) + b_t )
    α_t = (χ+1)/(χ+t),   b_t = ¼ √(H² ι (χ+1)/(χ+t))

with Q_{j,h+1} as it was in the episode. At the end of a frame (the paper's Algorithm 2, of its appendix on simulations)

    Q_{r,h} += 2H³√ι/η;   where Q_{r,h} ≥ H or Q_{g,h} ≥ H, both become H;   N ← 0
    Z ← [ Z + b + ε − mean over the frame of Q_{g,1}(x_1,a_1) ]_+ .

The price that is reported is Y = Z/η.

ι = 128 log(√(2SAH) K). ``bonus_scale`` multiplies √ι, in b_t and in the bump of ``theory`` alike. The printed ε exceeds H at
any K one can run. No constant asks for the Slater gap. The paper's Algorithm 1, of which its theorem speaks, sets both tables
to H everywhere at the end of a frame, so that nothing is learned across frames: that is ``bump=1e9``.

Two options are off unless given. With ``forget`` false the visits N go on through frames. As printed the first visit of a frame
has α_1 = 1, so every pair begins anew from one visit in every frame. With ``dual_estimate`` "observed" the queue takes the mean
over the frame of the utility that was observed, in place of the optimistic Q_{g,1}(x_1,a_1).

Deviations: exact ties are played uniformly, which makes the played policy a table; with ``cap`` "H-h+1" (``practical``) the
tables start from, and are reset to, what the steps left can give. The value Q_{g,1}(x_1,a_1) that feeds Z is the one before
the episode's update, as in the paper (the authors' code has the one after). One constraint, as in the paper. The authors'
notebook has other numbers than the paper: η is 10⁻⁴√(SAH⁴) times the paper's, ε is a half, the bonus √(log K/n)/5 and a
hundredth of that for the utility, the bump 3 with rewards up to 100 a step; only Q_r is reset, and 3% of the actions are
random. Source: the paper, line by line.
Steps share nothing: it keeps no model, and what is left to gain from a pair differs from step to step.

References:
    Wei, Liu, Ying. Triple-Q: A Model-Free Algorithm for Constrained Reinforcement Learning with Sublinear Regret and Zero
    Constraint Violation. AISTATS 2022, arXiv 2106.01577.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.gram.base import States, everyone
from noregret.kernels.steps.primal_dual import dual_move, total
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import Array, Flags, Integers, Places
from noregret.learners.presets import FOUND, Constants, Flag, Number, Resolved, Word, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner, steps_left, tables


class TripleQState(NamedTuple):
    """What the next episode needs. J = 1 + m objectives."""

    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), the value of the greedy policy in the tables; for reports only
    policy: Array  # (H,S,A), greedy
    Y: Array  # (m,) the price Z/η
    queue: Array  # (m,) Z
    visits: Array  # (H,S,A) within the frame, or so far
    paid: Array  # (m,) Σ over the frame of Q_g,1(x_1,a_1), or of what was observed
    episode: Array  # (1,) episodes of the frame so far
    b: Array  # (m,)
    available: Flags  # (H,S,A)
    everyone: States
    single: Places  # (1,) one state at a time
    cap: Array  # (H,)
    chi: float
    eta: float
    eps: float
    bonus: float  # ¼ bonus_scale √(H²ι)
    bump: float
    frame: float
    forget: bool  # whether the visits begin anew with a frame
    observed: bool  # whether the queue looks at what was observed


def plan(state: TripleQState) -> None:
    """The greedy policy is kept up to date where the tables change."""


def update(state: TripleQState, states: Integers, actions: Integers, observed: Array) -> None:
    """One step of Q-learning at every pair visited; at the end of a frame, the bump, the resets and the queue.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    Q, visits, Y, chi = state.Q, state.visits, state.Y, state.chi
    H, J = Q.shape[0], Q.shape[1]
    for i in range(len(Y)):
        state.paid[i] += total(observed, i) if state.observed else Q[0, 1 + i, states[0], actions[0]]
    for h in range(H):
        s, a = states[h], actions[h]
        visits[h, s, a] += 1.0
        rate = (chi + 1.0) / (chi + visits[h, s, a])
        bonus = state.bonus * np.sqrt(rate)
        for j in range(J):
            target = observed[h, j] + bonus
            if h + 1 < H:
                target += Q[h + 1, j, states[h + 1], actions[h + 1]]
            Q[h, j, s, a] = (1.0 - rate) * Q[h, j, s, a] + rate * target
    state.episode[0] += 1.0
    if state.episode[0] < state.frame:
        visited = States(states.reshape(-1, 1), state.single)
        for h in range(H):
            soft_max(visited, h, state, Y, np.inf)
        return
    state.episode[0] = 0.0
    if state.forget:
        visits[:] = 0.0
    for i in range(len(Y)):
        state.queue[i] = dual_move(state.queue[i], state.b[i] + state.eps - state.paid[i] / state.frame, 1.0, np.inf)
        Y[i] = state.queue[i] / state.eta
        state.paid[i] = 0.0
    for h in range(H):
        for s in range(Q.shape[2]):
            for a in range(Q.shape[3]):
                Q[h, 0, s, a] += state.bump
                full = False
                for j in range(J):
                    full = full or Q[h, j, s, a] >= state.cap[h]
                if full:
                    for j in range(J):
                        Q[h, j, s, a] = state.cap[h]
        soft_max(state.everyone, h, state, Y, np.inf)


@register
class TripleQ(TabularLearner):
    """``triple-q``: optimistic Q-learning of reward and utility, greedy on their sum weighted by a virtual queue."""

    name = "triple-q"
    summary = "Triple-Q (Wei, Liu, Ying 2022): two Q tables and a virtual queue, model-free"
    promise = ("H^3.2·T^0.8·√(SA)", "0")
    source = "paper"
    several = False
    table = Constants(
        Number("bonus_scale", theory=(1, "the paper's bonus"), tuned=(7.61e-07, FOUND), practical=(3e-05, FOUND)),
        Number("chi", every=("K**0.2", "as printed"), tuned=("0.141*K**0.2", FOUND), practical=("K**0.2", FOUND)),
        Number("eta", above=0.0, every=("K**0.2", "as printed"), tuned=("1.55*K**0.2", FOUND), practical=("K**0.2", FOUND)),
        Number(
            "eps",
            theory=("8*sqrt(S*A*H**6*(128*log(sqrt(2*S*A*H)*K))**3)/K**0.2", "as printed"),
            tuned=("1.16e-09*(8*sqrt(S*A*H**6*(128*log(sqrt(2*S*A*H)*K))**3)/K**0.2)", FOUND),
            practical=(0.1, FOUND),
        ),
        Number(
            "frame",
            above=0.0,
            every=("ceil(K**0.6)", "as printed"),
            tuned=("0.971*ceil(K**0.6)", FOUND),
            practical=("ceil(K**0.6)", FOUND),
        ),
        Number(
            "bump",
            theory=("bonus_scale*2*H**3*sqrt(128*log(sqrt(2*S*A*H)*K))/eta", "as printed"),
            tuned=("84.3*(bonus_scale*2*H**3*sqrt(128*log(sqrt(2*S*A*H)*K))/eta)", FOUND),
            practical=("4e-4*H*K**0.3", FOUND),
        ),
        Word("cap", ("H", "H-h+1"), theory=("H", "as printed"), practical=("H-h+1", "what H-h+1 steps can give")),
        Flag("forget", every=(True, "as printed"), practical=(True, FOUND)),
        Word("dual_estimate", ("optimistic", "observed"), every=("optimistic", "as printed"), practical=("optimistic", FOUND)),
        sharing(),
        like={"tuned": "theory", "soft": "tuned"},
        presets=("theory", "practical", "tuned", "soft"),
    )

    def begin(self, c: Resolved) -> TripleQState:
        """Tables at their caps, no visits, an empty queue."""
        spec = self.spec
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        iota = 128.0 * math.log(math.sqrt(2 * S * A * H) * self.episodes)
        top = steps_left(spec) if c.cap == "H-h+1" else np.full(H, float(H))
        return TripleQState(
            **tables(spec, top),
            Y=np.zeros(m),
            queue=np.zeros(m),
            visits=np.zeros((H, S, A)),
            paid=np.zeros(m),
            episode=np.zeros(1),
            b=spec.thresholds.copy(),
            available=spec.available.copy(),
            everyone=everyone(S),
            single=np.ones(1, dtype=np.uint32),
            cap=top,
            chi=c.chi,
            eta=c.eta,
            eps=c.eps,
            bonus=c.bonus_scale * 0.25 * H * math.sqrt(iota),
            bump=c.bump,
            frame=float(max(round(c.frame), 1)),
            forget=c.forget,
            observed=c.dual_estimate == "observed",
        )


register_kernels(TripleQState, plan, update)
