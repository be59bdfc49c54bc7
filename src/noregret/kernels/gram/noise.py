r"""The bonus for what a step pays: how far the mean paid may be off where a pair does not pay the same each time.

A bonus B that looks at next values is 0 where these agree, and then nothing covers the noise of rewards and utilities. With it,

    bonus = √( B² + (c_j D_j)² ),   D_j = σ_j ‖φ‖ √(2L) + ρ_j R_j ‖φ‖² L,   L = log( N(x) ‖φ(x,a)‖² ),   N(x) = Σ_a ‖φ(x,a)‖⁻².

Here σ_j² is the variance of what the pair pays, R_j the largest distance of a payment from the mean before it, and ρ_j the
share of pairs that were seen to pay two different numbers, among these and those that paid the same ``ENOUGH`` times or more.
All three come from data, and all are exactly 0 while every pair pays what it paid before; then the bonus is B, to the bit. The
second term is for what a pair that paid the same so far may still pay. Where few pairs vary, as in a maze that pays at its goal
alone, ρ is small: a pair that never varied there most likely never will. A pair that was tried a few times says nothing of ρ:
an arm that pays 0 or 1 often pays the same twice. With one-hot features ‖φ‖² is 1/n and L = log(N(x)/n(x,a)), the visits of the
state over those of the pair: an action that is nearly always played has L ≈ 0, and one that was given up has an L that grows
with the visits of its state until the action is tried again.

Counts have σ² of each pair. A feature table has the regression ⟨Λ⁻¹Σ_τ φ_τ q_τ, φ⟩ of q_τ = (j_τ − m)(j_τ − m'), with m the
mean of what the pair paid before τ and m' the mean with it: these add up to the pair's sum of squares, so that one-hot features
give the variance of each pair. Vectors have one σ for a step, from what the regression of j alone leaves over
(:func:`~noregret.kernels.gram.stream.left_over`); R is the range of all payments there, and ρ is 1. What is known of the
formula is in ``docs/practical.md``.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import fill, flat, index
from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array, Flags, Index, Pair

#: A pair that paid the same so many times is taken for one that does not vary; one that was tried less often says nothing.
ENOUGH = 10.0


class Noise(NamedTuple):
    """What is known of the noise of J objectives at G steps; None, and nothing compiled, where nobody looks at it."""

    tried: Array  # (G,S,A) n(x,a)
    mean: Array  # (G,S,A,J) of what the pair paid
    variance: Array  # (G,J,S,A) σ²
    apart: Array  # (J,) R
    varied: Flags  # (G,S,A,J) whether the pair paid two different numbers
    known: Array  # (2,J) of how many pairs it is known whether they vary, and how many do
    doubt: Array  # (G,J,S,A) D
    stale: Flags  # (G,S) whether D of the state must be made anew
    far: Array  # (J,) ρR
    news: Array  # (J,) q of the last payment


def no_noise(G: int, S: int, A: int, J: int) -> Noise:
    """Nothing seen yet.

    Args:
        G: steps that learn alone.
        S: states.
        A: actions.
        J: objectives that are observed.
    """
    return Noise(
        tried=np.zeros((G, S, A)),
        mean=np.zeros((G, S, A, J)),
        variance=np.zeros((G, J, S, A)),
        apart=np.zeros(J),
        varied=np.zeros((G, S, A, J), dtype=np.bool_),
        known=np.zeros((2, J)),
        doubt=np.zeros((G, J, S, A)),
        stale=np.zeros((G, S), dtype=np.bool_),
        far=np.zeros(J),
        news=np.zeros(J),
    )


@partial(jit, inline=True)
def logarithm(visits: float, square: float) -> float:
    """L = log(N(x)‖φ‖²), at least 0."""
    return float(np.log(max(visits * square, 1.0)))


@partial(jit, inline=True)
def doubt(variance: float, apart: float, norm: float, L: float) -> float:
    """D = σ‖φ‖√(2L) + ρR‖φ‖²L, where ``apart`` is ρR."""
    return float(norm * (np.sqrt(2.0 * L * variance) + apart * norm * L))


@partial(jit, inline=True)
def joined(width: float, extra: float) -> float:
    """√(B² + (cD)²), with the sign of B."""
    return float(np.copysign(np.sqrt(width * width + extra * extra), width))


@partial(jit, inline=True)
def with_doubt(width: float, noise: Noise | None, at: Index, c: float) -> float:
    """√(B² + (cD)²) with the D that stands at a place of all of them in line; B where nobody looks at noise."""
    if noise is not None:
        return joined(width, c * flat(noise.doubt)[at])
    return width


@partial(jit, inline=True)
def varies(noise: Noise | None) -> bool:
    """Whether any pair was seen to pay two different numbers."""
    if noise is not None:
        for j in range(len(noise.apart)):
            if noise.apart[j] > 0.0:
                return True
    return False


@partial(jit, inline=True)
def paid_before(means: Array, begin: Index, observed: Array, i: int) -> bool:
    """Whether a pair paid ``observed[i]`` every time so far: its means begin at a place of all of them in line."""
    for j in range(index(observed.shape[1])):
        if observed[i, j] != means[begin + j]:
            return False
    return True


@partial(jit, inline=True)
def notice(noise: Noise, g: int, pair: Pair, observed: Array, i: int, early: bool) -> bool:
    """Take in what a pair paid, ``observed[i]``; whether any pair was ever seen to pay two different numbers.

    The mean moves by (j − m)/n, so that it stays as it is, to the bit, while the pair pays the same. With ``early``, a constant
    at each call, a pair that does so where none varies is only counted; a feature table is slower with it.
    """
    S, A, J = index(noise.tried.shape[1]), index(noise.tried.shape[2]), index(len(noise.apart))
    state = index(g) * S + index(pair[0])
    at = state * A + index(pair[1])
    means, varied, apart, news, known = flat(noise.mean), flat(noise.varied), noise.apart, noise.news, noise.known
    flat(noise.tried)[at] += 1.0
    n = flat(noise.tried)[at]
    if early and n != 1.0 and n != ENOUGH and not varies(noise) and paid_before(means, at * J, observed, i):
        return False  # in most worlds that is all
    varied_any, news_of_all = False, False  # ρ and R are in the D of every pair
    for j in range(J):
        value, mean, own = observed[i, j], means[at * J + j], at * J + j
        news[j] = 0.0
        if n == 1.0:
            means[own] = value
        elif value != mean:
            off = value - mean
            means[own] = mean + off / n
            news[j] = off * (value - means[own])
            if abs(off) > apart[j]:
                apart[j] = abs(off)
                news_of_all = True
            if not varied[own]:
                varied[own] = True
                known[0, j] += 1.0 if n <= ENOUGH else 0.0
                known[1, j] += 1.0
                news_of_all = True
        if n == ENOUGH and not varied[own]:
            known[0, j] += 1.0
            news_of_all = True
        varied_any = varied_any or apart[j] > 0.0
    if news_of_all:
        for j in range(J):
            noise.far[j] = apart[j] * known[1, j] / max(known[0, j], 1.0)
        fill(noise.stale, varied_any)
    flat(noise.stale)[state] = varied_any
    return varied_any


@partial(jit, inline=True)
def renew(noise: Noise, g: int, s: Index, squares: Array, norms: Array, apart: int) -> None:
    """Make D of all actions of a state anew.

    Args:
        noise: changed in place.
        g: the row of the step.
        s: the state.
        squares: ‖φ‖² of all pairs of all steps, one after the other.
        norms: ‖φ‖, likewise.
        apart: how far apart these are.
    """
    S, A, J, step = index(noise.tried.shape[1]), index(noise.tried.shape[2]), index(len(noise.apart)), index(g)
    visits, pair, begin = 0.0, index(s) * A, (step * S + index(s)) * A
    made, variance, far, each = flat(noise.doubt), flat(noise.variance), noise.far, index(apart)
    for a in range(A):
        visits += 1.0 / max(squares[(begin + a) * each], 1e-300)
    for a in range(A):
        norm, L = norms[(begin + a) * each], logarithm(visits, squares[(begin + a) * each])
        for j in range(J):
            at = (step * J + j) * S * A + pair + a
            made[at] = doubt(max(variance[at], 0.0), far[j], norm, L)
    flat(noise.stale)[step * S + index(s)] = False
