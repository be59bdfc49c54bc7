"""A finite model from extremely randomized trees: what followed a state is what followed the transitions in the same leaves.

For each action some trees are grown on its transitions. A leaf stands for all that followed its transitions, noise and ends
with it, so the model needs neither distances nor a shape of noise. The targets that decide the splits are the signals, ends,
where the step led, and what the state after it was worth to the plan before (at first: what its episode still brought).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.agent.minds.soft_cells.history import Transitions, Units
from noregret.agent.minds.soft_cells.kernels.forest import Leaves, Trees, forest_values, forest_worth, grow, leaves_of
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish, counted_steps
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers, Observation, Singles

#: Trees of each action, transitions of a leaf at least, splits tried in a node: from, to.
TREES, _LEAST, _SPLITS = 10, 5, (5, 30)
#: Transitions used, at most and at least. They are so many that a backward pass of so many steps looks into at most so many
#: leaves.
USED, _FEWEST, _WORK = 6000, 300, 6e7
#: Starts that are kept as prototypes, at most.
STARTS = 100
#: What targets count for beside the signals: what followed, and where it led.
_WORTH, _PLACE = 1.5, 0.2
#: Places of more numbers than the first count as so many random sums of them, which vary as much: the work of a tree grows with
#: its targets.
_WIDE, _SUMS = 64, 32
_TABLES = ("roots", "coordinate", "cut", "child", "first", "after", "signal")


class ForestModel:
    """Trees and prototypes: the states that followed the transitions used, and starts; the last prototype is the end.

    Args:
        units: how signals are mapped.
        parts: the arrays that :meth:`learned` made, by name.
    """

    def __init__(self, units: Units, parts: Arrays) -> None:
        self.units, self.parts = units, parts
        self.trees = Trees(parts["roots"], parts["coordinate"], parts["cut"], parts["child"])
        self.leaves = Leaves(parts["first"], parts["after"].astype(np.int32), parts["signal"])
        self.n = len(parts["X"]) + 1
        self.starts = np.append(parts["starts"], 0.0) / parts["starts"].sum()

    @classmethod
    def learned(
        cls, seen: Transitions, units: Units, worth: Callable[[Integers], Array], how: tuple[int, np.random.Generator]
    ) -> ForestModel:
        """The model that kept transitions give.

        Args:
            seen: kept transitions.
            units: how signals are mapped.
            worth: gives what the states after some transitions are worth (n,J), in mapped signals.
            how: H, and a random generator.
        """
        horizon, random = how
        each = seen.masks.shape[1] * TREES * counted_steps(horizon, seen.before.shape[1])
        used = choose(len(seen.actions), int(min(USED, max(_WORK / each, _FEWEST))), random)
        A, after, ended = seen.masks.shape[1], seen.after[used], seen.ended[used]
        signals = np.clip(units.of(seen.signals[used]), 0.0, 1.0)
        starts = np.unique(np.linspace(0, len(seen.first) - 1, min(len(seen.first), STARTS)).astype(np.int64))
        n, N = len(used), len(used) + len(starts)
        followed = np.where(ended, N, np.arange(n))
        forest = Grown(seen.before[used], targets(signals, ended, (worth(used), _WORTH), (after, _PLACE)), signals, followed)
        for a in range(A):
            mine = np.flatnonzero(seen.actions[used] == a)
            forest.add(mine if len(mine) else np.arange(n), random)
        allowed = np.concatenate([seen.could_follow[used], seen.masks[seen.first[starts]]])
        allowed[~allowed.any(axis=1)] = True
        taken = np.bincount(seen.actions, minlength=A).astype(np.float64)
        parts = {
            "X": np.concatenate([after, seen.before[seen.first[starts]]]),
            "visits": np.tile(taken, (N, 1)),
            "allowed": allowed,
            "starts": np.append(np.zeros(n), np.ones(len(starts))),
        }
        return cls(units, parts | forest.arrays())

    def worth(self, states: Array, h: int, wish: Wish, values: PlanValues) -> Array:
        """(n,J) what states are worth at step h.

        Args:
            states: (n,D) as the mind sees them.
            h: the step, from 0.
            wish: prices and sharpness.
            values: of the steps after.
        """
        left = len(values.coef) - h
        A = self.parts["visits"].shape[1]
        worth: Array = forest_worth(states, (self.trees, self.leaves), left, values.V[h + 1], wish, A)
        return worth

    def rows(self) -> ModelRows:
        """The model as sparse rows: each pair points at the leaves that its prototype falls into."""
        parts, (N, A), J = self.parts, self.parts["visits"].shape, self.leaves.signal.shape[1]
        T = len(self.trees.roots) // A
        leaf = np.concatenate([leaves_of(parts["X"], self.trees).ravel(), np.zeros(A * T, dtype=np.int64)])
        signal = self.leaves.signal[leaf].reshape(N + 1, A, T, J).mean(axis=2)
        signal[N] = 0.0
        unknown = np.append((parts["visits"] == 0.0).astype(np.float64), np.zeros((1, A)))
        return ModelRows(
            np.arange((N + 1) * A + 1) * T,
            (leaf + N + 1).astype(np.int32),
            np.full(len(leaf), 1.0 / T, np.float32),
            unknown,
            unknown,
            signal,
            np.concatenate([parts["allowed"], np.ones((1, A), dtype=np.bool_)]),
            np.zeros((N + 1) * A),
            np.arange(N + 1) == N,
            np.zeros((N + 1, J)),
            np.zeros((0, (N + 1) * A), np.float32),
            np.zeros((N + 1, 0), np.float32),
            self.leaves.first,
            self.leaves.after,
        )

    def values(self, observation: Observation, h: int, wish: Wish, values: PlanValues) -> Singles | None:
        """Q (J,A) at an observation and step.

        Args:
            observation: as the mind sees it.
            h: the step, from 0.
            wish: prices and sharpness.
            values: of the steps after.
        """
        x = np.asarray(observation, dtype=np.float64)
        A = self.parts["visits"].shape[1]
        Q: Singles = forest_values(x, (self.trees, self.leaves), len(values.coef) - h, values.V[h + 1], A)
        return Q

    def describe(self) -> list[str]:
        """What was found, one line each."""
        A = self.parts["visits"].shape[1]
        return [
            f"trees: {len(self.trees.roots) // A} for each action, {len(self.leaves.signal):,} leaves",
            f"states: {self.n - 1:,} prototypes, what followed the transitions used",
        ]


class Grown:
    """Trees as they are grown, one action after the other.

    Args:
        X: (n,D) states.
        Y: (n,E) targets.
        signals: (n,J) mapped.
        followed: (n,) the prototype after each transition.
    """

    def __init__(self, X: Array, Y: Array, signals: Array, followed: Integers) -> None:
        self.X, self.Y, self.signals, self.followed = X, Y, signals, followed
        active = np.flatnonzero(np.ptp(X, axis=0) > 0.0)
        self.active: Integers = active if len(active) else np.zeros(1, dtype=np.int64)
        self.nodes = self.leaves = self.entries = 0
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _TABLES}
        self._parts["first"].append(np.zeros(1, dtype=np.int64))

    def add(self, mine: Integers, random: np.random.Generator, least: int = _LEAST) -> None:
        """Grow the trees of one action.

        Args:
            mine: numbers of its transitions.
            random: draws the splits.
            least: transitions of a leaf.
        """
        X, Y = np.ascontiguousarray(self.X[np.ix_(mine, self.active)]), np.ascontiguousarray(self.Y[mine])
        most, splits = 2 * (len(mine) // least) + 3, min(max(X.shape[1], _SPLITS[0]), _SPLITS[1])
        for _ in range(TREES):
            empty = np.zeros(most, dtype=np.int64)
            tree, order = Trees(empty[:1], empty.copy(), np.zeros(most), empty.copy()), np.arange(len(mine))
            size = grow(X, Y, order, random.random((most, splits, 2)), least, tree)
            leaf = np.flatnonzero(tree.coordinate[:size] < 0)
            leaf = leaf[np.argsort(tree.child[leaf], kind="stable")]
            begins, rows = tree.child[leaf].copy(), mine[order]
            ends = np.append(begins[1:], len(rows))
            child = tree.child[:size] + self.nodes
            child[leaf] = self.leaves + np.arange(len(leaf))
            made = {
                "roots": np.array([self.nodes]),
                "coordinate": np.where(tree.coordinate[:size] < 0, -1, self.active[tree.coordinate[:size]]),
                "cut": tree.cut[:size],
                "child": child,
                "first": self.entries + ends,
                "after": self.followed[rows],
                "signal": np.add.reduceat(self.signals[rows], begins) / (ends - begins)[:, None],
            }
            for name, part in made.items():
                self._parts[name].append(part)
            self.nodes, self.leaves, self.entries = self.nodes + size, self.leaves + len(leaf), self.entries + len(rows)

    def arrays(self) -> Arrays:
        """All trees, by name."""
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}


def choose(n: int, most: int, random: np.random.Generator) -> Integers:
    """The transitions that are used: all, or half of them the newest and half drawn from the rest.

    Args:
        n: how many there are.
        most: how many are used at most.
        random: draws.
    """
    if n <= most:
        return np.arange(n)
    old = random.choice(n - most // 2, most - most // 2, replace=False)
    return np.sort(np.concatenate([old, np.arange(n - most // 2, n)]))


def still_brought(seen: Transitions, units: Units, horizon: int) -> Array:
    """(n,J) what each episode still brought after a step, in mapped signals, as far as the step number does not tell it.

    Args:
        seen: the transitions of all episodes.
        units: what maps the signals.
        horizon: H.
    """
    signals = units.of(seen.signals)
    total = np.cumsum(signals, axis=0)
    last = np.repeat(seen.first + seen.lengths - 1, seen.lengths)
    step = np.arange(len(signals)) - np.repeat(seen.first, seen.lengths)
    ahead = total[last] - total + (seen.ended[last] * (horizon - 1 - step[last]))[:, None] * units.end
    left = np.stack([np.ones(len(step)), horizon - 1.0 - step], axis=1)
    return np.asarray(ahead - left @ np.linalg.lstsq(left, ahead, rcond=None)[0], dtype=np.float64)


def targets(signals: Array, ended: Flags, worth: tuple[Array, float], place: tuple[Array, float]) -> Array:
    """(n,E) what splits are chosen by.

    Args:
        signals: (n,J) mapped; they count for 1, and so do ends.
        ended: (n,).
        worth: (n,J) what followed was worth, and what it counts for.
        place: (n,D) where it led or how it moved, and what that counts for.
    """
    led, counts = place
    columns = [(signals, 1.0), (ended[:, None].astype(np.float64), 1.0), worth]
    units = [weight * _unit(part) for part, weight in columns]
    return np.concatenate([*units, counts / math.sqrt(led.shape[1]) * _narrow(_unit(led))], axis=1)


def _narrow(part: Array) -> Array:
    """Columns, or random sums of them where there are many: squares of differences of rows stay the same on average."""
    D = part.shape[1]
    if D <= _WIDE:
        return part
    signs = np.random.default_rng([0x5165, D]).choice([-1.0, 1.0], size=(D, _SUMS))
    return np.asarray(part @ signs / math.sqrt(_SUMS), dtype=np.float64)


def _unit(part: Array) -> Array:
    """Columns with mean 0 and deviation 1, or 0 where they do not vary; of many rows the outer 1% are cut."""
    low, high = np.quantile(part, [0.005, 0.995], axis=0)
    part = np.clip(part, low, high) if len(part) > 400 else part
    centred = part - part.mean(axis=0)
    deviation = centred.std(axis=0)
    return np.asarray(np.where(deviation > 1e-9, centred / np.where(deviation > 1e-9, deviation, 1.0), 0.0), dtype=np.float64)
