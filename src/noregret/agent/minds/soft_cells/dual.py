"""Prices of constraints: the least price at which the plan's estimate, corrected by what was seen, is enough.

For each constraint, Ĝ(Y) is the total that the model expects of the plan for price Y. Each episode played tells how far the
model is off: *gap* is the running mean of observed - Ĝ. So the plan must reach Ĝ(Y) ≥ bound + margin - gap, and Y is searched
anew for every plan: nothing winds up. A *debt* is added to what the plan must reach: the sum of 2% of what each episode missed,
never below 0. Where the model stays wrong, the debt grows until the observed totals reach the bound. Where no total can reach
bound + margin, as for a limit of 0, an episode that meets the bound lets the debt fade.

Two widths work together. A new search begins where the estimate leaves the *band* around what is needed: 1% of the scale, or
half the standard error of the gap where that is more. A search ends when the estimate is *close* to what is needed: within 1%
of the scale, or 0.3 of the band where that is more. Close is never wider than the band: a search that succeeds is not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.types import Array, Arrays

#: Episodes over which the gap is averaged.
_WINDOW = 20
#: The share of what an episode missed that is added to the debt.
_INTEREST = 0.02
#: An estimate is close to what is needed within this share of the scale, or this share of the band where that is more.
_CLOSE, _CLOSE_IN_BAND = 0.01, 0.3
#: What exact plans owe at most, in scales. It is paid by whatever plays, also where a table is not exact meanwhile.
_OWED = 3.0
#: Where a standard error of the gap is more than this share of the scale, that what comes is better than the estimate is
#: believed only beyond the rest of that error.
_LUCKY = 0.1
#: The gap alone asks for at most this share of the scale beyond the bound.
_REACH = 0.7
#: Once the estimate meets the bound, a doubling of the price that wins less than this share of the scale is not worth it. A
#: debt makes that share smaller; from a debt of the second share of the scale on, every win is worth it.
_GAIN, _NO_GAIN = 0.05, 0.25
#: Where doublings are counted, prices below the first count as the first. Growing begins at the second. A price of at most the
#: third is not halved but becomes 0.
_LOW_PRICE, _FIRST_PRICE, _NO_PRICE = 0.05, 0.1, 0.02
#: Between a price too low and one too high the next price stays this far from both, in shares of their distance.
_INSIDE = 0.2
#: Passes for one price, and rounds over all prices where there are several.
PASSES, _ROUNDS = 5, 3


class Aim(NamedTuple):
    """What prices are searched for; all (m,)."""

    bounds: Array  # what observed totals are to reach
    scale: Array  # the unit in which what is missing is judged
    least: Array  # the least price
    most: Array  # the largest price
    top: Array  # the largest total that the range of a step allows
    passes: int = PASSES  # for one price
    exact: bool = False  # whether what comes is what is estimated, so that two plans can be mixed


class PriceSearch:
    """Prices, and what is known of the model's error.

    Args:
        m: number of constraints.
        margin: the share of the scale that is aimed at beyond the bound.
    """

    def __init__(self, m: int, margin: float) -> None:
        self.margin, self.seen = margin, 0
        self.Y, self.estimate = np.zeros(m), np.full(m, np.nan)
        self.gap, self.variance, self.debt = np.zeros(m), np.zeros(m), np.zeros(m)
        self.left = np.zeros(m)  # by how much episodes surpassed what they are to reach, all in all; where plans are exact
        #: Price and estimate of two plans: one that does not reach what is needed and one that surpasses it; nan for none.
        self.sides = np.full((2, 2), np.nan)

    def account(self, totals: Array, aim: Aim) -> None:
        """Count what an episode of such totals (m,) leaves for others, or takes from them, whatever played it."""
        if aim.exact or self.owes:
            asked = aim.bounds + self.margin * aim.scale
            most = np.fmax(aim.scale, asked - self.sides[0, 1])
            self.left = np.clip(self.left + totals - asked, -_OWED * aim.scale, most)

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
        best_possible = (totals >= aim.bounds) & (aim.bounds + self.margin * aim.scale > aim.top)
        change = np.where(best_possible, -self.debt, short)
        self.debt = np.clip(self.debt + _INTEREST * change, 0.0, 2.0 * aim.scale + np.abs(self.gap))

    def forget(self) -> None:
        """Forget how far another kind of model was off."""
        for known in (self.gap, self.variance, self.debt):
            known[:] = 0.0
        self.seen = 0

    def limit(self, forget: bool) -> None:
        """Other bounds hold: no two plans are known for them. ``forget`` what is owed to the earlier ones."""
        self.debt, self.left = self.debt * (not forget), self.left * (not forget)
        self.sides = np.full((2, 2), np.nan)

    @property
    def owes(self) -> bool:
        """Whether episodes fell short of what they are to reach, all in all."""
        return bool((self.left < 0.0).any())

    def needed(self, aim: Aim) -> Array:
        """(m,) what the estimate is to reach."""
        luck = np.maximum(np.sqrt(self.variance / _WINDOW) - _LUCKY * aim.scale, 0.0)
        gap = np.where(self.gap > 0.0, np.maximum(self.gap - luck, 0.0), self.gap)
        beyond = np.minimum(self.margin * aim.scale - gap, _REACH * aim.scale)
        return np.asarray(aim.bounds + beyond + self.debt, dtype=np.float64)

    def band(self, aim: Aim) -> Array:
        """(m,) how far an estimate may lie from what is needed without a new search."""
        return np.asarray(np.maximum(_CLOSE * aim.scale, 0.5 * np.sqrt(self.variance / _WINDOW)), dtype=np.float64)

    def off(self, aim: Aim) -> bool:
        """Whether the plan in use misses what is now needed, or gives more than needed at a price that could be lower."""
        if aim.exact and not np.isnan(self.sides).any():
            return False
        short = self.needed(aim) - self.estimate
        return bool(((np.abs(short) >= self.band(aim)) & ((short > 0.0) | (self.Y > aim.least))).any())

    def settle(self, evaluate: Callable[[Array], Array], aim: Aim, fresh: bool) -> None:
        """Search all prices, one after the other, in a few rounds.

        Args:
            evaluate: makes a plan for prices (m,) and returns its estimated totals.
            aim: what is searched for.
            fresh: whether the model is new, so that the estimate must be made anew.
        """
        self.Y, self.sides = np.maximum(self.Y, aim.least), np.full((2, 2), np.nan)
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
        self.mix(evaluate, aim)

    def mix(self, evaluate: Callable[[Array], Array], aim: Aim) -> None:
        """Of two plans on both sides of what is needed, take the one whose turn it is: the dearer one where enough is left.

        Args:
            evaluate: makes a plan for prices (m,) and returns its estimated totals.
            aim: what was searched for.
        """
        if not aim.exact or np.isnan(self.sides).any():
            return
        dear, other = self.sides
        Y, _ = dear if self.left[0] + dear[1] >= self.needed(aim)[0] else other
        if Y != self.Y[0]:
            self.Y = np.array([Y])
            self.estimate = evaluate(self.Y)

    def _settle_one(self, i: int, totals: Callable[[Array], Array], aim: Aim) -> None:
        """Search price i; the estimate rises with the price.

        The price grows or is halved until one price was too low and another too high; then regula falsi. The search ends early
        where the estimate is close, where the price cannot go further, or where a higher price buys nothing: then the lower
        price is taken back.
        """
        needed, least, most = float(self.needed(aim)[i]), float(aim.least[i]), float(aim.most[i])
        close = max(_CLOSE * float(aim.scale[i]), _CLOSE_IN_BAND * float(self.band(aim)[i]))
        gain = _GAIN * float(aim.scale[i]) * max(0.0, 1.0 - float(self.debt[i] / (_NO_GAIN * aim.scale[i])))
        low: tuple[float, float] | None = None  # the last price that was too low, and what its plan lacks
        high: tuple[float, float] | None = None  # the last price that was too high, and what its plan lacks: below 0
        content = bool(self.debt[i] <= close and self.gap[i] >= -close)  # what was played gives no reason to ask for more
        Y, factor, estimate = float(self.Y[i]), 2.0, self.estimate
        low_estimate = high_estimate = estimate
        for n in range(aim.passes):
            short = needed - float(estimate[i])
            if content and estimate[i] >= aim.top[i] - close:  # no plan can give more, so a lower price may do
                short = min(short, 0.0)
                if least >= Y:
                    break
            elif abs(short) <= close or (short < 0.0 and least >= Y):
                break
            if short > 0.0:
                meets = estimate[i] > aim.bounds[i] or estimate[i] >= aim.top[i] - close
                if low is not None and meets:
                    doublings = math.log2(max(Y, _LOW_PRICE) / max(low[0], _LOW_PRICE))
                    if low[1] - short < gain * doublings:  # the higher price buys nothing
                        Y, estimate = low[0], low_estimate
                        break
                low, low_estimate = (Y, short), estimate
            else:
                high, high_estimate = (Y, short), estimate
            if low is not None and high is not None:
                part = low[1] / (low[1] - high[1]) if n < PASSES else 0.5
                Y = low[0] + (high[0] - low[0]) * min(max(part, _INSIDE), 1.0 - _INSIDE)
            elif low is not None:
                if most <= Y:
                    break
                Y, factor = min(max(factor * Y, _FIRST_PRICE), most), 4.0
            else:
                Y = max(Y / 2.0 if Y > _NO_PRICE else 0.0, least)
            prices = self.Y.copy()
            prices[i] = Y
            estimate = totals(prices)
        short = needed - float(estimate[i])
        if aim.exact and abs(short) > close:  # the last pass counts, too
            low, low_estimate = ((Y, short), estimate) if short > 0.0 else (low, low_estimate)
            high, high_estimate = ((Y, short), estimate) if short <= 0.0 else (high, high_estimate)
            if low is not None and high is not None:
                self.sides = np.array([[low[0], low_estimate[i]], [high[0], high_estimate[i]]])
        self.Y[i], self.estimate = Y, estimate

    def arrays(self) -> Arrays:
        """All that is known, by name."""
        names = ("Y", "estimate", "gap", "variance", "debt", "left", "sides")
        return {name: getattr(self, name).copy() for name in names} | {"seen": np.array(self.seen)}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        for name in ("Y", "estimate", "gap", "variance", "debt", "left", "sides"):
            setattr(self, name, arrays[name].copy())
        self.seen = int(arrays["seen"])
