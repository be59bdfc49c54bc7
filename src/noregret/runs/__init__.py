"""Runs: the one path from a run's key to its curves.

Only this folder plays episodes of a known problem; nothing here draws figures or prints tables.
"""

from noregret.runs.keys import Ask
from noregret.runs.runner import How, play, run

__all__ = ["Ask", "How", "play", "run"]
