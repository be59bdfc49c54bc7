"""What surviving costs: ``python benchmarks/store.py``; ratios in one run, exits with 1 when a target is missed.

- The store and checkpoints, as a share of a paper-sized run (ten trials of 2e5 episodes of the job-scheduling world): the
  same trials by ``run`` and by a sweep, by turns, least CPU and wall seconds of each; with the checkpoints that the default
  interval asks for, and with one every second, which is thirty times as many.
- A sweep of 200 runs of 1e4 episodes in threads: seconds inside kernels, as a share of wall time times the cores that were
  ours (CPU seconds of the process over wall seconds, as the machine may be busy with others).
- A report of 1000 runs: seconds to make it, and to open it in a browser where one is installed; its size.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import noregret as nr
from noregret._system.blas import pin_one_thread
from noregret._system.cores import available_cores
from noregret.report import page
from noregret.runs import execute
from noregret.runs.backends.job import Context
from noregret.runs.execute import CHECKPOINT_SECONDS
from noregret.runs.keys import make_key
from noregret.runs.schedule import schedule as sweep
from noregret.runs.start import start
from noregret.runs.trial import Trial
from noregret.store import RunKey, Store

PROBLEM, LEARNER = "job-scheduling", "primal-dual-lsvi"


def clock(call: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds of the process and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def overhead(folder: Path, turns: int, episodes: int) -> dict[str, tuple[float, float]]:
    """Shares of CPU and of wall time that the store adds to ten trials side by side."""
    problem, cores = nr.problems.load(PROBLEM), available_cores()
    keys = [make_key(PROBLEM, LEARNER, episodes, trial=i) for i in range(10)]
    start(keys[0]).advance(10)
    seen: dict[str, list[tuple[float, float]]] = {"bare": [], "stored": [], "often": []}
    for turn in range(turns):
        for name, times in seen.items():
            if name == "bare":
                times.append(clock(lambda: nr.run(problem, LEARNER, episodes=episodes, trials=10, progress=False)))
                continue
            seconds = CHECKPOINT_SECONDS if name == "stored" else 1.0
            context = Context(Store(folder / f"{name}{turn}"), cores, checkpoint_seconds=seconds)
            times.append(clock(lambda context=context: sweep(keys, context)))
    least = {name: [min(each) for each in zip(*times, strict=True)] for name, times in seen.items()}
    ratio = {name: [a / b - 1 for a, b in zip(times, least["bare"], strict=True)] for name, times in least.items()}
    return {name: (shares[0], shares[1]) for name, shares in ratio.items()}


def kernels(folder: Path, runs: int, episodes: int) -> tuple[float, float, float]:
    """Kernel seconds over wall time times cores, over CPU seconds, and how much of the cores was ours."""
    keys = [make_key(PROBLEM, LEARNER, episodes, trial=i) for i in range(runs)]
    cores = available_cores()
    wall, cpu = time.perf_counter(), time.process_time()
    busy = [0.0]

    def counted(key: RunKey) -> Trial:
        trial = start(key)
        advance = trial.advance

        def timed(n: int) -> None:
            before = time.thread_time()
            advance(n)
            busy[0] += time.thread_time() - before

        trial.advance = timed  # type: ignore[method-assign]
        return trial

    execute.start = counted
    summary = sweep(keys, Context(Store(folder / "sweep"), cores))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    execute.start = start
    assert summary.done == runs
    return summary.kernel_seconds / (wall * cores), busy[0] / cpu, cpu / (wall * cores)


def report(folder: Path, runs: int) -> tuple[float, float | None, float]:
    """Seconds to make a report and to open it, and its megabytes."""
    keys = [
        make_key(problem, LEARNER, 2000, trial=trial, record_every=10, preset="paper", params={"beta": 0.05 * (1 + beta)})
        for problem in (PROBLEM, "random:S=4,A=2,H=3")
        for beta in range(runs // 20)
        for trial in range(10)
    ]
    store = Store(folder / "many")
    sweep(keys, Context(store, available_cores()))
    begin = time.perf_counter()
    path = page.write(folder / "report.html", [store.folder])
    made = time.perf_counter() - begin
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests import browser

    opened = None
    if browser.find() is not None:
        with browser.Browser() as window:
            window.size(1280, 900)
            begin = time.perf_counter()
            window.open(path)
            window.wait("document.readyState === 'complete' && Number(document.body.dataset.drawn || 0) >= 1")
            opened = time.perf_counter() - begin
    return made, opened, path.stat().st_size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of everything, for a busy machine")
    scale = 4 if parser.parse_args().quick else 1
    pin_one_thread()
    folder, met = Path(tempfile.mkdtemp(prefix="noregret-bench-")), True
    try:
        shares = overhead(folder, 3, 200_000 // scale)
        for name, words in (("stored", "by default"), ("often", "with a checkpoint every second")):
            cpu, wall = shares[name]
            print(f"store, 10 trials of {200_000 // scale:,} episodes, {words}: {cpu:+.2%} CPU, {wall:+.2%} wall (under 3%)")
        share, of_cpu, ours = kernels(folder, 200 // scale, 10_000)
        print(f"sweep, {200 // scale} runs of 1e4 episodes: kernels are {of_cpu:.1%} of CPU time (wanted: at least 90%)")
        print(f"  and {share:.1%} of wall time x cores, of which {ours:.1%} were ours (the rest is the machine's, or waiting)")
        made, opened, size = report(folder, 1000 // scale)
        text = "no browser here" if opened is None else f"{opened:.1f} s to open"
        print(f"report, {1000 // scale} runs: {made:.1f} s to make, {text} (wanted: under 20 s), {size:.2f} MB (under 8)")
        met = (
            max(shares["stored"][0], shares["often"][0]) < 0.03
            and of_cpu >= 0.9
            and made < 20
            and (opened or 0.0) < 20
            and size < 8
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
