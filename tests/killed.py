"""Kill a sweep a hundred times: ``python killed.py FOLDER KILLS SEED``, for the fault tests.

A new interpreter for each sitting would spend its life importing. So this process makes everything ready and then forks a
child for each sitting, which it kills with SIGKILL at a random moment: counted in runs, so that the kills come at all stages
however busy the machine is. It has no threads of its own, so a fork is a copy.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from noregret._system.blas import pin_one_thread
from noregret.runs import execute as execution
from noregret.runs.backends.job import Context
from noregret.runs.keys import make_key
from noregret.runs.schedule import schedule as sweep
from noregret.store import RunKey, Store

RUNS = 40
CASES = (
    ("random:S=4,A=2,H=3", "primal-dual-lsvi"),
    ("linear:S=5,A=2,H=3,d=3", "primal-dual-lsvi"),
    ("random:S=4,A=2,H=3", "uniform"),
)


def keys(round: int) -> list[RunKey]:
    """Short runs of 3 to 12 ms."""
    return [make_key(*CASES[i % len(CASES)], 2000, seed=round, trial=i, record_every=50) for i in range(RUNS)]


def child(work) -> int:
    """Fork; the child does the work and is gone."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def kill(pid: int, store: Store, rng: random.Random) -> int:
    """Kill a child some moments after it began, or after it finished up to three more runs; returns the status of its end."""
    wanted = len(store.ids()) + rng.choice([0, 1, 2, 3])
    while len(store.ids()) < wanted and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.03))
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def main(folder: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    pin_one_thread()
    execution.PLAY_PER_CHECKPOINT = 0.0  # a checkpoint after each block
    for key in keys(10**6)[: len(CASES)]:
        execution.execute(key, Store(folder / "warm"))
    killed, round, after = 0, 0, []
    while killed < kills:
        store = Store(folder / f"runs{round}")
        pid = child(lambda store=store, round=round: sweep(keys(round), Context(store, 2, checkpoint_seconds=0.0)))
        status = kill(pid, store, rng)
        if os.WIFSIGNALED(status):
            killed += 1
            after.append(len(store.ids()))
        else:
            assert os.WEXITSTATUS(status) == 0, "a sitting failed"
            round += 1
    for each in range(round + 1):
        for name in ("runs", "twin"):
            pid = child(lambda name=name, each=each: sweep(keys(each), Context(Store(folder / f"{name}{each}"), 2)))
            assert os.waitpid(pid, 0)[1] == 0, "the last sitting failed"
    print(json.dumps({"killed": killed, "rounds": round + 1, "runs": RUNS, "finished_at_kills": after}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
