"""Random numbers for a plan that needs an unknown number of them: a stream that two uniforms of the run's own begin.

SplitMix64 (Steele, Lea, Flood 2014) counts in steps of an odd number and mixes the bits. Gamma variables are drawn by rejection
(Marsaglia and Tsang 2000), normal ones by the polar method. The same two uniforms give the same numbers.
"""

from __future__ import annotations

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array, Stream

#: Half of 64 bits, as a shift and as a mask.
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@jit
def plus(a: np.uint64, b: np.uint64) -> np.uint64:
    """Add modulo 2⁶⁴, by halves: NumPy warns of a sum that wraps around when nothing is compiled."""
    low = (a & LOW) + (b & LOW)
    return (((a >> HALF) + (b >> HALF) + (low >> HALF)) << HALF) | (low & LOW)


@jit
def times(a: np.uint64, b: np.uint64) -> np.uint64:
    """Multiply modulo 2⁶⁴, by halves."""
    low = (a & LOW) * (b & LOW)
    high = (low >> HALF) + (((a >> HALF) * (b & LOW)) & LOW) + (((a & LOW) * (b >> HALF)) & LOW)
    return (high << HALF) | (low & LOW)


@jit
def seed(stream: Stream, u: float, v: float) -> None:
    """Begin the stream, (1,) of uint64, from two uniforms: 32 bits of each."""
    stream[0] = np.uint64(u * 4294967296.0) * np.uint64(4294967296) + np.uint64(v * 4294967296.0)


@jit
def uniform(stream: Stream) -> float:
    """The next number, above 0 and below 1, with 53 bits."""
    stream[0] = z = plus(stream[0], np.uint64(0x9E3779B97F4A7C15))
    z = times(z ^ (z >> np.uint64(30)), np.uint64(0xBF58476D1CE4E5B9))
    z = times(z ^ (z >> np.uint64(27)), np.uint64(0x94D049BB133111EB))
    z = z ^ (z >> np.uint64(31))
    return (float(z >> np.uint64(11)) + 0.5) / 9007199254740992.0


@jit
def normal(stream: Stream) -> float:
    """A standard normal variable."""
    while True:
        x, y = 2.0 * uniform(stream) - 1.0, 2.0 * uniform(stream) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return float(x * np.sqrt(-2.0 * np.log(square) / square))


@jit
def gamma(stream: Stream, shape: float) -> float:
    """A gamma variable of scale 1; a shape below 1 is drawn as that of shape + 1 times U^(1/shape).

    Of a shape that none can have it is nan: a draw by rejection would never end.
    """
    if not 0.0 < shape < np.inf:
        return np.nan
    if shape < 1.0:
        return float(gamma_from_1(stream, shape + 1.0) * uniform(stream) ** (1.0 / shape))
    return gamma_from_1(stream, shape)


@jit
def gamma_from_1(stream: Stream, shape: float) -> float:
    """A gamma variable of a shape that is at least 1."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and np.log(uniform(stream)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return float(d * v)


@jit
def dirichlet(stream: Stream, weights: Array) -> None:
    """Replace weights above 0 by a draw from the Dirichlet distribution with these parameters."""
    total = 0.0
    for x in range(len(weights)):
        weights[x] = gamma(stream, weights[x])
        total += weights[x]
    for x in range(len(weights)):
        weights[x] = weights[x] / total if total > 0.0 else 1.0 / len(weights)
