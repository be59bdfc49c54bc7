"""No violation at the end (Theorem 2), on three problems and a doubling grid of episodes."""

from __future__ import annotations

from pathlib import Path

from noregret.experiments.zero_violation import page, settings
from noregret.report import figures, tables
from noregret.results import RunResult
from noregret.runs import Ask, How, play
from noregret.runs.runner import Sitting


def run(quick: bool, how: How) -> tuple[Sitting, dict[str, list[RunResult]]]:
    """Play all cases; the results of each problem, empty when the sitting was stopped."""
    trials = settings.QUICK_TRIALS if quick else settings.TRIALS
    keys = {
        (case.problem, K): Ask(
            case.problem,
            settings.LEARNER,
            K,
            trials,
            settings.SEED,
            K,
            settings.PRESET,
            "oracle",
            params={"zeta": f"theorem_2({case.scale})", "xi": "4*H/gamma"},
        ).keys()
        for case in settings.CASES
        for K in (case.grid[: -settings.QUICK_DOUBLINGS] if quick else case.grid)
    }
    sitting = play([key for trials_of_case in keys.values() for key in trials_of_case], how)
    results: dict[str, list[RunResult]] = {}
    for (problem, _), trials_of_case in keys.items() if not sitting.stopped else ():
        results.setdefault(problem, []).append(sitting.result(trials_of_case))
    return sitting, results


def write(results: dict[str, list[RunResult]], out: Path) -> list[Path]:
    """Write the figure and the table."""
    drawn = figures.write_all(page.figure(results), out / "zero-violation")
    return [*drawn, tables.write_text(out / "zero-violation.csv", page.table(results).csv())]
