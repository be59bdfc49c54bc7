r"""Raw rewards and costs of an environment, and the same in [0,1] as the algorithm needs them.

With a range [lo, hi] a reward or utility v becomes (v - lo)/(hi - lo), and a cost 1 - (c - lo)/(hi - lo). Over H steps a
threshold on the raw total, Σv ≥ threshold, becomes b = (threshold - H·lo)/(hi - lo), a limit Σc ≤ limit becomes b = H -
(limit - H·lo)/(hi - lo). After an early end every missing step counts as raw 0, reward and cost, and is mapped like all
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.problems.base import Array
from noregret.problems.checks import integer

#: A value outside its range by at most this share of it is rounding.
SLACK = 1e-6


@dataclass(frozen=True)
class Objectives:
    """Horizon, ranges and limits: everything between raw numbers and [0,1].

    ``costs`` says whether the constraints are limits from above on costs (else thresholds from below on utilities).
    """

    horizon: int
    reward_range: tuple[float, float]
    utility_ranges: tuple[tuple[float, float], ...]
    limits: tuple[float, ...]
    costs: bool
    names: tuple[str, ...]

    @staticmethod
    def make(
        horizon: int,
        *,
        threshold: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        reward_range: Sequence[float] = (0.0, 1.0),
        utility_range: Any = (0.0, 1.0),
        names: Sequence[str] = (),
    ) -> Objectives:
        """Check and put together; exactly one of ``threshold`` and ``limit`` is needed."""
        if (threshold is None) == (limit is None):
            given = "neither" if limit is None else "both"
            raise InputError(f"threshold and limit: {given} given; expected threshold= for utilities or limit= for costs")
        word, value = ("limit", limit) if limit is not None else ("threshold", threshold)
        try:
            limits = np.atleast_1d(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"{word} is {value!r}; expected a number or one for each constraint") from None
        if limits.ndim != 1 or not len(limits) or not np.isfinite(limits).all():
            raise InputError(f"{word} is {value!r}; expected a finite number or one for each constraint")
        m = len(limits)
        ranges = list(utility_range) if np.ndim(utility_range) == 2 else [utility_range] * m
        if len(ranges) != m:
            raise InputError(f"utility_range has {len(ranges)} ranges; expected {m}")
        kind = "cost" if limit is not None else "utility"
        called = tuple(names) or ((kind,) if m == 1 else tuple(f"{kind} {i}" for i in range(m)))
        if len(called) != m:
            raise InputError(f"constraint_names has {len(called)} entries; expected {m}")
        made = Objectives(
            horizon=integer("horizon", horizon, 1), reward_range=_range("reward_range", reward_range),
            utility_ranges=tuple(_range("utility_range", r) for r in ranges), limits=tuple(float(v) for v in limits),
            costs=limit is not None, names=called,
        )  # fmt: skip
        made._check_within_reach(word)
        return made

    def _check_within_reach(self, word: str) -> None:
        """Refuse a limit below, or a threshold above, all totals that the range allows."""
        beyond = np.flatnonzero(self.thresholds > self.horizon * (1.0 + 1e-9))
        if len(beyond):
            i = int(beyond[0])
            low, high = self.utility_ranges[i]
            name = word if len(self.limits) == 1 else f"{word}[{i}]"
            end = f"at least {self.horizon * low:g}" if self.costs else f"at most {self.horizon * high:g}"
            steps = f"{self.horizon} steps in utility_range ({low:g}, {high:g})"
            raise InputError(f"{name} is {self.limits[i]:g}; expected {end}, as {steps} allow")

    @property
    def thresholds(self) -> Array:
        """B (m,), for values in [0,1]."""
        H, out = self.horizon, []
        for limit, (low, high) in zip(self.limits, self.utility_ranges, strict=True):
            share = (limit - H * low) / (high - low)
            out.append(H - share if self.costs else share)
        return np.array(out)

    def to_unit(self, step: int, reward: Any, values: Any) -> Array:
        """(1+m,): a raw reward and m raw utilities or costs as numbers in [0,1], or an error that names step and value."""
        m = len(self.limits)
        given = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if given.shape != (m,):
            raise InputError(f"step {step}: {self._word} has shape {given.shape}; expected ({m},), one for each constraint")
        out = np.empty(1 + m)
        ranges = (self.reward_range, *self.utility_ranges)
        for i, (value, (low, high)) in enumerate(zip((reward, *given), ranges, strict=True)):
            number = float(value)
            out[i] = (number - low) / (high - low)
            if not -SLACK <= out[i] <= 1.0 + SLACK:
                what = ("reward", "reward_range") if i == 0 else (f"{self._word} {i - 1}", "utility_range")
                raise InputError(f"step {step}: {what[0]} is {number:g}; expected {low:g} to {high:g} ({what[1]})")
        if self.costs:
            out[1:] = 1.0 - out[1:]
        return np.clip(out, 0.0, 1.0)

    @property
    def absorbing(self) -> Array | None:
        """(1+m,): raw zeros as numbers in [0,1]; None where a range does not hold 0."""
        try:
            return self.to_unit(0, 0.0, np.zeros(len(self.limits)))
        except InputError:
            return None

    def meets(self, totals: Array) -> Any:
        """Which of the raw totals (..., m) meet their constraint."""
        return totals <= np.array(self.limits) if self.costs else totals >= np.array(self.limits)

    @property
    def _word(self) -> str:
        return "cost" if self.costs else "utility"

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @staticmethod
    def from_plain(data: dict[str, Any]) -> Objectives:
        """Back from :meth:`plain`."""
        word = {"limit" if data["costs"] else "threshold": data["limits"]}
        return Objectives.make(
            data["horizon"],
            reward_range=data["reward_range"],
            utility_range=data["utility_ranges"],
            names=data["names"],
            **word,
        )


def _range(name: str, value: Any) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; expected (low, high)") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"{name} is {value!r}; expected finite numbers, low below high")
    return low, high
