"""noregret: learning under a constraint, online, with exact regret.

    import noregret as nr

    problem = nr.problems.load("job-scheduling")
    result = nr.run(problem, "primal-dual-lsvi", episodes=10_000)

Names are imported when they are first used, so that ``import noregret`` costs nothing. With Gymnasium, it registers every
problem as an environment: ``gymnasium.make("noregret/JobScheduling-v0")``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noregret.gym.registration import register_with_gymnasium

__version__ = "0.1.0"

#: The learner where none is named: Algorithm 1.
DEFAULT_LEARNER = "primal-dual-lsvi"

_HOME = {
    "Agent": "agent",
    "Constraint": "problems.base",
    "InfeasibleError": "errors",
    "Live": "live",
    "NoRegretError": "errors",
    "Optimum": "oracle",
    "Comparison": "results",
    "RunResult": "results",
    "LinearCMDP": "problems.linear_continuous",
    "TabularCMDP": "problems.base",
    "compare": "experiments.compare",
    "evaluate": "oracle",
    "leaderboard": "experiments.leaderboard",
    "load_runs": "store",
    "run": "runs",
    "solve": "oracle",
    "sweep": "sweeps",
}
_MODULES = ("features", "gym", "learners", "metrics", "oracle", "problems", "report", "theory")

__all__ = [
    "Agent",
    "Comparison",
    "Constraint",
    "InfeasibleError",
    "LinearCMDP",
    "Live",
    "NoRegretError",
    "Optimum",
    "RunResult",
    "TabularCMDP",
    "compare",
    "evaluate",
    "features",
    "gym",
    "leaderboard",
    "learners",
    "load_runs",
    "metrics",
    "oracle",
    "problems",
    "report",
    "run",
    "solve",
    "sweep",
    "theory",
]

if TYPE_CHECKING:
    from noregret import features, gym, learners, metrics, oracle, problems, theory
    from noregret.agent.agent import Agent
    from noregret.errors import InfeasibleError, NoRegretError
    from noregret.experiments.compare import compare
    from noregret.experiments.leaderboard import leaderboard
    from noregret.live import Live
    from noregret.oracle import Optimum, evaluate, solve
    from noregret.problems.base import Constraint, TabularCMDP
    from noregret.problems.linear_continuous import LinearCMDP
    from noregret.report import build as report
    from noregret.results import Comparison, RunResult
    from noregret.runs.runner import run
    from noregret.store import load_runs
    from noregret.sweeps import sweep


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"noregret.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"noregret.{name}")
    raise AttributeError(f"module 'noregret' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


register_with_gymnasium()
