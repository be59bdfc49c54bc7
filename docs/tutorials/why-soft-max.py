# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Why soft-max, and not greedy?
#
# A *greedy* policy takes the action that looks best. Nearly every algorithm without a constraint does that. Algorithm 1
# does not: its policy is a *soft-max*, which takes the better action with the larger probability, but never with certainty.
# This page shows the paper's reason, and then a second one that you can see with your eyes.
#
# Some words first. The learner has two estimates for every action: Q_r, what it will earn, and Q_g, what it will bring in
# utility. It has a price Y for the utility. It compares actions by the *composite* Q_r + Y·Q_g.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import noregret as nr
from noregret.experiments.greedy import analysis

# %% [markdown]
# ## The paper's argument: a small change, a large jump
#
# Here are two sets of estimates for two actions. In the second set every number has moved by ε/2 at most. We take ε = 0.01,
# and H = 10 as the largest value that a Q can have.

# %%
pair = analysis.counter_example(horizon=10, epsilon=0.01)
for name, Q, Y in (("first", pair.Q, pair.Y), ("second", pair.Q_near, pair.Y_near)):
    composite = Q[0] + Y * Q[1]
    print(f"{name:7} Q_r {Q[0]}  Q_g {Q[1]}  Y {Y:.3f}")
    best = composite.argmax() + 1
    print(f"{'':7} Q_r + Y·Q_g {composite.round(4)}, best: action {best}")

# %% [markdown]
# The two composites of a row are nearly equal, so a tiny change turns the better action around. But these two actions are
# not alike at all: one earns about 10 and the other about 1. The greedy policy jumps from one to the other, and the value
# V_r jumps with it, from 1 to 10.
#
# Without a constraint this cannot happen. There the greedy policy takes the larger Q_r, and V_r *is* that larger Q_r: if
# the Q change by ε, V changes by ε at most. With a constraint the policy maximises one thing, the composite, and is judged
# by another.
#
# Why does a proof care? The algorithm fits the value of the next state from data, while this value was itself made from the
# same data. To keep chance under control the proof has to check all values that could come up. There are infinitely many,
# so it takes a finite *net* of them: every possible value lies within ε of a point of the net. With jumps there is no such
# net. With the soft-max there is, because its probabilities cannot move faster than 2α times the composite does.

# %%
demo = analysis.run(horizon=10)
rows = {
    "greedy": demo.greedy,
    **{
        f"soft-max, α = {a:g}": gaps
        for a, gaps in zip(demo.alphas, demo.soft, strict=True)
    },
}
print(
    f"{'how far V_r moves when ε is':28}"
    + "".join(f"{e:>10.0e}" for e in analysis.SHOWN)
)
for name, gaps in rows.items():
    shown = [gaps[np.abs(np.log(demo.epsilons / e)).argmin()] for e in analysis.SHOWN]
    print(f"{name:28}" + "".join(f"{gap:10.2g}" for gap in shown))

# %%
from noregret.experiments.greedy import page

page.figure(demo)

# %% [markdown]
# The black line is the greedy policy: however small ε is, its value moves by 9. The coloured lines are soft-max policies:
# their values move less and less. Dotted lines are the bound that the paper proves, ε(1 + 2αH(1+ξ+H)). From a shell,
# `noregret demo greedy` makes the same picture.
#
# ## What it looks like in play
#
# The best policy of a constrained problem often has to toss a coin ([here is why](constrained-mdp.md)). A greedy policy has
# no coin. It can only jump between policies that earn too little and policies that violate. Here is [the
# robot](constrained-mdp.md) again, learned twice: with the soft-max, and with α = ∞, which is greedy. Everything else is
# the same.

# %%
full, low, empty, work, charge, H = 0, 1, 2, 0, 1, 3
P = np.zeros((H, 3, 2, 3))
P[:, :, work] = [[0.4, 0.6, 0.0], [0.0, 0.4, 0.6], [0.0, 0.0, 1.0]]
P[:, :, charge] = [[1.0, 0.0, 0.0], [0.8, 0.2, 0.0], [0.0, 0.8, 0.2]]
r, g = np.zeros((H, 3, 2)), np.zeros((H, 3, 2))
r[:, :, work] = [1.0, 0.8, 0.1]
g[:, full], g[:, low] = 1.0, 0.5
robot = nr.TabularCMDP(
    P, r, g, b=2.4, mu=full, name="robot", constraint_names=["readiness"]
)

K, played = 3000, {}
for name, alpha in (("soft-max", 20.0), ("greedy", math.inf)):
    learner = nr.learners.make(
        "primal-dual-lsvi",
        robot.spec,
        episodes=K,
        preset="paper",
        zeta=0.0,
        beta=0.3,
        alpha=alpha,
        eta=0.02,
    )
    rng, V_g = np.random.default_rng(0), np.zeros(K)
    for k in range(K):
        policy = learner.plan().policy
        _, (V_g[k],) = nr.evaluate(robot, policy)
        x, a = [full], []
        for h in range(H):
            a.append(rng.choice(2, p=policy[h, x[h]]))
            x.append(rng.choice(3, p=P[h, x[h], a[h]]))
        learner.observe(x, a, r[np.arange(H), x[:H], a], g[np.arange(H), x[:H], a])
    played[name] = V_g

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, (name, V_g), colour in zip(
    axes, played.items(), ("#0072B2", "#D55E00"), strict=False
):
    ax.plot(V_g, ".", markersize=2, color=colour)
    ax.axhline(2.4, color="black", linewidth=1.2)
    ax.set(ylim=(2.05, 3.05), xlabel="episode", ylabel="utility of the policy played")
    ax.set_title(name, loc="left")
    axes[2].plot(np.cumsum(np.maximum(2.4 - V_g, 0)), color=colour, label=name)
axes[2].set(xlabel="episode", ylabel="hard violation")
axes[2].legend(frameon=False)
plt.show()

# %%
late = slice(2 * K // 3, K)
for name, V_g in played.items():
    lack = np.maximum(2.4 - V_g[late], 0)
    seen = np.unique(V_g[late].round(6)).size
    print(
        f"{name:9} in the last third: mean utility {V_g[late].mean():.3f}, "
        f"missing {lack.mean():.4f}, {seen} different values"
    )

# %% [markdown]
# Look at the late episodes. The greedy policy has two values only, and jumps between them: on *average* it is near the
# threshold, so a soft count forgives it, but every episode of the lower kind violates, and the hard violation grows in a
# straight line. The soft-max policy settles close to the threshold and comes closer. It stays a little below here, because
# the printed algorithm looks at its own utility through the bonus and so believes itself better than it is; the presets
# `practical` mends that.
#
# ## What it costs
#
# The soft-max is not free: at a step it loses up to log(A)/α against the better action. A small α is smooth and loses much;
# a large α loses little and is nearly greedy. The theorem lets α grow with K. In play, α that begins small and grows like
# √k has worked best, and that is what the preset `practical` does ([what was tried](../practical.md)).
