"""The compiled loop over episodes on tables, made once for each type of a learner's state: Alg. 1, l. 2-16.

Episodes on states that are vectors, which Python code draws, are played by :mod:`noregret.runs.trial` and by agents.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noregret.kernels.compiler.dispatch import compiled, plan, update
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array, Integers, State
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.played import keep
from noregret.kernels.worlds.stepwise import unsafe_steps
from noregret.kernels.worlds.world import CompiledWorld, Scratch


def _block(
    state: State,
    world: CompiledWorld,
    scratch: Scratch,
    u: Array,
    v: Array,
    z: Array | None,
    k: int,
    K: int,
    every: int,
    starts: Integers,
    V_star: Array,
    b: Array,
    sums: Array,
    curves: Array,
    kept: Array | None,
    limit: float | None,
) -> int:
    """Play episodes k, k+1, ... (from 0), one for each row of uniforms; returns the first one with a value that is not finite.

    ``z`` (n,w) are the random numbers of a learner that draws, one row for each plan; else None.
    ``starts`` are the first states, one for each row, and ``V_star`` (S,) the optimum from each state; or empty and (1,).
    ``sums`` (2+2m,): regret, hard regret, m signed violations, m hard ones. ``curves`` (n,2+3m): these and the dual, at the
    episodes that ``every`` divides and at the last. ``kept`` (4,H,S,A) sums up the policies. With a step ``limit``, sums and
    curves have one number more, the unsafe steps. Where ``z``, ``kept`` or ``limit`` is None, there is no trace of it in the
    compiled code.
    """
    m = len(b)
    for i in range(len(u)):  # Alg. 1, l. 2
        if z is not None:
            for j in range(z.shape[1]):
                state.uniforms[j] = z[i, j]  # type: ignore[attr-defined]  # such a learner has them
        plan(state)
        best = V_star[0]
        if len(starts) > 0:
            best = V_star[starts[i]]
            worlds.begin_at(world, starts[i])
        worlds.evaluate(world, state.policy, world.start, scratch)
        gap = best - scratch.values[0]
        finite = np.isfinite(gap)
        sums[0] += gap
        sums[1] += max(gap, 0.0)
        for j in range(m):
            lack = b[j] - scratch.values[1 + j]
            finite = finite and np.isfinite(lack)
            sums[2 + j] += lack
            sums[2 + m + j] += max(lack, 0.0)
        if not finite:
            return k + i
        if kept is not None:
            keep(world, state.policy, world.start, k + i >= K // 2, scratch, kept)
        if limit is not None:
            sums[2 + 2 * m] += unsafe_steps(world, state.policy, world.start, limit, scratch)
        worlds.play(world, state.policy, u[i], v[i], scratch)  # Alg. 1, l. 3 and 13-15
        update(state, scratch.states, scratch.actions, scratch.observed)
        done = k + i + 1
        if done % every == 0 or done == K:
            row = (done - 1) // every
            for j in range(2 + 3 * m):
                curves[row, j] = sums[j] if j < 2 + 2 * m else state.Y[j - 2 - 2 * m]
            if limit is not None:
                curves[row, 2 + 3 * m] = sums[2 + 2 * m]
    return -1


block = jit(_block, references=False)


def block_for(state: State) -> Callable[..., int]:
    """The loop for a state; code of learners from elsewhere is compiled in each process, as we cannot see its edits."""
    return compiled(_block, block, state)
