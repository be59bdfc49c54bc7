# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A study, from the first run to the figure and the table
#
# Suppose you want to know how much the width of the bonus matters, and whether it matters in the same way on different
# worlds. This page goes the whole way: one run, a file that describes all runs, the runs themselves, a figure, and a table
# for a paper. Nothing is lost if the machine is switched off in between.
#
# ## First run: does it work at all?

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import noregret as nr

result = nr.run("random", "primal-dual-lsvi", episodes=2000, trials=2, progress=False)
print(result)

# %% [markdown]
# `random` is a family of small worlds with random laws: five states, three actions, four steps, and a threshold that binds.
# It works, it takes a blink of an eye, and the numbers have the right size. Now the study.
#
# ## The study is a file
#
# Three worlds, one learner with five widths of its bonus, a second learner beside it, five seeds. `grid` stands for every
# combination. The file is all that somebody else needs to repeat the study.

# %%
study = """
episodes = 5_000
seeds = 5
problems = ["random", "random:seed=4", "linear"]

[[learners]]
name = "primal-dual-lsvi"
grid = { beta = [0.09, 0.27, 0.9, 2.7, 9.0] }  # the preset has 0.9 on these worlds

[[learners]]
name = "optcmdp-bonus"
"""
size = Path("study.toml").write_text(study)

# %% [markdown]
# Before anything is played, every problem is built and every learner is made once. A mistake is found now, with the line
# where it is, and not in the night:

# %%
Path("wrong.toml").write_text(study.replace("beta", "betta"))
try:
    nr.sweep("wrong.toml", progress=False)
except nr.NoRegretError as error:
    print(error)

# %% [markdown]
# From a shell, `noregret sweep study.toml --dry-run` does the same check, and says how many runs there are, how long they
# will take and how much space they need.
#
# ## Play
#
# From a shell it would be `noregret sweep study.toml --out runs`. In Python:

# %%
table = nr.sweep("study.toml", "runs", progress=False)
table

# %% [markdown]
# Each row is a run. The folder keeps every run under a hash of what it is: problem, learner, parameters, seed, length. So
# the same call again plays nothing. After a power cut it plays what is missing, from the last checkpoint on, and the curves
# are the same to the last bit.

# %%
again = nr.sweep("study.toml", "runs", progress=False)
print(
    len(again.runs),
    "runs; the same numbers:",
    bool((again["regret"] == table["regret"]).all()),
)

# %% [markdown]
# ## Look
#
# The table's columns are arrays. The question was how the width matters, so we put hard regret plus hard violation against
# it.

# %%
loss = table["hard_regret"] + table["hard_violation"]
ours = table["learner"] == "primal-dual-lsvi"
widths = np.unique(table["param.beta"][ours].astype(float))

figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
for problem, colour in zip(
    np.unique(table["problem"]), ("#0072B2", "#D55E00", "#009E73"), strict=True
):
    here = table["problem"] == problem
    own = [loss[here & ours & (table["param.beta"] == width)] for width in widths]
    mean, error = (
        [one.mean() for one in own],
        [2 * one.std(ddof=1) / np.sqrt(len(one)) for one in own],
    )
    ax.errorbar(widths, mean, error, color=colour, marker="o", capsize=3, label=problem)
    ax.axhline(loss[here & ~ours].mean(), color=colour, linestyle=":")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="β, the width of the bonus (0.9 is the preset's)",
    ylabel="hard regret + hard violation",
)
ax.plot([], [], ":", color="#555555", label="optcmdp-bonus")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# Each point is the mean of five seeds, with two standard errors; both axes are logarithmic. What it says:
#
# - A bonus that is too wide costs much on every world: the learner goes on trying what it already knows to be bad.
# - A narrow one is cheap on two of the worlds. On `random` it is not: now and then a run is stuck with something mediocre,
#   which is what its long error bar shows. The preset is a compromise.
# - The dotted lines are the other learner, which counts what follows each pair of state and action and plans with these
#   counts. It is good on `random`, which has 15 pairs, and poor on `linear`, which has 300 pairs but only 5 features.
#
# ## Curves
#
# The table draws itself. Runs that differ only in their seed become one line with its band.

# %%
from noregret.store import RunTable

RunTable(run for run in table.runs if run.key.problem == "random").plot()
plt.show()

# %% [markdown]
# ## The page, the figures and the LaTeX table
#
# `nr.report` writes one HTML page about all runs of a folder (it needs no network and can be mailed), a figure for each
# problem, and a table for LaTeX. From a shell: `noregret report runs --figures figures --latex table.tex`. A report never
# runs anything.

# %%
for file in nr.report("runs", "report", title="How wide should a bonus be?"):
    print(f"{file}  ({file.stat().st_size / 1024:.0f} kB)")

# %%
print(
    "\n".join(Path("report/table.tex").read_text().splitlines()[:13]), "...", sep="\n"
)

# %% [markdown]
# ## Search instead of a grid
#
# Where there are many parameters a grid is too large. `noregret tune` searches, with the same store, so nothing is played
# twice:
#
#     noregret tune random --param beta=0.03:3:log --param eta=0.01:1:log --violation-limit 100 --trials 50
#
# ## What to put into a paper
#
# - The file `study.toml`, and the version of noregret (every stored run has it).
# - The table, with its intervals.
# - One line for whoever wants a single run again: `noregret show ID` prints it.
#
# [Experiments that survive](../experiments.md) has the rest: other machines, clusters, loggers, what is on the disk.
