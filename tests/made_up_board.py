"""A leaderboard with made-up numbers that can be checked by hand, for tests of what is done with one."""

from __future__ import annotations

import numpy as np

from noregret.report.leaderboard import Cell, Leaderboard, LearnerRow, Protocol

#: Hard regret of both runs of each learner on each problem; hard violation is a quarter of it. None: left out.
NUMBERS: dict[str, dict[str, tuple[float, float] | None]] = {
    "left": {"uniform": (800.0, 800.0), "opdop": (80.0, 120.0), "triple-q": (160.0, 240.0), "safe <i>": None},
    "right": {"uniform": (4000.0, 4000.0), "opdop": (40.0, 40.0), "triple-q": (20.0, 20.0), "safe <i>": (40.0, 80.0)},
}
EPISODES = [250, 500, 750, 1000]


def a_cell(problem: str, learner: str, numbers: tuple[float, float] | None) -> Cell:
    """Curves grow like √k."""
    line = f"noregret run {problem} --learner {learner}"
    if numbers is None:
        return Cell(problem, learner, line, "it needs <b>more</b>")
    regret, violation = list(numbers), [x / 4 for x in numbers]
    samples = {"regret": regret, "hard_regret": regret, "violation": violation, "hard_violation": violation}
    curves = {}
    for name in ("hard_regret", "hard_violation"):
        mean = np.mean(samples[name]) * np.sqrt(np.array(EPISODES) / EPISODES[-1])
        curves[name] = {"mean": mean.tolist(), "low": (0.9 * mean).tolist(), "high": (1.1 * mean).tolist()}
    notes = {"simulator draws": 5000.0} if learner == "triple-q" else {}
    return Cell(problem, learner, line, "", 0.5, samples | {"late_loss": [0.01, 0.02]}, curves, notes)


def a_board() -> Leaderboard:
    """Four learners on two problems; one cell is left out."""
    told = {"triple-q": ["a simulator"], "safe <i>": ["a safe policy"]}
    rows = [LearnerRow(name, told.get(name, []), "paper", ["√T", "0"]) for name in NUMBERS["left"]]
    cells = [a_cell(problem, learner, own) for problem, all_ in NUMBERS.items() for learner, own in all_.items()]
    protocol = Protocol(1000, 2, 0, "practical", 60.0, {"noregret": "0"}, {"cpu": "a cpu"}, ["Nothing & nobody."])
    return Leaderboard(protocol, rows, EPISODES, cells)
