# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Your own problem, learner, feature map
#
# noregret is made to be extended. This page walks through one example of each kind: a world of your own, an algorithm of
# your own, and features of your own for states that are vectors. The reference pages have every detail: [a new
# problem](../new-problem.md), [a new learner](../new-learner.md), [a new feature map](../new-feature-map.md).
#
# ## A problem: the greenhouse
#
# A greenhouse is dry, good or wet. At each of eight hours one can open the **water** or leave it **shut**. Water costs a
# little. Plants grow when it is good. And mould must be kept down: at most one wet hour a day on average. That is a *limit
# on a cost*, and `nr.Constraint` takes it as it is said.

# %%
import matplotlib.pyplot as plt
import numpy as np

import noregret as nr

dry, good, wet, shut, water, H = 0, 1, 2, 0, 1, 8
P = np.zeros((H, 3, 2, 3))
P[:, :, shut] = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.6, 0.4]]
P[:, :, water] = [[0.2, 0.5, 0.3], [0.0, 0.5, 0.5], [0.0, 0.1, 0.9]]
growth = np.zeros((H, 3, 2))
growth[:, good] = 1.0
growth[:, :, water] *= 0.9
wetness = np.zeros((H, 3, 2))
wetness[:, wet] = 1.0

greenhouse = nr.TabularCMDP.with_constraints(
    P,
    growth,
    [nr.Constraint(wetness, limit=1.0, sense="<=", name="wet hours")],
    mu=dry,
    name="greenhouse",
    share="all",
)
best = nr.solve(greenhouse)
print(greenhouse, best, sep="\n")
print(f"wet hours of the best policy: {H - best.V_g[0]:.3f}")

# %% [markdown]
# A cost c is kept as the utility 1 − c, so *at most 1 wet hour of 8* became *at least 7 hours that are not wet*: that is
# the b = 7 above. And `share="all"` says that the laws do not change from hour to hour, so that learners may learn all
# hours together.
#
# `TabularCMDP` itself refuses arrays that cannot be right, such as probabilities that do not add up. `check_problem` looks
# at the rest: that some policy meets the constraint with room, that the optimum is worth what it claims to be, that the
# same seed gives the same bits.

# %%
from noregret.testing import check_problem

check_problem(greenhouse)
print("no complaints")

# %% [markdown]
# All learners can play it at once:

# %%
result = nr.run(greenhouse, episodes=5000, trials=4, progress=False)
print(result)

# %% [markdown]
# ## A learner: Q-learning with a price
#
# Many people's first idea is: take Q-learning, add a price times the utility to the reward, and move the price by what is
# missing. Is that good? Write it down and measure it. A learner has a *state* (a `NamedTuple` of arrays) and two functions:
# `plan` fills the policy, `update` takes in an episode. Both are plain Python that Numba compiles. Its class has a table of
# its constants, and `begin` makes the first state.

# %%
from typing import NamedTuple

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.learners import Learner, register
from noregret.learners.presets import Constants, Number


class PricedState(NamedTuple):
    """What the next episode needs."""

    policy: np.ndarray  # (H,S,A), every state has it
    Y: np.ndarray  # (m,), the price of each constraint; every state has it
    worth: np.ndarray  # (1+m,H,S,A), the Q tables of the reward and of each utility
    visits: np.ndarray  # (H,S,A)
    available: np.ndarray  # (H,S,A)
    b: np.ndarray  # (m,)
    explore: float  # the share of random actions
    eta: float  # the step of the price


def plan(state):
    """The best action at today's price, and now and then a random one."""
    H, S, A = state.policy.shape
    for h in range(H):
        for s in range(S):
            best, choice, count = -np.inf, 0, 0
            for a in range(A):
                if state.available[h, s, a]:
                    count += 1
                    composite = state.worth[0, h, s, a]
                    for i in range(len(state.b)):
                        composite += state.Y[i] * state.worth[1 + i, h, s, a]
                    if composite > best:
                        best, choice = composite, a
            for a in range(A):
                state.policy[h, s, a] = (
                    state.explore / count if state.available[h, s, a] else 0.0
                )
            state.policy[h, s, choice] += 1.0 - state.explore


def update(state, states, actions, observed):
    """One step of Q-learning for each step of the episode, then a step of the price."""
    H = len(actions)
    for h in range(H - 1, -1, -1):
        s, a, following = states[h], actions[h], states[h + 1]
        state.visits[h, s, a] += 1.0
        rate = 1.0 / state.visits[h, s, a] ** 0.7
        for j in range(len(state.worth)):
            later = 0.0
            if h + 1 < H:
                for action in range(state.policy.shape[2]):
                    later += (
                        state.policy[h + 1, following, action]
                        * state.worth[j, h + 1, following, action]
                    )
            state.worth[j, h, s, a] += rate * (
                observed[h, j] + later - state.worth[j, h, s, a]
            )
    for i in range(len(state.b)):
        state.Y[i] = max(
            state.Y[i] + state.eta * (state.b[i] - observed[:, 1 + i].sum()), 0.0
        )


register_kernels(PricedState, plan, update)


@register
class Priced(Learner):
    """Q-learning on the reward plus a price times the utility."""

    name = "priced-q"
    summary = "Q-learning on the reward plus a price times the utility"

    table = Constants(
        Number("explore", most=1, every=(0.1, "chosen")),
        Number("eta", every=(0.02, "chosen")),
    )

    def begin(self, c):
        """Nothing is known before the first episode. `c` has the table's constants."""
        spec, m, shape = self.spec, self.spec.n_constraints, self.spec.available.shape
        return PricedState(
            policy=np.zeros(shape),
            Y=np.zeros(m),
            worth=np.zeros((1 + m, *shape)),
            visits=np.zeros(shape),
            available=spec.available.copy(),
            b=spec.thresholds.copy(),
            explore=c.explore,
            eta=c.eta,
        )


# %% [markdown]
# From here on it is a learner like any other, with a name. `check_learner` runs our own contract tests over it: the same
# seed gives the same bits, it leaves its inputs alone, it can stop and go on, it never sees the truth.

# %%
from noregret.testing import check_learner

check_learner("priced-q")
print("no complaints")

# %%
rivals = nr.compare(
    [greenhouse],
    ["primal-dual-lsvi", "priced-q", "priced-q:explore=0.02", "uniform"],
    episodes=5000,
    trials=4,
    progress=False,
)
rivals

# %% tags=["hide-input"]
rivals.plot()
plt.show()

# %% [markdown]
# So the first idea learns. But it keeps exploring for ever, and its regret grows in a straight line. With less exploration
# it loses less. Its price swings, too: compare the hard violations in the table. Now you can change a line and measure
# again: that is what the library is for.
#
# A learner in a file or a package of its own is known on the command line too: `noregret run job-scheduling -l priced-q
# --import my_learners.py`.
#
# ## A feature map: bumps along a line
#
# Where states are vectors there is no table. The learner then describes a state by features, and fits values that are
# linear in them. The problem `linear-continuous` has states on a line, most of them between −1 and 1, so bumps at a few
# centres are a natural choice. A map says how to compute the features of a batch of states, and a bound on their length.

# %%
from noregret.features import FeatureMap


class Bumps(FeatureMap):
    """Bumps around centres on a line."""

    def __init__(self, centres, n_actions, width=0.4):
        self.centres, self.width_of_bump = (
            np.asarray(centres, dtype=float),
            float(width),
        )
        super().__init__(
            n_actions=n_actions,
            rows=1,
            width=len(self.centres),
            bound=np.sqrt(len(self.centres)),
        )

    def _raw(self, states):  # (n, rows, width), before the division by the bound
        x = np.asarray(states)[:, :1]
        return np.exp(-((x - self.centres) ** 2) / (2 * self.width_of_bump**2))[:, None]


world = nr.problems.load("linear-continuous")
one = Bumps([0.0], world.n_actions)
five = Bumps(np.linspace(-1, 1, 5), world.n_actions)

x = np.linspace(-1.5, 1.5, 200)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(10, 2.6), layout="constrained")
for ax, features in zip(axes, (one, five), strict=True):
    ax.plot(x, features._raw(x)[:, 0])
    ax.set_title(f"centres: {len(features.centres)}", loc="left")
    ax.set_xlabel("state")
plt.show()

# %%
options = {
    "episodes": 400,
    "trials": 2,
    "record_every": 20,
    "replan": "doubling",
    "progress": False,
}
print(f"{'features':18}{'hard regret':>13}{'hard violation':>17}")
for name, features in (
    ("one bump", one),
    ("five bumps", five),
    ("the problem's own", None),
):
    found = nr.run(world, features=features, **options)
    lost, missed = found.hard_regret[:, -1].mean(), found.hard_violation[:, -1].mean()
    print(f"{name:18}{lost:13.1f}{missed:17.1f}")

# %% [markdown]
# The problem's own features are the ones in which it is exactly linear. Your own need not be perfect, but they must be able
# to tell apart what differs. In an environment, `agent.adequacy()` says whether they do ([environments,
# features](../continuous.md)).
