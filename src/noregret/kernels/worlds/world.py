"""The world, compiled: play an episode with given uniforms, and the exact values of a policy.

The objectives are numbered j = 0 (reward), 1..m (utilities), so that one line serves r and g alike. The uniforms of
an episode are a row u for the world and a row v for the learner:

- u[0] draws the start state; step h uses the w entries from 1 + w·h on: the next state, and with noise one for each
  objective (two for a normal one, by Box and Muller);
- v[h] draws the action of step h.

A draw takes the first entry whose cumulative probability exceeds the uniform.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import flat, index
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array, Flags, Index, Integers, Pair, Places
from noregret.problems.base import TabularCMDP
from noregret.problems.noise import centres, draws

#: What noise there may be; a world has the place in this list.
NOISE = (None, "bernoulli", "gaussian", "clipped")
PLAIN, BERNOULLI, GAUSSIAN, CLIPPED = range(4)

#: Occupancies below this are passed over: all of them together are far less than one rounding of a value.
NEGLIGIBLE = 1e-25

#: Probabilities of a policy that are off a sum of 1 by more are a mistake.
ROUNDING = 1e-6


class CompiledWorld(NamedTuple):
    """A problem as flat arrays. Row (h·S + s)·A + a of the successor lists spans first[row] : first[row+1]."""

    mean: Array  # (H,S,A,J) mean reward and utilities
    first: Integers  # (H·S·A+1,)
    successor: Places  # (n,) next states
    chance: Array  # (n,) their probabilities
    cumulative: Array  # (n,) running sums, the last one of a row exactly 1
    by_next: Array  # (n,J) values by next state, or (0,J)
    shown: Array  # (H,S,A,J) the same as mean, or the centres of clipped noise
    worth: Array  # (H,S,A,J) the same as mean, but not a number where an action is not available: a policy that takes it shows
    start: Array  # (S,)
    start_cumulative: Array  # (S,)
    dense: bool  # every row lists all S states
    noise: int  # its place in NOISE
    scale: float  # of the noise
    noisy: Flags  # (H,S,A) which pairs vary, or (0,0,0) for all

    def given(self) -> bool:
        """Say that a learner which holds it was given it: it is no part of what changes while learning."""
        return True


class Scratch(NamedTuple):
    """Buffers of one thread: occupancies of two steps, values, and the episode just played."""

    here: Array  # (S,)
    there: Array  # (S,)
    values: Array  # (J,)
    states: Integers  # (H+1,)
    actions: Integers  # (H,)
    observed: Array  # (H,J)


def objectives(r: Array, g: Array) -> Array:
    """Stack r (...) and g (m,...) into one table with the objective j = 0..m last."""
    return np.ascontiguousarray(np.concatenate([r[..., None], np.moveaxis(g, 0, -1)], axis=-1))


def compile_world(problem: TabularCMDP) -> CompiledWorld:
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
    mean = objectives(problem.r, problem.g)
    shown, plain = mean, by_next
    if problem.noise == "clipped":
        shown, by_next = centres(mean, problem.noise_scale), centres(by_next, problem.noise_scale)
        if problem.noisy is not None:  # a pair that does not vary shows its mean
            shown = np.where(problem.noisy[..., None], shown, mean)
            varies = np.repeat(problem.noisy.reshape(-1), np.diff(first))
            by_next = np.where(varies[:, None], by_next, plain) if len(by_next) else by_next
    return CompiledWorld(
        mean=mean,
        first=first,
        successor=np.broadcast_to(np.arange(S, dtype=np.uint32), rows.shape)[keep],
        chance=rows[keep],
        cumulative=_cumulative(rows)[keep],
        by_next=by_next,
        shown=shown,
        worth=mean if problem.available.all() else np.where(problem.available[..., None], mean, np.nan),
        start=problem.mu.copy(),
        start_cumulative=_cumulative(problem.mu[None])[0],
        dense=dense,
        noise=NOISE.index(problem.noise),
        scale=problem.noise_scale,
        noisy=np.zeros((0, 0, 0), dtype=np.bool_) if problem.noisy is None else problem.noisy.copy(),
    )


def _cumulative(rows: Array) -> Array:
    """Running sums in which everything from the last possible entry on is exactly 1."""
    sums = np.cumsum(rows, axis=1)
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    sums[np.arange(rows.shape[1]) >= last[:, None]] = 1.0
    return sums


def own_start(world: CompiledWorld) -> CompiledWorld:
    """Copy the world's start, so that :func:`begin_at` may write to it."""
    return world._replace(start=world.start.copy(), start_cumulative=world.start_cumulative.copy())


def scratch_for(world: CompiledWorld) -> Scratch:
    """Make the buffers of one thread."""
    H, S, _, J = world.mean.shape
    return Scratch(
        here=np.zeros(S),
        there=np.zeros(S),
        values=np.zeros(J),
        states=np.zeros(H + 1, dtype=np.int64),
        actions=np.zeros(H, dtype=np.int64),
        observed=np.zeros((H, J)),
    )


def world_width(problem: TabularCMDP) -> int:
    """Count the uniforms that the world uses in an episode."""
    return 1 + problem.horizon * (1 + (1 + problem.n_constraints) * draws(problem.noise))


@jit
def draw(cumulative: Array, low: int, high: int, u: float) -> int:
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
def draw_width(world: CompiledWorld) -> int:
    """How many uniforms a transition takes: one for the next state, and with noise one or two for each objective."""
    return int(1 + world.mean.shape[3] * min(world.noise, 2))


@jit
def normal(u: float, v: float) -> float:
    """A standard normal number from two uniforms (Box and Muller 1958)."""
    return float(np.sqrt(-2.0 * np.log1p(-u)) * np.cos(2.0 * np.pi * v))


@jit
def blur(kind: int, scale: float, u: Array, at: int, observed: Array) -> None:
    """Put noise, drawn with the uniforms after u[at], on what was observed (J,)."""
    for j in range(len(observed)):
        value = observed[j]
        if kind == BERNOULLI:
            value = 1.0 if u[at + 1 + j] < value else 0.0
        else:
            value += scale * normal(u[at + 1 + 2 * j], u[at + 2 + 2 * j])
            value = min(max(value, 0.0), 1.0) if kind == CLIPPED else value
        observed[j] = value


@partial(jit, inline=True)
def transition(world: CompiledWorld, h: int, pair: Pair, u: Array, at: int, observed: Array, row: int) -> Index:
    """Draw what follows a pair (x,a) at step h with the uniforms u[at], ...: fills ``observed[row]``, gives the next state."""
    x, a = pair
    S, A, J = world.mean.shape[1], world.mean.shape[2], world.mean.shape[3]
    first = (h * S + x) * A + a
    position = draw(world.cumulative, world.first[first], world.first[first + 1], u[at])
    for j in range(J):
        observed[row, j] = world.by_next[position, j] if len(world.by_next) > 0 else world.shown[h, x, a, j]
    if world.noise != PLAIN and (len(world.noisy) == 0 or world.noisy[h, x, a]):
        blur(world.noise, world.scale, u, at, observed[row])
    follows: Index = world.successor[position]
    return follows


@jit
def follow(world: CompiledWorld, h: int, pair: Pair, u: Array, at: int, observed: Array) -> Index:
    """:func:`transition`, called from Python; fills ``observed[0]``."""
    return transition(world, h, pair, u, at, observed, 0)


@partial(jit, inline=True)
def play(world: CompiledWorld, policy: Array, u: Array, v: Array, out: Scratch) -> None:
    """Play one episode: fills ``out.states``, ``out.actions`` and ``out.observed``."""
    H, S, width = world.mean.shape[0], world.mean.shape[1], draw_width(world)
    x: Index = draw(world.start_cumulative, 0, S, u[0])  # Alg. 1, l. 3
    out.states[0] = x
    for h in range(H):  # Alg. 1, l. 13
        a = draw_action(policy, h, x, v[h])  # Alg. 1, l. 14; what follows is l. 15
        x = transition(world, h, (x, a), u, 1 + width * h, out.observed, h)
        out.actions[h] = a
        out.states[h + 1] = x


@jit
def begin_at(world: CompiledWorld, s: int) -> None:
    """Let episodes start in state s, for evaluation and play; the world must be the caller's own."""
    for x in range(len(world.start)):
        world.start[x] = 1.0 if x == s else 0.0
        world.start_cumulative[x] = 1.0 if x >= s else 0.0


@partial(jit, inline=True)
def draw_action(policy: Array, h: int, s: Index, v: float) -> int:
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
def begin_pass(start: Array, out: Scratch) -> None:
    """Begin a forward pass of occupancies: ``out.here`` is where an episode starts, and ``out.there`` is empty."""
    for s in range(len(start)):
        out.here[s] = start[s]
        out.there[s] = 0.0


@partial(jit, inline=True)
def pass_on(world: CompiledWorld, pair: Index, weight: float, there: Array, dense: bool) -> None:
    """Hand the occupancy of a pair on to the states that follow.

    Args:
        world: the problem.
        pair: its number (h·S + s)·A + a, an ``index``.
        weight: its occupancy.
        there: (S,) what is added to.
        dense: whether every row lists all states.
    """
    first, successor, chance, S = world.first, world.successor, world.chance, index(len(there))
    if dense:
        line = chance[pair * S : (pair + index(1)) * S]
        for k in range(S):
            there[k] += weight * line[k]
    else:
        for position in range(index(first[pair]), index(first[pair + index(1)])):
            there[successor[position]] += weight * chance[position]


@partial(jit, inline=True)
def evaluate(world: CompiledWorld, policy: Array, start: Array, out: Scratch) -> None:
    """The exact values of a policy from ``start``, by one forward pass of occupancies: fills ``out.values``.

    The values are not numbers where the policy is none: in a state that it reaches its probabilities are negative, do not sum
    to 1, or take an action that is not available.
    """
    if world.dense or world.mean.shape[3] > 2:
        evaluate_any(world, policy, start, out)
    else:  # loops that are not there cannot make LLVM keep less in registers
        forward(world, policy, start, out, True)


@partial(jit, references=False)
def evaluate_any(world: CompiledWorld, policy: Array, start: Array, out: Scratch) -> None:
    """:func:`evaluate` for any number of objectives and successors."""
    forward(world, policy, start, out, False)


@partial(jit, inline=True)
def forward(world: CompiledWorld, policy: Array, start: Array, out: Scratch, usual: bool) -> None:
    """Do what :func:`evaluate` says; ``usual``: there are two objectives, and a row lists only the states that follow.

    Args:
        world: the problem.
        policy: (H,S,A).
        start: (S,) the distribution of the first state.
        out: buffers of this thread.
        usual: a constant at each call, so that LLVM drops what it is not for.
    """
    H, S, A, J = index(world.mean.shape[0]), index(world.mean.shape[1]), index(world.mean.shape[2]), index(world.mean.shape[3])
    mean, here, there, values, pi = flat(world.worth), out.here, out.there, out.values, flat(policy)
    last = index(world.mean.shape[0] - 1)
    for j in range(index(len(values))):
        values[j] = 0.0
    reward = utility = 0.0  # the first two objectives stay in registers
    begin_pass(start, out)
    for h in range(H):
        for s in range(S):
            mass = here[s]
            here[s] = 0.0
            if mass < NEGLIGIBLE:
                continue
            rest = 1.0
            for row in range((h * S + s) * A, (h * S + s) * A + A):
                weight = mass * pi[row]
                rest -= abs(pi[row])
                if weight < NEGLIGIBLE:
                    continue
                reward += weight * mean[row * J]
                utility += weight * mean[row * J + index(1)]
                if not usual:
                    for j in range(index(2), J):
                        values[j] += weight * mean[row * J + j]
                if h != last:
                    pass_on(world, row, weight, there, world.dense and not usual)
            if abs(rest) > ROUNDING:
                reward = np.nan
        here, there = there, here
    values[0], values[1] = reward, utility
