"""CPU time of an episode of every learner on the job-scheduling world, one core, exact evaluation included.

The learners take turns in one process; the least of several turns counts, compilation excluded. Exits with 1 when one is
slower than its target: 40 µs, 200 µs for those that plan by bisection, 400 µs for the linear-kernel form of opdop and for a
learner that solves its linear program before every episode. A second table has the milliseconds of one such plan on three
problems.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.kernels.compiler.dispatch import run_plan
from noregret.learners.programs.planning import WANTED, PlanningLearner
from noregret.runs import Ask
from noregret.runs.choose import given_safest
from noregret.runs.start import start

TARGET = 40.0
SLOWER = {"lsvi-bisection": 200.0, "opse-lcmdp": 200.0, "opdop, kernel form": 400.0, "ucrl-opt-lp, always": 400.0}
PROBLEMS = ("job-scheduling", "streaming", "random:S=20,A=4,H=10")


def main(turns: int, episodes: int) -> int:
    """Print the table; the number of learners that miss their target."""
    made: dict[str, tuple[str, dict[str, Any]]] = {name: (name, given_safest(name)) for name in nr.learners.names()}
    made["ucrl-opt-lp, always"] = ("ucrl-opt-lp", {"replan": "always"})
    made["primal-dual-lsvi, greedy"] = ("primal-dual-lsvi", {"alpha": float("inf")})
    made["primal-dual-lsvi, rounded"] = ("primal-dual-lsvi", {"rounding": 0.1})
    trials, least = {}, {}
    for label, (name, params) in made.items():
        total = episodes * (turns + 1)
        key = Ask("job-scheduling", name, total, record_every=total, params=params).keys()[0]
        trials[label] = start(key)
        trials[label].advance(episodes)  # compiles, and fills the tables
        least[label] = float("inf")
    for _ in range(turns):
        for label, trial in trials.items():
            begin = time.thread_time()
            trial.advance(episodes)
            least[label] = min(least[label], time.thread_time() - begin)
    missed = 0
    print("| learner | µs an episode | at most |\n|---|---|---|")
    for label, seconds in least.items():
        micro, target = 1e6 * seconds / episodes, SLOWER.get(label, TARGET)
        missed += micro > target
        print(f"| {label} | {micro:.1f} | {target:.0f}{'' if micro <= target else ' — missed'} |")
    return missed


def plans(turns: int, episodes: int) -> None:
    """Print the milliseconds of a plan by linear program, after so many episodes; the least of several counts."""
    names = [name for name in nr.learners.names() if issubclass(nr.learners.get(name), PlanningLearner)]
    print("\n| ms of a plan | " + " | ".join(PROBLEMS) + " |\n|---|" + "---|" * len(PROBLEMS))
    for name in names:
        row = []
        for problem in PROBLEMS:
            params = given_safest(name)
            key = Ask(problem, name, episodes, record_every=episodes, params=params).keys()[0]
            trial = start(key)
            trial.advance(episodes)
            state, least = trial.learner._state, np.inf
            for _ in range(turns + 1):
                state.tally[WANTED] = 1
                begin = time.thread_time()
                run_plan(state)
                least = min(least, time.thread_time() - begin)
            row.append(f"{1e3 * least:.3f}")
        print(f"| {name} | " + " | ".join(row) + " |")
        if name == "ucrl-opt-lp":
            print("| the same by HiGHS | " + " | ".join(highs(problem, episodes) for problem in PROBLEMS[:2]) + " | |")


def highs(name: str, episodes: int) -> str:
    """The milliseconds of HiGHS for the program that ucrl-opt-lp solves after so many episodes."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from scipy.optimize import linprog
    from tests.reference.planning import Program

    key = Ask(name, "ucrl-opt-lp", episodes, record_every=episodes, params={"replan": "always"}).keys()[0]
    trial = start(key)
    trial.advance(episodes)
    trial.learner.plan()
    state, rows = trial.learner._state, trial.learner._state.rows
    ends = np.zeros(rows.rest.shape, dtype=bool)
    arrays = Program(rows.worth, rows.lower, rows.lower + rows.room, ends, trial.learner.spec).arrays()
    begin = time.thread_time()
    found = linprog(*arrays, method="highs")
    spent = time.thread_time() - begin
    assert abs(found.fun + state.basis.found[0]) < 1e-6, "HiGHS found another optimum"
    return f"{1e3 * spent:.0f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=5000)
    options = parser.parse_args()
    missed = main(options.turns, options.episodes)
    plans(options.turns, options.episodes)
    sys.exit(1 if missed else 0)
