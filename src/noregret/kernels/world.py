"""The world, compiled: play an episode with given uniforms, and the exact values of a policy.

The objectives are numbered j = 0 (reward), 1..m (utilities), so that one line serves r and g alike. The uniforms of
an episode are a row u for the world and a row v for the learner:

- u[0] draws the start state; step h uses the w entries from 1 + w·h on: the next state, and with Bernoulli noise (w =
  2 + m, else 1) one for each objective;
- v[h] draws the action of step h.

A draw takes the first entry whose cumulative probability exceeds the uniform.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.flat import flat, index
from noregret.kernels.jit import jit
from noregret.problems.base import TabularCMDP

Array = NDArray[np.float64]

#: Occupancies below this are passed over: all of them together are far less than one rounding of a value.
NEGLIGIBLE = 1e-25


class World(NamedTuple):
    """A problem as flat arrays. Row (h·S + s)·A + a of the successor lists spans first[row] : first[row+1]."""

    mean: Array  # (H,S,A,J) mean reward and utilities
    first: NDArray[np.int64]  # (H·S·A+1,)
    successor: NDArray[np.uint32]  # (n,) next states
    chance: Array  # (n,) their probabilities
    cumulative: Array  # (n,) running sums, the last one of a row exactly 1
    by_next: Array  # (n,J) values by next state, or (0,J)
    start: Array  # (S,)
    start_cumulative: Array  # (S,)
    dense: bool  # every row lists all S states
    bernoulli: bool

    def given(self) -> bool:
        """Say that a learner which holds it was given it: it is no part of what changes while learning."""
        return True


class Scratch(NamedTuple):
    """Buffers of one thread: occupancies of two steps, values, and the episode just played."""

    here: Array  # (S,)
    there: Array  # (S,)
    values: Array  # (J,)
    states: NDArray[np.int64]  # (H+1,)
    actions: NDArray[np.int64]  # (H,)
    observed: Array  # (H,J)


def objectives(r: Array, g: Array) -> Array:
    """Stack r (...) and g (m,...) into one table with the objective j = 0..m last."""
    return np.ascontiguousarray(np.concatenate([r[..., None], np.moveaxis(g, 0, -1)], axis=-1))


def compile_world(problem: TabularCMDP) -> World:
    """Lay a problem out for the kernels."""
    P = problem.P
    H, S, A, _ = P.shape
    rows = P.reshape(-1, S)
    dense = bool((rows > 0).mean() > 0.5)
    keep = np.ones_like(rows, dtype=bool) if dense else rows > 0
    first = np.concatenate([[0], np.cumsum(keep.sum(axis=1))]).astype(np.int64)
    by_next = np.zeros((0, 1 + problem.n_constraints))
    if problem.r_next is not None or problem.g_next is not None:
        r = problem.r_next if problem.r_next is not None else np.repeat(problem.r[..., None], S, axis=-1)
        g = problem.g_next if problem.g_next is not None else np.repeat(problem.g[..., None], S, axis=-1)
        by_next = np.ascontiguousarray(objectives(r, g).reshape(H * S * A, S, -1)[keep])
    return World(
        mean=objectives(problem.r, problem.g),
        first=first,
        successor=np.broadcast_to(np.arange(S, dtype=np.uint32), rows.shape)[keep],
        chance=rows[keep],
        cumulative=_cumulative(rows)[keep],
        by_next=by_next,
        start=problem.mu.copy(),
        start_cumulative=_cumulative(problem.mu[None])[0],
        dense=dense,
        bernoulli=problem.noise == "bernoulli",
    )


def _cumulative(rows: Array) -> Array:
    """Running sums in which everything from the last possible entry on is exactly 1."""
    sums = np.cumsum(rows, axis=1)
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    sums[np.arange(rows.shape[1]) >= last[:, None]] = 1.0
    return sums


def own_start(world: World) -> World:
    """Copy the world's start, so that :func:`begin_at` may write to it."""
    return world._replace(start=world.start.copy(), start_cumulative=world.start_cumulative.copy())


def scratch_for(world: World) -> Scratch:
    """Make the buffers of one thread."""
    H, S, _, J = world.mean.shape
    return Scratch(
        here=np.zeros(S), there=np.zeros(S), values=np.zeros(J), states=np.zeros(H + 1, dtype=np.int64),
        actions=np.zeros(H, dtype=np.int64), observed=np.zeros((H, J)),
    )  # fmt: skip


def world_width(problem: TabularCMDP) -> int:
    """Count the uniforms that the world uses in an episode."""
    return 1 + problem.horizon * (2 + problem.n_constraints if problem.noise == "bernoulli" else 1)


@jit
def draw(cumulative: Any, low: int, high: int, u: float) -> int:
    """The first position in [low, high) whose cumulative probability exceeds u (the last one is 1)."""
    if high - low > 32:
        while low < high - 1:
            middle = (low + high - 1) // 2
            if cumulative[middle] > u:
                high = middle + 1
            else:
                low = middle + 1
        return low
    while cumulative[low] <= u and low < high - 1:
        low += 1
    return low


@jit
def draw_width(world: World) -> int:
    """How many uniforms a transition takes: one for the next state, and with noise one for each objective."""
    return 1 + world.mean.shape[3] if world.bernoulli else 1


@partial(jit, inline=True)
def transition(world: World, h: int, pair: Any, u: Any, at: int, observed: Any, row: int) -> Any:
    """Draw what follows a pair (x,a) at step h with the uniforms u[at], ...: fills ``observed[row]``, gives the next state."""
    x, a = pair
    S, A, J = world.mean.shape[1], world.mean.shape[2], world.mean.shape[3]
    first = (h * S + x) * A + a
    position = draw(world.cumulative, world.first[first], world.first[first + 1], u[at])
    for j in range(J):
        value = world.by_next[position, j] if len(world.by_next) > 0 else world.mean[h, x, a, j]
        if world.bernoulli:
            value = 1.0 if u[at + 1 + j] < value else 0.0
        observed[row, j] = value
    return world.successor[position]


@partial(jit, inline=True)
def play(world: World, policy: Any, u: Any, v: Any, out: Scratch) -> None:
    """Play one episode: fills ``out.states``, ``out.actions`` and ``out.observed``."""
    H, S, width = world.mean.shape[0], world.mean.shape[1], draw_width(world)
    x = draw(world.start_cumulative, 0, S, u[0])  # Alg. 1, l. 3
    out.states[0] = x
    for h in range(H):  # Alg. 1, l. 13
        a = draw_action(policy, h, x, v[h])  # Alg. 1, l. 14; what follows is l. 15
        x = transition(world, h, (x, a), u, 1 + width * h, out.observed, h)
        out.actions[h] = a
        out.states[h + 1] = x


@jit
def begin_at(world: World, s: int) -> None:
    """Let episodes start in state s, for evaluation and play; the world must be the caller's own."""
    for x in range(len(world.start)):
        world.start[x] = 1.0 if x == s else 0.0
        world.start_cumulative[x] = 1.0 if x >= s else 0.0


@partial(jit, inline=True)
def draw_action(policy: Any, h: int, s: int, v: float) -> int:
    """The first action whose cumulative probability in π_h(·|s) exceeds v, else the last possible one."""
    total = 0.0
    last = 0
    for a in range(policy.shape[2]):
        if policy[h, s, a] > 0.0:
            last = a
            total += policy[h, s, a]
            if total > v:
                break
    return last


@partial(jit, inline=True)
def evaluate(world: World, policy: Any, start: Any, out: Scratch) -> None:
    """The exact values of a policy from ``start``, by one forward pass of occupancies: fills ``out.values``."""
    H, S, A, J = index(world.mean.shape[0]), index(world.mean.shape[1]), index(world.mean.shape[2]), index(world.mean.shape[3])
    mean, first, successor, chance = flat(world.mean), world.first, world.successor, world.chance
    here, there, values, pi, last = out.here, out.there, out.values, flat(policy), index(world.mean.shape[0] - 1)
    values[:] = 0.0
    reward = utility = 0.0  # the first two objectives stay in registers
    for s in range(S):
        here[s] = start[s]
        there[s] = 0.0
    for h in range(H):
        for s in range(S):
            mass = here[s]
            here[s] = 0.0
            if mass < NEGLIGIBLE:
                continue
            for row in range((h * S + s) * A, (h * S + s) * A + A):
                weight = mass * pi[row]
                if weight < NEGLIGIBLE:
                    continue
                reward += weight * mean[row * J]
                utility += weight * mean[row * J + index(1)]
                for j in range(index(2), J):
                    values[j] += weight * mean[row * J + j]
                if h == last:
                    continue
                if world.dense:
                    line = chance[row * S : (row + index(1)) * S]
                    for k in range(S):
                        there[k] += weight * line[k]
                else:
                    for position in range(index(first[row]), index(first[row + index(1)])):
                        there[successor[position]] += weight * chance[position]
        here, there = there, here
    values[0], values[1] = reward, utility
