"""A finite model of a world whose states are vectors, made anew from kept transitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.cells.interpolation import Basis, Grid, Noise, smooth_matrix
from noregret.kernels.cells.rows import Rows, build_rows
from noregret.kernels.cells.sweep import Belief, Values, Wish, values_at
from noregret.learners.cells.dynamics import Regression, Scaling, find_noise, fit, fourier, waves
from noregret.learners.cells.history import Transitions, Units
from noregret.learners.cells.prototypes import Points, Sides, choose_cells
from noregret.problems.base import Array

#: Smooth features: this many Fourier features for each dimension, up to a most, with these lengthscales; ridge of their fit.
_SMOOTH, _MOST_SMOOTH, _SMOOTH_LENGTHS, _SMOOTH_RIDGE = 10, 60, (0.7, 2.0), 1.0
#: ν/√D: how far from what was seen a state may lie and be known.
_REACH = 0.3
#: ε over the side of a fine cell.
_BLUR = 0.1


class Draw(NamedTuple):
    """What chance gives a mind at its birth: Fourier features for all coordinates."""

    model: Basis
    smooth: Basis

    @classmethod
    def of(cls, seed: int, dimension: int) -> Draw:
        """The draw of a seed."""
        random = np.random.default_rng([seed, 0xCE11])
        return cls(
            waves(random, dimension), fourier(random, min(_SMOOTH * dimension, _MOST_SMOOTH), dimension, _SMOOTH_LENGTHS)
        )


def _only(basis: Basis, scaling: Scaling) -> Basis:
    """The features of scaled states."""
    columns = np.arange(scaling.dimension) if scaling.axes.shape[1] else scaling.active
    return Basis(np.ascontiguousarray(basis.frequencies[:, columns]), basis.phases)


class VectorModel:
    """Scaling, regression, prototypes, noise and rows; nothing of it changes once it is made.

    Args:
        draw: the features.
        units: how signals are mapped.
        parts: what :meth:`learned` or :meth:`arrays` found.
    """

    def __init__(self, draw: Draw, units: Units, parts: dict[str, NDArray[Any]]) -> None:
        self.parts, self.units = parts, units
        self.scaling = Scaling(parts["active"], parts["middle"], parts["half"], parts["axes"])
        self.sides = Sides(*parts["sides"].tolist())
        self.regression = Regression(_only(draw.model, self.scaling), parts["B"], parts["error"])
        self.noise = Noise(parts["shifts"], parts["chances"])
        Z = parts["Z"]
        N, D = Z.shape
        self.n, self.starts = N, parts["starts"] / parts["starts"].sum()
        basis = _only(draw.smooth, self.scaling)
        smooth = smooth_matrix(Z, basis, D + D * (D + 1) // 2 + len(basis.phases))
        reach = max(_REACH * np.sqrt(D), self.sides.fine, 0.5 * self.sides.coarse)
        self.grid = Grid(np.ascontiguousarray(Z.T), smooth, basis, 2 * D + 2, _BLUR * self.sides.fine, float(reach))
        self.belief = Belief(
            self.regression.basis, self.regression.scale, parts["B"], parts["residual"], parts["visits"], units.low, units.width
        )

    @classmethod
    def learned(
        cls, draw: Draw, seen: Transitions, units: Units, score: Array, how: tuple[int, Sides | None, Any]
    ) -> VectorModel:
        """The model that kept transitions give.

        Args:
            draw: the features.
            seen: kept transitions.
            units: how signals are mapped.
            score: (episodes,) how good each kept episode was.
            how: the budget of prototypes, the sides of cells before, and a random generator.
        """
        budget, sides, random = how
        scaling = Scaling.of(seen.before)
        Z, after = scaling(seen.before), scaling(seen.after)
        (n, D), A = Z.shape, seen.masks.shape[1]
        target = np.concatenate([after - Z, seen.signals], axis=1)
        regression = fit(random, _only(draw.model, scaling), Z, seen.actions, _without_ends(target, D, seen), A)
        last = seen.first + seen.lengths - 1
        points = Points(
            np.concatenate([Z, after[last]]), np.concatenate([np.zeros(n, dtype=np.bool_), seen.ended[last]]),
            np.concatenate([np.repeat(np.arange(len(last)), seen.lengths), np.arange(len(last))]),
        )  # fmt: skip
        sides, chosen, place = choose_cells(points, score, budget, sides or Sides.least(D))
        N, at = len(chosen), place[:n]
        missed = target - _cut(regression.taken(Z, seen.actions), D, units)
        paid = np.zeros((N, units.low.size + 1))  # what an end pays belongs to it, not to the state before
        np.add.at(paid, place[n:][seen.ended[last]], np.pad(missed[seen.ended][:, D:], ((0, 0), (0, 1)), constant_values=1.0))
        missed[seen.ended, D:] = 0.0
        sums, visits, allowed = np.zeros((N, A, target.shape[1])), np.zeros((N, A)), np.zeros((N, A), dtype=np.bool_)
        np.add.at(sums, (at, seen.actions), missed)
        np.add.at(visits, (at, seen.actions), 1.0)
        np.logical_or.at(allowed, at, seen.masks)
        allowed[~allowed.any(axis=1)] = True
        prior, within = _shrinkage(missed, at * A + seen.actions, visits.ravel(), sums.reshape(N * A, -1))
        deviation = np.sqrt(np.minimum(within, regression.error)[:D])
        noise = find_noise(random, missed[:, :D], deviation)
        parts = {
            "active": scaling.active, "middle": scaling.middle, "half": scaling.half, "axes": scaling.axes,
            "sides": np.array(sides),
            "B": regression.B, "error": regression.error, "shifts": noise.shifts, "chances": noise.chances,
            "Z": points.Z[chosen], "terminal": points.terminal[chosen], "visits": visits, "allowed": allowed,
            "residual": sums / (visits[:, :, None] + prior), "pay": paid[:, :-1] / np.maximum(paid[:, -1:], 1.0) / units.width,
            "starts": np.bincount(place[seen.first], minlength=N).astype(np.float64), "prior": prior, "deviation": deviation,
        }  # fmt: skip
        return cls(draw, units, parts)

    def rows(self) -> Rows:
        """The model as sparse rows, and the fit of smooth features to values at prototypes."""
        parts, smooth = self.parts, self.grid.smooth
        D = parts["Z"].shape[1]
        predicted = _cut(self.regression.everywhere(parts["Z"]), D, self.units) + parts["residual"]
        shift = np.ascontiguousarray(predicted[:, :, :D])
        first, index, weight, unknown, correction = build_rows(self.grid, shift, self.noise, parts["visits"], parts["terminal"])
        design = np.concatenate([smooth, np.ones((self.n, 1))], axis=1).astype(np.float64)
        ridge = design.T @ design + _SMOOTH_RIDGE * np.eye(design.shape[1])
        projector = np.ascontiguousarray(np.linalg.solve(ridge, design.T)[:-1].T, dtype=np.float32)
        signal = np.clip(self.units.of(predicted[:, :, D:]), 0.0, 1.0)
        return Rows(
            first, index, weight, unknown, signal, parts["allowed"], parts["terminal"], parts["pay"], correction, projector
        )

    def values(self, observation: NDArray[Any], h: int, wish: Wish, values: Values) -> NDArray[np.float32] | None:
        """Q (J,A) at an observation and step.

        Args:
            observation: as the mind sees it.
            h: the step, from 0.
            wish: prices and sharpness.
            values: of the steps after.
        """
        z = self.scaling(np.asarray(observation, dtype=np.float64))
        found: NDArray[np.float32] = values_at(z, h, (self.grid, self.belief, self.noise), wish, values)
        return found

    def describe(self) -> list[str]:
        """What was found, one line each."""
        scaling, parts = self.scaling, self.parts
        spans = ", ".join(
            f"{c}: [{m - s:.3g}, {m + s:.3g}]" for c, m, s in zip(scaling.active, scaling.middle, scaling.half, strict=True)
        )
        ended, (fine, coarse) = int(parts["terminal"].sum()), self.sides
        noise = "none that matters" if len(self.noise.chances) == 1 else f"{len(self.noise.chances)} points stand for it"
        return [
            f"scaling: coordinates that vary, 1% to 99% of what was seen: {spans}",
            f"dimensions: {scaling.dimension}" + (", the main axes of all coordinates" if scaling.axes.shape[1] else ""),
            f"features: 1, the state, {len(self.regression.basis.phases)} random Fourier features; ridge by cross-validation",
            f"states: {self.n:,} prototypes ({ended} of them ends), cells of side {fine:.3g} and {coarse:.3g}",
            f"noise: {noise} (deviations {', '.join(f'{d:.2g}' for d in parts['deviation'])} in scaled units)",
        ]


def _cut(predicted: Array, D: int, units: Units) -> Array:
    """Predictions whose signals are cut to the range of what can be."""
    predicted[..., D:] = np.clip(predicted[..., D:], units.low, units.low + units.width)
    return predicted


def _without_ends(target: Array, D: int, seen: Transitions) -> Array:
    """The targets with signals of last steps replaced by the mean of their action's other steps: an end pays for itself."""
    target = target.copy()
    for a in range(seen.masks.shape[1]):
        ends, others = (seen.actions == a) & seen.ended, (seen.actions == a) & ~seen.ended
        if ends.any() and others.any():
            target[ends, D:] = target[others, D:].mean(axis=0)
    return target


def _shrinkage(missed: Array, pair: NDArray[np.int64], visits: Array, sums: Array) -> tuple[Array, Array]:
    """How many visits the guess "nothing is missed" is worth, for each column, and the variance within pairs.

    Empirical Bayes: n0 = variance within / variance between pairs; the mean of n visits is then shrunk by n/(n + n0).
    """
    mean = sums / np.maximum(visits, 1.0)[:, None]
    within = ((missed - mean[pair]) ** 2).sum(axis=0) / max(len(missed) - int((visits > 0).sum()), 1)
    many = visits >= 2
    between = within + 1e-12
    if many.sum() > 5:
        between = np.maximum((mean[many] ** 2).mean(axis=0) - within * (1.0 / visits[many]).mean(), 1e-12 + 0.01 * within)
    return np.maximum(within / between, 0.05), within
