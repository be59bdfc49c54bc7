"""A finite model of a world whose observations are numbers: counts of what followed each pair, shared by all steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells.dual import PASSES
from noregret.agent.minds.soft_cells.history import Transitions, Units, cheapest
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows, no_pools
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish, action_values
from noregret.agent.minds.soft_cells.returning import come_back, leading, led, numbered
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers, Observation, Singles
from noregret.problems.worlds import WorldSpec

#: Distinct transitions counted, at most; later ones count as visits only.
MOST_TRANSITIONS = 200_000
#: What follows a vector is certain where at most this share of all transitions told apart was not the first of its pair.
MOST_UNCERTAIN = 0.01
#: Tables of vectors are exact where at most this share of the states of episodes, each once, was new: else new ones never end.
MOST_NEW = 0.1
#: n0 of tables of vectors: nothing of a pair that was tried is unknown.
CERTAIN = 1e-6
#: Prices of tables of vectors are searched in more passes, as far as they are so little work; at most so many.
_WORK, _PASSES = 8_000_000, 20


class Counts:
    """Visits, sums of signals and next states of every pair seen; states that come when the budget is full share one place.

    Args:
        spec: the world.
        budget: the most states told apart.
    """

    def __init__(self, spec: WorldSpec, budget: int) -> None:
        self.spec, self.budget = spec, min(budget, spec.n_states)
        self.place: dict[int, int] = {}  # by state
        #: How often each transition was seen, by (place·A + action)·(budget + 1) + next place; an end is place ``budget``.
        self.next: dict[int, int] = {}
        A = spec.n_actions
        self.visits = np.zeros((0, A))
        self.sums = np.zeros((0, A, 1 + spec.n_constraints))
        self.allowed = np.zeros((0, A), dtype=np.bool_)
        self.starts = np.zeros(0)

    def find(self, state: int) -> int:
        """The place of a state; a new state gets a new place while there is room."""
        place = self.place.get(state)
        if place is None:
            place = min(len(self.place), self.budget - 1)
            if len(self.place) < self.budget:
                self.place[state] = place
        return place

    def add(self, played: PlayedEpisode, signals: Array) -> None:
        """Take in an episode."""
        states = [self.find(int(state)) for state in played.observations]
        self._grow()
        A, stride = self.spec.n_actions, self.budget + 1
        at, actions = np.array(states[:-1]), np.asarray(played.actions, dtype=np.int64)
        np.add.at(self.visits, (at, actions), 1.0)
        np.add.at(self.sums, (at, actions), signals)
        self.starts[states[0]] += 1.0
        if played.masks is None:
            self.allowed[at] = True
        else:
            np.logical_or.at(self.allowed, at, np.asarray(played.masks, dtype=np.bool_)[:-1])
        after = [*states[1:-1], self.budget if played.terminated else states[-1]]
        for i, a, j in zip(states, actions.tolist(), after, strict=False):
            key = (i * A + a) * stride + j
            if key in self.next or len(self.next) < MOST_TRANSITIONS:
                self.next[key] = self.next.get(key, 0) + 1

    def _grow(self) -> None:
        """Room for all states seen, doubled when it is used up."""
        have, n = len(self.starts), len(self.place)
        if n <= have:
            return
        more = min(max(2 * have, n, 64), self.budget) - have
        for name in ("visits", "sums", "allowed", "starts"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros((more, *old.shape[1:]), dtype=old.dtype)]))

    def model(self, units: Units) -> CountModel:
        """The model that all counts give."""
        n, stride = len(self.place), self.budget + 1
        keys = np.array(sorted(self.next), dtype=np.int64)
        times = np.array([self.next[key] for key in keys.tolist()], dtype=np.float64)
        row, after = keys // stride, keys % stride
        after = np.where(after == self.budget, n, after)
        counted = _Counted(row, after, times, self.visits[:n].copy(), self.sums[:n], self.allowed[:n].copy())
        states = {"states": np.array(list(self.place), dtype=np.int64), "starts": self.starts[:n].copy()}
        return CountModel(units, states | counted.parts())

    def cheapest(self) -> int:
        """The action whose steps brought most of the signals that are to reach bounds."""
        return cheapest(self.visits.sum(axis=0), self.sums.sum(axis=0))

    def arrays(self) -> Arrays:
        """All counts, by name."""
        n = len(self.place)
        known = {name: getattr(self, name)[:n] for name in ("visits", "sums", "allowed", "starts")}
        return known | {
            "place": np.array(list(self.place), dtype=np.int64),
            "next": np.array(list(self.next.items()), dtype=np.int64).reshape(-1, 2),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.place = {state: place for place, state in enumerate(arrays["place"].tolist())}
        self.next = {key: times for key, times in arrays["next"].tolist()}
        for name in ("visits", "sums", "allowed", "starts"):
            setattr(self, name, arrays[name].copy())


class _Counted(NamedTuple):
    """What was counted of n states."""

    row: Integers  # (entries,) state·A + action
    after: Integers  # (entries,) what followed; n for an end
    times: Array  # (entries,)
    visits: Array  # (n,A)
    sums: Array  # (n,A,J)
    allowed: Flags  # (n,A)

    def parts(self) -> Arrays:
        """The parts of a model; signals of a pair that was never tried are the mean of its action."""
        visits, sums = self.visits, self.sums
        per_action = sums.sum(axis=0) / np.maximum(visits.sum(axis=0), 1.0)[:, None]
        unseen = visits.sum(axis=0) == 0
        per_action[unseen] = sums.sum(axis=(0, 1)) / max(visits.sum(), 1.0)
        per_action[:, 0] = np.minimum(per_action[:, 0], 0.0)
        mean = np.where(visits[:, :, None] > 0.0, sums / np.maximum(visits, 1.0)[:, :, None], per_action)
        allowed = self.allowed
        allowed[~allowed.any(axis=1)] = True
        return {
            "row": self.row,
            "after": self.after,
            "times": self.times,
            "visits": visits,
            "mean": mean,
            "allowed": allowed,
            "n0": np.array(_surprise(self.row, self.times, visits.size)),
        }


def table_of(seen: Transitions, units: Units, budget: int, near: bool) -> CountModel | None:
    """Counts of vectors that come back exactly in other episodes; None where they do not, or what follows a pair is uncertain.

    Args:
        seen: kept transitions.
        units: how signals are mapped.
        budget: the most states told apart; None is given where there are more.
        near: whether a vector that was never seen is taken for the nearest one; else all actions have the same chance there.
    """
    n, A = len(seen.actions), seen.masks.shape[1]
    state = numbered(np.concatenate([seen.before, seen.after]))
    N = int(state.max()) + 1
    episode = np.repeat(np.arange(len(seen.lengths)), seen.lengths)
    visited = np.unique(state[:n] + N * episode) % N  # the states of each episode, each once
    if not come_back(np.unique(visited, return_inverse=True)[1]) or N > budget:
        return None
    pair = state[:n] * A + seen.actions
    key, times = np.unique(pair * (N + 1) + np.where(seen.ended, N, state[n:]), return_counts=True)
    row, after = key // (N + 1), key % (N + 1)
    if len(row) - len(np.unique(row)) > MOST_UNCERTAIN * len(row):
        return None
    visits, sums, allowed = np.zeros((N, A)), np.zeros((N, A, units.low.size)), np.zeros((N, A), dtype=np.bool_)
    np.add.at(visits, (state[:n], seen.actions), 1.0)
    np.add.at(sums, (state[:n], seen.actions), seen.signals)
    np.logical_or.at(allowed, state[:n], seen.masks)
    keys = np.zeros((N, seen.before.shape[1]))
    keys[state[n:]] = seen.after
    keys[state[:n]] = seen.before
    starts = np.bincount(state[seen.first], minlength=N).astype(np.float64)
    parts = _Counted(row, after, times.astype(np.float64), visits, sums, allowed).parts()
    parts |= {"keys": keys + 0.0, "starts": starts, "near": np.array(near), "n0": np.array(CERTAIN)}
    off = ((seen.signals - parts["mean"].reshape(N * A, -1)[pair]) ** 2).sum(axis=0)
    parts["sure"] = np.array(
        bool((off <= MOST_UNCERTAIN * (seen.signals**2).sum(axis=0)).all() and N <= MOST_NEW * len(visited))
    )
    lead = np.ones(keys.shape[1], dtype=np.bool_) if near else leading(keys, row, after, A)
    if not lead.all():
        pair, like, follows = led(keys, lead, row, after, visits)
        order = np.argsort(np.concatenate([row, pair]), kind="stable")
        parts["row"] = np.concatenate([row, pair])[order]
        parts["after"] = np.concatenate([after, follows])[order]
        parts["times"] = np.concatenate([parts["times"], np.ones(len(pair))])[order]
        mean = parts["mean"].reshape(N * A, -1)
        mean[pair] = mean[like]
    return CountModel(units, parts | {"lead": lead})


class CountModel:
    """Rows from counts; the last prototype is the end.

    The next state of a pair seen n times is unknown with share n0/(n + n0). Where all repeated visits saw the same next state
    n0 is small: one visit says nearly all.
    """

    def __init__(self, units: Units, parts: Arrays) -> None:
        self.units, self.parts = units, parts
        n, A = parts["visits"].shape
        self.n = n + 1
        self.starts = np.append(parts["starts"], 0.0) / parts["starts"].sum()
        self.place: dict[int, int] = {}
        self.keyed: dict[bytes, int] = {}
        self.led: dict[bytes, int] = {}
        if "keys" in parts:
            self.keyed = {key.tobytes(): place for place, key in enumerate(parts["keys"])}
            most = np.argsort(parts["visits"].sum(axis=1), kind="stable")  # the one seen most is written last
            leads = parts["keys"][:, parts["lead"]] if not parts["lead"].all() else parts["keys"][:0]
            self.led = {leads[place].tobytes(): int(place) for place in most[: len(leads)]}
        else:
            self.place = {state: place for place, state in enumerate(parts["states"].tolist())}
        totals = np.bincount(parts["row"], weights=parts["times"], minlength=n * A)
        weight = parts["times"] / totals[parts["row"]]
        first = np.searchsorted(parts["row"], np.arange((n + 1) * A + 1))
        n0, J = float(parts["n0"]), parts["mean"].shape[2]
        unknown = np.append(n0 / (np.maximum(parts["visits"], totals.reshape(n, A)) + n0), np.zeros((1, A)))
        signal = np.concatenate([np.clip(units.of(parts["mean"]), 0.0, 1.0), np.zeros((1, A, J))])
        allowed = np.concatenate([parts["allowed"], np.ones((1, A), dtype=np.bool_)])
        self._rows = ModelRows(
            first.astype(np.int64),
            parts["after"].astype(np.int32),
            weight.astype(np.float32),
            unknown,
            unknown,
            signal,
            allowed,
            np.zeros((n + 1) * A),
            np.arange(n + 1) == n,
            np.zeros((n + 1, J)),
            np.zeros((0, (n + 1) * A), np.float32),
            np.zeros((n + 1, 0), np.float32),
            *no_pools(),
        )

    def rows(self) -> ModelRows:
        """The model as sparse rows."""
        return self._rows

    def values(self, observation: Observation, h: int, wish: Wish, values: PlanValues) -> Singles | None:
        """Q (J,A) at an observation and step; None where nothing is known.

        Args:
            observation: as the mind sees it.
            h: the step, from 0.
            wish: prices and sharpness.
            values: of the steps after.
        """
        place = self._find(np.asarray(observation, dtype=np.float64)) if self.keyed else self.place.get(int(observation))
        if place is None:
            return None
        Q = np.zeros(self._rows.signal.shape[:0:-1], np.float32)
        action_values(self._rows, wish, values.V[h + 1], len(values.coef) - h, Q, (place, place + 1))
        return Q

    def explored(self, chances: Array, could: Flags, observation: Observation) -> Array:
        """The chances (A,), half of them spread evenly where a vector or its likeliest action is new.

        The plan does not change within an episode: what moves nothing would be tried again until the episode ends.

        Args:
            chances: (A,) of the soft-max.
            could: (A,) which actions can be taken.
            observation: as the mind sees it.
        """
        if not self.parts.get("sure", False):
            return chances
        place = self.keyed.get((np.asarray(observation, dtype=np.float64) + 0.0).tobytes())
        if place is not None and self.parts["visits"][place, int(chances.argmax())] > 0.0:
            return chances
        return np.asarray(0.5 * chances + 0.5 * could / could.sum(), dtype=np.float64)

    def work(self, horizon: int) -> int:
        """Pairs and steps of one pass."""
        return self.parts["visits"].size * horizon

    def passes(self, horizon: int) -> int:
        """How many passes a search of a price may take: more for tables of vectors, as far as they are so little work."""
        return int(np.clip(_WORK // self.work(horizon), PASSES, _PASSES)) if self.keyed else PASSES

    def knows(self, played: PlayedEpisode) -> bool:
        """Whether every pair of an episode was tried before."""
        seen = zip(np.asarray(played.observations, dtype=np.float64) + 0.0, played.actions, strict=False)
        places = ((self.keyed.get(vector.tobytes()), action) for vector, action in seen)
        return all(place is not None and self.parts["visits"][place, action] > 0.0 for place, action in places)

    def _find(self, vector: Array) -> int | None:
        """The place of a vector, or of one with the same leading coordinates, or of the nearest that was seen.

        For the nearest each coordinate is as wide as its range.
        """
        place = self.keyed.get((vector + 0.0).tobytes())
        if place is None and self.led:
            place = self.led.get((vector[self.parts["lead"]] + 0.0).tobytes())
        if place is None and self.parts["near"]:
            keys = self.parts["keys"]
            wide = np.maximum(np.ptp(keys, axis=0), 1e-12)
            place = int((((keys - vector) / wide) ** 2).sum(axis=1).argmin())
        return place

    def describe(self) -> list[str]:
        """What was found, one line each."""
        pairs, n0 = int((self.parts["visits"] > 0).sum()), float(self.parts["n0"])
        return [
            f"states: {self.n - 1:,} seen, {pairs:,} pairs, {len(self.parts['row']):,} transitions",
            f"counts: shared by all steps; a pair seen n times is unknown with share n0/(n + n0), n0 = {n0:.2g}",
        ]


def _surprise(row: Integers, times: Array, n_rows: int) -> float:
    """n0: how many visits the guess "anything may follow" is worth, from 0.05 where next states never differed, to 1."""
    total, most = np.zeros(n_rows), np.zeros(n_rows)
    np.add.at(total, row, times)
    np.maximum.at(most, row, times)
    again = total >= 2
    if not again.any():
        return 1.0
    return float(np.clip(4.0 * (total - most)[again].sum() / (total - 1.0)[again].sum(), 0.05, 1.0))
