# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The second five minutes
#
# Now with a world of your own. Nobody has written its laws down for noregret; it is a program that one can play. noregret
# speaks [Gymnasium](https://gymnasium.farama.org), so anything with `reset` and `step` will do.
#
# ## Your own environment
#
# A server has a queue. Jobs arrive, and at each of twenty steps we admit the next one or turn it away. Every admitted job
# pays 1. Waiting is unpleasant: each job in the queue costs a tenth of a unit a step. The environment reports that in
# `info["cost"]`.

# %%
import gymnasium
import matplotlib.pyplot as plt
import numpy as np

import noregret as nr


class Queue(gymnasium.Env):
    """A job arrives with probability 0.6; one is finished with probability 0.5."""

    observation_space = gymnasium.spaces.Discrete(11)  # jobs in the queue
    action_space = gymnasium.spaces.Discrete(2)  # 1 admits

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.jobs, self.time = 0, 0
        return self.jobs, {}

    def step(self, action):
        admitted = action == 1 and self.jobs < 10 and self.np_random.random() < 0.6
        self.jobs += int(admitted)
        self.jobs -= int(self.jobs > 0 and self.np_random.random() < 0.5)
        self.time += 1
        return (
            self.jobs,
            float(admitted),
            False,
            self.time == 20,
            {"cost": self.jobs / 10},
        )


# %% [markdown]
# ## Three lines
#
# We say: earn as much as you can, but let an episode cost at most 2 on average. (`horizon` is the number of steps. An
# environment made by `gymnasium.make` with a time limit says it itself.)

# %%
agent = nr.Agent(Queue(), limit=2.0, horizon=20, constraint_names=["waiting"])
agent.learn(500, progress_bar=False)
print(agent.evaluate(200))

# %% [markdown]
# The numbers in brackets are 95% intervals. The last word says whether the limit is met.
#
# What did it learn? The map shows how likely it admits a job, by step and by the length of the queue:

# %%
chance = np.array(
    [[agent.probabilities(x, step)[1] for step in range(20)] for x in range(7)]
)

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
shown = ax.imshow(
    chance,
    origin="lower",
    aspect="auto",
    cmap="viridis",
    vmin=0,
    vmax=1,
    extent=(0.5, 20.5, -0.5, 6.5),
)
ax.set(xlabel="step", ylabel="jobs in the queue")
figure.colorbar(shown, label="probability to admit")
plt.show()

# %% [markdown]
# It admits while the queue is empty, is choosy when a job waits already, and towards the end admits everybody: what is
# admitted then does not wait for long. (Long queues were hardly ever seen, so what the map shows there means little.)
#
# ## Your own cost
#
# Perhaps the environment reports no cost, or another one than you care about. Then give a function. It sees the observation
# before the step, the action, the observation after it, the reward and the info:

# %%


def crowded(observation, action, following, reward, info):
    """1 for each step that ends with more than three jobs in the queue."""
    return float(following > 3)


strict = nr.Agent(
    Queue(), limit=0.5, horizon=20, utility=crowded, constraint_names=["crowded steps"]
)
strict.learn(500, progress_bar=False)
print(strict.evaluate(200))

# %% [markdown]
# A policy that uses its limit to the full is found a little below it in some tests and a little above in others; the
# interval says how sure the number is. Where that matters, ask for a little less than you need.
#
# `limit=` is *at most*, for costs. `threshold=` is *at least*, for utilities.
#
# ## Keep it
#
# The file holds numbers, no code, and can be loaded by anybody:

# %%
agent.save("queue.npz")
loaded = nr.Agent.load("queue.npz", env=Queue())
print(loaded)

# %% [markdown]
# ## From a shell
#
# Any registered environment, with the cost as a short text:
#
#     noregret learn MountainCar-v0 --limit 90 --cost "action != 1"
#
# It writes a page with the curves, the policy and the agent, and goes on from where it was when it is stopped and started
# again.
#
# **Next:** [a real environment with a limit](../tutorials/a-real-environment.md), or [what a constrained MDP
# is](../tutorials/constrained-mdp.md), from the beginning.
