r"""The bonus that tries a pair again: how far the mean of its next values may be off where the pair was given up.

A bonus B that looks at next values without a logarithm never grows again: a pair that had bad luck in its first next states is
given up for ever. With it,

    bonus = √( B² + (c'_j E_j)² ),   E_j = σ_j ‖φ‖ √(2L) + ½ s_j ‖φ‖² L,   L = log( N(x)/n(x,a) ).

That is the D of :mod:`noregret.kernels.gram.noise`, of next values in place of payments: σ_j² is the variance of V_j,h+1 over
the next states of the pair, s_j the spread of V_j,h+1 over the next states seen, n counts the visits, plus λ, and N is the sum
of n over the actions. The second term is for a pair that led to one state so far and may lead to another. The action that is
nearly always played has L ≈ 0; where all next values agree E is 0, and the bonus is B, to the bit. Counts alone have it, for it
needs the next states of each pair.

With q = ‖φ‖√(2L), which is kept for each pair, E_j = q (σ_j + ¼ s_j q).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import flat
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.noise import logarithm
from noregret.kernels.types import Array, Flags, Index


class Rarity(NamedTuple):
    """How rare pairs are; None, and nothing compiled, where nobody looks at it."""

    again: Array  # (G,S,A) q
    stale: Flags  # (G,S) whether q of the state must be made anew


def no_rarity(G: int, S: int, A: int) -> Rarity:
    """No visits yet: q is made anew when a state is first looked at."""
    return Rarity(np.zeros((G, S, A)), np.ones((G, S), dtype=np.bool_))


@partial(jit, inline=True)
def visit(rarity: Rarity | None, g: int, s: Index) -> None:
    """Note a visit to a state."""
    if rarity is not None:
        rarity.stale[g, s] = True


@partial(jit, inline=True)
def renew_rarity(rarity: Rarity | None, state: Index, A: Index, fit: Array, width: Index) -> None:
    """Make q of all actions of a state anew, if the state was visited.

    Args:
        rarity: changed in place.
        state: the place of the state in all of them in line.
        A: actions.
        fit: 1/n = ‖φ‖² of all pairs.
        width: how far apart these are from one pair to the next.
    """
    if rarity is not None and flat(rarity.stale)[state]:
        visits, again = 0.0, flat(rarity.again)
        for pair in range(state * A, state * A + A):
            visits += 1.0 / fit[pair * width]
        for pair in range(state * A, state * A + A):
            again[pair] = np.sqrt(2.0 * logarithm(visits, fit[pair * width]) * fit[pair * width])
        flat(rarity.stale)[state] = False


@partial(jit, inline=True)
def doubt_of_next(rarity: Rarity | None, pair: Index, deviation: float, spread: float) -> float:
    """E of a pair.

    Args:
        rarity: has q.
        pair: the place of the pair in all of them in line.
        deviation: σ.
        spread: s.
    """
    if rarity is not None:
        q = flat(rarity.again)[pair]
        return float(q * (deviation + 0.25 * spread * q))
    return 0.0
