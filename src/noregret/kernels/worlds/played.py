"""The occupancies of the policies that were played, summed as they are played: a mixture without its policies.

The occupancy q (H,S,A) of a policy is the probability of being in x and taking a at step h. Values are linear in it, V_j =
⟨q, j⟩, so the average occupancy of K policies has the average of their values, and π_h(a|x) = q_h(x,a)/Σ_a q_h(x,a) is one
Markov policy that has them (:func:`noregret.problems.policies.markov_policy`).
"""

from __future__ import annotations

import numpy as np

from noregret.kernels.compiler.flat import index
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array
from noregret.kernels.worlds.world import CompiledWorld, Scratch, begin_pass, pass_on

#: What :func:`keep` fills: sums of occupancies over all episodes and over the last half, the last occupancy and policy.
ALL, TAIL, LAST, POLICY = range(4)


def room(shape: tuple[int, ...]) -> Array:
    """The array (4,H,S,A) that :func:`keep` fills, for ``shape`` (H,S,A)."""
    return np.zeros((4, *shape))


@jit
def keep(world: CompiledWorld, policy: Array, start: Array, tail: bool, out: Scratch, kept: Array) -> None:
    """Add the occupancy of ``policy`` from ``start`` to the sums; ``tail``: the episode is in the last half."""
    H, S, A, _ = world.mean.shape
    here, there = out.here, out.there
    begin_pass(start, out)
    for h in range(H):
        for s in range(S):
            mass = here[s]
            here[s] = 0.0
            for a in range(A):
                weight = mass * policy[h, s, a]
                kept[POLICY, h, s, a] = policy[h, s, a]
                kept[LAST, h, s, a] = weight
                kept[ALL, h, s, a] += weight
                if tail:
                    kept[TAIL, h, s, a] += weight
                if weight != 0.0 and h < H - 1:
                    pass_on(world, index((h * S + s) * A + a), weight, there, world.dense)
        here, there = there, here
