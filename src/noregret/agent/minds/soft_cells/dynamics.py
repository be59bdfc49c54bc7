"""What a step does, from data: states scaled by their quantiles, and for each action a ridge regression on random features.

z' - z and all signals are regressed on f(z) = (1, z, random Fourier features); the strength of the ridge is found for each
column by generalised cross-validation. What the regression misses is kept where it was seen (:mod:`.prototypes`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.kernels.interpolation import EDGE, StepNoise, Waves
from noregret.agent.minds.soft_cells.types import Array, Integers

#: Dimensions of scaled states, at most: where more coordinates vary, their main axes are used.
MOST_DIMENSIONS = 12
#: Fourier features of the regression, and the range of their lengthscales in scaled units.
FOURIER, _LENGTHS = 200, (0.5, 3.0)
#: The Fourier part of f is scaled by this, so that the ridge prefers the line.
_SHARE = 0.3
#: Transitions of an action that its regression uses, at most.
_USED = 3000
#: Rows whose features are made at once.
_ROWS = 4000
#: Strengths of the ridge that are tried, and how many neighbouring transitions are left out together.
_STRENGTHS, _BLOCK = 10.0 ** np.arange(-5, 5), 50
#: Noise with a standard deviation below this, in scaled units, is left out; else this many points stand for it.
_QUIET, POINTS = 0.05, 5


def fourier(random: np.random.Generator, n: int, dimension: int, lengths: tuple[float, float]) -> Waves:
    """Draw n random Fourier features; the logarithms of their lengthscales are spread evenly between those of two numbers.

    Args:
        random: draws them.
        n: how many.
        dimension: of a state.
        lengths: the shortest and the longest lengthscale.
    """
    scale = np.exp(random.uniform(math.log(lengths[0]), math.log(lengths[1]), (n, 1)))
    return Waves(random.standard_normal((n, dimension)) / scale, random.uniform(0.0, 2.0 * math.pi, n))


class Scaling(NamedTuple):
    """From states x to z = (x - middle)/half, cut to [-3, 3].

    Only coordinates that vary are used. Where these are too many, z is turned to their main axes.
    """

    active: Integers  # coordinates used
    middle: Array
    half: Array
    axes: Array  # (coordinates, D); none of them where z has all coordinates

    @classmethod
    def of(cls, states: Array) -> Scaling:
        """The map that takes the 1% and 99% quantiles of the states (n,D) to -1 and 1."""
        low, high = states.min(axis=0), states.max(axis=0)
        active = np.flatnonzero(high > low)
        if not len(active):
            active = np.zeros(1, dtype=np.int64)
        a, b = np.quantile(states[:, active], [0.01, 0.99], axis=0)
        half = np.maximum((b - a) / 2.0, (high - low)[active] / (4.0 * EDGE))
        scaling = cls(active, (a + b) / 2.0, np.where(half > 0.0, half, 1.0), np.zeros((len(active), 0)))
        if len(active) <= MOST_DIMENSIONS:
            return scaling
        Z = np.clip((states[:, active] - scaling.middle) / scaling.half, -EDGE, EDGE)
        if len(Z) < len(active):  # the same axes from a matrix of as many rows as there are states
            size, vectors = np.linalg.eigh(Z @ Z.T)
            keep = size > 1e-9 * size[-1]
            axes = (Z.T @ vectors[:, keep] / np.sqrt(size[keep]))[:, ::-1][:, :MOST_DIMENSIONS]
        else:
            axes = np.linalg.eigh(Z.T @ Z)[1][:, ::-1][:, :MOST_DIMENSIONS]
        reach = np.quantile(np.abs(Z @ axes), 0.99, axis=0)
        return scaling._replace(axes=axes / np.where(reach > 1e-6, reach, 1.0))

    @property
    def dimension(self) -> int:
        """D of scaled states."""
        return self.axes.shape[1] or len(self.active)

    def __call__(self, states: Array) -> Array:
        """Scaled states (...,D)."""
        Z = (states[..., self.active] - self.middle) / self.half
        if self.axes.shape[1]:
            Z = np.clip(Z, -EDGE, EDGE) @ self.axes
        return np.minimum(np.maximum(Z, -EDGE), EDGE)


class Regression(NamedTuple):
    """B_aᵀ f(z) for each action."""

    basis: Waves
    B: Array  # (A,P,E)
    error: Array  # (E,) mean squared error, by cross-validation

    @property
    def scale(self) -> float:
        """What the Fourier part of f is multiplied with."""
        return _SHARE * math.sqrt(2.0 / len(self.basis.phases))

    def features(self, Z: Array) -> Array:
        """Features f (n,P) at scaled states (n,D); cosines in single precision, which takes a twentieth of the time."""
        cosines = np.cos((Z @ self.basis.frequencies.T + self.basis.phases).astype(np.float32))
        return np.concatenate([np.ones((len(Z), 1)), Z, self.scale * cosines], axis=1)

    def everywhere(self, Z: Array) -> Array:
        """(n,A,E) predictions for all actions."""
        F = self.features(Z)
        return np.stack([F @ B for B in self.B], axis=1)

    def taken(self, Z: Array, actions: Integers) -> Array:
        """(n,E) predictions for the actions taken."""
        out = np.empty((len(Z), self.B.shape[2]))
        for a, B in enumerate(self.B):
            chosen = np.flatnonzero(actions == a)
            for begin in range(0, len(chosen), _ROWS):
                some = chosen[begin : begin + _ROWS]
                out[some] = self.features(Z[some]) @ B
        return out


def regression_waves(random: np.random.Generator, dimension: int) -> Waves:
    """The Fourier features of the regressions."""
    return fourier(random, FOURIER, dimension, _LENGTHS)


def fit(random: np.random.Generator, basis: Waves, Z: Array, actions: Integers, targets: Array, n_actions: int) -> Regression:
    """Ridge regressions of ``targets`` (n,E) on f(Z), one for each action; an action never taken gets the mean of all.

    Args:
        random: draws the transitions that are used where there are too many.
        basis: the Fourier features.
        Z: (n,D) scaled states.
        actions: (n,) actions taken.
        targets: (n,E) displacements and signals.
        n_actions: A.
    """
    regression = Regression(
        basis, np.zeros((n_actions, 1 + Z.shape[1] + len(basis.phases), targets.shape[1])), np.zeros(targets.shape[1])
    )
    for a in range(n_actions):
        chosen = np.flatnonzero(actions == a)
        share = len(chosen) / len(actions)
        if not len(chosen):
            regression.B[a, 0] = targets.mean(axis=0)
            continue
        if len(chosen) > _USED:
            chosen = np.sort(random.choice(chosen, _USED, replace=False))
        regression.B[a], error = _ridge(regression.features(Z[chosen]), targets[chosen], Z.shape[1])
        regression.error[:] += share * error
    return regression


def _ridge(F: Array, targets: Array, D: int) -> tuple[Array, Array]:
    """Coefficients (P,E) and their squared errors; each column gets the strength of the ridge that predicts it best.

    The first D columns, displacements, vary smoothly with the state: generalised cross-validation is exact enough. With
    F'F = Q diag(e) Q' and s = e/(e + λ):  GCV(λ) = (|y|² - Σ (2s - s²)/e (Q'F'y)²)/n / (1 - Σ s/n)².
    Signals may jump. There blocks of neighbouring rows are left out in turn, as single rows would be predicted by those just
    before and after them, and predictions are cut to the range seen.
    """
    n, mean = len(F), targets.mean(axis=0)
    y = targets - mean
    whole = _Spectrum.of(F.T @ F, F.T @ y)
    e, total = whole.e, (y[:, :D] ** 2).sum(axis=0)
    errors = np.empty((len(_STRENGTHS), y.shape[1]))
    for i, strength in enumerate(_STRENGTHS):
        s = e / (e + strength)
        left = np.maximum(total - ((2.0 * s - s * s) / e) @ whole.projected[:, :D] ** 2, 1e-12 * total)
        errors[i, :D] = left / n / (1.0 - min(s.sum() / n, 0.95)) ** 2
    errors[:, D:] = _left_out(F, y[:, D:])
    best = errors.argmin(axis=0)
    B = np.stack([whole.Q @ whole.shrunk(_STRENGTHS[i])[:, e] for e, i in enumerate(best)], axis=1)
    B[0] += mean
    return B, errors.min(axis=0)


def _left_out(F: Array, y: Array) -> Array:
    """(strengths, E) mean squared errors at blocks of rows that were left out."""
    if (y == 0.0).all():
        return np.zeros((len(_STRENGTHS), y.shape[1]))
    low, high, n = y.min(axis=0), y.max(axis=0), len(F)
    errors = np.zeros((len(_STRENGTHS), y.shape[1]))
    fold = np.arange(n) // max(1, min(_BLOCK, n // 4)) % 2 == 0
    for half in (fold, ~fold):
        part = _Spectrum.of(F[half].T @ F[half], F[half].T @ y[half])
        turned = F[~half] @ part.Q
        for i, strength in enumerate(_STRENGTHS):
            errors[i] += ((np.clip(turned @ part.shrunk(strength), low, high) - y[~half]) ** 2).sum(axis=0) / n
    return errors


class _Spectrum(NamedTuple):
    """A regression turned to the axes of its Gram matrix: F'F = Q diag(e) Q'."""

    e: Array
    Q: Array
    projected: Array  # Q'F'y

    @classmethod
    def of(cls, gram: Array, moments: Array) -> _Spectrum:
        e, Q = np.linalg.eigh(gram)
        return cls(np.maximum(e, 1e-12), Q, Q.T @ moments)

    def shrunk(self, strength: float) -> Array:
        """Coefficients along the axes for a ridge of this strength."""
        return np.asarray(self.projected / (self.e + strength)[:, None], dtype=np.float64)


def find_noise(random: np.random.Generator, missed: Array, deviation: Array) -> StepNoise:
    """A few points that stand for the noise in displacements; a single point at 0 where there is little noise.

    Args:
        random: draws the rows used.
        missed: (n,D) what the model missed.
        deviation: (D,) its standard deviation within a cell.
    """
    D = missed.shape[1]
    if not (deviation > _QUIET).any():
        return StepNoise(np.zeros((1, D)), np.ones(1))
    some = missed[random.choice(len(missed), min(len(missed), 2000), replace=False)]
    some = some - some.mean(axis=0)
    direction = np.linalg.svd(some, full_matrices=False)[2][0]
    centres = some[np.argsort(some @ direction, kind="stable")][((np.arange(POINTS) + 0.5) * len(some) / POINTS).astype(int)]
    label = np.zeros(len(some), dtype=np.int64)
    for _ in range(5):  # k-means
        label = ((some[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.stack([some[label == s].mean(axis=0) if (label == s).any() else centres[s] for s in range(POINTS)])
    chances = np.bincount(label, minlength=POINTS) / len(label)
    return StepNoise(centres - chances @ centres, chances)
