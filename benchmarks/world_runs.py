"""Runs on the worlds of `worlds.py`: kept as JSON lines, each made once, with a line of progress."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worlds import WORLDS, missing

HERE = Path(__file__).parent
OURS, THEIRS, TRIVIAL = (HERE / f"{name}.jsonl" for name in ("real_worlds", "ppo_lagrangian", "trivial"))
LAST = 50  # episodes that a row is the mean of

Run = dict[str, Any]


class Job(NamedTuple):
    """What a run is known by in its file."""

    world: str
    who: str
    rate: float | None
    seed: int
    episodes: int


def read(paths: Iterable[Path]) -> list[Run]:
    """All runs of some files; a file that is not there has none."""
    return [json.loads(line) for path in paths if path.exists() for line in path.read_text("utf-8").splitlines()]


def job_of(run: Run) -> Job:
    """The job that a run has done."""
    return Job(*(run[name] for name in Job._fields))


def result(job: Job, curve: Any, seconds: float, fresh: Any = None) -> Run:
    """What a run leaves.

    Args:
        job: what was to be done.
        curve: reward and cost of each episode of learning.
        seconds: CPU time.
        fresh: reward and cost of each episode that was played with what was learned, or None.
    """
    curve = np.asarray(curve, dtype=float)
    judged = np.asarray(curve[-LAST:] if fresh is None else fresh, dtype=float)
    return job._asdict() | {
        "reward": float(judged[:, 0].mean()), "cost": float(judged[:, 1].mean()), "judged": len(judged),
        "spread": [float(v) for v in judged.std(0)], "seconds": round(seconds, 3),
        "first": [float(v) for v in curve[: max(1, len(curve) // 4)].mean(0)],
    }  # fmt: skip


def make_missing(path: Path, jobs: Sequence[Job], play: Callable[[Job], Run]) -> None:
    """Make the runs that the file does not have yet, one after the other; a run that breaks leaves its error.

    Args:
        path: of the file; each run becomes a line of it as soon as it is there.
        jobs: what is wanted.
        play: makes one run.
    """
    have = {job_of(run) for run in read([path])}
    left = [job for job in jobs if job not in have]
    absent = {name: missing(WORLDS[name]) for name in dict.fromkeys(job.world for job in left)}
    for name, why in absent.items():
        if why:
            print(f"{name}: left out, {why}", flush=True)
    left = [job for job in left if not absent[job.world]]
    for i, job in enumerate(left):
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = play(job)
        except Exception as error:
            said = (str(error).splitlines() or [""])[0]
            run = job._asdict() | {"error": f"{type(error).__name__}: {said}", "seconds": round(time.process_time() - began, 3)}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run, ensure_ascii=False) + "\n")
        rate = "" if job.rate is None else f", rate {job.rate:g}"
        told = run.get("error") or f"reward {run['reward']:.5g}, cost {run['cost']:.4g}"
        where = f"[{i + 1}/{len(left)}] {job.world}, {job.who}{rate}, seed {job.seed}, {job.episodes} episodes"
        print(f"{where}: {told}, {run['seconds']:.1f} s", flush=True)


def options(about: str, out: Path) -> argparse.ArgumentParser:
    """What all commands that make runs are asked with."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=out)
    return parser
