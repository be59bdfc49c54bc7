r"""From the raw rewards and costs of an environment to numbers in [0,1], which the algorithm needs.

With a range [lo, hi] a reward or utility v becomes (v - lo)/(hi - lo). A cost c becomes 1 - (c - lo)/(hi - lo). Over H steps a
threshold on the raw total, Σv ≥ threshold, becomes b = (threshold - H·lo)/(hi - lo). A limit Σc ≤ limit becomes b = H -
(limit - H·lo)/(hi - lo). After an early end every missing step counts as a raw reward and a raw cost of 0; these zeros are
mapped like all other numbers. Ranges may be None where a learner finds them from data; then nothing is mapped here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, SupportsFloat, cast

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError, shown
from noregret.problems.checks import integer
from noregret.problems.validation import Array, Mask, constraint_names, floats

#: A value outside its range by at most this share of it is rounding.
SLACK = 1e-6
#: Rewards and costs of a step, their ranges and limits are not larger: squares of their totals can be computed and saved.
MOST = 1e25

Range = tuple[float, float]


@dataclass(frozen=True)
class Objectives:
    """Horizon, ranges and limits: everything between raw numbers and [0,1]. :meth:`make` builds and checks one.

    Args:
        horizon: H.
        reward_range: (low, high) of raw rewards; None if unknown.
        utility_ranges: (low, high) of each raw utility or cost; None if unknown.
        limits: what each raw total is held to.
        costs: whether ``limits`` are limits from above on costs; if not, they are thresholds from below on utilities.
        names: one for each constraint.
    """

    horizon: int
    reward_range: Range | None
    utility_ranges: tuple[Range, ...] | None
    limits: tuple[float, ...]
    costs: bool
    names: tuple[str, ...]

    @staticmethod
    def make(
        horizon: int,
        *,
        threshold: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        reward_range: Sequence[float] | None = (0.0, 1.0),
        utility_range: Sequence[float] | Sequence[Sequence[float] | None] | None = (0.0, 1.0),
        names: Sequence[str] = (),
    ) -> Objectives:
        """Check the parts and put them together; exactly one of ``threshold`` and ``limit`` is needed.

        Args:
            horizon: H.
            threshold: the least raw total of each utility.
            limit: the most raw total of each cost.
            reward_range: (low, high) of raw rewards, or None.
            utility_range: (low, high) of raw utilities or costs, one for all or one for each, or None.
            names: one for each constraint; made up where none are given.

        Raises:
            InputError: a part cannot be used, or no episode within the ranges could meet the constraint.

        >>> Objectives.make(10, limit=4.0, utility_range=(0.0, 2.0)).thresholds.tolist()
        [8.0]
        """
        if (threshold is None) == (limit is None):
            given = "neither" if limit is None else "both"
            raise InputError(f"threshold and limit: {given} given; expected threshold= for utilities or limit= for costs")
        costs = limit is not None
        word, value = ("limit", limit) if costs else ("threshold", threshold)
        assert value is not None
        limits = np.atleast_1d(floats(word, value))
        if limits.ndim != 1 or not len(limits) or isinstance(value, bool):
            raise InputError(f"{word} is {value!r}; expected a finite number or one for each constraint")
        if not (np.abs(limits) <= MOST).all():
            raise InputError(f"{word} is {shown(value)}; expected at most {MOST:g} in size")
        m = len(limits)
        several = utility_range is not None and np.asarray(utility_range).ndim == 2
        ranges: list[object] = list(utility_range or ()) if several else [utility_range] * m
        if len(ranges) != m:
            raise InputError(f"utility_range has {len(ranges)} ranges; expected {m}")
        H, called = integer("horizon", horizon, 1), constraint_names(names, m, "cost" if costs else "utility")
        spans = None if utility_range is None else tuple(_range("utility_range", r) for r in ranges)
        rewards = None if reward_range is None else _range("reward_range", reward_range)
        made = Objectives(H, rewards, spans, tuple(limits.tolist()), costs, called)
        if spans is not None:
            made._check_within_reach(word, spans)
        return made

    def check_signs(self) -> None:
        """Refuse a negative limit where no range says that a step can cost less than 0: no play would stay below it."""
        low = min(self.limits)
        if self.costs and self.utility_ranges is None and low < 0.0:
            raise InputError(
                f"limit is {low:g}; expected at least 0, or also utility_range=(low, high), in a shell --cost-range, where a "
                f"step can cost less than 0"
            )

    def _check_within_reach(self, word: str, ranges: tuple[Range, ...]) -> None:
        """Refuse a limit below, or a threshold above, all totals that the range allows."""
        beyond = np.flatnonzero(self.thresholds > self.horizon * (1.0 + 1e-9))
        if len(beyond):
            i = int(beyond[0])
            low, high = ranges[i]
            name = word if len(self.limits) == 1 else f"{word}[{i}]"
            end = f"at least {self.horizon * low:g}" if self.costs else f"at most {self.horizon * high:g}"
            steps = f"{self.horizon} steps in utility_range ({low:g}, {high:g})"
            raise InputError(f"{name} is {self.limits[i]:g}; expected {end}, as {steps} allow")

    @property
    def thresholds(self) -> Array:
        """The thresholds b (m,), for values in [0,1]; ranges must be known."""
        low, high = np.array(self.utility_ranges).T
        share = (np.array(self.limits) - self.horizon * low) / (high - low)
        return np.asarray(self.horizon - share if self.costs else share)

    def check(self, step: int, reward: object, values: ArrayLike) -> tuple[float, Array]:
        """Give a raw reward and m raw utilities or costs as numbers.

        Args:
            step: h, for the error message.
            reward: raw.
            values: m raw utilities or costs.

        Raises:
            InputError: a value is not finite, or there are not m of them.
        """
        numbers, m = np.atleast_1d(np.asarray(values, dtype=np.float64)), len(self.limits)
        if numbers.shape != (m,):
            raise InputError(f"step {step}: {self.word} has shape {numbers.shape}; expected ({m},), one for each constraint")
        try:
            number = float(cast(SupportsFloat, reward))
        except (TypeError, ValueError):
            raise InputError(f"step {step}: reward is {shown(reward)}; expected a finite number") from None
        for what, value in (("reward", number), *((f"{self.word} {i}", each) for i, each in enumerate(numbers.tolist()))):
            if not math.isfinite(value):
                raise InputError(f"step {step}: {what} is {value:g}; expected a finite number")
            if abs(value) > MOST:
                raise InputError(f"step {step}: {what} is {value:g}; expected a number of at most {MOST:g} in size")
        return number, numbers

    def to_unit(self, step: int, reward: object, values: ArrayLike) -> Array:
        """Map a raw reward and m raw utilities or costs to numbers in [0,1], (1+m,).

        Args:
            step: h, for the error message.
            reward: raw.
            values: m raw utilities or costs.

        Raises:
            InputError: a value is outside its range, or there are not m of them.
        """
        earned, numbers = self.check(step, reward, values)
        out = np.empty(1 + len(numbers))
        for i, (number, span) in enumerate(zip((earned, *numbers.tolist()), self.ranges, strict=True)):
            assert span is not None
            low, high = span
            out[i] = (number - low) / (high - low)
            if not -SLACK <= out[i] <= 1.0 + SLACK:
                raise InputError(self.outside(step, i, number))
        if self.costs:
            out[1:] = 1.0 - out[1:]
        return np.clip(out, 0.0, 1.0)

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        """The range of the reward, then of each utility or cost."""
        return (self.reward_range, *(self.utility_ranges or (None,) * len(self.limits)))

    def outside(self, step: int, i: int, value: float) -> str:
        """Say that the reward (i = 0) or utility or cost i - 1 of a step is outside its range.

        Args:
            step: h, from 0.
            i: 0 for the reward, 1 + j for utility or cost j.
            value: what was seen.
        """
        what = ("reward", "reward_range") if i == 0 else (f"{self.word} {i - 1}", "utility_range")
        low, high = self.ranges[i] or (-math.inf, math.inf)
        return f"step {step}: {what[0]} is {value:g}; expected {low:g} to {high:g} ({what[1]})"

    @property
    def absorbing(self) -> Array | None:
        """What a raw reward of 0 and raw utilities or costs of 0 are in [0,1], (1+m,); None where a range does not hold 0."""
        try:
            return self.to_unit(0, 0.0, np.zeros(len(self.limits)))
        except InputError:
            return None

    def meets(self, totals: Array) -> Mask:
        """Tell which of the raw totals (..., m) meet their constraint."""
        return totals <= np.array(self.limits) if self.costs else totals >= np.array(self.limits)

    def stated(self, at_least: str = "at least", at_most: str = "at most") -> list[str]:
        """Say each constraint in a few words, such as "cost at most 2"."""
        sense = at_most if self.costs else at_least
        return [f"{name} {sense} {limit:g}" for name, limit in zip(self.names, self.limits, strict=True)]

    @property
    def word(self) -> str:
        """What is limited: "cost" or "utility"."""
        return "cost" if self.costs else "utility"

    def plain(self) -> dict[str, object]:
        """Give all fields as plain values, for JSON."""
        return asdict(self)

    @staticmethod
    def from_plain(data: dict[str, Any]) -> Objectives:
        """Make the objectives that :meth:`plain` described, with all checks."""
        stated = {"limit" if data["costs"] else "threshold": data["limits"], "utility_range": data["utility_ranges"]}
        return Objectives.make(data["horizon"], reward_range=data["reward_range"], names=data["names"], **stated)


def _range(name: str, value: object) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in cast(Iterable[float], value))
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; expected (low, high)") from None
    if not (-MOST <= low < high <= MOST):
        raise InputError(f"{name} is {shown(value)}; expected finite numbers, low below high, at most {MOST:g} in size")
    return low, high
