"""What runs leave: curves, the policies that were played, and comparisons of them. Nothing here runs anything."""

from noregret.results.comparison import Comparison
from noregret.results.history import History
from noregret.results.policies import Played, PolicyReport
from noregret.results.result import NO_PROMISE, SUMS, UNSAFE, Outcome, RunResult, named_curves, record_grid

__all__ = [
    "NO_PROMISE",
    "SUMS",
    "UNSAFE",
    "Comparison",
    "History",
    "Outcome",
    "Played",
    "PolicyReport",
    "RunResult",
    "named_curves",
    "record_grid",
]
