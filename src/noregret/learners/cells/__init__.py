"""The learner behind an agent that was told nothing: features, ranges and prices found from data; a mind named soft-cells."""

from __future__ import annotations

from typing import Any

from noregret.learners.cells.mind import SoftCells
from noregret.problems.worlds import WorldSpec

__all__ = ["SoftCells", "make"]


def make(spec: WorldSpec, seed: int, **options: Any) -> SoftCells:
    """The mind for a world.

    Args:
        spec: sizes and limits of the world.
        seed: the same seed and the same episodes give the same plans.
        options: ``states``, ``transitions``, ``margin``; see :class:`SoftCells`.
    """
    return SoftCells(spec, seed=seed, **options)
