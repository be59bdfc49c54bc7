"""The occupancies of the policies that were played, summed as they are played: a mixture without its policies.

The occupancy q (H,S,A) of a policy is the probability of being in x and taking a at step h. Values are linear in it, V_j =
⟨q, j⟩, so the average occupancy of K policies has the average of their values, and π_h(a|x) = q_h(x,a)/Σ_a q_h(x,a) is one
Markov policy that has them (:func:`noregret.problems.policies.markov_policy`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.jit import jit
from noregret.kernels.world import Scratch, World

Array = NDArray[np.float64]

#: What :func:`keep` fills: sums of occupancies over all episodes and over the last half, the last occupancy and policy.
ALL, TAIL, LAST, POLICY = range(4)


def room(shape: tuple[int, ...]) -> Array:
    """The array (4,H,S,A) that :func:`keep` fills, for ``shape`` (H,S,A)."""
    return np.zeros((4, *shape))


@jit
def keep(world: World, policy: Any, start: Any, tail: bool, out: Scratch, kept: Any) -> None:
    """Add the occupancy of ``policy`` from ``start`` to the sums; ``tail``: the episode is in the last half."""
    H, S, A, _ = world.mean.shape
    here, there = out.here, out.there
    for s in range(S):
        here[s] = start[s]
        there[s] = 0.0
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
                if weight == 0.0 or h == H - 1:
                    continue
                row = (h * S + s) * A + a
                for position in range(world.first[row], world.first[row + 1]):
                    there[world.successor[position]] += weight * world.chance[position]
        here, there = there, here
