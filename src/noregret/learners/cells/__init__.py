"""The learner behind an agent that was told nothing: features, ranges and prices found from data; a mind named soft-cells."""

from noregret.learners.cells.mind import SoftCells

__all__ = ["SoftCells"]
