r"""Triple-Q (Wei, Liu, Ying 2022): Q-learning for reward and utility, and a virtual queue. No model, one visit an update.

Let χ and η be the paper's constants, F the length of a frame, ε the tightening, N_h(x,a) the visits within the frame. At
first Q_{r,h} = Q_{g,h} = H (or H−h+1, ``cap``), N = 0, the queue Z = 0. Each episode plays, at every step,

    a_h ∈ argmax_a Q_{r,h}(x_h,a) + (Z/η) Q_{g,h}(x_h,a)

and after it, for j in {r, g}, t = N_h(x_h,a_h) + 1 and the action a_{h+1} taken next (nothing after the last step),

    Q_{j,h}(x_h,a_h) ← (1−α_t) Q_{j,h}(x_h,a_h) + α_t ( j_h + Q_{j,h+1}(x_{h+1},a_{h+1}) + b_t )
    α_t = (χ+1)/(χ+t),   b_t = ¼ √(H² ι (χ+1)/(χ+t))

with Q_{j,h+1} as it was in the episode. At the end of a frame

    Q_{r,h} += 2H³√ι/η;   where Q_{r,h} ≥ H or Q_{g,h} ≥ H, both become H;   N ← 0
    Z ← [ Z + b + ε − mean over the frame of Q_{g,1}(x_1,a_1) ]_+ .

The price that is reported is Y = Z/η.

Constants of ``theory``: χ = η = K^{1/5}, F = K^{3/5} (rounded up), ι = 128 log(√(2SAH) K), ε = 8√(SAH⁶ι³)/K^{1/5},
``bonus_scale`` 1. ε then exceeds H at any K one can run. It asks for no Slater gap.
``practical``: χ, η and F as in ``theory``; ``bonus_scale`` 3·10⁻⁵, ε = 0.1, the bump 4·10⁻⁴·H·K^0.3.
``bonus_scale`` multiplies √ι, in b_t and in the bump of ``theory`` alike.

Two options, off unless given or found by a search. With ``forget`` false the visits N go on through frames. As printed the
first visit of a frame has α_1 = 1, so every pair begins anew from one visit, K^{2/5} times. With ``dual_estimate`` "observed"
the queue takes the mean over the frame of the utility that was observed, in place of the optimistic Q_{g,1}(x_1,a_1).

Deviations: exact ties are played uniformly, which makes the played policy a table; with ``cap`` "H-h+1" (``practical``) the
tables start from, and are reset to, what the steps left can give. The value Q_{g,1}(x_1,a_1) that feeds Z is the one before
the episode's update, as in the paper (the authors' code has the one after). One constraint, as in the paper.
Steps share nothing: it keeps no model, and what is left to gain from a pair differs from step to step.

References:
    Wei, Liu, Ying. Triple-Q: A Model-Free Algorithm for Constrained Reinforcement Learning with Sublinear Regret and Zero
    Constraint Violation. AISTATS 2022, arXiv 2106.01577.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram.base import States, everyone
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import dual_move, total
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.tabular import TabularLearner, steps_left, tables
from noregret.problems.base import Array, Spec


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
    available: NDArray[np.bool_]  # (H,S,A)
    everyone: States
    single: NDArray[np.uint32]  # (1,) one state at a time
    cap: Array  # (H,)
    chi: float
    eta: float
    eps: float
    bonus: float  # ¼ bonus_scale √(H²ι)
    bump: float
    frame: float
    forget: bool  # whether the visits begin anew with a frame
    observed: bool  # whether the queue looks at what was observed


def plan(state: Any) -> None:
    """The greedy policy is kept up to date where the tables change."""


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
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
    source = "memory"
    parameters = (
        "bonus_scale", "chi", "eta", "eps", "frame", "bump", "cap", "forget", "dual_estimate", "share",
    )  # fmt: skip
    several = False
    space = searched(
        theory=(
            "bonus_scale=1e-7:1:log",
            "chi_scale=0.1:10:log",
            "eta_scale=0.01:100:log",
            "eps_scale=1e-11:1e-7:log",
            "frame_scale=0.03:3:log",
            "bump_scale=0.01:100:log",
        ),
        practical=(
            "bonus_scale=1e-7:1e-2:log",
            "chi_scale=0.1:10:log",
            "eta_scale=0.01:100:log",
            "eps_scale=0.01:10:log",
            "frame_scale=0.03:3:log",
            "bump_scale=0.01:100:log",
            "forget=true,false",
            "dual_estimate=optimistic,observed",
        ),
    )

    def _start(self, spec: Spec, K: int, choices: Choices) -> TripleQState:
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        iota = 128.0 * math.log(math.sqrt(2 * S * A * H) * K)
        scale = choices.number("bonus_scale", (1.0, "the paper's bonus"), (3e-5, "tuned"))
        chi = choices.number("chi", (K**0.2, "K^1/5"))
        eta = choices.number("eta", (K**0.2, "K^1/5"), above=0.0)
        eps = choices.number("eps", (8 * math.sqrt(S * A * H**6 * iota**3) / K**0.2, "8√(SAH⁶ι³)/K^1/5"), (0.1, "tuned"))
        frame = choices.number("frame", (math.ceil(K**0.6), "K^3/5"), above=0.0)
        bump = choices.number(
            "bump", (scale * 2 * H**3 * math.sqrt(iota) / eta, "2H³√ι/η"), (4e-4 * H * K**0.3, "4·10⁻⁴·H·K^0.3, tuned")
        )
        default = "H" if choices.theory else "H-h+1"
        cap = choices.word("cap", default, ("H", "H-h+1"), "as printed" if choices.theory else "what H-h+1 steps can give")
        top = steps_left(spec) if cap == "H-h+1" else np.full(H, float(H))
        forget = choices.flag("forget", True, True, "as printed")
        estimate = choices.word("dual_estimate", "optimistic", ("optimistic", "observed"), "as printed")
        choices.share(self.sharing, spec.share)
        return TripleQState(
            **tables(spec, top), Y=np.zeros(m), queue=np.zeros(m), visits=np.zeros((H, S, A)), paid=np.zeros(m),
            episode=np.zeros(1), b=spec.thresholds.copy(), available=spec.available.copy(),
            everyone=everyone(S), single=np.ones(1, dtype=np.uint32), cap=top, chi=chi, eta=eta, eps=eps,
            bonus=scale * 0.25 * H * math.sqrt(iota), bump=bump, frame=float(max(round(frame), 1)),
            forget=forget, observed=estimate == "observed",
        )  # fmt: skip


register_kernels(TripleQState, plan, update)
