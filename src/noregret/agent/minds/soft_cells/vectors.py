"""A finite model of a world whose states are vectors, made anew from kept transitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.dynamics import (
    MOST_DIMENSIONS,
    Regression,
    Scaling,
    find_noise,
    fit,
    fourier,
    regression_waves,
)
from noregret.agent.minds.soft_cells.ends import events
from noregret.agent.minds.soft_cells.history import Transitions, Units
from noregret.agent.minds.soft_cells.kernels.interpolation import Boxes, Prototypes, StepNoise, Waves, smooth_matrix
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows, Seen, build_rows, no_pools
from noregret.agent.minds.soft_cells.kernels.sweep import Belief, PlanValues, Wish, values_at
from noregret.agent.minds.soft_cells.prototypes import Points, Sides, choose_cells
from noregret.agent.minds.soft_cells.returning import Steps, come_back, count_seen, nothing_seen, numbered
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers, Observation, Singles
from noregret.problems.worlds import WorldSpec

#: Smooth features: this many Fourier features for each dimension, up to a most, with these lengthscales; ridge of their fit.
_SMOOTH, _MOST_SMOOTH, _SMOOTH_LENGTHS, _SMOOTH_RIDGE = 10, 60, (0.7, 2.0), 1.0
#: ν/√D: a state further away than ν from all that was seen is unknown.
_REACH = 0.3
#: Where states come back, what follows a pair that was never tried is unknown with this share at least.
_UNTRIED = 0.25
#: ε over the side of a fine cell.
_BLUR = 0.1
#: Prototypes, from and to; the work of a backward pass of so many steps, in additions, that decides between. The first number
#: is for so many actions; with more of them there are as many fewer, and this many at least.
_PROTOTYPES, _WORK, _ACTIONS, _FEWEST = (400, 3000), 2e8, 27, 64
#: Steps of a backward pass that are counted, at most: of longer ones most end early, as values are steady.
_LONGEST = 1000


def most_prototypes(spec: WorldSpec) -> int:
    """How many prototypes a model may have, unless told: so many that a backward pass is no more than so much work."""
    D = min(spec.dimension, MOST_DIMENSIONS)
    each = spec.n_actions * (2 * D + 2 + D + D * (D + 1) // 2 + min(_SMOOTH * D, _MOST_SMOOTH))
    least = max(_PROTOTYPES[0] * min(_ACTIONS / spec.n_actions, 1.0), _FEWEST)
    most = max(_WORK / (each * min(spec.horizon, _LONGEST)), least)
    return int(min(most, max(500, 30_000 // spec.n_actions), _PROTOTYPES[1]))


class Draw(NamedTuple):
    """What chance gives a mind at its birth: Fourier features for all coordinates."""

    model: Waves
    smooth: Waves

    @classmethod
    def of(cls, seed: int, dimension: int) -> Draw:
        """The draw of a seed."""
        random = np.random.default_rng([seed, 0xCE11])
        return cls(
            regression_waves(random, dimension),
            fourier(random, min(_SMOOTH * dimension, _MOST_SMOOTH), dimension, _SMOOTH_LENGTHS),
        )


def _only(basis: Waves, scaling: Scaling) -> Waves:
    """The features of scaled states."""
    columns = np.arange(scaling.dimension) if scaling.axes.shape[1] else scaling.active
    return Waves(np.ascontiguousarray(basis.frequencies[:, columns]), basis.phases)


class VectorModel:
    """Scaling, regression, prototypes, noise and rows; nothing of it changes once it is made.

    Args:
        draw: the features.
        units: how signals are mapped.
        parts: the arrays that :meth:`learned` made, by name.
    """

    def __init__(self, draw: Draw, units: Units, parts: Arrays) -> None:
        self.parts, self.units = parts, units
        self.scaling = Scaling(parts["active"], parts["middle"], parts["half"], parts["axes"])
        self.sides = Sides(*parts["sides"].tolist())
        self.regression = Regression(_only(draw.model, self.scaling), parts["B"], parts["error"])
        self.noise = StepNoise(parts["shifts"], parts["chances"])
        Z = parts["Z"]
        N, D = Z.shape
        self.n, self.starts = N, parts["starts"] / parts["starts"].sum()
        first = np.searchsorted(parts["row"], np.arange(parts["visits"].size + 1)).astype(np.int64)
        share = parts["share"].astype(np.float32)
        self.seen = Seen(first, parts["after"].astype(np.int32), share, parts["rest"].ravel())
        basis = _only(draw.smooth, self.scaling)
        smooth = smooth_matrix(Z, basis, D + D * (D + 1) // 2 + len(basis.phases))
        reach = max(_REACH * np.sqrt(D), self.sides.fine, 0.5 * self.sides.coarse)
        self.prototypes = Prototypes(
            np.ascontiguousarray(Z.T), smooth, basis, 2 * D + 2, _BLUR * self.sides.fine, float(reach), Boxes.of(Z)
        )
        self.belief = Belief(
            self.regression.basis,
            self.regression.scale,
            parts["B"],
            parts["residual"],
            parts["visits"],
            _untried(parts),
            self.seen,
            parts["ended"],
            parts["doubt"],
            units.low,
            units.width,
        )

    @classmethod
    def learned(
        cls, draw: Draw, seen: Transitions, units: Units, score: Array, how: tuple[int, Sides | None, np.random.Generator]
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
        sides, J = sides or Sides.least(D), units.low.size
        state = numbered(np.concatenate([seen.before, seen.after]))
        returning = come_back(state[:n])
        over = seen.ended & events(Z, after, seen, sides.coarse)[seen.actions]
        there = seen.ended & ~over  # ends that are places
        target = np.concatenate([after - Z, seen.signals, over[:, None]], axis=1)
        regression = fit(random, _only(draw.model, scaling), Z, seen.actions, _without_ends(target, D, seen, over), A)
        episode, last = np.repeat(np.arange(len(seen.first)), seen.lengths), seen.first + seen.lengths - 1
        last = last[~over[last]]  # of a state after an end that is an event nothing is asked
        points = Points(
            np.concatenate([Z, after[last]]),
            np.concatenate([np.zeros(n, dtype=np.bool_), there[last]]),
            np.concatenate([episode, episode[last]]),
        )
        which = 2 * np.concatenate([state[:n], state[n + last]]) + points.terminal
        chosen, place = np.unique(which, return_index=True, return_inverse=True)[1:] if returning else (which, which)
        if len(chosen) > budget or not returning:
            sides, chosen, place = choose_cells(points, score, budget, sides)
        N, at = len(chosen), place[:n]
        missed = target - _cut(regression.taken(Z, seen.actions), D, units)
        paid = np.zeros((N, J + 1))  # what such an end pays belongs to it, not to the state before
        np.add.at(paid, place[n:][there[last]], np.pad(missed[there][:, D : D + J], ((0, 0), (0, 1)), constant_values=1.0))
        missed[there, D : D + J], missed[over, :D] = 0.0, 0.0
        sums, visits, allowed = np.zeros((N, A, target.shape[1])), np.zeros((N, A)), np.zeros((N, A), dtype=np.bool_)
        np.add.at(sums, (at, seen.actions), missed)
        np.add.at(visits, (at, seen.actions), 1.0)
        np.logical_or.at(allowed, at, seen.masks)
        allowed[~allowed.any(axis=1)] = True
        prior, within = _shrinkage(missed, at * A + seen.actions, visits.ravel(), sums.reshape(N * A, -1))
        deviation = np.sqrt(np.minimum(within, regression.error)[:D])
        noise = find_noise(random, missed[~over, :D], deviation)
        following = np.append(at[1:], 0)
        following[last] = place[n:]
        steps, pure = Steps(at, seen.actions, following, over), _pure(which, place, N)
        parts = {
            "active": scaling.active,
            "middle": scaling.middle,
            "half": scaling.half,
            "axes": scaling.axes,
            "sides": np.array(sides),
            "B": regression.B,
            "error": regression.error,
            "shifts": noise.shifts,
            "chances": noise.chances,
            "Z": points.Z[chosen],
            "terminal": points.terminal[chosen],
            "visits": visits,
            "allowed": allowed,
            "residual": sums / (visits[:, :, None] + prior),
            "pay": paid[:, :-1] / np.maximum(paid[:, -1:], 1.0) / units.width,
            "starts": np.bincount(place[seen.first], minlength=N).astype(np.float64),
            "prior": prior,
            "deviation": deviation,
        } | (count_seen(steps, (N, A), pure) if returning else nothing_seen((N, A)))
        return cls(draw, units, parts)

    def rows(self) -> ModelRows:
        """The model as sparse rows, and the fit of smooth features to values at prototypes."""
        parts, smooth = self.parts, self.prototypes.smooth
        D = parts["Z"].shape[1]
        predicted = _cut(self.regression.everywhere(parts["Z"]), D, self.units) + parts["residual"]
        shift = np.ascontiguousarray(predicted[:, :, :D])
        visits, terminal = parts["visits"], parts["terminal"]
        first, after, weight, unknown, correction = build_rows(self.prototypes, shift, self.noise, visits, terminal, self.seen)
        design = np.concatenate([smooth, np.ones((self.n, 1))], axis=1).astype(np.float64)
        ridge = design.T @ design + _SMOOTH_RIDGE * np.eye(design.shape[1])
        projector = np.ascontiguousarray(np.linalg.solve(ridge, design.T)[:-1].T, dtype=np.float32)
        signal = np.clip(self.units.of(predicted[:, :, D:-1]), 0.0, 1.0)
        ends = (parts["ended"] + parts["doubt"] * np.clip(predicted[:, :, -1], 0.0, 1.0)).ravel()
        allowed, pay = parts["allowed"], parts["pay"]
        untried = np.maximum(unknown, self.belief.untried)
        return ModelRows(
            first, after, weight, unknown, untried, signal, allowed, ends, terminal, pay, correction, projector, *no_pools()
        )

    def values(self, observation: Observation, h: int, wish: Wish, values: PlanValues) -> Singles | None:
        """Q (J,A) at an observation and step.

        Args:
            observation: as the mind sees it.
            h: the step, from 0.
            wish: prices and sharpness.
            values: of the steps after.
        """
        z = self.scaling(np.asarray(observation, dtype=np.float64))
        Q: Singles = values_at(z, h, (self.prototypes, self.belief, self.noise), wish, values)
        return Q

    def describe(self) -> list[str]:
        """What was found, one line each."""
        scaling, parts = self.scaling, self.parts
        spans = ", ".join(
            f"{c}: [{m - s:.3g}, {m + s:.3g}]" for c, m, s in zip(scaling.active, scaling.middle, scaling.half, strict=True)
        )
        ends, (fine, coarse) = int(parts["terminal"].sum()), self.sides
        noise = "none that matters" if len(self.noise.chances) == 1 else f"{len(self.noise.chances)} points stand for it"
        ended = f"{ends} of them ends" if ends else "ends are events of a step"
        if parts["row"].size:
            ended += f"; states come back: {int((parts['visits'] > 0).sum()):,} pairs are counted"
        return [
            f"scaling: coordinates that vary, 1% to 99% of what was seen: {spans}",
            f"dimensions: {scaling.dimension}" + (", the main axes of all coordinates" if scaling.axes.shape[1] else ""),
            f"features: 1, the state, {len(self.regression.basis.phases)} random Fourier features; ridge by cross-validation",
            f"states: {self.n:,} prototypes ({ended}), cells of side {fine:.3g} and {coarse:.3g}",
            f"noise: {noise} (deviations {', '.join(f'{d:.2g}' for d in parts['deviation'])} in scaled units)",
        ]


def _cut(predicted: Array, D: int, units: Units) -> Array:
    """Predictions, with their signals cut to the range of signals, and chances of ends to [0,1]."""
    predicted[..., D:-1] = np.clip(predicted[..., D:-1], units.low, units.low + units.width)
    predicted[..., -1] = np.clip(predicted[..., -1], 0.0, 1.0)
    return predicted


def _without_ends(target: Array, D: int, seen: Transitions, over: Flags) -> Array:
    """The targets, without what ends say of other things.

    Where an end is a place, what it pays is kept with it: such a step gets the mean signals of its action's other steps. Where
    an end is an event, no state follows: such a step gets the mean displacement of the others.

    Args:
        target: (n,E) displacements, signals and ends that are events.
        D: of scaled states.
        seen: the transitions.
        over: (n,) which of them ended in an event.
    """
    target = target.copy()
    for a in range(seen.masks.shape[1]):
        mine, others = seen.actions == a, (seen.actions == a) & ~seen.ended
        if others.any():
            target[mine & seen.ended & ~over, D:-1] = target[others, D:-1].mean(axis=0)
        target[mine & over, :D] = target[others, :D].mean(axis=0) if others.any() else 0.0
    return target


def _untried(parts: Arrays) -> Array:
    """(N·A,) the least unknown share of each pair: where states come back, of a pair that was never tried."""
    return np.asarray(_UNTRIED * (parts["visits"] == 0.0).ravel() * bool(parts["row"].size), dtype=np.float64)


def _pure(which: Integers, place: Integers, N: int) -> Flags:
    """(N,) the prototypes whose states are all the same."""
    low, high = np.full(N, np.iinfo(np.int64).max), np.full(N, -1)
    np.minimum.at(low, place, which)
    np.maximum.at(high, place, which)
    return np.asarray(low == high, dtype=np.bool_)


def _shrinkage(missed: Array, pair: Integers, visits: Array, sums: Array) -> tuple[Array, Array]:
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
