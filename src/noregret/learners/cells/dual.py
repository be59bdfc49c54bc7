"""Prices of constraints found inside the planner: the least price at which the estimate, corrected by what was seen, is enough.

For each constraint, Ĝ(Y) is the total that the model expects of the plan for price Y. Each episode played tells how far the
model is off: *gap* is the running mean of observed - Ĝ. So the plan must reach Ĝ(Y) ≥ bound + margin - gap, and Y is searched
anew for every plan: nothing winds up. A *debt*, the sum of 2% of what each episode missed (never below 0), is added to it:
where the model is wrong for ever it grows until the observed totals reach the bound. Where no total can
reach the margin too, as for a limit of 0, an episode that meets the bound lets the debt fade.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.problems.base import Array

#: Episodes over which the gap is averaged.
_WINDOW = 20
#: The share of what an episode missed that is added to the debt.
_INTEREST = 0.02
#: The share of the scale that does not matter.
_CLOSE = 0.01
#: The gap alone asks for at most this share of the scale beyond the bound.
_REACH = 0.7
#: A doubling of the price that wins less than this share of the scale is not worth it, once the estimate meets the bound.
_GAIN = 0.05
#: Passes for one price, and rounds over all prices where there are several.
_PASSES, _ROUNDS = 5, 3


class Aim(NamedTuple):
    """What prices are searched for; all (m,)."""

    bounds: Array  # what observed totals are to reach
    scale: Array  # what counts as much
    least: Array  # the least price
    most: Array  # the largest price
    top: Array  # the largest total that the range of a step allows


class Dual:
    """Prices, and what is known of the model's error.

    Args:
        m: number of constraints.
        margin: the share of the scale that is aimed at beyond the bound.
    """

    def __init__(self, m: int, margin: float) -> None:
        self.margin, self.seen = margin, 0
        self.Y, self.estimate = np.zeros(m), np.full(m, np.nan)
        self.gap, self.variance, self.debt = np.zeros(m), np.zeros(m), np.zeros(m)

    def observe(self, totals: Array, aim: Aim) -> None:
        """Learn from the totals (m,) of an episode."""
        if np.isnan(self.estimate).any():
            return
        self.seen += 1
        n = min(self.seen, _WINDOW)
        off = totals - self.estimate - self.gap
        self.gap = self.gap + off / n
        self.variance = self.variance + (off * off - self.variance) / n
        short = aim.bounds + self.margin * aim.scale - totals
        full = (totals >= aim.bounds) & (aim.bounds + self.margin * aim.scale > aim.top)  # met, and more is not possible
        change = np.where(full, -self.debt, short)
        self.debt = np.clip(self.debt + _INTEREST * change, 0.0, 2.0 * aim.scale + np.abs(self.gap))

    def needed(self, aim: Aim) -> Array:
        """(m,) what the estimate is to reach."""
        beyond = np.minimum(self.margin * aim.scale - self.gap, _REACH * aim.scale)
        return np.asarray(aim.bounds + beyond + self.debt, dtype=np.float64)

    def band(self, aim: Aim) -> Array:
        """(m,) how far an estimate may lie from what is needed without a new search."""
        return np.asarray(np.maximum(_CLOSE * aim.scale, 0.5 * np.sqrt(self.variance / _WINDOW)), dtype=np.float64)

    def off(self, aim: Aim) -> bool:
        """Whether the plan in use misses what is now needed, or gives more than that for a price."""
        short = self.needed(aim) - self.estimate
        return bool(((np.abs(short) >= self.band(aim)) & ((short > 0.0) | (self.Y > aim.least))).any())

    def settle(self, evaluate: Callable[[Array], Array], aim: Aim, fresh: bool) -> None:
        """Search all prices, one after the other, a few rounds.

        Args:
            evaluate: makes a plan for prices (m,) and returns its estimated totals.
            aim: what is searched for.
            fresh: whether the model is new, so that the estimate must be made anew.
        """
        self.Y = np.maximum(self.Y, aim.least)
        last = [self.Y.copy()]

        def totals(Y: Array) -> Array:
            last[0] = Y.copy()
            return evaluate(Y)

        if fresh:
            self.estimate = totals(self.Y)
        for _ in range(1 if len(self.Y) == 1 else _ROUNDS):
            before = self.Y.copy()
            for i in range(len(self.Y)):
                self._settle_one(i, totals, aim)
            if (before == self.Y).all():
                break
        if (last[0] != self.Y).any():
            self.estimate = totals(self.Y)

    def _settle_one(self, i: int, totals: Callable[[Array], Array], aim: Aim) -> None:
        """Search price i by growing or halving, then regula falsi; the estimate rises with the price."""
        needed, least, most = float(self.needed(aim)[i]), float(aim.least[i]), float(aim.most[i])
        close = max(_CLOSE * float(aim.scale[i]), 0.3 * float(self.band(aim)[i]))
        gain = _GAIN * float(aim.scale[i]) * max(0.0, 1.0 - float(self.debt[i] / (0.25 * aim.scale[i])))
        low: tuple[float, float] | None = None  # a price that is too low and what it lacks
        high: tuple[float, float] | None = None
        full = bool(self.debt[i] <= close and self.gap[i] >= -close)  # what was played gives no reason to ask for more
        Y, factor, found = float(self.Y[i]), 2.0, self.estimate
        low_found = found
        for _ in range(_PASSES):
            short = needed - float(found[i])
            if full and found[i] >= aim.top[i] - close:  # no plan can give more, so a lower price may do
                short = min(short, 0.0)
                if least >= Y:
                    break
            elif abs(short) <= close or (short < 0.0 and least >= Y):
                break
            if short > 0.0:
                meets = found[i] > aim.bounds[i] or found[i] >= aim.top[i] - close
                if low is not None and meets and low[1] - short < gain * math.log2(max(Y, 0.05) / max(low[0], 0.05)):
                    Y, found = low[0], low_found  # more buys nothing
                    break
                low, low_found = (Y, short), found
            else:
                high = (Y, short)
            if low is not None and high is not None:
                part = low[1] / (low[1] - high[1])
                Y = low[0] + (high[0] - low[0]) * min(max(part, 0.2), 0.8)
            elif low is not None:
                if most <= Y:
                    break
                Y, factor = min(max(factor * Y, 0.1), most), 4.0
            else:
                Y = max(Y / 2.0 if Y > 0.02 else 0.0, least)
            prices = self.Y.copy()
            prices[i] = Y
            found = totals(prices)
        self.Y[i], self.estimate = Y, found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is known, by name."""
        names = ("Y", "estimate", "gap", "variance", "debt")
        return {name: getattr(self, name).copy() for name in names} | {"seen": np.array(self.seen)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave."""
        for name in ("Y", "estimate", "gap", "variance", "debt"):
            setattr(self, name, arrays[name].copy())
        self.seen = int(arrays["seen"])
