"""What an agent's episodes brought so far: raw totals, prices, what was expected, and which part of the world was seen."""

from __future__ import annotations

import numpy as np

from noregret._system.arrays import check_arrays, check_range
from noregret.agent.episodes import totals
from noregret.agent.minds.protocol import Mind, PlayedEpisode
from noregret.errors import InputError
from noregret.gym import Objectives
from noregret.learners.arrays import Numbers
from noregret.metrics import mean_interval
from noregret.problems.base import Array
from noregret.results import History

#: Observations kept to recognise the feature map by.
PROBES = 16
#: The progress bar and the summary tell means of so many episodes.
RECENT, SUMMED = 20, 100
#: Observed totals are far from estimated ones if they differ by this many standard errors and this share of the limit, over at
#: least so many episodes.
ERRORS, SHARE, FEWEST = 4.0, 0.15, 20


class Curve:
    """The learning curve of an agent, in raw units. ``seen`` (2,D) are the least and the largest of what vectors were seen.

    Args:
        objectives: limits and names.
    """

    def __init__(self, objectives: Objectives) -> None:
        self.objectives = objectives
        self.rewards: list[float] = []
        self.values: list[Array] = []
        self.dual: list[Array] = []
        self.estimates: list[Array] = []  # totals that the plan in use was expected to bring; nan where nobody says
        self.lengths: list[int] = []
        self.probes: list[Numbers] = []
        self.seen: Array = np.zeros((2, 0))
        self.logged = 0  # episodes of somebody else, of which nothing else is kept here

    def __len__(self) -> int:
        return len(self.rewards)

    def add(self, played: PlayedEpisode, expected: Array, mind: Mind) -> None:
        """Take in an episode that was learned from.

        Args:
            played: the episode.
            expected: (m,) the totals that were expected of it.
            mind: what learned from it.
        """
        reward, values = totals(played)
        self.rewards.append(reward)
        self.values.append(values)
        self.dual.append(np.array(mind.dual))
        self.estimates.append(np.array(expected))
        self.lengths.append(len(played.actions))

    def look(self, played: PlayedEpisode) -> None:
        """Take note of the part of the world that an episode showed."""
        x = played.observations
        if len(self.probes) < PROBES and (not self.probes or self.probes[0].shape == x.shape[1:]):
            self.probes += list(x[: PROBES - len(self.probes)])
        if x.ndim == 2 and x.dtype.kind == "f":
            low, high = x.min(axis=0), x.max(axis=0)
            if self.seen.shape[1] == len(low):
                low, high = np.minimum(low, self.seen[0]), np.maximum(high, self.seen[1])
            self.seen = np.array([low, high], dtype=np.float64)

    def history(self, learner: str) -> History:
        """The curve as a result like any other."""
        o, shape = self.objectives, (-1, len(self.objectives.limits))
        return History(
            learner, o.names, o.limits, o.costs, np.array(self.rewards), np.array(self.values).reshape(shape),
            np.array(self.dual).reshape(shape), np.array(self.lengths, dtype=np.int64),
        )  # fmt: skip

    # --- in words --------------------------------------------------------------------------------------------------------

    def verdicts(self) -> list[str]:
        """For each limit a line: met or not met, with the mean and its interval over recent episodes, and whether any met it.

        The interval of totals that were never below 0, or never above, does not go there either.
        """
        o, n = self.objectives, min(SUMMED, len(self))
        if not n:
            return [f"not known yet: {stated}" for stated in o.stated()]
        recent = np.array(self.values[-n:])
        found, good, every = mean_interval(recent), o.meets(recent.mean(axis=0)), np.array(self.values)
        low = np.where(every.min(axis=0) >= 0.0, found.low.clip(0.0), found.low)
        high = np.where(every.max(axis=0) <= 0.0, found.high.clip(None, 0.0), found.high)
        return [
            f"{'met' if good[i] else 'not met'}: {o.names[i]} {found.mean[i]:.4g} [{low[i]:.4g}, {high[i]:.4g}], "
            f"{'at most' if o.costs else 'at least'} {limit:g}, over the last {n} episodes{self._never(i, every[:, i])}"
            for i, limit in enumerate(o.limits)
        ]

    def _never(self, i: int, totals: Array) -> str:
        """What is to be known where no episode met a limit: it may be one that none can meet."""
        o, n = self.objectives, len(totals)
        limit = o.limits[i]
        if n < FEWEST or (totals <= limit if o.costs else totals >= limit).any():
            return ""
        least, most = totals.min(), totals.max()
        return f"; none of all {n} met it, {f'the cheapest cost {least:.4g}' if o.costs else f'the best had {most:.4g}'}"

    def doubts(self) -> list[str]:
        """A warning for each constraint whose totals were expected to be others for long.

        Of costs that some episodes do not have, none may come for long by luck: as many as expected vary by their square root.
        """
        known = [i for i, row in enumerate(self.estimates) if np.isfinite(row).all()][-SUMMED // 2 :]
        if len(known) < FEWEST:
            return []
        values = np.array(self.values)
        totals, every = values[known], np.abs(values)
        off = totals - np.array([self.estimates[i] for i in known])
        mean, came = off.mean(axis=0), totals.mean(axis=0)
        event = np.where(every > 0.0, every, np.inf).min(axis=0)  # the least that one costs
        rare = (totals == 0.0).any(axis=0) & np.isfinite(event)
        luck = np.where(rare, np.abs(came - mean) * np.where(rare, event, 0.0), 0.0)
        error = np.sqrt(np.maximum(off.var(axis=0, ddof=1), luck) / len(off))
        size = np.maximum(np.abs(self.objectives.limits), np.abs(came))
        return [
            f"warning: the model is wrong about {name}: over the last {len(known)} episodes it expected "
            f"{came[i] - mean[i]:.4g} on average, {'with what was hoped for, ' * bool(self._never(i, values[:, i]))}and "
            f"{came[i]:.4g} came"
            for i, name in enumerate(self.objectives.names)
            if abs(mean[i]) > max(ERRORS * error[i], SHARE * size[i])
        ]

    def recent(self) -> str:
        """Means of the last episodes, for the progress bar."""
        o, means = self.objectives, np.mean(self.values[-RECENT:], axis=0)
        said = [f"{name}: {mean:.3g} of {limit:g}" for name, mean, limit in zip(o.names, means, o.limits, strict=True)]
        return ", ".join([f"reward {np.mean(self.rewards[-RECENT:]):.4g}", *said])

    # --- in a file -------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Numbers]:
        """All of it as arrays by name."""
        shape = (-1, len(self.objectives.limits))
        return {
            "rewards": np.array(self.rewards, dtype=np.float64), "lengths": np.array(self.lengths, dtype=np.int64),
            "values": np.array(self.values, dtype=np.float64).reshape(shape), "seen": self.seen,
            "duals": np.array(self.dual, dtype=np.float64).reshape(shape),
            "estimates": np.array(self.estimates, dtype=np.float64).reshape(shape),
            "probes": np.array(self.probes) if self.probes else np.zeros(0), "logged": np.array(self.logged),
        }  # fmt: skip

    def restore(self, arrays: dict[str, Numbers]) -> None:
        """Take over what :meth:`arrays` gave.

        Raises:
            InputError: an array is of another shape or type, or says what cannot be.
        """
        n, m, H = len(arrays["rewards"]), len(self.objectives.limits), self.objectives.horizon
        shapes: dict[str, tuple[int, ...]] = {"rewards": (n,), "values": (n, m), "duals": (n, m), "estimates": (n, m)}
        like = {name: np.broadcast_to(0.0, shape) for name, shape in shapes.items()} | {
            "lengths": np.zeros(n, np.int64),
            "logged": np.zeros((), np.int64),
        }
        most = float(np.finfo(np.float64).max)
        bounds = {
            "rewards": (-most, most),
            "values": (-most, most),
            "duals": (-most, most),
            "lengths": (1, H),
            "logged": (0, 1 << 53),
        }
        check_arrays(like, {name: arrays[name] for name in like}, bounds.get, "agent")
        if not (np.isfinite(arrays["estimates"]) | np.isnan(arrays["estimates"])).all():
            raise InputError("agent['estimates'] is not finite; expected numbers, or nan where nothing was expected")
        seen, probes = arrays["seen"], arrays["probes"]
        if seen.ndim != 2 or len(seen) != 2 or seen.dtype != np.float64 or not np.isfinite(seen).all():
            raise InputError(f"agent['seen'] has shape {seen.shape} and type {seen.dtype}; expected two rows of finite numbers")
        if len(probes) > PROBES or probes.dtype.kind not in "biuf" or not np.isfinite(probes).all():
            raise InputError(f"agent['probes'] has {len(probes)} entries; expected at most {PROBES} observations, all finite")
        check_range("agent['seen']", seen[1] - seen[0], (0.0, np.inf))
        self.logged = int(arrays["logged"])
        self.rewards, self.values, self.lengths = arrays["rewards"].tolist(), list(arrays["values"]), arrays["lengths"].tolist()
        self.dual, self.estimates, self.probes, self.seen = (
            list(arrays["duals"]), list(arrays["estimates"]), list(probes), seen
        )  # fmt: skip
