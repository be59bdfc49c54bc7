"""What a learner may know of an environment before it plays: sizes, the horizon, the limits, and what each number is called.

Nothing here is mapped to [0,1]: rewards and costs are in the environment's own units, and a range that nobody gave is None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import InputError
from noregret.problems.base import Array
from noregret.problems.checks import integer

Range = tuple[float, float]


@dataclass(frozen=True)
class WorldSpec:
    """Sizes and limits of an environment, in raw units.

    Args:
        horizon: H, the most steps of an episode.
        n_actions: A.
        n_states: how many observations there are, where these are numbers 0..n-1; 0 where they are vectors.
        dimension: D of observations that are vectors; 0 where they are numbers.
        limits: (m,) what each raw total is held to.
        costs: whether totals are to stay below their limits; if not, above.
        names: one for each constraint.
        reward_range: (low, high) of raw rewards, or None to find it from data.
        value_ranges: (low, high) of each raw utility or cost, or None to find them from data.
    """

    horizon: int
    n_actions: int
    n_states: int
    dimension: int
    limits: Array
    costs: bool
    names: tuple[str, ...]
    reward_range: Range | None = None
    value_ranges: tuple[Range, ...] | None = None

    def __post_init__(self) -> None:
        for name, least in (("horizon", 1), ("n_actions", 1), ("n_states", 0), ("dimension", 0)):
            object.__setattr__(self, name, integer(name, getattr(self, name), least))
        if (self.n_states > 0) == (self.dimension > 0):
            raise InputError(f"n_states is {self.n_states} and dimension is {self.dimension}; expected one of them above 0")
        limits = np.atleast_1d(np.asarray(self.limits, dtype=np.float64))
        if limits.ndim != 1 or not len(limits) or not np.isfinite(limits).all():
            raise InputError(f"limits is {self.limits!r}; expected one finite number for each constraint")
        object.__setattr__(self, "limits", limits)

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return len(self.limits)
