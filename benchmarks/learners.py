"""CPU time of an episode of every learner on the job-scheduling world, one core, exact evaluation included.

The learners take turns in one process; the least of several turns counts, compilation excluded. Exits with 1 when one is
slower than its target: 40 µs, 200 µs for those that plan by bisection, 400 µs for the linear-kernel form of opdop.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import noregret as nr
from noregret.runs import Ask
from noregret.runs.prepare import prepared

TARGET = 40.0
SLOWER = {"lsvi-bisection": 200.0, "opse-lcmdp": 200.0, "opdop, kernel form": 400.0}


def main(turns: int, episodes: int) -> int:
    """Print the table; the number of learners that miss their target."""
    made: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in nr.learners.names()}
    made["opse-lcmdp"] = ("opse-lcmdp", {"safe_policy": "safest"})
    made["primal-dual-lsvi, greedy"] = ("primal-dual-lsvi", {"alpha": float("inf")})
    made["primal-dual-lsvi, rounded"] = ("primal-dual-lsvi", {"rounding": 0.1})
    made["opdop, kernel form"] = ("opdop", {"form": "kernel"})
    trials, least = {}, {}
    for label, (name, params) in made.items():
        total = episodes * (turns + 1)
        key = Ask("job-scheduling", name, total, record_every=total, params=params).keys()[0]
        trials[label] = prepared(key).start(key)
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=5000)
    options = parser.parse_args()
    sys.exit(1 if main(options.turns, options.episodes) else 0)
