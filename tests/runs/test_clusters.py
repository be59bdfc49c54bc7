"""Sweeps on a local Ray and a local Dask cluster: the bits of threads, also when workers are killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noregret.errors import NoRegretError
from noregret.runs.backends.job import Context
from noregret.runs.keys import make_key
from noregret.runs.schedule import schedule as sweep
from noregret.store import Store

pytestmark = pytest.mark.slow

SMALL = "random:S=4,A=2,H=3"
PATHS = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)


def keys(n, episodes):
    made = [make_key(SMALL, "primal-dual-lsvi", episodes, trial=i) for i in range(n)]
    return [*made, replace(make_key(SMALL, "lsvi-ucb", 10), params={"bet": 1})]


def curves(folder):
    return {path.parent.name: path.read_bytes() for path in Path(folder).glob("*/curves.npz")}


def kill_whoever_plays(store, n, killed):
    """Kill the process that holds a run with a checkpoint, n times."""
    deadline = time.monotonic() + 90
    while len(killed) < n and time.monotonic() < deadline:
        for path in (store.folder / ".work").glob("*.lock"):
            if not list(store.work(path.stem).glob("checkpoint-*")):
                continue
            for pid in holders(path):
                if pid != os.getpid() and pid not in killed:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    break
        time.sleep(0.02)


def holders(path):
    """The processes that have a file open."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if any(os.readlink(handle) == str(path) for handle in (process / "fd").iterdir()):
                    found.append(int(process.name))
            except OSError:
                continue
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("twin")
    assert sweep(keys(4, 400_000), Context(Store(folder), 2)).done == 4
    return curves(folder)


@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_cluster_gives_the_bits_of_threads_also_when_workers_are_killed(tmp_path, monkeypatch, undisturbed, backend):
    pytest.importorskip("ray" if backend == "ray" else "distributed", reason=f"not run: {backend} is not installed")
    monkeypatch.setenv("PYTHONPATH", PATHS)
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    store = Store(tmp_path / "runs")
    wanted, killed = keys(4, 400_000), []
    thread = threading.Thread(target=kill_whoever_plays, args=(store, 2, killed), daemon=True)
    thread.start()
    summary = sweep(wanted, Context(store, 2, checkpoint_seconds=0.0), backend)
    thread.join()
    assert len(killed) == 2, "two workers were killed in the midst of a run"
    assert (summary.done + summary.there, summary.left) == (4, 0)
    assert (
        list(summary.failed.values()) == [e for e in summary.failed.values() if "did you mean 'beta'" in e] and summary.failed
    )
    assert curves(store.folder) == undisturbed


def test_a_cluster_that_is_not_there_is_said_in_one_line(tmp_path):
    pytest.importorskip("distributed", reason="not run: dask is not installed")
    from noregret.runs.backends import clusters

    clusters.PATIENCE, before = 1, clusters.PATIENCE
    try:
        with pytest.raises(NoRegretError, match=r"no Dask cluster at tcp://127\.0\.0\.1:1"):
            sweep(keys(1, 10), Context(Store(tmp_path), 1, address="tcp://127.0.0.1:1"), "dask")
    finally:
        clusters.PATIENCE = before
