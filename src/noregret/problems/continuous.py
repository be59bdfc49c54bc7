"""What a learner may see of a problem whose states are not numbered: horizon, actions, thresholds, a feature map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError, shown
from noregret.problems.base import Array
from noregret.problems.checks import integer


class Encoder(Protocol):
    """What a feature map has: sizes, and ``encode``, which gives the rows that are kept of each state."""

    n_actions: int
    rows: int
    width: int
    blocks: int

    @property
    def dimension(self) -> int:
        """d, the dimension of φ."""

    def encode(self, states: ArrayLike) -> Array:
        """Compute the rows (n, rows, width) of n states."""


def is_feature_map(features: object) -> TypeGuard[Encoder]:
    """Tell whether an object can serve as a feature map; ``encode`` alone does not tell, for a text has it too."""
    return all(hasattr(features, part) for part in ("encode", "n_actions", "dimension"))


@dataclass(frozen=True)
class ContinuousSpec:
    """What a learner may see of a problem whose states are not numbered.

    Args:
        horizon: H.
        thresholds: (m,) b.
        features: a :class:`~noregret.features.FeatureMap`.
        constraint_names: one name per constraint.
        absorbing: (1+m,) what each step after an early end is worth, reward then utilities; None where episodes always have
            H steps.
        share: what does not change with the step, so that steps may learn it together: "nothing" or "all".
        bounded: whether rewards and utilities that are seen lie in [0,1]; else only their means do.
    """

    horizon: int
    thresholds: Array
    features: Encoder
    constraint_names: tuple[str, ...] = ()
    absorbing: Array | None = None
    share: str = "nothing"
    bounded: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", integer("horizon", self.horizon, 1))
        if self.share not in ("nothing", "all"):
            raise InputError(f"share is {self.share!r}; expected 'nothing' or 'all'")
        if not is_feature_map(self.features):
            raise InputError(f"features is {shown(self.features)}; expected a feature map of noregret.features, or one's own")
        b = np.atleast_1d(np.asarray(self.thresholds, dtype=np.float64))
        if b.ndim != 1 or not len(b) or not np.isfinite(b).all():
            raise InputError(f"thresholds is {self.thresholds!r}; expected one finite number for each constraint")
        object.__setattr__(self, "thresholds", b)
        if self.absorbing is not None:
            worth = np.asarray(self.absorbing, dtype=np.float64)
            if worth.shape != (1 + len(b),) or not ((worth >= 0) & (worth <= 1)).all():
                raise InputError(f"absorbing is {self.absorbing!r}; expected {1 + len(b)} numbers in [0, 1]")
            object.__setattr__(self, "absorbing", worth)

    def __repr__(self) -> str:
        """A one-line summary."""
        sizes = f"H={self.horizon} A={self.n_actions} d={self.dimension} m={self.n_constraints}"
        return f"<ContinuousSpec: {sizes} b={np.round(self.thresholds, 6).tolist()}>"

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return int(self.features.n_actions)

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return len(self.thresholds)

    @property
    def dimension(self) -> int:
        """d, the dimension of φ."""
        return int(self.features.dimension)
