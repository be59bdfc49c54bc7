"""Lazy plans and merging on the continuous linear CMDP: what they cost in regret, what they save in time; and slopes of regret.

    python benchmarks/continuous_regret.py [lazy] [flat] [slope]

- lazy: replan="always" without merging against replan="doubling" with merging, K = 3000: regret, violation, plans, CPU seconds;
- flat: CPU seconds an episode in the last tenth against the second tenth with replan="doubling" and merging, K = 30 000;
- slope: log–log slope of regret at K = 20 000 with states in R^1 and R^2, practical preset, d = 8 both times.

All with the practical preset, one thread, values by quadrature.
"""

from __future__ import annotations

import sys

import numpy as np

import noregret as nr
from noregret.metrics import slope
from noregret.results import record_grid
from noregret.runs import Ask
from noregret.runs.start import start

MERGE_TOL = 0.02
CELLS = {1: 500, 2: 48}


def play(name: str, K: int, every: int, seed: int = 0, **options):
    cells = CELLS[nr.problems.load(name).state_dimension]
    key = Ask(name, "primal-dual-lsvi", K, seed=seed, record_every=every, params=options | {"cells": cells}).keys()[0]
    trial = start(key)
    seconds = []
    while trial.k < K:
        trial.advance(every)
        seconds.append(trial.seconds)
    return np.array(seconds), trial.curves, trial.learner


def lazy(K: int = 3000) -> None:
    play("linear-continuous", 5, 5), play("linear-continuous", 5, 5, replan="doubling")  # compile
    for name in ("linear-continuous", "linear-continuous:dims=2"):
        hard = {}
        for options in ({"replan": "always"}, {"replan": "doubling", "merge_tol": MERGE_TOL}):
            runs = [play(name, K, 20, seed, **options) for seed in range(3)]
            mean = np.mean([curves[-1] for _, curves, _ in runs], axis=0)
            hard[options["replan"]] = mean[1]
            seconds = np.mean([spent[-1] for spent, _, _ in runs])
            plans, kept = (np.mean([f(x) for _, _, x in runs]) for f in (lambda x: x.replans, lambda x: x.kept.max()))
            print(
                f"{name} K={K} {options}: regret {mean[0]:.1f}, hard {mean[1]:.1f}, violation {max(mean[2], 0):.1f}, hard "
                f"{mean[3]:.1f}, plans {plans:.0f}, states kept {kept:.0f}, {seconds:.1f} CPU s"
            )
        print(f"  hard regret, doubling / always: {hard['doubling'] / hard['always']:.3f} (mean of 3 seeds; at most 1.25)")


def flat(K: int = 30_000) -> None:
    seconds, curves, learner = play("linear-continuous", K, K // 20, replan="doubling", merge_tol=MERGE_TOL)
    spent = np.diff(np.concatenate([[0.0], seconds]))
    second, last = spent[2:4].sum(), spent[18:20].sum()
    print(
        f"K={K}: second tenth {second / (K / 10) * 1e6:.0f} µs an episode, last tenth {last / (K / 10) * 1e6:.0f} µs, "
        f"ratio {last / second:.2f} (at most 1.5); plans {learner.replans}, states kept {learner.kept.tolist()}, "
        f"regret {curves[-1, 0]:.1f}, hard {curves[-1, 1]:.1f}"
    )


def slopes(K: int = 20_000) -> None:
    for name in ("linear-continuous", "linear-continuous:dims=2"):
        seconds, curves, learner = play(name, K, 100, replan="doubling", merge_tol=MERGE_TOL)
        found = [slope(record_grid(len(curves), 100, K), curves[:, i]) for i in (0, 1)]
        print(
            f"{name} K={K}: regret {curves[-1, 0]:.1f} (slope {found[0]:.2f}), hard {curves[-1, 1]:.1f} (slope {found[1]:.2f}; "
            f"below 0.65), violation {max(curves[-1, 2], 0):.1f}, hard {curves[-1, 3]:.1f}, plans {learner.replans}, "
            f"{seconds[-1]:.0f} CPU s"
        )


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["lazy", "flat", "slope"]
    for name, run in (("lazy", lazy), ("flat", flat), ("slope", slopes)):
        if name in wanted:
            run()
