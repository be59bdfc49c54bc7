"""The leaderboard: the numbers of every learner on every problem, what they come to, its page and its pictures.

Nothing here runs a learner. A :class:`Leaderboard` is made by :func:`noregret.experiments.leaderboard.leaderboard`, or read
from the file that an earlier one left.
"""

from noregret.report.leaderboard.board import Cell, Leaderboard, LearnerRow, Protocol

__all__ = ["Cell", "Leaderboard", "LearnerRow", "Protocol"]
