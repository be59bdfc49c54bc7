"""The learner behind an agent that was told nothing: features, ranges and prices found from data; a mind named soft-cells."""

from noregret.agent.minds.soft_cells.mind import SoftCells

__all__ = ["SoftCells"]
