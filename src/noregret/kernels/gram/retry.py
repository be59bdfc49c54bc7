r"""The bonus that tries a pair again: how far the mean of its next values may be off where the pair was given up.

A bonus B that looks at next values without a logarithm never grows again: a pair that had bad luck in its first next states is
given up for ever. With it,

    bonus = √( B² + (c'_j E_j)² ),   E_j = σ_j ‖φ‖ √(2L) + ½ s_j ‖φ‖² L,   L = log( N(x)/n(x,a) ).

That is the D of :mod:`noregret.kernels.gram.noise`, of next values in place of payments: σ_j² is the variance of V_j,h+1 over the
next states of the pair, s_j the spread of V_j,h+1 over the next states seen, and n counts the visits, plus λ. The second term
is for a pair that led to one state so far and may lead to another. The action that is nearly always played has L ≈ 0; where all
next values agree E is 0, and the bonus is B, to the bit. Counts alone have it, for it needs the next states of each pair.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import flat, index
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.noise import doubt
from noregret.kernels.types import Array, Index, Pair


class Rarity(NamedTuple):
    """What L is made of; None, and nothing compiled, where nobody looks at it."""

    pair: Array  # (G,S,A) log n(x,a)
    state: Array  # (G,S) log N(x)
    visits: Array  # (G,S) N(x)


def no_rarity(G: int, S: int, A: int, lam: float) -> Rarity:
    """No visits yet: n is λ.

    Args:
        G: steps that learn alone.
        S: states.
        A: actions.
        lam: λ.
    """
    return Rarity(np.full((G, S, A), np.log(lam)), np.full((G, S), np.log(A * lam)), np.full((G, S), A * lam))


@partial(jit, inline=True)
def visit(rarity: Rarity | None, g: int, pair: Pair, inverse: float) -> None:
    """Count a visit to a pair; ``inverse`` is 1/n with it."""
    if rarity is not None:
        rarity.pair[g, pair[0], pair[1]] = -np.log(inverse)
        rarity.visits[g, pair[0]] += 1.0
        rarity.state[g, pair[0]] = np.log(rarity.visits[g, pair[0]])


@partial(jit, inline=True)
def of_next(rarity: Rarity | None, state: Index, pair: Index, variance: float, spread: float, norm: float) -> float:
    """E of a pair.

    Args:
        rarity: has L.
        state: the place of the state in all of them in line.
        pair: that of the pair.
        variance: σ².
        spread: s.
        norm: ‖φ‖.
    """
    if rarity is not None:
        return doubt(variance, 0.5 * spread, norm, max(flat(rarity.state)[index(state)] - flat(rarity.pair)[index(pair)], 0.0))
    return 0.0
