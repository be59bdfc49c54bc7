# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Regret and violation, soft and hard
#
# A learner starts without knowledge. While it learns it earns less than it could, and it misses its threshold. This page
# says how both are counted. We use [the robot of the first tutorial](constrained-mdp.md): it works or charges, it wants to
# earn, and its readiness has to reach 2.4 on average.

# %%
import matplotlib.pyplot as plt
import numpy as np

import noregret as nr

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

best = nr.solve(robot)
print(f"the best that is allowed: earns {best.value:.4f}, readiness {best.V_g[0]:.4f}")

# %% [markdown]
# ## Learning is a loop of two calls
#
# A learner *plans* a policy, the policy is played for one episode, and the learner *observes* the episode. The learner is
# given `robot.spec`: the number of states, actions and steps, and the threshold. It never sees `P`, `r` or `g`. We do, so
# we can compute what every single policy is worth. That is the difference between a measurement and an estimate.

# %%
K = 1500
learner = nr.learners.make("primal-dual-lsvi", robot.spec, episodes=K)
rng = np.random.default_rng(1)
V_r, V_g = np.zeros(K), np.zeros(K)
for k in range(K):
    policy = learner.plan().policy
    V_r[k], (V_g[k],) = nr.evaluate(robot, policy)  # exact, and for our eyes only
    x, a = [full], []
    for h in range(H):
        a.append(rng.choice(2, p=policy[h, x[h]]))
        x.append(rng.choice(3, p=P[h, x[h], a[h]]))
    steps = np.arange(H)
    learner.observe(x, a, r[steps, x[:H], a], g[steps, x[:H], a])

# %% [markdown]
# ## Regret in one picture
#
# Each dot is an episode. The line is the best that is allowed. The **regret** is what lies between the dots and the line,
# added up over all episodes: the reward that was lost because the learner did not know the world. The **violation** is the
# same for the utility: by how much it fell short of the threshold.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, values, line, colour, title in (
    (axes[0], V_r, best.value, "#0072B2", "reward of each episode's policy"),
    (axes[1], V_g, 2.4, "#009E73", "utility of each episode's policy"),
):
    ax.plot(values, ".", color=colour, markersize=2.5)
    ax.fill_between(
        np.arange(K),
        values,
        line,
        where=values < line,
        color=colour,
        alpha=0.25,
        linewidth=0,
    )
    ax.axhline(line, color="black", linewidth=1.2)
    ax.set_title(title, loc="left")
    ax.set_xlabel("episode")
axes[0].annotate(
    "V*, the best that is allowed",
    (K, best.value),
    (0, -14),
    textcoords="offset points",
    ha="right",
)
axes[1].annotate(
    "b, the threshold",
    (K, 2.4),
    (0, -60),
    textcoords="offset points",
    ha="right",
    arrowprops={"arrowstyle": "-"},
)
plt.show()

# %% [markdown]
# The dots end close to both lines. Note that some dots are *above* the line on the left: these policies earn more than the
# best allowed one. They can, because they are not ready enough. Below the line on the right is where they pay for it.
#
# ## Soft: a later surplus makes up for it
#
# Adding up all differences, positive and negative, gives the *soft* quantities, which the paper calls regret and violation.
# A surplus today pays for a lack yesterday. That is right where only the long-run total matters: an energy bill, the number
# of jobs done in a month.
#
# ## Hard: nothing makes up for it
#
# Adding up only the lacks gives the *hard* quantities. That is right where every episode counts by itself: a patient, a
# crash.
#
# | | soft | hard |
# |---|---|---|
# | regret | Σ (V\* − V_r) | Σ [V\* − V_r]₊ |
# | violation | [Σ (b − V_g)]₊ | Σ [b − V_g]₊ |
#
# Here [x]₊ is x where x is positive, and 0 elsewhere.

# %%
lost, missing = best.value - V_r, 2.4 - V_g
print(f"regret          {lost.sum():8.2f}")
print(f"hard regret     {np.maximum(lost, 0).sum():8.2f}")
print(f"violation       {max(missing.sum(), 0):8.2f}")
print(f"hard violation  {np.maximum(missing, 0).sum():8.2f}")

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, gap, colour, name in (
    (axes[0], lost, "#0072B2", "regret"),
    (axes[1], missing, "#009E73", "violation"),
):
    soft = np.cumsum(gap) if name == "regret" else np.maximum(np.cumsum(gap), 0)
    ax.plot(soft, color=colour, label=name)
    ax.plot(np.cumsum(np.maximum(gap, 0)), "--", color="#555555", label=f"hard {name}")
    ax.set_title(f"cumulative {name}", loc="left")
    ax.set_xlabel("episode")
    ax.legend(frameon=False)
plt.show()

# %% [markdown]
# The soft violation of this run falls back to 0: the learner was readier than asked later on, and that paid for the
# beginning. Its hard violation can only grow. A learner is good when both hard curves flatten.
#
# ## The same in one line
#
# `nr.run` is the loop above, compiled, with several trials side by side, each with its own random numbers. The curves are
# in the result.

# %%
result = nr.run(robot, "primal-dual-lsvi", episodes=K, trials=10, progress=False)
result

# %%
result.plot()
plt.show()

# %% [markdown]
# ## Never look at one number alone
#
# Here are five ways to act, all measured on the robot. Two of them learn nothing: `uniform` tosses a coin, and `optimal`
# knows everything. `paper` and `safe` are other settings of the same algorithm.

# %%
ways = {
    "uniform": nr.run(robot, "uniform", episodes=K, trials=10, progress=False),
    "paper": nr.run(robot, preset="paper", episodes=K, trials=10, progress=False),
    "practical": result,
    "safe": nr.run(
        robot,
        preset="safe",
        safe_policy="safest",
        episodes=K,
        trials=10,
        progress=False,
    ),
    "optimal": nr.run(robot, "optimal", episodes=K, trials=10, progress=False),
}
print(
    f"{'':12}{'regret':>10}{'hard regret':>14}{'violation':>12}{'hard violation':>17}"
)
for name, one in ways.items():
    curves = (one.regret, one.hard_regret, one.violation, one.hard_violation)
    print(
        f"{name:12}"
        + "".join(
            f"{c[:, -1].mean():{w}.1f}"
            for c, w in zip(curves, (10, 14, 12, 17), strict=True)
        )
    )

# %% [markdown]
# - `paper` has a **negative regret**. It is no miracle: its violation is large, and whoever ignores the threshold can earn
#   more. Regret says nothing without the violation beside it.
# - `safe` **violates in no episode**. It is told one policy that is safe for certain, and moves away from it only as far as it
#   has a proof. In so few episodes it can prove next to nothing, and loses more than the coin: a proof is dear.
# - `practical` is between them: its violation is paid back, its hard violation is small.
# - `uniform` charges every other time, so it is always ready enough here. It has no violation and a very large regret. The
#   violation says nothing without the regret either.
# - `optimal` has 0 everywhere. This is how we know that the ruler is straight.
#
# ## How fast should it grow?
#
# A policy that does not learn loses the same in every episode, so its regret grows like K, the number of episodes. The
# paper proves a growth like √K for its algorithm: four times the episodes, twice the regret. On axes that are both
# logarithmic, such curves are straight lines. K has slope 1, and √K has slope 1/2.

# %%
long = nr.run(robot, episodes=50_000, trials=10, record_every=250, progress=False)
flat = nr.run(
    robot, "uniform", episodes=50_000, trials=2, record_every=250, progress=False
)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, one, colour in (("practical", long, "#0072B2"), ("uniform", flat, "#7F7F7F")):
    sum_of_both = (one.hard_regret + one.hard_violation).mean(axis=0)
    slope = nr.metrics.slope(one.episodes, sum_of_both)
    ax.loglog(
        one.episodes, sum_of_both, color=colour, label=f"{name}: slope {slope:.2f}"
    )
ax.set(xlabel="episode", ylabel="hard regret + hard violation")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# **What to remember.** Regret and violation are sums over episodes: of the reward that is missing, compared with the best
# allowed policy, and of the utility that is missing, compared with the threshold. Soft sums forgive, hard sums do not. In
# noregret they are never estimates: every policy that was played is evaluated exactly.
#
# Next: [Algorithm 1 by hand](algorithm-1-by-hand.md), every line with its numbers.
