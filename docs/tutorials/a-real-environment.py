# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A real environment with a limit
#
# The other tutorials use worlds whose laws we wrote down ourselves. Here we take one as it is: `MountainCar-v0` of
# [Gymnasium](https://gymnasium.farama.org). A car stands in a valley. Its engine is too weak to drive straight up to the
# flag, so it has to swing. The reward is −1 for every step until the flag, and an episode ends after 200 steps in any case.
#
# We add a wish of our own: **save fuel**. Every push of the engine costs 1, to either side; letting the car roll costs
# nothing. An episode may cost at most 90 on average.
#
# ## Three things are enough
#
# An `Agent` needs the environment, what a step costs, and the limit. The cost is a function of what happened in the step.

# %%
import matplotlib.pyplot as plt

import noregret as nr


def push(observation, action, following, reward, info):
    """1 when the engine pushes to the left (action 0) or to the right (action 2)."""
    return float(action != 1)


agent = nr.Agent("MountainCar-v0", limit=90, utility=push, constraint_names=["pushes"])
agent.learn(200, progress_bar=False)
print(agent.summary())

# %% [markdown]
# The last line is the mean over the last 100 episodes. Nobody told the agent where the flag is, how fast the car can be, or
# which features of its state matter: it found ranges, features and the price of a push from its own 200 episodes.
#
# ## What it learned, and when

# %%
agent.plot()
plt.show()

# %% [markdown]
# At first the car does not find the flag at all. Then it finds it, and soon after learns to do so with fewer pushes. The
# dotted line is the limit.
#
# Learning includes trying. To see what the policy is worth without learning on, evaluate it:

# %%
print(agent.evaluate(50))

# %% [markdown]
# ## Look at the policy
#
# The state is two numbers, the position and the speed of the car. So the policy can be drawn as a map: which action is
# likeliest where. The paler, the less sure.

# %%
agent.policy_map()
plt.show()

# %% [markdown]
# To the right is the position of the car, upwards its speed. Blue (0) pushes to the left, green (2) to the right, and
# orange (1) lets the car roll. Where the car moves to the right it mostly pushes to the right, and where it moves to the
# left, to the left: this is how one gets a swing going. The orange parts are the pushes that it saves. The corners were
# hardly ever visited, and what is there means little.
#
# ## What does the limit cost?
#
# We let a second agent learn under a limit that never binds. The difference is the price of our wish.

# %%
free = nr.Agent("MountainCar-v0", limit=200, utility=push, constraint_names=["pushes"])
free.learn(200, progress_bar=False)

print(f"{'':14}{'steps to the flag':>20}{'pushes':>10}")
for name, one in (("at most 90", agent), ("no limit", free)):
    tested = one.evaluate(50)
    print(f"{name:14}{-tested.rewards.mean():20.1f}{tested.totals[:, 0].mean():10.1f}")

# %% [markdown]
# ## Choosing the limit
#
# This is also how to choose a limit in a world whose laws you do not know. Learn once without one, look at what the agent
# costs, and ask for less. A limit that no policy can meet is seen as well: the price stays at its largest value and the
# cost stays above the limit.
#
# ## Other environments
#
# | you have | you write |
# |---|---|
# | a cost that the environment reports in `info["cost"]` | nothing: it is found |
# | a wish that a utility be *large* | `threshold=` in place of `limit=` |
# | several limits | `limit=[90, 5]`, and a function that returns two numbers |
# | continuous actions | `actions=5`: five points in each dimension |
# | a system that drives its own loop | `agent.act(...)` and `agent.tell(...)` |
# | no Python | `noregret learn MountainCar-v0 --limit 90 --cost "action != 1"` |
#
# [Environments, features, continuous states](../continuous.md) says all of it, and [real worlds](../real-worlds.md) what
# was measured on several of them, with PPO beside.
