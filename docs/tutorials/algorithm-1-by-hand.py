# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Algorithm 1 by hand
#
# The paper's Algorithm 1 has sixteen numbered lines. On this page we compute every one of them with plain NumPy, on a world
# of three states, and print the numbers. Beside each we put what the library's learner has. They are equal.
#
# The world is [the robot](constrained-mdp.md): a battery that is full, low or empty; the robot works or charges; a shift
# has H = 3 steps; readiness has to reach b = 2.4.

# %%
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
S, A, b = 3, 2, 2.4
np.set_printoptions(precision=3, suppress=True, floatmode="fixed")

# %% [markdown]
# ## Line 1: the constants, and the price begins at 0
#
# Y is the *dual variable*: the price that the learner puts on the utility. The algorithm has five more constants. The
# theorem's own numbers are made for very long runs, so we take rounder ones.

# %%
lam = 1.0  # λ, the ridge: how much an average is drawn to 0 while there are few data
beta = 0.5  # β, the width of the bonus for what was tried little
alpha = 5.0  # α, the sharpness of the soft-max
eta = 0.3  # η, the step of the price
gap = nr.solve(robot).slater_gap
xi = nr.theory.xi(H=H, slater_gap=gap)  # ξ = 2H/γ, the largest price
Y = 0.0  # line 1
print(f"λ = {lam}, β = {beta}, α = {alpha}, η = {eta}, ξ = {xi:.1f}, Y = {Y}")

# The same for the library. Preset "paper" is the printed form; its ζ = 0.1 is left out.
learner = nr.learners.make(
    "primal-dual-lsvi",
    robot.spec,
    episodes=100,
    preset="paper",
    lam=lam,
    beta=beta,
    alpha=alpha,
    eta=eta,
    xi=xi,
    zeta=0.0,
)

# %% [markdown]
# ## The features
#
# The algorithm describes a pair of state x and action a by a vector φ(x,a). With few states the simplest choice is
# *one-hot*: the vector has one entry for each of the six pairs, 1 for its own pair and 0 elsewhere.

# %%
d = S * A
phi = np.eye(d).reshape(S, A, d)
print("φ(low, work) =", phi[low, work])

# %% [markdown]
# ## Four episodes to learn from
#
# With no data every number below would be a constant. So we let the robot work through four shifts first. Lines 2 and 3
# begin an episode: it starts with a full battery. Here is what it saw. (How an episode is played is lines 13 to 15, below.)

# %%
data = [  # the states of a shift, the last one after its end; the actions
    ([full, low, low, empty], [work, work, work]),
    ([full, full, low, full], [work, work, charge]),
    ([full, low, full, low], [work, charge, work]),
    ([full, full, full, low], [charge, charge, work]),
]


def rewards(x, a):
    """The reward and the utility of each step of a shift."""
    return r[np.arange(H), x[:H], a], g[np.arange(H), x[:H], a]


prices = []
for x, a in data:
    prices.append(float(learner.dual[0]))
    learner.observe(x, a, *rewards(x, a))
print(
    "the library's price before each of them, and now:",
    np.array([*prices, learner.dual[0]]),
)

# %% [markdown]
# The price moved while these episodes were taken in; line 16 will show how. To compute the plan of episode 5 we need the
# price of now.

# %%
Y = float(learner.dual[0])

# %% [markdown]
# ## Line 4: from the last step to the first
#
# Plans are made backwards: what a step is worth depends on what comes after it. After the last step there is nothing, so V
# is 0 there. We go slowly through the last step, step 3, which is `h = 2` in code, where counting begins at 0.

# %%
V_r, V_g = np.zeros((H + 1, S)), np.zeros((H + 1, S))
Q_r, Q_g, policy = np.zeros((H, S, A)), np.zeros((H, S, A)), np.zeros((H, S, A))
h = 2

# %% [markdown]
# ### Line 5: Λ counts
#
# Λ = λI + Σ φφᵀ, the sum over all episodes so far. With one-hot features it is diagonal: λ plus the number of times that
# each pair was tried at this step.

# %%
Lambda = lam * np.eye(d)
for x, a in data:
    f = phi[x[h], a[h]]
    Lambda += np.outer(f, f)
names = [f"{s}, {act}" for s in ("full", "low", "empty") for act in ("work", "charge")]
for name, entry in zip(names, np.diag(Lambda), strict=True):
    print(f"{name:14} λ + {entry - lam:.0f} visits = {entry:.0f}")

# %% [markdown]
# ### Lines 6 and 7: w, what a pair seems to be worth
#
# w_r = Λ⁻¹ Σ φ·(reward + V_r of the next state), and w_g is the same with the utility. It is a least-squares fit. With
# one-hot features it is the sum of what was seen, divided by λ + visits.

# %%
w_r, w_g = np.zeros(d), np.zeros(d)
for x, a in data:
    got_r, got_g = rewards(x, a)
    f = phi[x[h], a[h]]
    w_r += f * (got_r[h] + V_r[h + 1, x[h + 1]])
    w_g += f * (got_g[h] + V_g[h + 1, x[h + 1]])
w_r, w_g = np.linalg.solve(Lambda, w_r), np.linalg.solve(Lambda, w_g)
print("w_r =", w_r)
print("w_g =", w_g)

# %% [markdown]
# Full and work was seen twice and paid 1 each time: 2 / (1 + 2) = 0.667. The ridge λ draws it towards 0; the bonus makes up
# for that.
#
# ### Lines 8 and 9: Q, with a bonus, never above H
#
# Q = min(⟨w, φ⟩ + β·‖φ‖, H), where ‖φ‖² = φᵀΛ⁻¹φ. With one-hot features the bonus is β/√(λ + visits). A pair that was never
# tried gets the full β. This *optimism* is what makes the learner try things.

# %%
inverse = np.linalg.inv(Lambda)
for x in range(S):
    for a in range(A):
        f = phi[x, a]
        bonus = beta * np.sqrt(f @ inverse @ f)
        Q_r[h, x, a] = min(w_r @ f + bonus, H)  # line 8
        Q_g[h, x, a] = min(w_g @ f + bonus, H)  # line 9
        both = f"Q_r {Q_r[h, x, a]:.3f}   Q_g {Q_g[h, x, a]:.3f}"
        print(f"{names[x * A + a]:14} bonus {bonus:.3f}   {both}")

# %% [markdown]
# ### Line 10: the policy is a soft-max
#
# The price turns two numbers into one: Q_r + Y·Q_g. The probability of an action is proportional to exp(α times that
# number). The better action is likelier, and the larger α, the more so. [Why not simply the better one?](why-soft-max.md)

# %%
for x in range(S):
    composite = Q_r[h, x] + Y * Q_g[h, x]
    weights = np.exp(alpha * composite)
    policy[h, x] = weights / weights.sum()
    state = ("full", "low", "empty")[x]
    print(f"{state:6} Q_r + Y·Q_g = {composite}   π(work, charge) = {policy[h, x]}")

# %% [markdown]
# ### Lines 11 and 12: V, what a state is worth under this policy

# %%
V_r[h] = (policy[h] * Q_r[h]).sum(axis=1)
V_g[h] = (policy[h] * Q_g[h]).sum(axis=1)
print("V_r at the last step:", V_r[h], "  V_g:", V_g[h])

# %% [markdown]
# ## The other steps
#
# The same lines, for step 2 and then step 1. The only difference: now V of the next step is not 0.

# %%
for h in (1, 0):  # line 4
    Lambda, sums = lam * np.eye(d), np.zeros((2, d))
    for x, a in data:
        got_r, got_g = rewards(x, a)
        f = phi[x[h], a[h]]
        Lambda += np.outer(f, f)  # line 5
        sums[0] += f * (got_r[h] + V_r[h + 1, x[h + 1]])
        sums[1] += f * (got_g[h] + V_g[h + 1, x[h + 1]])
    inverse = np.linalg.inv(Lambda)
    w_r, w_g = inverse @ sums[0], inverse @ sums[1]  # lines 6, 7
    bonus = beta * np.sqrt(np.einsum("xad,de,xae->xa", phi, inverse, phi))
    Q_r[h] = np.minimum(phi @ w_r + bonus, H)  # line 8
    Q_g[h] = np.minimum(phi @ w_g + bonus, H)  # line 9
    weights = np.exp(alpha * (Q_r[h] + Y * Q_g[h]))
    policy[h] = weights / weights.sum(axis=1, keepdims=True)  # line 10
    V_r[h] = (policy[h] * Q_r[h]).sum(axis=1)  # line 11
    V_g[h] = (policy[h] * Q_g[h]).sum(axis=1)  # line 12
    print(f"step {h + 1}: V_r {V_r[h]}   V_g {V_g[h]}   π(work) {policy[h, :, work]}")

# %% [markdown]
# ## Is it what the library has?

# %%
plan = learner.plan()
mine = {"Q_r": Q_r, "Q_g": Q_g, "V_r": V_r, "V_g": V_g, "π": policy}
theirs = {
    "Q_r": plan.Q_r,
    "Q_g": plan.Q_g[0],
    "V_r": plan.V_r,
    "V_g": plan.V_g[0],
    "π": plan.policy,
}
for name in mine:
    print(f"{name:4} largest difference {np.abs(mine[name] - theirs[name]).max():.1e}")
    assert np.allclose(mine[name], theirs[name], atol=1e-12)

# %% [markdown]
# ## Lines 13 to 15: play the episode
#
# For each step: look up the policy in the state where the robot is, take an action with its probabilities, and see where it
# leads.

# %%
rng = np.random.default_rng(5)
x, a = [full], []
for h in range(H):  # line 13
    probabilities = policy[h, x[h]]  # line 14
    a.append(int(rng.choice(A, p=probabilities)))  # line 15
    x.append(int(rng.choice(S, p=P[h, x[h], a[h]])))
    before, after = (("full", "low", "empty")[each] for each in x[h:])
    print(f"step {h + 1}: {before}, {('work', 'charge')[a[h]]} → {after}")

# %% [markdown]
# ## Line 16: the price moves
#
# Y ← Y + η·(b − V_g of the start), kept between 0 and ξ. If the plan seems to miss the threshold, the price rises, and the
# next plan will care more for the utility. If it seems to exceed it, the price falls.

# %%
before = Y
Y = min(max(Y + eta * (b - V_g[0, full]), 0.0), xi)
print(f"{before:.4f} + {eta} · ({b} − {V_g[0, full]:.4f}) = {Y:.4f}")

learner.observe(x, a, *rewards(x, a))
print(f"the library has {learner.dual[0]:.4f}")
assert abs(Y - learner.dual[0]) < 1e-12

# %% [markdown]
# ## And on it goes
#
# Those were all sixteen lines. Here is the same code as one function, for as many episodes as we like, beside the library's
# learner. Both see the same shifts. After each we compare all Q, V and π, and the price.

# %%


def plan_by_hand(data, Y):
    """Lines 4 to 12."""
    V_r, V_g, policy = np.zeros((H + 1, S)), np.zeros((H + 1, S)), np.zeros((H, S, A))
    for h in reversed(range(H)):
        Lambda, sums = lam * np.eye(d), np.zeros((2, d))
        for x, a in data:
            got_r, got_g = rewards(x, a)
            f = phi[x[h], a[h]]
            Lambda += np.outer(f, f)
            sums += f * np.array(
                [[got_r[h] + V_r[h + 1, x[h + 1]]], [got_g[h] + V_g[h + 1, x[h + 1]]]]
            )
        inverse = np.linalg.inv(Lambda)
        bonus = beta * np.sqrt(np.einsum("xad,de,xae->xa", phi, inverse, phi))
        Q_r, Q_g = (np.minimum(phi @ (inverse @ total) + bonus, H) for total in sums)
        weights = np.exp(alpha * (Q_r + Y * Q_g))
        policy[h] = weights / weights.sum(axis=1, keepdims=True)
        V_r[h], V_g[h] = (policy[h] * Q_r).sum(axis=1), (policy[h] * Q_g).sum(axis=1)
    return policy, V_r, V_g


shifts, worst = [*data, (x, a)], 0.0
while len(shifts) < 150:
    policy, V_r, V_g = plan_by_hand(shifts, Y)
    plan = learner.plan()
    worst = max(
        worst,
        np.abs(policy - plan.policy).max(),
        np.abs(V_r - plan.V_r).max(),
        np.abs(V_g - plan.V_g[0]).max(),
    )
    x, a = [full], []
    for h in range(H):
        a.append(int(rng.choice(A, p=policy[h, x[h]])))
        x.append(int(rng.choice(S, p=P[h, x[h], a[h]])))
    learner.observe(x, a, *rewards(x, a))
    shifts.append((x, a))
    Y = min(max(Y + eta * (b - V_g[0, full]), 0.0), xi)
    worst = max(worst, abs(Y - learner.dual[0]))
print(f"150 episodes: the largest difference in any π, V or Y is {worst:.1e}")
print(f"the price is {Y:.4f}")
assert worst < 1e-9

# %% [markdown]
# The code above takes longer with every episode, because it goes through all past shifts again. The library keeps Λ and the
# sums up to date and groups what it saw by the next state, so that an episode costs the same at any time. [Algorithm 1,
# line by line](../algorithm1.md) says where each line lives in the source, and what the paper leaves open.
