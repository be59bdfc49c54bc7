"""This tree against another one, such as version 0.1, line by line, as ratios.

    git worktree add /tmp/old 490dbe1                      # the last commit of version 0.1
    python benchmarks/paired.py /tmp/old [--processes 7] [--rounds 10] [--only one-hot table dense start compile]

Each tree is measured in processes of its own, with the benchmarks' own way to make a trial there. A process of one tree and
one of the other take turns, a fraction of a second each, and times are CPU times. The same code runs some 4% faster or slower
from process to process, by where its arrays and its code come to lie. So there are several processes for a line, and of each
one's least time the median is taken. The second ratio is that of the least times of all. A ratio above 1 means that this tree
is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
#: What is paired, by groups; the lines of a group are measured one after the other.
GROUPS = {
    "one-hot": ["one-hot, S=10 A=2 H=10"],
    "table": ["features, S=100 A=3 d=5 H=4"],
    "other": ["opt-dual, S=3 A=2 H=2", "triple-q, S=10 A=2 H=10"],
    "dense": ["dense plan, d=50, k=300", "dense observe, d=50, k=300"],
    "oracle": ["optimum, S=300 A=4 H=25 m=1", "optimum, S=300 A=4 H=25 m=3"],
    "start": ["warm start of the command line"],
    "compile": ["compiling primal-dual-lsvi", "compiling opt-dual"],
}
TABLE = {"preset": "paper", "zeta": 0.0, "lam": 0.01, "beta": 0.4, "alpha": 500.0, "eta": 0.05, "xi": 20.0}
DENSE = {"zeta": 0.0, "lam": 0.1, "beta": 0.3, "alpha": 50.0, "eta": 0.05, "xi": 20.0, "cap": "H-h+1", "lower_clip": True}


# --- in the process of one tree ---------------------------------------------------------------------------------------


def _episodes(problem: str, n: int, learner: str = "primal-dual-lsvi", **params: Any) -> Callable[[], float]:
    """The first n episodes of one trial, as the tree's own ``benchmarks/run.py`` makes and counts them."""
    nr, bench, learners = import_module("noregret"), import_module("run"), import_module("noregret.learners")
    given, make = nr.problems.load(problem), learners.make

    def measure() -> float:
        learners.make = lambda _, spec, **options: make(learner, spec, **options)
        try:
            one = bench.trial(given, n, **params)
        finally:
            learners.make = make
        one.advance(0)
        begin = time.thread_time()
        one.advance(n)
        return time.thread_time() - begin

    return measure


def _dense(what: str, d: int = 50, k: int = 300) -> Callable[[], float]:
    """A plan, or the taking in of an episode, of the dense learner that has seen k random episodes (A=4, H=10)."""
    import numpy as np

    features, continuous = import_module("noregret.features"), import_module("noregret.problems.continuous")
    spec = continuous.ContinuousSpec(10, [4.0], features.Joint(lambda x: x, n_actions=4, bound=1.0, dimension=d))
    folder = "lsvi." if find_spec("noregret.learners.lsvi") else ""  # older trees have no families
    make = import_module(f"noregret.learners.{folder}continuous").DensePrimalDualLSVI
    learner = make(spec, episodes=3000, preset="paper", **DENSE)
    rng = np.random.default_rng(d)

    def episode() -> tuple[Any, Any, Any]:
        rows = rng.normal(size=(10, 4, d))
        return rows / np.linalg.norm(rows, axis=2, keepdims=True), rng.integers(4, size=10), rng.random((10, 2))

    for _ in range(k):
        learner.observe_rows(*episode())
    gram = learner._state.gram
    kept = [array.copy() for array in (gram.q, gram.pendings, gram.stale)]

    def plan() -> float:
        total = 0.0
        for _ in range(50):
            for array, value in zip((gram.q, gram.pendings, gram.stale), kept, strict=True):
                array[:] = value
            learner._state.counters[2] = 0
            begin = time.thread_time()
            learner._ensure_planned()
            total += time.thread_time() - begin
        return total

    def observe() -> float:
        total = 0.0
        for _ in range(20):
            learner._ensure_planned()
            given = episode()
            begin = time.thread_time()
            learner.observe_rows(*given)
            total += time.thread_time() - begin
        return total

    return plan if what == "plan" else observe


def _optimum(m: int) -> Callable[[], float]:
    nr = import_module("noregret")
    problem = nr.problems.load(f"random:seed=0,S=300,A=4,H=25,m={m}")

    def measure() -> float:
        begin = time.thread_time()
        nr.solve(problem)
        return time.thread_time() - begin

    return measure


def _child(command: list[str]) -> float:
    """CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(prefix="noregret-bench-") as folder:
        subprocess.run([sys.executable, *command], check=True, capture_output=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _compiling(learner: str) -> Callable[[], float]:
    """CPU seconds of a first run, in a process that finds no compiled code, less those of a second one."""
    code = (
        "import noregret as nr;"
        f"nr.run(nr.problems.load('random:S=3,A=2,H=2'), {learner!r}, preset='practical', episodes=5, trials=1, progress=False)"
    )

    def measure() -> float:
        with tempfile.TemporaryDirectory(prefix="noregret-cache-") as folder:
            os.environ["NOREGRET_CACHE_DIR"] = folder
            return _child(["-c", code]) - _child(["-c", code])

    return measure


def measures(constants: dict[str, Any]) -> dict[str, Callable[[], Callable[[], float]]]:
    """What makes each line ready, by the line's name."""
    start = ["-m", "noregret", "run", "job-scheduling", "--episodes", "100", "--trials", "1"]
    makers = [
        lambda: _episodes("job-scheduling", 20_000, **constants),
        lambda: _episodes("linear:seed=0", 4000, **TABLE),
        lambda: _episodes("random:S=3,A=2,H=2", 20_000, "opt-dual", preset="theory", slater_gap=0.5),
        lambda: _episodes("job-scheduling", 50_000, "triple-q", preset="theory"),  # searches change the others
        lambda: _dense("plan"),
        lambda: _dense("observe"),
        lambda: _optimum(1),
        lambda: _optimum(3),
        lambda: lambda: _child(start),
        lambda: _compiling("primal-dual-lsvi"),
        lambda: _compiling("opt-dual"),
    ]
    return dict(zip((line for lines in GROUPS.values() for line in lines), makers, strict=True))


def serve() -> None:
    """Answer each line of the input, the name of a measure, with seconds."""
    makers = measures({"preset": "paper"} | import_module("run").CONSTANTS)
    ready: dict[str, Callable[[], float]] = {}
    for line in sys.stdin:
        name = json.loads(line)
        if name not in ready:
            ready[name] = makers[name]()
            if not name.startswith("compiling"):
                ready[name]()  # compiles
        print(json.dumps(ready[name]()), flush=True)


# --- in the process that compares -------------------------------------------------------------------------------------


class Tree:
    """A source tree and the process that measures it."""

    def __init__(self, tree: Path) -> None:
        paths = os.pathsep.join(str(tree / part) for part in ("src", "benchmarks"))
        more = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | more,
        )

    def measure(self, name: str) -> float:
        """The seconds of one turn."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(name) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def compare(old: Path, groups: list[str], processes: int, rounds: int) -> Iterator[tuple[str, float, float, float, float]]:
    """Each line: seconds here and there, the median over the processes of each one's least; their ratio; that of the least."""
    for group in groups:
        many = group not in ("start", "compile", "oracle")  # these start processes themselves, or take long
        for name in GROUPS[group]:
            turns = [_turns(name, old, rounds if many else 3) for _ in range(processes if many else 1)]
            ours, theirs = zip(*turns, strict=True)
            here, there = statistics.median(ours), statistics.median(theirs)
            yield name, here, there, here / there, min(ours) / min(theirs)


def _turns(name: str, old: Path, rounds: int) -> list[float]:
    """The least seconds of a line in one process of this tree and in one of the other, which take turns."""
    trees = [Tree(HERE), Tree(old)]
    try:
        turns = [[tree.measure(name) for tree in trees] for _ in range(rounds)]
    finally:
        for tree in trees:
            tree.close()
    return [min(column) for column in zip(*turns, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?", help="the other source tree")
    parser.add_argument("--rounds", type=int, default=10, help="how many turns each process has")
    parser.add_argument("--processes", type=int, default=7, help="how many processes measure each tree")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), help="which groups of lines")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve()
    if arguments.old is None:
        parser.error("expected the folder of the other source tree")
    print("| what | this tree, s | the other, s | ratio of medians | ratio of least |")
    print("|---|---|---|---|---|")
    for name, ours, theirs, *ratios in compare(arguments.old.resolve(), arguments.only, arguments.processes, arguments.rounds):
        print(f"| {name} | {ours:.4g} | {theirs:.4g} | {ratios[0]:.3f} | {ratios[1]:.3f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
