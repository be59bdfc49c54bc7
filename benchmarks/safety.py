"""How often preset ``safe`` violates: generated problems, one trial each, against the probability p that it states.

    python benchmarks/safety.py [--problems 200] [--episodes 2000] [--p 0.01]

Problems are random and streaming ones with seeds from 1000 on, in turn with and without Bernoulli noise, with fractions
from 0.5 to 0.9. A trial violates when any of its episodes does, by the exact value of the policy played.
"""

from __future__ import annotations

import argparse

import noregret as nr


def problem(i: int) -> nr.TabularCMDP:
    """Problem number i."""
    fraction = (0.5, 0.6, 0.7, 0.8, 0.9)[i % 5]
    family = "random:S=3,A=2,H=3" if i % 4 < 2 else "streaming:buffer=3,H=3"
    world = nr.problems.load(f"{family},seed={1000 + i},fraction={fraction}")
    return world.replace(noise="bernoulli") if i % 2 else world


def trial(i: int, episodes: int, p: float = 0.01) -> tuple[bool, float, float]:
    """Whether a trial on problem i violates, the share it ended with, and its hard regret over that of the safe policy."""
    world = problem(i)
    given = {"episodes": episodes, "trials": 1, "seed": i, "record_every": episodes, "threads": 1, "progress": False}
    made = nr.run(world, preset="safe", safe_policy="safest", p=p, **given)
    safest = nr.run(world, "safest", **given).hard_regret[0, -1]
    share = float(made.notes["certified_share"][0]) if made.notes else float("nan")
    return bool(made.hard_violations[..., -1].max() > 1e-9), share, float(made.hard_regret[0, -1] / max(safest, 1e-9))


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--p", type=float, default=0.01)
    options = parser.parse_args()
    rows = [trial(i, options.episodes, options.p) for i in range(options.problems)]
    print(f"{sum(row[0] for row in rows)} of {len(rows)} trials violate (p = {options.p:g});", end=" ")
    shares, costs = sorted(row[1] for row in rows), sorted(row[2] for row in rows)
    middle = len(rows) // 2
    print(f"median share played {shares[middle]:.3f}, median hard regret over the safe policy's {costs[middle]:.2f}")


if __name__ == "__main__":
    main()
