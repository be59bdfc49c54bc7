"""Continuous states, side by side with the NumPy yardstick on the same recorded episodes, one BLAS thread each.

    python benchmarks/continuous.py [--episodes 3000] [--dimensions 50 200] [--every 150]

Both take in the same K random episodes (A=4, H=10), and every take-in is timed, in CPU time. To plan before all of them would
take the yardstick long, so plans of both are timed in turn at every ``--every``-th k, each as the least of three, and
scaled to the run; in between the yardstick does not plan, since its plans do not depend on earlier ones. Q of both is compared
at each timed plan.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from continuous_yardstick import NumpyAlgorithm1
from noregret import learners
from noregret.features import Joint, Lifted
from noregret.problems.continuous import ContinuousSpec

H, A = 10, 4
CONSTANTS = {
    "preset": "paper",
    "zeta": 0.0,
    "lam": 0.1,
    "beta": 0.3,
    "alpha": 50.0,
    "eta": 0.05,
    "xi": 20.0,
    "cap": "H-h+1",
    "lower_clip": True,
}


def compare(d: int, K: int, every: int, lifted: bool = False) -> dict[str, float]:
    rng = np.random.default_rng(d)
    width = d // A if lifted else d
    make = Lifted if lifted else Joint
    sizes = {"width": width} if lifted else {"dimension": width}
    features = make(lambda x: x, n_actions=A, bound=1.0, **sizes)
    learner = learners.make("primal-dual-lsvi", ContinuousSpec(H, [4.0], features), episodes=K, **CONSTANTS)
    plain = {key: CONSTANTS[key] for key in ("lam", "beta", "alpha", "eta", "xi")}
    yardstick = NumpyAlgorithm1(H, A, d, K, 4.0, **plain)
    plans, observes, off = np.zeros(2), np.zeros(2), 0.0
    for k in range(K):
        rows = rng.normal(size=(H, 1 if lifted else A, width))
        rows /= np.linalg.norm(rows, axis=2, keepdims=True)
        full = features.phi(rows[:, 0] if lifted else rows)
        actions, observed = rng.integers(A, size=H), rng.random((H, 2))
        timed = k % every == every // 2
        if timed:
            plans += _plans(learner, yardstick)
            view = learner.current()
            for h in range(H):
                Q, theirs_Q = view.at(h, rows[h : h + 1])[1][:, 0].T, yardstick._values(h, full[h])[0][0]
                off = max(off, float(np.abs(Q - theirs_Q).max()))
        else:
            learner._ensure_planned()
        begin = time.thread_time()
        learner.observe_rows(rows, actions, observed)
        middle = time.thread_time()
        yardstick.observe(full, actions, observed)
        end = time.thread_time()
        yardstick.Y = float(learner.dual[0])  # where the yardstick has no plan of its own to step with
        observes += middle - begin, end - middle
    ours, theirs = plans * K / len(range(every // 2, K, every)) + observes
    return {"ours": ours, "yardstick": theirs, "ratio": theirs / ours, "off": off}


def _plans(learner, yardstick: NumpyAlgorithm1, repeats: int = 3):
    """CPU seconds of one plan of each, in turn, the least of a few; the learner ends up planned once."""
    gram = learner._state.gram
    q, pendings, stale = gram.q.copy(), gram.pendings.copy(), gram.stale.copy()
    best = [np.inf, np.inf]
    for _ in range(repeats):
        gram.q[:], gram.pendings[:], gram.stale[:] = q, pendings, stale
        learner._state.counters[2] = 0
        for i, plan in enumerate((learner._ensure_planned, yardstick.plan)):
            begin = time.thread_time()
            plan()
            best[i] = min(best[i], time.thread_time() - begin)
    return np.array(best)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=3000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--every", type=int, default=150)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        compare(8, 40, 10), compare(8, 40, 10, lifted=True)  # compile
        for d in arguments.dimensions:
            for lifted in (False, True):
                if lifted and d % A:
                    continue
                got = compare(d, arguments.episodes, arguments.every, lifted)
                kind = "e_a ⊗ ψ" if lifted else "joint"
                print(
                    f"d={d:4d} {kind:8s}: ours {got['ours']:7.1f} s, NumPy {got['yardstick']:7.1f} s, "
                    f"ratio {got['ratio']:5.1f}, largest difference in Q {got['off']:.1e}"
                )


if __name__ == "__main__":
    main()
