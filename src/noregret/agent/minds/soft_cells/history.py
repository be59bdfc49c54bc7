"""What was seen: kept episodes under a budget of transitions, ranges of all signals, and the best that any stretch earned.

A *signal* is a number to be high: the reward, a utility, or a cost with its sign turned. Signal 0 is the reward, signal 1+i
belongs to constraint i, whose total is to reach ``bounds[i]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers
from noregret.problems.worlds import WorldSpec

#: Lengths of stretches whose best sum is kept, at most.
LENGTHS = 17
#: Returns that are remembered, and how many times further away than the poor ones of them disasters count.
RECENT, _TAIL = 100, 3.0


class Transitions(NamedTuple):
    """Kept transitions, one after the other; episode e begins at ``first[e]``."""

    before: Array  # (n,D)
    actions: Integers  # (n,)
    signals: Array  # (n,J)
    after: Array  # (n,D)
    ended: Flags  # (n,) whether the world ended the episode with this step
    masks: Flags  # (n,A) what could be done before
    first: Integers  # (episodes,)
    lengths: Integers  # (episodes,)

    @property
    def could_follow(self) -> Flags:
        """(n,A) what could be done after; everything after an episode's last step, of which nothing was told."""
        out = np.append(self.masks[1:], self.masks[:1], axis=0)
        out[self.first + self.lengths - 1] = True
        return out

    def scores(self, units: Units, prices: Array, horizon: int) -> Array:
        """(episodes,) how good each episode was.

        Args:
            units: how signals are mapped.
            prices: (J,) what each signal counts.
            horizon: H; steps up to it count after an end.
        """
        after = (horizon - self.lengths) * self.ended[self.first + self.lengths - 1]
        return np.asarray(
            np.add.reduceat(units.of(self.signals) @ prices, self.first) + after * (units.end @ prices), np.float64
        )


class Units(NamedTuple):
    """How raw signals are mapped to [0,1]: (raw - low)/width. Raw 0, the worth of a step after an end, is always inside."""

    low: Array  # (J,)
    width: Array  # (J,)

    @property
    def end(self) -> Array:
        """(J,) what a step after an end is worth."""
        return -self.low / self.width

    def of(self, raw: Array) -> Array:
        """Mapped signals (...,J)."""
        return np.asarray((raw - self.low) / self.width, dtype=np.float64)


class Record:
    """Ranges, returns and best stretches of all episodes ever seen; its size never changes.

    Args:
        spec: the world.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self.spec = spec
        J = 1 + spec.n_constraints
        self.low, self.high = np.zeros(J), np.zeros(J)
        sign = -1.0 if spec.costs else 1.0
        self.signs = np.array([1.0] + [sign] * spec.n_constraints)
        self.bounds = sign * spec.limits
        ranges = (spec.reward_range, *(spec.value_ranges or (None,) * spec.n_constraints))
        for j, span in enumerate(ranges):
            if span is not None:
                ends = self.signs[j] * np.array(span)
                self.low[j], self.high[j] = min(0.0, ends.min()), max(0.0, ends.max())
        self.lengths = np.unique(np.linspace(1, spec.horizon, LENGTHS).astype(np.int64))
        self.best = np.full(len(self.lengths), -np.inf)  # raw
        self.returns = np.array([np.inf, -np.inf])  # the least and the most of whole episodes
        self.recent = np.zeros(0)  # returns of the last whole episodes
        self.most = np.full(spec.n_constraints, -np.inf)  # the most that a whole episode brought, of each constraint

    def signals(self, played: PlayedEpisode) -> Array:
        """(L,J) the signals of an episode."""
        return np.asarray(np.column_stack([played.rewards, played.values]) * self.signs, dtype=np.float64)

    def add(self, signals: Array, ended: bool) -> None:
        """Take in an episode; steps after an end count as 0."""
        self.low, self.high = np.minimum(self.low, signals.min(axis=0)), np.maximum(self.high, signals.max(axis=0))
        H, L = self.spec.horizon, len(signals)
        sums = np.concatenate([[0.0], np.cumsum(signals[:, 0])])
        if ended:
            sums = np.concatenate([sums, np.full(H, sums[-1])])
        for j, n in enumerate(self.lengths):
            if n < len(sums):
                self.best[j] = max(self.best[j], (sums[n:] - sums[:-n])[:L].max())
        if ended or L == H:
            self.returns = np.array([min(self.returns[0], sums[-1]), max(self.returns[1], sums[-1])])
            self.recent = np.append(self.recent, sums[-1])[-RECENT:]
            self.most = np.maximum(self.most, signals[:, 1:].sum(axis=0))

    @property
    def met(self) -> Flags:
        """(m,) whether some whole episode met each bound; True before there was one."""
        return np.asarray((self.most >= self.bounds) | (self.most == -np.inf), dtype=np.bool_)

    def units(self) -> Units:
        """The map to [0,1] by the range of each signal that was seen or given.

        A signal that never varied gets a range of width 1. For a constraint, the value seen is the top of that range: nothing
        better was seen. For the reward it is the bottom.
        """
        flat = self.high - self.low < 1e-9
        low = np.where(flat & (np.arange(len(flat)) > 0), self.high - 1.0, self.low)
        return Units(low, np.where(flat, 1.0, self.high - self.low))

    @property
    def apart(self) -> float:
        """How far returns lie apart: the range of all, but not much more than from the best to the poor ones of late.

        A single disaster must not make all other differences look small.
        """
        if not np.isfinite(self.returns).all():
            return 0.0
        low, high = self.returns.tolist()
        poor = float(np.quantile(self.recent, 0.25)) if len(self.recent) else low
        return float(min(high - low, _TAIL * (high - poor)) if high > poor else high - low)

    def spread(self, units: Units) -> float:
        """How far the returns of episodes lie apart, in mapped reward."""
        return float(self.apart / units.width[0])

    def best_ahead(self, units: Units) -> Array:
        """(H,) G(H-h-1): the best sum of mapped rewards ever seen in H-h-1 steps in a row, as many as follow step h."""
        known = np.isfinite(self.best)
        n = np.concatenate([[0], self.lengths[known]])
        mapped = np.maximum((self.best[known] - self.lengths[known] * units.low[0]) / units.width[0], 0.0)
        left = self.spec.horizon - 1.0 - np.arange(self.spec.horizon)
        return np.asarray(np.interp(left, n, np.concatenate([[0.0], mapped])), dtype=np.float64)

    def slack(self, units: Units) -> Array:
        """(m,) how much of each total may be lost, in mapped units: H highest signals less the bound; at least H/100."""
        H = self.spec.horizon
        high = units.low + units.width
        return np.asarray(np.maximum((H * high[1:] - self.bounds) / units.width[1:], 0.01 * H), dtype=np.float64)

    def scale(self, units: Units) -> Array:
        """(m,) the raw unit in which each total is judged: the size of its bound or, where that is less, what may be lost."""
        H, width = self.spec.horizon, units.width[1:]
        scale = np.minimum(np.abs(self.bounds), self.slack(units) * width)
        return np.maximum(np.where(self.bounds == 0.0, 0.01 * H * width, scale), 1e-4 * H * width)

    def describe(self) -> list[str]:
        """The range of each signal, one line each."""
        spec = self.spec
        told = (spec.reward_range is not None, *((spec.value_ranges is not None,) * spec.n_constraints))
        ends = np.sort(np.column_stack([self.signs * self.low, self.signs * self.high]), axis=1).tolist()
        return [
            f"range of {name}: [{a:.4g}, {b:.4g}], {'given' if given else 'found from data'}, with 0 in it"
            for name, (a, b), given in zip(("reward", *spec.names), ends, told, strict=True)
        ]

    def arrays(self) -> Arrays:
        """All that was seen, by name."""
        return {
            "low": self.low,
            "high": self.high,
            "best": self.best,
            "returns": self.returns,
            "most": self.most,
            "recent": self.recent,
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        for name in ("low", "high", "best", "returns", "most", "recent"):
            setattr(self, name, arrays[name])


def cheapest(visits: Array | Integers, sums: Array) -> int:
    """The action whose steps brought most of the signals that are to reach bounds; of equal ones the middle one.

    Args:
        visits: (A,) how often each was taken.
        sums: (A,J) what they brought.
    """
    known = np.flatnonzero(visits)
    mean = sums[known, 1:] / visits[known, None]
    worth = (mean / np.maximum(np.ptp(mean, axis=0), 1e-12)).sum(axis=1)
    best = known[worth >= worth.max() - 1e-9]
    return int(best[len(best) // 2])


class EpisodeMemory:
    """Whole episodes under a budget of transitions.

    When the budget is full, every other episode of the older half is forgotten.

    Args:
        spec: the world.
        kept: the budget.
    """

    def __init__(self, spec: WorldSpec, kept: int) -> None:
        self.spec, self.kept, self.total = spec, kept, 0
        self.episodes: list[tuple[Array, Integers, Array, bool, Flags | None]] = []

    def add(self, played: PlayedEpisode, signals: Array) -> None:
        """Keep an episode."""
        masks = None if played.masks is None else np.array(played.masks, dtype=np.bool_)
        states = np.array(played.observations, dtype=np.float64)
        self.episodes.append((states, np.array(played.actions, dtype=np.int64), signals, bool(played.terminated), masks))
        self.total += len(signals)
        while self.total > self.kept and len(self.episodes) > 1:
            half = max(len(self.episodes) // 2, 1)
            old = self.episodes[:half]
            self.episodes = old[1::2] + self.episodes[half:]
            self.total -= sum(len(episode[1]) for episode in old[::2])

    def transitions(self) -> Transitions:
        """All that is kept, in one."""
        states, actions, signals, ended, masks = zip(*self.episodes, strict=True)
        lengths = np.array([len(part) for part in actions], dtype=np.int64)
        last = np.cumsum(lengths) - 1
        over = np.zeros(self.total, dtype=np.bool_)
        over[last] = ended
        A = self.spec.n_actions
        could = [np.ones((len(a), A), dtype=np.bool_) if m is None else m[:-1] for a, m in zip(actions, masks, strict=True)]
        return Transitions(
            np.concatenate([part[:-1] for part in states]),
            np.concatenate(actions),
            np.concatenate(signals),
            np.concatenate([part[1:] for part in states]),
            over,
            np.concatenate(could),
            last + 1 - lengths,
            lengths,
        )

    def cheapest(self) -> int:
        """The action whose steps brought most of the signals that are to reach bounds; of equal ones the middle one."""
        actions = np.concatenate([episode[1] for episode in self.episodes])
        signals = np.concatenate([episode[2] for episode in self.episodes])
        visits = np.bincount(actions, minlength=self.spec.n_actions)
        sums = np.zeros((self.spec.n_actions, signals.shape[1]))
        np.add.at(sums, actions, signals)
        return cheapest(visits, sums)

    def arrays(self) -> Arrays:
        """The kept episodes, by name."""
        if not self.episodes:
            return {}
        states, actions, signals, ended, masks = zip(*self.episodes, strict=True)
        kept_masks = [part for part in masks if part is not None]
        none = np.ones((0, self.spec.n_actions), dtype=np.bool_)
        return {
            "states": np.concatenate(states),
            "actions": np.concatenate(actions),
            "signals": np.concatenate(signals),
            "lengths": np.array([len(part) for part in actions]),
            "ended": np.array(ended),
            "masked": np.array([part is not None for part in masks]),
            "masks": np.concatenate([none, *kept_masks]),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.episodes, self.total = [], 0
        if not arrays:
            return
        state = mask = 0
        for length, ended, masked in zip(arrays["lengths"].tolist(), arrays["ended"], arrays["masked"], strict=True):
            steps = slice(self.total, self.total + length)
            could = arrays["masks"][mask : mask + length + 1].copy() if masked else None
            seen = arrays["states"][state : state + length + 1].copy()
            self.episodes.append((seen, arrays["actions"][steps].copy(), arrays["signals"][steps].copy(), bool(ended), could))
            self.total, state, mask = self.total + length, state + length + 1, mask + (length + 1) * bool(masked)
