"""Guard rails: reports that cannot be right go into quarantine, and a fallback decides where a plan should not.

A report is held back if its reward or one of its costs lies outside the range that was declared for it or, where none was,
further outside of all that was learned from than ``widths`` times its size. Until enough was learned, what this process let
pass stands for it, and ten times as far is allowed. What is held back is not learned until somebody releases it. If more than
``alarm`` of the last reports were held back, the range is likely to be wrong, or the world has changed: then the learner says
so, and everybody who watches it sees it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noregret.errors import InputError, shown
from noregret.gym.spaces import Mask
from noregret.live.spec import LiveSpec
from noregret.problems.base import Array

#: Episodes learned before ranges count as learned, and reports whose share in quarantine is looked at.
ENOUGH, WINDOW = 20, 200
#: Before that: reports that must have passed before one is judged by them, and how many times further than later it may lie.
FEW, EARLY = 20, 10.0

#: A fixed action; or a function of observation, step and mask that gives an action or the probabilities of all.
Fallback = Any


class Guard:
    """Judges reports.

    Args:
        spec: names, and ranges that were declared.
        widths: how many times its size a number may lie outside of what was learned from; None to let all pass.
        alarm: the share of reports in quarantine that is too much.
    """

    def __init__(self, spec: LiveSpec, widths: float | None = 10.0, alarm: float = 0.2) -> None:
        self.spec, self.widths, self.alarm = spec, widths, alarm
        self._last: deque[bool] = deque(maxlen=WINDOW)
        self._passed, self._low, self._high = 0, np.full(1 + len(spec.names), np.inf), np.full(1 + len(spec.names), -np.inf)

    def judge(self, reward: float, costs: Array, facts: Mapping[str, Any]) -> str | None:
        """Say why a report is held back; None lets it pass.

        Args:
            reward: of the step.
            costs: (m,) of the step.
            facts: of the newest plan: ``episodes``, ``low`` and ``high``.
        """
        numbers = (reward, *costs.tolist())
        why = self._why(numbers, facts)
        self._last.append(why is not None)
        if why is None and facts.get("episodes", 0) < ENOUGH:
            self._passed += 1
            np.minimum(self._low, numbers, out=self._low), np.maximum(self._high, numbers, out=self._high)
        return why

    def _why(self, numbers: tuple[float, ...], facts: Mapping[str, Any]) -> str | None:
        spec = self.spec
        declared = (spec.reward_range, *(spec.ranges or (None,) * len(spec.names)))
        learned = facts.get("episodes", 0) >= ENOUGH
        for i, (name, number, span) in enumerate(zip(("reward", *spec.names), numbers, declared, strict=True)):
            if span is not None:
                if not span[0] <= number <= span[1]:
                    return f"{name} is {number:g}; expected {span[0]:g} to {span[1]:g}, its range"
            elif self.widths is not None and (learned or self._passed >= FEW):
                low, high = (facts["low"][i], facts["high"][i]) if learned else (float(self._low[i]), float(self._high[i]))
                room = self.widths * (1.0 if learned else EARLY) * max(high - low, abs(low), abs(high), 1.0)
                if not low - room <= number <= high + room:
                    return f"{name} is {number:g}; all that was {'learned from' if learned else 'heard'} is {low:g} to {high:g}"
        return None

    @property
    def share(self) -> float:
        """The share of the last reports that was held back."""
        return sum(self._last) / max(len(self._last), 1)

    def forget(self) -> None:
        """Count anew."""
        self._last.clear()

    @property
    def alarmed(self) -> bool:
        """Whether too many were."""
        return len(self._last) >= 20 and self.share > self.alarm


def check_numbers(most: Mapping[str, float], **options: Any) -> None:
    """Refuse an option that is no number of at least 0; None is for whoever wants none. ``most`` has the largest of some."""
    for name, value in options.items():
        high = most.get(name, math.inf)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high):
            span = f"from 0 to {high:g}" if high < math.inf else "of at least 0"
            raise InputError(f"{name} is {shown(value)}; expected a number {span}")


def fallback_of(spec: LiveSpec, fallback: Fallback) -> Callable[[Any, int, Mask | None], Array] | None:
    """A fallback as a function of observation, step and mask that gives the probabilities (A,) of all actions.

    Raises:
        InputError: it is neither an action nor a function.
    """
    if fallback is None:
        return None

    def certain(action: int) -> Array:
        chances = np.zeros(spec.n_actions)
        chances[action] = 1.0
        return chances

    if not callable(fallback):
        try:
            action = spec.number(fallback, 0)
        except InputError:
            known = shown(list(spec.actions) or f"0 to {spec.n_actions - 1}")
            raise InputError(f"fallback is {shown(fallback)}; expected an action, {known}, or a function") from None

        def fixed(observation: Any, step: int, mask: Mask | None) -> Array:
            if mask is not None and not mask[action]:  # what it would do cannot be done: then all that can
                return np.asarray(mask / mask.sum(), dtype=np.float64)
            return certain(action)

        return fixed

    def asked(observation: Any, step: int, mask: Mask | None) -> Array:
        given = fallback(observation, step, mask)
        if isinstance(given, list | tuple | np.ndarray):
            chances = np.asarray(given, dtype=np.float64)
            good = (
                chances.shape == (spec.n_actions,) and (chances >= 0).all() and math.isclose(chances.sum(), 1.0, abs_tol=1e-9)
            )
            if not good or (mask is not None and chances[~mask].any()):
                raise InputError(f"step {step}: the fallback gave {shown(given)}; expected probabilities of what can be done")
            return chances
        action = spec.number(given, step)
        if mask is not None and not mask[action]:
            raise InputError(f"step {step}: the fallback gave {shown(given)}; expected an action that the mask allows")
        return certain(action)

    return asked
