# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # noregret
#
# **Learn to act under a long-term constraint, with no model and no simulator, and know exactly what the learning cost.**
#
# A robot should deliver much *and* keep its battery ready. A server should admit many jobs *and* keep the queue short.
# Neither knows how its world behaves; each learns by acting. noregret has the algorithms for this, from the theory of
# constrained Markov decision processes, and an exact measure: on worlds that are known, the *regret* and the *violation*
# of every episode are computed, not estimated.
#
# [Start here](start/install.md){ .md-button .md-button--primary }
# [First five minutes](start/first-five-minutes.md){ .md-button }
# [Tutorials](tutorials/index.md){ .md-button }
#
# ## Ten lines

# %%
import noregret as nr

# Send 8 of 9 jobs on average, when it is cheap.
problem = nr.problems.load("job-scheduling")
best = nr.solve(problem)  # exact
print(f"best value {best.value:.4f}, price of the constraint {best.dual[0]:.4f}")

result = nr.run(problem, episodes=20_000, trials=4, seed=0, progress=False)
regret, violation = result.regret[:, -1].mean(), result.violation[:, -1].mean()
print(f"after {result.episodes[-1]} episodes:")
print(f"regret {regret:.0f}, violation {violation:.0f}")

# %% tags=["hide-input"]
import matplotlib.pyplot as plt

coin = nr.run(problem, "uniform", episodes=20_000, trials=4, seed=0, progress=False)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for ax, which, unit in (
    (axes[0], "hard_regret", "reward"),
    (axes[1], "hard_violation", "utility"),
):
    for one, name, colour in (
        (coin, "tossing a coin", "#999999"),
        (result, "Algorithm 1", "#0072B2"),
    ):
        curve = one.interval(which)
        ax.plot(one.episodes, curve.mean, color=colour, label=name)
        ax.fill_between(
            one.episodes, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0
        )
    ax.set_yscale("symlog", linthresh=10)
    ax.set_ylim(0, None)
    ax.set_title(
        f"{which.replace('_', ' ')} ({unit}, summed over episodes)",
        loc="left",
        fontsize=11,
    )
    ax.set_xlabel("episode")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False)
plt.show()

# %% [markdown]
# The loss of a learner that does not learn keeps growing; that of Algorithm 1 levels off. The vertical axes are
# logarithmic above 10.
#
# ## Where to go
#
# <div class="grid cards" markdown>
#
# - **New to all this?** [What is a constrained MDP?](tutorials/constrained-mdp.md) begins at the beginning, with pictures.
#
# - **You have an environment** and a cost: [the second five minutes](start/second-five-minutes.md).
#
# - **You read the paper**: [Algorithm 1 by hand](tutorials/algorithm-1-by-hand.md), [its
#   experiment](tutorials/the-papers-experiment.md), [where each line is](algorithm1.md).
#
# - **You have an algorithm**: [a new learner](new-learner.md), measured beside all [others](gallery/index.md).
#
# - **You want pictures**: [the gallery](gallery/index.md), a page for each problem and each learner.
#
# - **Is it for you at all?** [Who should use something else](start/who-it-is-for.md), with names.
#
# </div>
#
# ## What is in it
#
# - **Problems**: any constrained MDP with finitely many states, several families by name, linear CMDPs on vectors, and any
#   Gymnasium environment.
# - **An oracle**: the exact optimum, its policy, the price of each constraint and the Slater gap, checked after every
#   solve.
# - **Learners**: Algorithm 1 of Ghosh, Zhou and Shroff (NeurIPS 2022), as printed and as it works best, and the algorithms
#   it is compared with.
# - **Experiments that survive**: stop them, kill them, go on; the same seed gives the same bits.
# - **This site**: every number and picture on it was made by the code it documents, when it was built.
