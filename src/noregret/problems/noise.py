r"""Noise of what a step pays: the learner sees a random number, the oracle uses its mean.

For a mean μ in [0,1] and a scale σ the learner sees

- ``"bernoulli"``: 1 with probability μ, else 0;
- ``"gaussian"``: μ + σZ with Z standard normal. It may lie outside [0,1]: the promise that rewards and utilities are in [0,1]
  then holds for means alone, and no theorem covers such a run;
- ``"clipped"``: clip(c + σZ, 0, 1), with the centre c chosen such that the mean is μ. Where μ is 0 or 1 nothing varies.

A problem may vary in some pairs of state and action only. The oracle is the same with every noise, as means are.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.problems.validation import Array, Mask, floats

Noise = Literal["bernoulli", "gaussian", "clipped"]

#: What a noise may be.
KINDS = ("bernoulli", "gaussian", "clipped")

#: σ where none is given.
SCALE = 0.25

#: Of a pair that was drawn to vary, the same for every problem of one size.
_SEED = 20


def check_noise(kind: str | None, scale: float) -> tuple[Noise | None, float]:
    """Refuse a noise that is not known, and a scale that is no positive number.

    Args:
        kind: one of :data:`KINDS`, or None.
        scale: σ.

    Raises:
        InputError: one of them cannot be used.
    """
    if kind not in (None, *KINDS):
        raise InputError(f"noise is {kind!r}; expected None, {', '.join(map(repr, KINDS[:-1]))} or {KINDS[-1]!r}")
    number = floats("noise_scale", scale)
    if number.shape != () or not 0.0 < number <= 1e3:
        raise InputError(f"noise_scale is {scale!r}; expected a number above 0, at most 1000")
    return kind, float(number)  # type: ignore[return-value]


def check_noisy(noisy: ArrayLike | None, shape: tuple[int, ...]) -> Mask | None:
    """Which pairs vary, as (H,S,A); None where all do.

    Args:
        noisy: (H,S,A) or (S,A) booleans, or None.
        shape: (H,S,A).
    """
    if noisy is None:
        return None
    mask = np.asarray(noisy)
    if mask.dtype != np.bool_ or mask.shape not in (shape, shape[1:]):
        raise InputError(f"noisy has shape {mask.shape} and type {mask.dtype}; expected booleans {shape} or {shape[1:]}")
    return np.array(np.broadcast_to(mask, shape), order="C")


def some_pairs(share: float, S: int, A: int) -> Mask:
    """Draw which pairs vary, (S,A): about a share of them, the same ones each time.

    Args:
        share: from 0 to 1.
        S: states.
        A: actions.
    """
    if not 0.0 <= share <= 1.0:
        raise InputError(f"noise_share is {share!r}; expected a number from 0 to 1")
    return np.asarray(np.random.default_rng(_SEED).random((S, A)) < share)


def clipped_mean(centre: ArrayLike, scale: float) -> Array:
    """E clip(c + σZ, 0, 1) for each centre c: Φ and its integral, in closed form."""
    return _clipped(np.asarray(centre, dtype=np.float64), scale)[0]


def _clipped(c: Array, scale: float) -> tuple[Array, Array]:
    """The mean of clipped noise, and its slope in c: the probability that nothing is clipped."""
    from scipy.special import ndtr

    low, high = -c / scale, (1.0 - c) / scale
    inside, density = ndtr(high) - ndtr(low), (np.exp(-0.5 * low**2) - np.exp(-0.5 * high**2)) / np.sqrt(2.0 * np.pi)
    return np.asarray(np.where(np.isfinite(c), c, 0.0) * inside + scale * density + ndtr(-high)), np.asarray(inside)


def centres(mean: ArrayLike, scale: float) -> Array:
    """The centre c of clipped noise whose mean is given: the inverse of :func:`clipped_mean`; ∓∞ for a mean of 0 or 1.

    Args:
        mean: values in [0,1].
        scale: σ.

    >>> c = centres([0.1, 0.5], 0.25)
    >>> [round(float(x), 6) for x in clipped_mean(c, 0.25)]
    [0.1, 0.5]
    """
    mu = np.asarray(mean, dtype=np.float64)
    low, high = np.full(mu.shape, -40.0 * scale), np.full(mu.shape, 1.0 + 40.0 * scale)
    c = 0.5 * (low + high)
    for _ in range(80):  # Newton's steps, and halves where one would leave what is left
        value, slope = _clipped(c, scale)
        low, high = np.where(value < mu, c, low), np.where(value < mu, high, c)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = c + (mu - value) / slope
        before, c = c, np.where((low < step) & (step < high), step, 0.5 * (low + high))
        if np.all(np.abs(c - before) <= 1e-15 * (1.0 + np.abs(c))):
            break
    return np.asarray(np.where(mu <= 0.0, -np.inf, np.where(mu >= 1.0, np.inf, c)))


def show(kind: Noise, values: Array, scale: float, u: Array) -> Array:
    """What a learner sees of some means, from uniforms (:func:`draws` says how many for each).

    Args:
        kind: of the noise.
        values: (J,) means.
        scale: σ.
        u: the uniforms, in the order of the values.
    """
    if kind == "bernoulli":
        return np.asarray(u < values, dtype=np.float64)
    z = np.sqrt(-2.0 * np.log1p(-u[0::2])) * np.cos(2.0 * np.pi * u[1::2])
    if kind == "gaussian":
        return np.asarray(values + scale * z)
    return np.clip(centres(values, scale) + scale * z, 0.0, 1.0)


def draws(kind: str | None) -> int:
    """How many uniforms a number that is shown takes: one for 0 or 1, two for a normal one, none without noise."""
    return 0 if kind is None else 1 if kind == "bernoulli" else 2
