"""Infinitely many states, exact regret: Algorithm 1 on a linear CMDP with states in R^1.

    python examples/linear_cmdp.py [--episodes 1000]

The problem is exactly linear, so its optimum and the value of every policy played are known by quadrature.
"""

from __future__ import annotations

import argparse

import noregret as nr


def main(episodes: int = 1000) -> nr.RunResult:
    """Run both ways of replanning and compare."""
    problem = nr.problems.load("linear-continuous")
    optimum = nr.solve(problem)
    print(f"{problem}\noptimum {optimum.value:.4f}, dual {optimum.dual.round(3)}, Slater gap {optimum.slater_gap:.4f}")
    for options in ({"replan": "always"}, {"replan": "doubling", "merge_tol": 0.01}):
        result = nr.run(problem, episodes=episodes, trials=1, record_every=max(1, episodes // 50), **options)
        print(
            f"{options}: regret {result.regret[0, -1]:.1f}, hard regret {result.hard_regret[0, -1]:.1f}, "
            f"violation {result.violation[0, -1]:.1f}, {result.seconds:.1f} s"
        )
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=1000)
    main(parser.parse_args().episodes)
