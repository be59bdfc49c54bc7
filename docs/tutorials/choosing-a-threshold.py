# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Choosing a threshold
#
# A constraint needs a number: how much utility is enough? This page shows how to choose it with open eyes. We ask three
# questions.
#
# 1. What can be reached at all?
# 2. What does each threshold cost?
# 3. How much room is left for learning?
#
# The example is the paper's world, `job-scheduling`. Nine jobs wait. At each of ten steps one can send two of them to a
# machine, which may finish both, one or none. Sending costs 0.2 of the reward at most steps, and 0.9 at the four expensive
# steps in the middle. The utility is half of the number of jobs finished, and b says how much of it is wanted.

# %%
import json

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML

import noregret as nr

problem = nr.problems.load("job-scheduling")
problem

# %% [markdown]
# ## What can be reached?
#
# `nr.oracle.reachable` gives the least and the largest utility that any policy has. A threshold above the largest cannot be
# met by anybody. A threshold below the least is met by everybody, and says nothing.

# %%
least, most = nr.oracle.reachable(problem)[0]
print(f"utilities from {least:.4f} to {most:.4f}")

# %% [markdown]
# With nine jobs one might have hoped for 4.5. But now and then the machine fails so often that ten steps do not suffice,
# and so the largest is a little less.
#
# A threshold out of reach is refused in one line, before any work:

# %%
try:
    nr.solve(problem.replace(b=4.6))
except nr.InfeasibleError as error:
    print(error)

# %% [markdown]
# ## What does it cost?
#
# For each threshold there is a best value V\*(b). Drawn against b it can only fall: asking for more leaves fewer policies
# to choose from. Its slope is the *price* of the constraint, the *dual*: how much reward the next unit of utility costs.
# `nr.solve` gives both.

# %%
thresholds = np.linspace(0.05, most - 0.001, 60)
solved = [nr.solve(problem.replace(b=b)) for b in thresholds]
value = np.array([one.value for one in solved])
price = np.array([one.dual[0] for one in solved])

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].plot(thresholds, value, color="#0072B2")
axes[0].set(xlabel="threshold b", ylabel="best value V*(b)")
axes[1].step(thresholds, price, color="#D55E00")
axes[1].set(xlabel="threshold b", ylabel="price", yscale="log")
for ax in axes:
    ax.axvline(4.0, color="#555555", linestyle=":", label="the paper's b = 4")
axes[0].legend(frameon=False)
plt.show()

# %%
for b in (1.0, 4.0, 4.3, 4.45, 4.49):
    one = nr.solve(problem.replace(b=b))
    price, gap = one.dual[0], one.slater_gap
    print(f"b = {b:<5g} best value {one.value:.4f}", end="   ")
    print(f"price {price:8.4f}   Slater gap {gap:.4f}")

# %% [markdown]
# The curve has three parts.
#
# - **The cheap part.** Sending at a cheap step costs 0.2 and finishes 0.85 of a unit on average. So a unit of utility costs
#   0.2 / 0.85 = 0.235, whatever b is, up to about 4.08.
# - **The last single jobs.** Now cheap steps are left over only where one job waits. Sending it finishes 0.45 of a unit, so
#   a unit costs 0.2 / 0.45 = 0.444, up to about 4.38.
# - **The expensive part.** To finish more, one has to send at the expensive steps as well, because the machine may fail
#   later. The price rises to many times what it was. At the right end of the figure it is above 300.
#
# ## Move it yourself
#
# The slider under the curve moves b. The dashed line is the tangent, and its slope is the price. The second picture is the best
# policy: steps go from left to right, jobs waiting from top to bottom. The stronger the colour, the likelier the policy
# sends a job. The arrow keys move the slider too.

# %% tags=["hide-input"]
grid = np.unique(
    np.concatenate(
        [
            np.linspace(0.1, 4.0, 27),
            np.linspace(4.0, 4.38, 20),
            np.linspace(4.38, most - 0.0005, 35),
        ]
    ).round(4)
)
optima = [nr.solve(problem.replace(b=b)) for b in grid]


def percent(table):
    """Whole percents of an (H,S) table, steps first."""
    return np.rint(100 * np.asarray(table)).astype(int).ravel().tolist()


data = {
    "utility": problem.constraint_names[0],
    "action": "send",
    "steps": problem.horizon,
    "states": [str(x) if x else "no jobs" for x in range(problem.n_states)],
    "start": int(np.flatnonzero(grid == 4.0)[0]),
    "b": grid.tolist(),
    "value": [round(one.value, 5) for one in optima],
    "dual": [round(float(one.dual[0]), 5) for one in optima],
    "gap": [round(one.slater_gap, 5) for one in optima],
    "policy": [percent(one.policy[:, :, 1]) for one in optima],
    "reached": [percent(np.ceil(one.occupancy.sum(axis=2) - 1e-9)) for one in optima],
}
HTML(
    '<div class="nr-slider" data-kind="price">'
    f'<script type="application/json">{json.dumps(data, separators=(",", ":"))}</script>'
    '<p class="without">Here is a slider where scripts are allowed.</p></div>'
)

# %% [markdown]
# Things to try:
#
# - Begin at the left. The policy sends now and then, at cheap steps only. Any of them will do, because each costs the same.
# - Move to 4.08 and slowly on. First the single jobs are sent, then the expensive steps in the middle fill up.
# - At the far right nearly every cell is full: it sends whatever there is, also where that is expensive.
#
# ## How much room is left?
#
# The *Slater gap* γ is the distance from the threshold to the largest utility. It is the room in which a learner can make
# mistakes and make up for them. Theorems divide by it: the paper's cap on the price is ξ = 2H/γ. A small gap makes learning
# hard. Here is the same learner with four thresholds, the same number of episodes, and everything else alike. The last
# column is the share of episodes that fall short of the threshold.

# %%
K = 20_000
print("     b  Slater gap  best value  hard regret  hard violation  fall short")
for b in (3.0, 4.0, 4.4, 4.49):
    world = problem.replace(b=b)
    one = nr.run(world, episodes=K, trials=4, record_every=1, progress=False)
    short = (np.diff(one.hard_violation, axis=1) > 0).mean()
    lost, missed = one.hard_regret[:, -1].mean(), one.hard_violation[:, -1].mean()
    print(f"{b:6g}{one.slater_gap:12.4f}{one.optimal_value:12.4f}", end="")
    print(f"{lost:13.0f}{missed:16.0f}{short:12.0%}")

# %% [markdown]
# ## A recipe
#
# 1. Look at `nr.oracle.reachable`, or, in an environment whose laws you do not know, at what an agent costs that has a
#    limit which never binds.
# 2. Draw V\*(b). Choose b before the curve bends down, unless you know why you want the expensive part.
# 3. Leave a gap. Where a threshold must never be missed, ask for a little more than you need (`zeta`, see [no violation at
#    the end](../zero-violation.md)).
#
# A constraint from above is the same thing: *at most 5 falls* is a `limit` on a cost, and noregret turns a cost c into the
# utility 1 − c.
