"""Worlds for the tests of the oracle, and the same truth by other means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from noregret import oracle
from noregret.oracle import columns
from noregret.problems.base import Array, TabularCMDP


def job_scheduling(b: float = 4.0) -> TabularCMDP:
    """Ten jobs at most, ten steps; sending is dear at steps 3..6, counted from 1, and work done is the utility."""
    H, S, A = 10, 10, 2
    P, g = np.zeros((H, S, A, S)), np.zeros((1, H, S, A, S))
    for x in range(S):
        P[:, x, 0, x] = 1.0
        for done, chance in ((2, 0.8), (1, 0.1), (0, 0.1)):
            P[:, x, 1, max(x - done, 0)] += chance
        for y in range(x + 1):
            g[0, :, x, :, y] = np.minimum(x - y, 2) / 2.0  # more than 2 jobs never leave at once
    r = np.ones((H, S, A))
    r[:, :, 1] = 0.8
    r[2:6, :, 1] = 0.1
    return TabularCMDP(P, r, g, b, 9, name="jobs")


def random_problem(
    seed: int,
    m: int,
    *,
    shape: tuple[int, int, int] = (4, 4, 3),
    masks: bool = False,
    by_next: bool = False,
    start: bool = False,
    level: float | None = None,
) -> TabularCMDP:
    """A random world whose thresholds a random policy meets, or at ``level`` of each reachable range."""
    rng = np.random.default_rng(seed)
    H, S, A = shape
    tail = (S,) if by_next else ()
    available = rng.random((H, S, A)) < 0.6
    available[..., 0] |= ~available.any(axis=2)
    problem = TabularCMDP(
        rng.dirichlet(np.full(S, 0.5), size=(H, S, A)),
        rng.random((H, S, A, *tail)),
        rng.random((m, H, S, A, *tail)),
        np.zeros(m),
        rng.dirichlet(np.ones(S)) if start else int(rng.integers(S)),
        available=available if masks else None,
    )
    if level is not None:
        low, high = oracle.reachable(problem).T
        return problem.replace(b=low + level * (high - low))
    policy = rng.random((H, S, A)) ** 4 * problem.available
    return problem.replace(b=oracle.evaluate(problem, policy / policy.sum(axis=2, keepdims=True))[1])


def monolithic(problem: TabularCMDP, b: Array) -> tuple[float, float]:
    """V* and the Slater gap by one linear program over all occupancies."""
    H, S, A = problem.r.shape
    n = S * A
    leave = sparse.kron(sparse.eye(S), np.ones((1, A)))
    blocks: list[list[Any]] = [[None] * H for _ in range(H)]
    for h in range(H):
        blocks[h][h] = leave
        if h:
            blocks[h][h - 1] = sparse.csr_matrix(-problem.P[h - 1].reshape(n, S).T)
    flow = sparse.bmat(blocks, format="csr")
    inflow = np.zeros(H * S)
    inflow[:S] = problem.mu
    G = problem.g.reshape(len(b), -1)
    bounds = [(0.0, None if ok else 0.0) for ok in problem.available.ravel()]
    best = linprog(-problem.r.ravel(), -G, -b, flow, inflow, bounds, method="highs", options=columns.HIGHS)
    assert best.status == 0, best.message
    flow_t = sparse.hstack([flow, sparse.csr_matrix((H * S, 1))], format="csr")
    G_t = np.column_stack([-G, np.ones(len(b))])
    bounds.append((None, None))
    slack = linprog(np.append(np.zeros(H * n), -1.0), G_t, -b, flow_t, inflow, bounds, method="highs", options=columns.HIGHS)
    assert slack.status == 0, slack.message
    return -best.fun, -slack.fun


def recursion(problem: TabularCMDP, policy: Array, values: Array) -> float:
    """The value of a policy by the textbook backward recursion, one state at a time."""
    H, S, A = problem.r.shape
    V = np.zeros(S)
    for h in reversed(range(H)):
        V = np.array([sum(policy[h, s, a] * (values[h, s, a] + problem.P[h, s, a] @ V) for a in range(A)) for s in range(S)])
    return float(problem.mu @ V)


def two_armed(b: float, **options: Any) -> TabularCMDP:
    """One step, one state: arm 0 has reward 1 and utility 0, arm 1 reward 0 and utility 1."""
    return TabularCMDP(np.ones((1, 1, 2, 1)), [[[1.0, 0.0]]], [[[0.0, 1.0]]], b, 0, **options)
