"""A small network for the values of each signal, trained off-policy on all kept transitions: no model of what follows.

The targets are those of the paper without a model: the signals of the next steps, and the slow network's values of the state
after them, averaged by the soft-max policy of the composite Q_r + Σ y_i Q_i. The price y moves with the totals observed.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.agent.minds.soft_cells.dual import Aim
from noregret.agent.minds.soft_cells.history import Record, Transitions, Units
from noregret.agent.minds.soft_cells.kernels.network import Adam, Practice, Replay, layers, network_values, to_go, train
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers, Observation, Singles
from noregret.problems.worlds import WorldSpec

#: Numbers of an observation from which on a network takes part, and weights that it may have.
_DIMENSIONS, _LARGEST = 4, 200_000
#: Units of a hidden layer, and transitions of a batch.
UNITS, _BATCH = 64, 64
#: Steps for each new transition; at least, and at most so many in one go for a network of so many weights.
_STEPS, _LEAST, _MOST, _WEIGHTS = 4.0, 50, 1000, 5120
#: The discount is 1 - 5/H, at most the second number; steps ahead, rate of Adam, share by which the slow weights follow.
_FIFTH, _DISCOUNT, _AHEAD, _RATE, _SLOW = 5.0, 0.99, 3, 5e-4, 0.005
#: Sharpness of the soft-max in deviations of what the network predicts. The share of uniform choice fades over so many
#: episodes that the network played, to the second number.
_SHARPNESS, _FADES, _EXPLORE = 100.0, 15.0, 0.02
#: Scaled states are cut to this. Scales are found anew when there are so many times more transitions.
_CUT, _ANEW = 5.0, 1.5
#: No scale changes by more than this factor at once, and no weight becomes larger then.
_FAR = 1e3
#: The deviation of what is predicted is at least this share of a signal's range.
_NARROW = 0.1
#: The weights that play follow those that learn by this share after each episode.
_CALM = 0.25
#: The price: how fast it moves with what an episode missed, which counts at most so much, what the mean of late counts besides,
#: how fast that mean forgets, and from where to where it goes. At 1 the scale of a limit is worth the range of returns.
_MOVES, _MISSED, _BESIDES, _LATE, PRICES = 0.02, 1.0, 0.5, 0.1, (0.02, 5.0)
#: The share of the scale that is kept free beside the margin: what a network earns and costs changes from episode to episode.
_ASIDE = 0.06


def sizes_of(spec: WorldSpec) -> tuple[int, int, int]:
    """D, n and J·A of a world's network."""
    return spec.dimension, UNITS, (1 + spec.n_constraints) * spec.n_actions


def length_of(sizes: tuple[int, int, int]) -> int:
    """How many weights there are."""
    D, n, K = sizes
    return D * n + n + n * n + n + n * K + K


def takes_part(spec: WorldSpec) -> bool:
    """Whether a mind of this world has a network."""
    return spec.dimension >= _DIMENSIONS and length_of(sizes_of(spec)) <= _LARGEST


class NetworkModel:
    """A network as it plays; its values are in deviations of what it predicts.

    Args:
        units: how signals are mapped, for those who ask for them.
        parts: weights, scales, and the share of uniform choice.
    """

    def __init__(self, units: Units, parts: Arrays) -> None:
        self.units, self.parts = units, parts
        self.n, self.explore = 0, float(parts["explore"])
        D, J = len(parts["middle"]), len(parts["scale"])
        K = (len(parts["weights"]) - length_of((D, UNITS, 0))) // (UNITS + 1)
        self.sizes, self.n_actions = (D, UNITS, K), K // J

    def values(self, observation: Observation, h: int, wish: Wish, values: PlanValues) -> Singles | None:
        """Q (J,A) at an observation, whatever the step.

        Args:
            observation: as the mind sees it.
            h: the step, from 0.
            wish: prices and sharpness.
            values: none.
        """
        x = _scaled(np.asarray(observation, dtype=np.float64), self.parts)
        Q: Singles = network_values(x, self.parts["weights"], self.sizes, len(self.parts["scale"]))
        return Q

    def explored(self, chances: Array, could: Flags, observation: Observation) -> Array:
        """The chances (A,), with the share of uniform choice among the actions that can be taken.

        Args:
            chances: (A,) of the soft-max.
            could: (A,) which actions can be taken.
            observation: whichever.
        """
        return np.asarray((1.0 - self.explore) * chances + self.explore * could / could.sum(), dtype=np.float64)

    def describe(self) -> list[str]:
        """What plays, in one line."""
        return [
            f"network: two layers of {UNITS} units, {len(self.parts['weights']):,} weights, a value of each action for each "
            f"signal; {self.explore:.3g} of the actions are drawn evenly"
        ]


class QNetwork:
    """The network that learns, for the whole life of a mind.

    Args:
        spec: the world.
        seed: of its first weights, and of what is drawn.
    """

    def __init__(self, spec: WorldSpec, seed: int) -> None:
        self.spec, self.seed, self.sizes = spec, seed, sizes_of(spec)
        weights = _first_weights(np.random.default_rng([seed, 0x0E1]), self.sizes)
        self.adam = Adam(weights, weights.copy(), np.zeros_like(weights), np.zeros_like(weights))
        self.calm = weights.copy()  # the weights that play: the mean of those of the last episodes
        J = 1 + spec.n_constraints
        self.scales: Arrays = {"middle": np.zeros(spec.dimension), "half": np.ones(spec.dimension), "scale": np.ones(J)}
        self.steps = self.fitted = self.played = 0  # steps of Adam; transitions that scales were found from; episodes played
        self.owed = 0.0  # steps that are due for transitions seen since
        self.push, self.late = np.zeros(spec.n_constraints), np.zeros(spec.n_constraints)
        self.discount = min(max(1.0 - _FIFTH / spec.horizon, 0.0), _DISCOUNT)
        self.playing = False  # whether the plan in use is the newest of this network

    def saw(self, length: int) -> None:
        """An episode of so many transitions was seen, whoever played it."""
        self.owed = min(self.owed + _STEPS * length, self._most)

    @property
    def _most(self) -> float:
        D, n, K = self.sizes
        return max(_MOST * min(1.0, _WEIGHTS / (D * n + n * n + n * K)), float(_LEAST))

    def observe(self, totals: Array, aim: Aim, margin: float) -> None:
        """Move the prices by an episode that the network played.

        Args:
            totals: (m,) of the episode.
            aim: the bounds that they are to reach.
            margin: the share of the scale that is aimed at beyond the bounds.
        """
        short = np.clip((aim.bounds + (margin + _ASIDE) * aim.scale - totals) / aim.scale, -1.0, 1.0)
        self.push = np.clip(self.push + _MOVES * np.clip(short, -_MISSED, _MISSED), 0.0, PRICES[1])
        self.late = self.late + _LATE * (short - self.late)
        self.played += 1

    @property
    def prices(self) -> Array:
        """(m,) what a limit's whole scale is worth, in ranges of returns."""
        return np.clip(self.push + _BESIDES * np.maximum(self.late, 0.0), *PRICES)

    def practise(self, seen: Transitions, record: Record) -> tuple[NetworkModel, Wish]:
        """Learn as much as is due; returns what plays then.

        Args:
            seen: kept transitions.
            record: ranges of signals and returns.
        """
        units = record.units()
        last = np.repeat(seen.first + seen.lengths - 1, seen.lengths)
        if len(last) > _ANEW * self.fitted:
            self._scale(seen, last, units)
        wish, practice = self._wish(record, units), self._practice(units)
        before, after = (_scaled(states, self.scales) for states in (seen.before, seen.after))
        signals = (seen.signals / self.scales["scale"]).astype(np.float32)
        replay = Replay(before, after, seen.actions, signals, seen.ended, seen.could_follow, last)
        count = int(max(self.owed, _LEAST))
        drawn = np.random.default_rng([self.seed, 0xD4A, self.steps]).integers(0, len(last), (count, _BATCH))
        train(self.adam, self.sizes, replay, drawn, wish, practice, self.steps)
        self.steps, self.owed = self.steps + count, 0.0
        self.calm += _CALM * (self.adam.weights - self.calm)
        return self.model(units), wish

    def model(self, units: Units) -> NetworkModel:
        """What plays: the mean of the network's last weights."""
        explore = max(math.exp(-self.played / _FADES), _EXPLORE)
        parts = {"weights": self.calm.copy(), "explore": np.array(explore)}
        return NetworkModel(units, parts | {name: scale.copy() for name, scale in self.scales.items()})

    def _wish(self, record: Record, units: Units) -> Wish:
        """What prices are in the network's own units; they sum to about 1, so that the soft-max stays as sharp."""
        y, scale = self.prices, self.scales["scale"]
        ratio = (record.apart or scale[0]) / record.scale(units) * scale[1:] / scale[0]
        J = len(scale)
        return Wish(np.append(1.0, y * ratio) / (1.0 + y.sum()), _SHARPNESS, np.zeros((J, 1)), np.zeros(J))

    def _practice(self, units: Units) -> Practice:
        """How it learns; values stay where discounted sums of H signals can be."""
        sums = (1.0 - self.discount**self.spec.horizon) / (1.0 - self.discount) / self.scales["scale"]
        return Practice(
            self.discount, _AHEAD, _RATE, _SLOW, np.minimum(units.low, 0.0) * sums, (units.low + units.width) * sums
        )

    def _scale(self, seen: Transitions, last: Integers, units: Units) -> None:
        """Find scales anew; weights change with them, so that values stay as they are (where no state is cut)."""
        old, first, self.fitted = self.scales, not self.fitted, len(last)
        deviation = to_go(seen.signals, last, self.discount).std(axis=0)
        spread = seen.before.std(axis=0)
        self.scales = {
            "middle": seen.before.mean(axis=0),
            "half": np.where(spread > 1e-9, spread, 1.0),
            "scale": np.maximum(deviation, _NARROW * units.width),
        }
        if first:
            return
        shift = np.clip((self.scales["middle"] - old["middle"]) / old["half"], -_FAR, _FAR).astype(np.float32)
        wider = np.clip(self.scales["half"] / old["half"], 1.0 / _FAR, _FAR).astype(np.float32)
        ratio = np.clip(old["scale"] / self.scales["scale"], 1.0 / _FAR, _FAR)
        factor = np.repeat(ratio, self.spec.n_actions).astype(np.float32)
        for flat in (self.adam.weights, self.adam.slow, self.calm):
            net = layers(flat, self.sizes)
            net.b1[:] += shift @ net.W1
            net.W1[:] *= wider[:, None]
            net.W3[:] *= factor
            net.b3[:] *= factor
            np.clip(flat, -_FAR, _FAR, out=flat)

    def arrays(self) -> Arrays:
        """All that was learned, by name."""
        counters = np.array([self.steps, self.fitted, self.played, int(self.playing)], dtype=np.int64)
        learned = {name: array.copy() for name, array in self.adam._asdict().items()} | self.scales
        learned["calm"] = self.calm.copy()
        return learned | {"counters": counters, "owed": np.array(self.owed), "push": self.push.copy(), "late": self.late.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.adam = Adam(*(arrays[name].copy() for name in Adam._fields))
        self.calm = arrays["calm"].copy()
        self.scales = {name: arrays[name].copy() for name in self.scales}
        self.steps, self.fitted, self.played, playing = arrays["counters"].tolist()
        self.playing, self.owed = bool(playing), float(arrays["owed"])
        self.push, self.late = arrays["push"].copy(), arrays["late"].copy()


def _scaled(states: Array, scales: Arrays) -> Singles:
    return np.clip((states - scales["middle"]) / scales["half"], -_CUT, _CUT).astype(np.float32)


def _first_weights(random: np.random.Generator, sizes: tuple[int, int, int]) -> Singles:
    """Normal weights of variance 2 over the inputs, those of the last layer a tenth of that, biases 0."""
    out = np.zeros(length_of(sizes), np.float32)
    net = layers(out, sizes)
    for W, share in ((net.W1, 1.0), (net.W2, 1.0), (net.W3, 0.1)):
        W[:] = share * math.sqrt(2.0 / len(W)) * random.standard_normal(W.shape)
    return out
