"""An episode of a TabularCMDP and the exact value of a policy, literally: plain loops, every random number given.

The world's uniforms are one row ``u``: u[0] draws the start state; the block of step h starts at 1 + h·w, with width
w = 1, or w = 2 + m with noise="bernoulli". Its first entry draws the next state; with noise its second draws the
reward and the m after that the utilities: 1 if the uniform is below the mean, else 0. The learner's uniforms are one
row ``v`` (H,): v[h] draws the action.

What is observed is the entry of ``r`` and ``g`` at (h, x, a), or of ``r_next`` and ``g_next`` at (h, x, a, x') where
the problem has them; with noise that entry is the mean of the 0 or 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.problems.base import TabularCMDP

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def draw(probabilities: Array, u: float) -> int:
    """The first index of positive probability whose cumulative probability exceeds u, else the last such index."""
    total, last = 0.0, -1
    for index, probability in enumerate(probabilities):
        if probability > 0.0:
            total += probability
            last = index
            if total > u:
                return index
    return last


def width(problem: TabularCMDP) -> int:
    """How many of the world's uniforms an episode takes."""
    return 1 + problem.horizon * (1 if problem.noise is None else 2 + problem.n_constraints)


def reward_at(problem: TabularCMDP, h: int, x: int, a: int, y: int) -> float:
    return float(problem.r[h, x, a] if problem.r_next is None else problem.r_next[h, x, a, y])


def utility_at(problem: TabularCMDP, i: int, h: int, x: int, a: int, y: int) -> float:
    return float(problem.g[i, h, x, a] if problem.g_next is None else problem.g_next[i, h, x, a, y])


def play(problem: TabularCMDP, policy: Array, u: Array, v: Array) -> tuple[Indices, Indices, Array, Array]:
    """One episode: states (H+1,), actions (H,), rewards (H,), utilities (m,H)."""
    H, m, noisy = problem.horizon, problem.n_constraints, problem.noise is not None
    if u.shape != (width(problem),) or v.shape != (H,):
        raise ValueError(f"uniforms have shapes {u.shape}, {v.shape}; expected {(width(problem),)}, {(H,)}")
    states, actions = np.zeros(H + 1, np.int64), np.zeros(H, np.int64)
    rewards, utilities = np.zeros(H), np.zeros((m, H))
    states[0] = draw(problem.mu, u[0])
    for h in range(H):
        start = 1 + h * (2 + m if noisy else 1)
        x = int(states[h])
        a = draw(policy[h, x], v[h])
        y = draw(problem.P[h, x, a], u[start])
        rewards[h] = reward_at(problem, h, x, a, y)
        if noisy:
            rewards[h] = 1.0 if u[start + 1] < rewards[h] else 0.0
        for i in range(m):
            utilities[i, h] = utility_at(problem, i, h, x, a, y)
            if noisy:
                utilities[i, h] = 1.0 if u[start + 2 + i] < utilities[i, h] else 0.0
        actions[h], states[h + 1] = a, y
    return states, actions, rewards, utilities


def evaluate(problem: TabularCMDP, policy: Array) -> tuple[float, Array]:
    """V_r and V_g (m,) of the policy from the start distribution, by backward induction."""
    H, S, A, m = problem.horizon, problem.n_states, problem.n_actions, problem.n_constraints
    V = np.zeros((1 + m, S))  # row 0 the reward, row 1 + i utility i
    for h in reversed(range(H)):
        V_next, V = V, np.zeros((1 + m, S))
        for x in range(S):
            for a in range(A):
                for y in range(S):
                    weight = policy[h, x, a] * problem.P[h, x, a, y]
                    V[0, x] += weight * (reward_at(problem, h, x, a, y) + V_next[0, y])
                    for i in range(m):
                        V[1 + i, x] += weight * (utility_at(problem, i, h, x, a, y) + V_next[1 + i, y])
    values = np.zeros(1 + m)
    for x in range(S):
        values += problem.mu[x] * V[:, x]
    return float(values[0]), values[1:]
