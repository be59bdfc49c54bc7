"""What runs leave: curves, and the policies that were played. Nothing here runs, reads or writes anything by itself."""

from noregret.results.policies import Played, PolicyReport
from noregret.results.result import NO_PROMISE, RESULTS_VERSION, Outcome, RunResult, named_curves, record_grid

__all__ = ["NO_PROMISE", "RESULTS_VERSION", "Outcome", "Played", "PolicyReport", "RunResult", "named_curves", "record_grid"]
