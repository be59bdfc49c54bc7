"""Continuous states, side by side with the NumPy yardstick on the same recorded episodes, one BLAS thread each.

    python benchmarks/continuous.py [--episodes 3000] [--dimensions 50 200] [--every 150]

Both take in the same K random episodes (A=4, H=10). Playing all of them would take the yardstick most of an hour, so whole
episodes (plan and take-in) of both are timed in turn at every ``--every``-th k and summed over the run; in between both take
in the data untimed, and the yardstick plans only where it is timed, since its plans do not depend on earlier ones. Q of both
is compared at each timed episode.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from continuous_yardstick import NumpyAlgorithm1
from noregret.features import Joint, Lifted
from noregret.learners.continuous import DensePrimalDualLSVI
from noregret.problems.continuous import ContinuousSpec

H, A = 10, 4
CONSTANTS = {"lam": 0.1, "beta": 0.3, "alpha": 50.0, "eta": 0.05, "xi": 20.0, "cap": "H-h+1", "lower_clip": True}


def compare(d: int, K: int, every: int, lifted: bool = False, cache: str = "float64") -> dict[str, float]:
    rng = np.random.default_rng(d)
    width = d // A if lifted else d
    make = Lifted if lifted else Joint
    sizes = {"width": width} if lifted else {"dimension": width}
    features = make(lambda x: x, n_actions=A, bound=1.0, **sizes)
    learner = DensePrimalDualLSVI(ContinuousSpec(H, [4.0], features), episodes=K, cache=cache, **CONSTANTS)
    plain = {key: CONSTANTS[key] for key in ("lam", "beta", "alpha", "eta", "xi")}
    yardstick = NumpyAlgorithm1(H, A, d, K, 4.0, **plain)
    ours = theirs = off = 0.0
    for k in range(K):
        rows = rng.normal(size=(H, 1 if lifted else A, width))
        rows /= np.linalg.norm(rows, axis=2, keepdims=True)
        full = features.phi(rows[:, 0] if lifted else rows)
        actions, observed = rng.integers(A, size=H), rng.random((H, 2))
        timed = k % every == every // 2
        begin = time.thread_time()
        learner._ensure_planned()
        middle = time.thread_time()
        if timed:
            yardstick.plan()
            after = time.thread_time()
            view = learner.current()
            for h in range(H):
                Q, theirs_Q = view.at(h, rows[h : h + 1])[1][:, 0].T, yardstick._values(h, full[h])[0][0]
                off = max(off, float(np.abs(Q - theirs_Q).max()))
        start = time.thread_time()
        learner.observe_rows(rows, actions, observed)
        between = time.thread_time()
        if timed:
            yardstick.observe(full, actions, observed)
            end = time.thread_time()
            yardstick.Y = float(learner.dual[0])  # between timed episodes the yardstick has no plan to step with
            ours += (middle - begin) + (between - start)
            theirs += (after - middle) + (end - between)
        else:
            _take_in(yardstick, full, actions, observed, float(learner.dual[0]))
    share = K / max(1, len(range(every // 2, K, every)))
    return {"ours": ours * share, "yardstick": theirs * share, "ratio": theirs / ours, "off": off}


def _take_in(yardstick: NumpyAlgorithm1, rows, actions, observed, Y: float) -> None:
    yardstick.observe(rows, actions, observed)
    yardstick.Y = Y


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=3000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--every", type=int, default=150)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        compare(8, 40, 10), compare(8, 40, 10, lifted=True), compare(8, 40, 10, cache="float32")  # compile
        for d in arguments.dimensions:
            for lifted, cache in ((False, "float64"), (False, "float32"), (True, "float64")):
                if lifted and d % A:
                    continue
                got = compare(d, arguments.episodes, arguments.every, lifted, cache)
                kind = "e_a ⊗ ψ" if lifted else "joint"
                print(
                    f"d={d:4d} {kind:8s} {cache}: ours {got['ours']:7.1f} s, NumPy {got['yardstick']:7.1f} s, "
                    f"ratio {got['ratio']:5.1f}, largest difference in Q {got['off']:.1e}"
                )


if __name__ == "__main__":
    main()
