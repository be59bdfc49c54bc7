"""How many steps of an episode are unsafe: a policy counts as unsafe where its expected cost is over the step limit.

The count is exact: the probability of reaching each such state under the policy itself, by a forward pass of occupancies.
"""

from __future__ import annotations

from noregret.kernels.compiler.flat import index
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array
from noregret.kernels.worlds.world import NEGLIGIBLE, CompiledWorld, Scratch, begin_pass, pass_on

#: An expected cost over the limit by at most this much is rounding.
ROUNDING = 1e-9


@jit
def unsafe_steps(world: CompiledWorld, policy: Array, start: Array, limit: float, out: Scratch) -> float:
    """The expected number of steps at which Σ_a π_h(a|x)(1 − g_h(x,a)) exceeds ``limit`` in the state x that is reached.

    Args:
        world: the problem, whose objective 1 is g.
        policy: (H,S,A).
        start: (S,) the distribution of the first state.
        limit: τ.
        out: buffers of this thread.
    """
    H, S, A, _ = world.mean.shape
    here, there = out.here, out.there
    count = 0.0
    begin_pass(start, out)
    for h in range(H):
        for s in range(S):
            mass = here[s]
            here[s] = 0.0
            if mass < NEGLIGIBLE:
                continue
            cost = 0.0
            for a in range(A):
                cost += policy[h, s, a] * (1.0 - world.mean[h, s, a, 1])
                weight = mass * policy[h, s, a]
                if not weight < NEGLIGIBLE and h < H - 1:
                    pass_on(world, index((h * S + s) * A + a), weight, there, world.dense)
            if cost > limit + ROUNDING:
                count += mass
        here, there = there, here
    return count
