"""A simulator: the world asked from any step, state and action, with its draws counted.

A learner has one only if it declares ``told = ("simulator",)``. The functions here are all that such a learner may do with it;
they read the world to draw from it, and no probability leaves them. Random numbers come from a stream that the uniforms of the
episode begin (:mod:`noregret.kernels.worlds.draws`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.one_hot import OneHotGram, take
from noregret.kernels.types import COUNTS, Array, Flags, Index, Integers, Pair, Policies, Stream
from noregret.kernels.worlds.draws import uniform
from noregret.kernels.worlds.world import CompiledWorld, draw_action, draw_width, transition


class Simulator(NamedTuple):
    """A world to draw from, how often it was drawn from, and room for one draw."""

    world: CompiledWorld
    drawn: Integers  # (1,) draws so far
    u: Array  # the uniforms of a draw
    outcome: Array  # (1,J) reward and utilities of the last draw

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"drawn": COUNTS}


def simulator_of(world: CompiledWorld) -> Simulator:
    """Make a simulator of a world, with no draw so far; each learner has its own."""
    J = world.mean.shape[3]
    return Simulator(world, np.zeros(1, dtype=np.int64), np.zeros(draw_width(world)), np.zeros((1, J)))


@partial(jit, inline=True)
def simulate(simulator: Simulator, h: int, pair: Pair, u: Array) -> Index:
    """Draw what follows a pair (x,a) at step h with uniforms u: fills ``outcome``, counts the draw, gives the next state."""
    simulator.drawn[0] += 1
    return transition(simulator.world, h, pair, u, 0, simulator.outcome, 0)


@partial(jit, inline=True)
def simulate_next(simulator: Simulator, h: int, pair: Pair, stream: Stream) -> Index:
    """:func:`simulate` with the next uniforms of a stream."""
    for i in range(draw_width(simulator.world)):
        simulator.u[i] = uniform(stream)
    return simulate(simulator, h, pair, simulator.u)


@jit
def sample_model(simulator: Simulator, model: OneHotGram, available: Flags, draws: int, stream: Stream) -> None:
    """Draw from every available (h,x,a) ``draws`` times, in this order, and take all draws into the empirical model."""
    H, S, A = available.shape
    for h in range(H):
        for x in range(S):
            for a in range(A):
                if available[h, x, a]:
                    for _ in range(draws):
                        y = simulate_next(simulator, h, (x, a), stream)
                        take(model, h, (x, a), y, simulator.outcome, 0)


@jit
def rollouts(simulator: Simulator, tables: Policies, draws: int, stream: Stream) -> None:
    """Q_j,h(x,a) ← the mean of ``draws`` rollouts from every available (h,x,a) to the last step, with the policy's actions."""
    Q, policy, available = tables.Q, tables.policy, tables.available
    H, J, S, A = Q.shape
    for h in range(H):
        for x in range(S):
            for a in range(A):
                for j in range(J):
                    Q[h, j, x, a] = 0.0
                for _ in range(draws if available[h, x, a] else 0):
                    s: Index = np.int64(x)
                    b: Index = a
                    for t in range(h, H):
                        if t > h:
                            b = draw_action(policy, t, s, uniform(stream))
                        s = np.int64(simulate_next(simulator, t, (s, b), stream))
                        for j in range(J):
                            Q[h, j, x, a] += simulator.outcome[0, j]
                for j in range(J):
                    Q[h, j, x, a] /= draws
