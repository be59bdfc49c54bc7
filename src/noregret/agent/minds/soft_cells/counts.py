"""A finite model of a world whose observations are numbers: counts of what followed each pair, shared by all steps."""

from __future__ import annotations

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells.history import Units
from noregret.agent.minds.soft_cells.kernels.rows import ModelRows
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish, action_values
from noregret.agent.minds.soft_cells.types import Array, Arrays, Integers, Observation, Singles
from noregret.problems.worlds import WorldSpec

#: Distinct transitions counted, at most; later ones count as visits only.
MOST_TRANSITIONS = 200_000


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
        n, A, stride = len(self.place), self.spec.n_actions, self.budget + 1
        keys = np.array(sorted(self.next), dtype=np.int64)
        times = np.array([self.next[key] for key in keys.tolist()], dtype=np.float64)
        row, after = keys // stride, keys % stride
        after = np.where(after == self.budget, n, after)
        visits = self.visits[:n].copy()
        n0 = _surprise(row, times, n * A)
        per_action = self.sums[:n].sum(axis=0) / np.maximum(visits.sum(axis=0), 1.0)[:, None]
        unseen = visits.sum(axis=0) == 0
        per_action[unseen] = self.sums[:n].sum(axis=(0, 1)) / max(visits.sum(), 1.0)
        mean = np.where(visits[:, :, None] > 0.0, self.sums[:n] / np.maximum(visits, 1.0)[:, :, None], per_action)
        states = np.array(list(self.place), dtype=np.int64)
        allowed = self.allowed[:n].copy()
        allowed[~allowed.any(axis=1)] = True
        parts = {
            "states": states,
            "row": row,
            "after": after,
            "times": times,
            "visits": visits,
            "mean": mean,
            "allowed": allowed,
            "starts": self.starts[:n].copy(),
            "n0": np.array(n0),
        }
        return CountModel(units, parts)

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
        self.place = {state: place for place, state in enumerate(parts["states"].tolist())}
        totals = np.bincount(parts["row"], weights=parts["times"], minlength=n * A)
        weight = parts["times"] / totals[parts["row"]]
        first = np.searchsorted(parts["row"], np.arange((n + 1) * A + 1))
        n0, J = float(parts["n0"]), parts["mean"].shape[2]
        unknown = np.append(n0 / (parts["visits"] + n0), np.zeros((1, A)))
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
        )

    def rows(self) -> ModelRows:
        """The model as sparse rows."""
        return self._rows

    def values(self, observation: Observation, h: int, wish: Wish, values: PlanValues) -> Singles | None:
        """Q (J,A) at an observation and step; None where it was never seen.

        Args:
            observation: as the mind sees it.
            h: the step, from 0.
            wish: prices and sharpness.
            values: of the steps after.
        """
        place = self.place.get(int(observation))
        if place is None:
            return None
        Q = np.zeros(self._rows.signal.shape[:0:-1], np.float32)
        action_values(self._rows, wish, values.V[h + 1], len(values.coef) - h, Q, (place, place + 1))
        return Q

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
