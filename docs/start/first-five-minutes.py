# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The first five minutes
#
# You have [installed noregret](install.md). Now let a learner loose on a small world, and see what *regret* means.
#
# ## A problem
#
# A buffer holds packets of a film and is empty at the start. Every step in which it is not empty earns 1: the film plays. A
# fast service fills the buffer, a slow one hardly does, and the fast one may be used for five of ten steps only, on
# average. That is `media-control`, one of the problems that come with noregret.

# %%
import matplotlib.pyplot as plt
import numpy as np

import noregret as nr

problem = nr.problems.load("media-control")
print(problem)

# %% [markdown]
# The line says: an episode has H = 10 steps, there are S = 10 states (how full the buffer is), A = 2 actions (slow or fast)
# and m = 1 constraint. Costs are turned into utilities, so *at most 5 fast steps* reads *at least 5 steps that are not
# fast*, b = 5.
#
# ## The best that can be done
#
# noregret knows the laws of this world, because we wrote them down. So it can compute the best policy that keeps to the
# limit, exactly.

# %%
best = nr.solve(problem)
print(f"the best policy earns {best.value:.4f}")
print(f"one more fast step would be worth {best.dual[0]:.4f}")

# %% [markdown]
# ## A learner
#
# A learner does not know the laws. It plays episode after episode and learns from what it sees. `nr.run` plays 2,000
# episodes with Algorithm 1, and evaluates the policy of every single episode exactly.

# %%
result = nr.run(
    problem,
    "primal-dual-lsvi",
    episodes=2000,
    trials=1,
    seed=3,
    record_every=1,
    progress=False,
)
earned = best.value - np.diff(result.regret[0], prepend=0.0)

# %% [markdown]
# ## Regret in one picture

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
k = np.arange(1, 2001)
ax.plot(
    k,
    earned,
    color="#0072B2",
    linewidth=0.9,
    label="what the policy of each episode is worth",
)
ax.fill_between(
    k,
    earned,
    best.value,
    where=earned < best.value,
    color="#0072B2",
    alpha=0.3,
    linewidth=0,
    interpolate=True,
    label="regret",
)
ax.axhline(best.value, color="black", linewidth=1.4, label="the best that is allowed")
ax.set(xscale="log", xlabel="episode (logarithmic)", ylabel="reward of an episode")
ax.legend(loc="lower right", frameon=False)
plt.show()

# %% [markdown]
# The black line is the best policy. The blue line is the learner. What lies between them is what the learner lost because
# it did not know the world. Added up over all episodes it is the **regret**. A good learner has a regret that hardly grows
# any more: it has learned.
#
# Above the black line the learner earns more than is allowed, by using the fast service too much. What that costs is
# counted too, as the **violation**:

# %%
result

# %% [markdown]
# Each number has its meaning beside it. *Hard* means that nothing makes up for a bad episode; [regret and
# violation](../tutorials/regret-and-violation.md) explains the difference.
#
# ## Several learners
#
# One run is luck. Compare learners over several trials, each with its own random numbers. `uniform` tosses a coin, as a
# floor for comparison.

# %%
comparison = nr.compare(
    ["media-control"],
    ["primal-dual-lsvi", "optcmdp-bonus", "uniform"],
    episodes=2000,
    trials=4,
    progress=False,
)
comparison

# %% [markdown]
# From a shell the same is
#
#     noregret compare --problems media-control --learners primal-dual-lsvi,optcmdp-bonus,uniform -k 2000 -t 4
#
# and `noregret list` shows all problems and learners.
#
# **Next:** [the second five minutes](second-five-minutes.md), with an environment and a cost of your own.
