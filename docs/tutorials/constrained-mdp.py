# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What is a constrained MDP?
#
# This page is for somebody who has never seen one. We build a very small world, look at everything that can happen in it,
# and ask for the best way to act when one thing is to be maximised and another must not be neglected. That question is a
# *constrained Markov decision process*, a constrained MDP or CMDP for short.
#
# ## A robot and its battery
#
# A robot delivers parcels. Its battery is **full**, **low** or **empty**: these are the *states* of the world. At every
# *step* the robot takes one of two *actions*: it can **work** or **charge**. Work drains the battery, charging fills it,
# and neither does so for certain. An *episode* is a shift of three steps that begins with a full battery. The letters are
# the usual ones: S = 3 states, A = 2 actions, H = 3 steps (H stands for *horizon*).

# %%
import matplotlib.pyplot as plt
import numpy as np

import noregret as nr

full, low, empty = 0, 1, 2
work, charge = 0, 1
states, actions, H = ["full", "low", "empty"], ["work", "charge"], 3

# P[h, x, a, y]: the probability that action a leads from state x to state y at step h.
P = np.zeros((H, 3, 2, 3))
P[:, full, work] = [0.4, 0.6, 0.0]
P[:, low, work] = [0.0, 0.4, 0.6]
P[:, empty, work] = [0.0, 0.0, 1.0]
P[:, full, charge] = [1.0, 0.0, 0.0]
P[:, low, charge] = [0.8, 0.2, 0.0]
P[:, empty, charge] = [0.0, 0.8, 0.2]

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for a, ax in enumerate(axes):
    for x in range(3):
        ax.add_patch(
            plt.Circle((2 * x, 0), 0.42, color=["#009E73", "#E69F00", "#D55E00"][x])
        )
        ax.text(
            2 * x, 0, states[x], ha="center", va="center", color="white", weight="bold"
        )
        for y in range(3):
            if P[0, x, a, y] == 0.0:
                continue
            if x == y:
                look = {"arrowstyle": "-|>", "lw": 1.6, "color": "#444444"}
                look["connectionstyle"] = "arc3,rad=-1.6"
                ends = (2 * x + 0.22, 0.38), (2 * x - 0.22, 0.38)
                ax.annotate("", *ends, arrowprops=look)
                ax.text(2 * x, 0.98, f"{P[0, x, a, y]:g}", ha="center")
            else:
                side = 0.42 if y > x else -0.42
                ax.annotate("", (2 * y - side, 0), (2 * x + side, 0), arrowprops={
                    "arrowstyle": "-|>", "lw": 1.6, "color": "#444444"})  # fmt: skip
                ax.text(x + y, 0.14, f"{P[0, x, a, y]:g}", ha="center")
    ax.set(xlim=(-0.8, 4.8), ylim=(-0.7, 1.4), aspect="equal")
    ax.set_title(f"action: {actions[a]}", loc="left")
    ax.axis("off")
plt.show()

# %% [markdown]
# The pictures show where each action leads, and with which probability. For instance, work with a full battery leaves it
# full with probability 0.4.
#
# ## What we want, and what we must not neglect
#
# Work earns a *reward*. A robot with a full battery delivers most: 1 a step. With a low battery it delivers 0.8, and with
# an empty one it crawls and delivers 0.1. Charging earns nothing.
#
# There is a second number. The robot may be called to an emergency at any moment, so it should be *ready*: a step that
# begins with a full battery is worth 1, with a low one 0.5, with an empty one nothing. Such a second number is called a
# *utility*.
#
# Over a shift both add up. The owner says: earn as much as you can, but **the total readiness has to be at least 2.4 out of
# 3 on average**. The number 2.4 is the *threshold*, written b.

# %%
r, g = np.zeros((H, 3, 2)), np.zeros((H, 3, 2))
r[:, :, work] = [1.0, 0.8, 0.1]
g[:, full], g[:, low] = 1.0, 0.5

problem = nr.TabularCMDP(
    P, r, g, b=2.4, mu=full, name="robot", constraint_names=["readiness"]
)
problem

# %% [markdown]
# That is the whole problem: states, actions, probabilities, a reward, a utility, a threshold, and the state where an
# episode begins.
#
# ## A policy, and what it is worth
#
# A *policy* says what to do at each step in each state, perhaps by tossing a coin. It is a table of probabilities, one for
# each step, state and action. Let us try two: one that always works, and one that charges as soon as the battery is not
# full.

# %%
always_work = np.zeros((H, 3, 2))
always_work[:, :, work] = 1.0

careful = np.zeros((H, 3, 2))
careful[:, full, work] = 1.0
careful[:, [low, empty], charge] = 1.0

rng = np.random.default_rng(0)


def shift(policy):
    """Play one episode: the states visited, the total reward and the total utility."""
    x, path, earned, ready = full, [full], 0.0, 0.0
    for h in range(H):
        a = rng.choice(2, p=policy[h, x])
        earned, ready = earned + r[h, x, a], ready + g[h, x, a]
        x = rng.choice(3, p=P[h, x, a])
        path.append(x)
    return path, earned, ready


for _ in range(3):
    path, earned, ready = shift(careful)
    print(
        " → ".join(states[x] for x in path[:H]),
        f"  earned {earned:.1f}, readiness {ready:.1f}",
    )

# %% [markdown]
# Every shift is different. What a policy is *worth* is the average over all shifts that can happen, each with its
# probability. This average is called the *value* of the policy: V_r for the reward, V_g for the utility. We can play many
# shifts and take the mean. Or we can compute it exactly, because here the probabilities are known; that is what
# `nr.evaluate` does.

# %%
for name, policy in (("always work", always_work), ("careful", careful)):
    played = np.array([shift(policy)[1:] for _ in range(2000)])
    V_r, (V_g,) = nr.evaluate(problem, policy)
    earned, ready = played.mean(axis=0)
    print(f"{name:12}  2000 shifts: earned {earned:.3f}, readiness {ready:.3f}")
    print(f"{'':12}  exactly:     earned {V_r:.3f}, readiness {V_g:.3f}")

# %% [markdown]
# *Always work* earns more and is not ready enough: its readiness is below 2.4. *Careful* is ready enough and earns less. Is
# there something between them?
#
# ## All policies in one picture
#
# There are 2⁹ = 512 policies without a coin: two choices, in three states, at three steps. We evaluate every one of them
# and draw it as a point: how ready it is to the right, what it earns upwards. A policy that tosses coins lies between such
# points, so the grey area holds every policy there is. The threshold is the dashed line, and only what is to the right of
# it is allowed.

# %%
from itertools import product

points = np.zeros((512, 2))
for i, choice in enumerate(product([work, charge], repeat=9)):
    policy = np.eye(2)[np.array(choice).reshape(H, 3)]
    V_r, (V_g,) = nr.evaluate(problem, policy)
    points[i] = V_g, V_r

best = nr.solve(problem)

# %% tags=["hide-input"]
from scipy.spatial import ConvexHull

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
corners = np.unique(points.round(9), axis=0)
ax.fill(*corners[ConvexHull(corners).vertices].T, color="#dddddd", zorder=0)
allowed = points[:, 0] >= 2.4 - 1e-9
ax.scatter(*points[~allowed].T, s=14, color="#999999", label="not ready enough")
ax.scatter(*points[allowed].T, s=14, color="#0072B2", label="allowed")
ax.axvline(2.4, color="black", linestyle="--", linewidth=1.2)
ax.plot(
    best.V_g[0],
    best.value,
    "*",
    color="#D55E00",
    markersize=17,
    label=f"the best: earns {best.value:.3f}",
)
for name, policy in (("always work", always_work), ("careful", careful)):
    V_r, (V_g,) = nr.evaluate(problem, policy)
    ax.annotate(name, (V_g, V_r), (8, -3), textcoords="offset points")
ax.set(xlabel="readiness V_g", ylabel="earned V_r")
ax.legend(loc="lower left", frameon=False)
plt.show()

# %% [markdown]
# Three things can be seen.
#
# 1. **The best allowed policy lies on the dashed line.** The constraint *binds*: being readier than asked would cost
#    earnings.
# 2. **The best policy is not one of the 512.** It lies on the edge between two of them, so it has to toss a coin. This is
#    the great difference from a problem without a constraint, where some policy without a coin is always best.
# 3. **The edge has a slope.** Moving the dashed line a little to the right lowers the best earnings by the slope. This
#    slope is the *price* of the constraint. It is also called the *dual*.
#
# ## The best policy
#
# `nr.solve` finds it, with its value and the price. It is exact: the problem is a linear program, and the answer is checked
# after every solve.

# %%
print(best)
print(f"\n{'probability to work':22}" + "".join(f"{name:>8}" for name in states))
for h in range(H):
    print(
        f"{f'at step {h + 1}':22}"
        + "".join(f"{best.policy[h, x, work]:8.3f}" for x in range(3))
    )

# %% [markdown]
# (In a state that this policy never reaches, the table has one half.) There is one real coin: at the second step with a low
# battery the robot works with the probability shown, and charges otherwise. Everything else is certain.
#
# The last number that `nr.solve` gives is the *Slater gap*: by how much the readiest policy exceeds the threshold. It says
# how much room there is. Here a robot that always charges keeps its battery full and is ready for 3 of 3, so the gap is 3 −
# 2.4.

# %%
print(f"best value       {best.value:.4f}")
print(f"price (dual)     {best.dual[0]:.4f}  reward lost for a unit of threshold more")
print(f"Slater gap       {best.slater_gap:.4f}")

# %% [markdown]
# ## What learning adds
#
# So far all probabilities were known. A *learner* does not know them, nor the reward, nor the utility. It is told the
# number of states, actions and steps, and the threshold. Then it plays shift after shift and sees what happens. It will
# earn less than the best policy at first, and it will not be ready enough at first. What it lost on the way has two names,
# one for the reward and one for the utility: *regret* and *violation*. They are [the next
# tutorial](regret-and-violation.md).
#
# **In one sentence:** a constrained MDP asks for the policy with the largest expected reward among those whose expected
# utility reaches a threshold.
