"""What surviving costs: ``python benchmarks/store.py``; ratios in one run, exits with 1 when a target is missed.

- The store and checkpoints, as a share of a paper-sized run (2e5 episodes of the job-scheduling world): the same trial is
  played bare and through the store, by turns, least CPU and wall seconds of each; with the checkpoints that the default
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
from pathlib import Path

from noregret.report import page
from noregret.runner import available_cores, blocks
from noregret.store import RunKey, Store
from noregret.sweeps.execute import Settings, execute
from noregret.sweeps.job import Context, pin_threads
from noregret.sweeps.sweep import sweep
from noregret.sweeps.worlds import world

PROBLEM, LEARNER = "job-scheduling", "primal-dual-lsvi"


def clocks() -> tuple[float, float]:
    return time.thread_time(), time.perf_counter()


def since(begin: tuple[float, float]) -> tuple[float, float]:
    now = clocks()
    return now[0] - begin[0], now[1] - begin[1]


def overhead(folder: Path, turns: int, episodes: int) -> tuple[float, float, float, float]:
    """Share of CPU and of wall time that the store adds, with the default interval and with a checkpoint every second."""
    key = RunKey(PROBLEM, LEARNER, episodes)
    home = world(PROBLEM)
    home.start(key).advance(10)
    least = {name: [float("inf"), float("inf")] for name in ("bare", "stored", "often")}
    for turn in range(turns):
        for name in least:
            begin = clocks()
            if name == "bare":
                for _ in blocks(home.start(key)):
                    pass
            else:
                settings = Settings(checkpoint_seconds=1.0 if name == "often" else Settings().checkpoint_seconds)
                execute(key, Store(folder / f"{name}{turn}"), settings)
            least[name] = [min(a, b) for a, b in zip(least[name], since(begin), strict=True)]
    bare = least["bare"]
    return (
        least["stored"][0] / bare[0] - 1, least["stored"][1] / bare[1] - 1, least["often"][0] / bare[0] - 1,
        least["often"][1] / bare[1] - 1,
    )  # fmt: skip


def kernels(folder: Path, runs: int, episodes: int) -> tuple[float, float, float]:
    """Kernel seconds over wall time times cores, over CPU seconds, and how much of the cores was ours."""
    keys = [RunKey(PROBLEM, LEARNER, episodes, trial=i) for i in range(runs)]
    cores = available_cores()
    wall, cpu = time.perf_counter(), time.process_time()
    busy = [0.0]
    home = world(PROBLEM)
    start = home._start

    def counted(key: RunKey):  # type: ignore[no-untyped-def]
        trial = start(key)
        advance = trial.advance

        def timed(n: int) -> None:
            before = time.thread_time()
            advance(n)
            busy[0] += time.thread_time() - before

        trial.advance = timed  # type: ignore[method-assign]
        return trial

    home._start = counted  # type: ignore[method-assign]
    summary = sweep(keys, Context(Store(folder / "sweep"), cores))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    home._start = start  # type: ignore[method-assign]
    assert summary.done == runs
    return summary.kernel_seconds / (wall * cores), busy[0] / cpu, cpu / (wall * cores)


def report(folder: Path, runs: int) -> tuple[float, float | None, float]:
    """Seconds to make a report and to open it, and its megabytes."""
    keys = [
        RunKey(problem, LEARNER, 2000, trial=trial, record_every=10, params={"beta": 0.05 * (1 + beta)})
        for problem in (PROBLEM, "random:S=4,A=2,H=3")
        for beta in range(runs // 20)
        for trial in range(10)
    ]
    store = Store(folder / "many")
    sweep(keys, Context(store, available_cores()))
    begin = time.perf_counter()
    path = page.write(folder / "report.html", [store.folder])
    made = time.perf_counter() - begin
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import browser

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
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that it works")
    scale = 10 if parser.parse_args().quick else 1
    pin_threads()
    folder, met = Path(tempfile.mkdtemp(prefix="noregret-bench-")), True
    try:
        cpu, wall, often_cpu, often_wall = overhead(folder, 7, 200_000 // scale)
        print(f"store, a run of {200_000 // scale:,} episodes: {cpu:+.2%} CPU, {wall:+.2%} wall (wanted: under 3%)")
        print(f"  with a checkpoint every second: {often_cpu:+.2%} CPU, {often_wall:+.2%} wall (wanted: under 3%)")
        share, of_cpu, ours = kernels(folder, 200 // scale, 10_000)
        print(f"sweep, {200 // scale} runs of 1e4 episodes: kernels are {of_cpu:.1%} of CPU time (wanted: at least 90%)")
        print(f"  and {share:.1%} of wall time x cores, of which {ours:.1%} were ours (the rest is the machine's, or waiting)")
        made, opened, size = report(folder, 1000 // scale)
        text = "no browser here" if opened is None else f"{opened:.1f} s to open"
        print(f"report, {1000 // scale} runs: {made:.1f} s to make, {text} (wanted: under 20 s), {size:.2f} MB (under 8)")
        met = cpu < 0.03 and often_cpu < 0.03 and of_cpu >= 0.9 and made < 20 and (opened or 0.0) < 20 and size < 8
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
