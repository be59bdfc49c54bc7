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

from noregret.kernels.compiler.flat import flat, index
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array, Index, Pair


class Rarity(NamedTuple):
    """How rare pairs are; None, and nothing compiled, where nobody looks at it."""

    norm: Array  # (G,S,A) ‖φ‖
    log: Array  # (G,S,A) log n(x,a)
    visits: Array  # (G,S) N(x)
    again: Array  # (G,S,A) q


def no_rarity(G: int, S: int, A: int, lam: float) -> Rarity:
    """No visits yet: n is λ.

    Args:
        G: steps that learn alone.
        S: states.
        A: actions.
        lam: λ.
    """
    pairs = (G, S, A)
    norm, L = 1.0 / np.sqrt(lam), np.log(A)
    return Rarity(
        np.full(pairs, norm), np.full(pairs, np.log(lam)), np.full((G, S), A * lam), np.full(pairs, norm * np.sqrt(2 * L))
    )


@partial(jit, inline=True)
def visit(rarity: Rarity | None, g: int, pair: Pair, inverse: float) -> None:
    """Count a visit to a pair; ``inverse`` is 1/n with it."""
    if rarity is not None:
        A = index(rarity.log.shape[2])
        state = index(g) * index(rarity.log.shape[1]) + index(pair[0])
        log, norm, again, visits = flat(rarity.log), flat(rarity.norm), flat(rarity.again), flat(rarity.visits)
        at = state * A + index(pair[1])
        log[at], norm[at] = -np.log(inverse), np.sqrt(inverse)
        visits[state] += 1.0
        all_of_them = np.log(visits[state])
        for one in range(state * A, state * A + A):
            again[one] = norm[one] * np.sqrt(2.0 * max(all_of_them - log[one], 0.0))


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
