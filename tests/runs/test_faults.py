"""What a sweep survives: kills, full and read-only disks, damaged files, a second sweep on its folder, and its own length."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from noregret.cli import app
from noregret.errors import FileError
from noregret.runs.backends.job import Context
from noregret.runs.execute import Settings, execute
from noregret.runs.keys import make_key
from noregret.runs.schedule import schedule as sweep
from noregret.store import Store
from tests.disks import small_disk

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)}
SMALL = "random:S=4,A=2,H=3"


def keys(n, episodes=500, **more):
    return [make_key(SMALL, "primal-dual-lsvi", episodes, trial=i, record_every=10, **more) for i in range(n)]


def curves(folder):
    return {path.parent.name: path.read_bytes() for path in Path(folder).glob("*/curves.npz")}


def test_a_hundred_kills_change_no_bit(tmp_path):
    command = [sys.executable, str(HERE / "killed.py"), str(tmp_path), "100", "0"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["killed"] == 100
    assert len(set(report["finished_at_kills"])) > 10, "the kills came at all stages"
    resumed = 0
    for round in range(report["rounds"]):
        store, twin = Store(tmp_path / f"runs{round}"), Store(tmp_path / f"twin{round}")
        assert len(store.ids()) == report["runs"] and curves(store.folder) == curves(twin.folder)
        assert all(store.whole(id) for id in store.ids())
        assert [path.name for path in (store.folder / ".work").iterdir()] == []
        assert {path.name for path in store.folder.iterdir()} == {*store.ids(), ".work"}
        resumed += sum(store.read(id).record["sittings"] > 1 for id in store.ids())
    assert resumed > 10, "many runs were killed in their midst and taken up from a checkpoint"


def test_a_disk_that_fills_up_is_named_and_what_is_finished_stays(tmp_path):
    with small_disk(tmp_path / "disk", "size=400k") as disk:
        runs = disk / "runs"
        spec = tmp_path / "s.toml"
        spec.write_text(
            f'episodes=500\nrecord_every=10\ntrials=60\nproblems=["{SMALL}"]\n[[learners]]\nname="primal-dual-lsvi"'
        )
        command = ["sweep", str(spec), "--out", str(runs)]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 1 and "No space left on device" in done.stderr, done.stderr
        assert "finished runs are untouched; start again to go on" in done.stderr and "Traceback" not in done.stderr
        store = Store(runs)
        before = curves(runs)
        assert 5 < len(before) < 60 and all(store.whole(id) for id in store.ids())
        subprocess.run(["mount", "-o", "remount,size=10m", str(disk)], check=True)
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0 and "60 of 60 runs are finished" in done.stdout, done.stderr
        after = curves(runs)
        assert after.items() >= before.items()
        sweep(keys(60), Context(Store(tmp_path / "twin"), 2))
        assert after == curves(tmp_path / "twin")


def test_writes_that_fail_leave_nothing_half_written(tmp_path, monkeypatch):
    """The same with a shim, at each place where the disk can fill up: the n-th sync fails for good."""
    fsync, twin = os.fsync, Store(tmp_path / "twin")
    wanted = keys(4)
    sweep(wanted, Context(twin, 1))
    for n in range(0, 14):
        store, calls = Store(tmp_path / f"runs{n}"), [0]

        def full(handle, calls=calls, n=n):
            calls[0] += 1
            if calls[0] > n:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match="No space left on device"):
            sweep(wanted, Context(store, 1))
        monkeypatch.setattr(os, "fsync", fsync)
        assert all(store.whole(id) for id in store.ids())
        assert not list((store.folder / ".work").glob("*.*")) and not list(store.folder.rglob("*.tmp"))
        assert sweep(wanted, Context(store, 1)).left == 0
        assert curves(store.folder) == curves(twin.folder)


def test_checkpoints_that_cannot_be_written_end_the_sweep_with_the_reason(tmp_path, monkeypatch):
    from noregret.store import checkpoints

    def full(path, write):
        raise FileError(f"{path}: cannot be written: No space left on device")

    execute(keys(1)[0], Store(tmp_path / "warm"))
    monkeypatch.setattr(checkpoints, "write_whole", full)
    with pytest.raises(FileError, match=r"checkpoint-\d+.bin: cannot be written: No space left"):
        sweep(keys(2, episodes=200_000), Context(Store(tmp_path / "runs"), 2, checkpoint_seconds=0.0))
    assert not list((tmp_path / "runs" / ".work").glob("*.lock"))


def test_a_read_only_folder_is_refused_in_one_line(tmp_path):
    spec = tmp_path / "s.toml"
    spec.write_text(f'episodes=500\nproblems=["{SMALL}"]\n[[learners]]\nname="uniform"')
    with small_disk(tmp_path / "disk", "size=1m,ro") as disk:
        for out in (disk / "runs", disk):
            done = CliRunner().invoke(app, ["sweep", str(spec), "--out", str(out)])
            assert done.exit_code == 1 and len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert str(out) in done.stderr and "Read-only file system" in done.stderr


def test_finished_runs_in_a_read_only_folder_can_be_read(tmp_path):
    sweep(keys(3), Context(Store(tmp_path / "runs"), 1))
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        shutil.copytree(tmp_path / "runs", disk / "runs")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert sweep(keys(3), Context(Store(disk / "runs"), 1)).there == 3


def test_a_changed_byte_in_any_stored_file_is_noticed(tmp_path):
    """Every file of a folder in turn: finished runs, checkpoints with their parts, records of failures."""
    rng = np.random.default_rng(1)
    store, wanted = Store(tmp_path / "runs"), keys(4)
    unfinished = make_key(SMALL, "primal-dual-lsvi", 60_000, record_every=1)
    failing = replace(make_key(SMALL, "lsvi-ucb", 10), params={"bet": 1})
    sweep([*wanted, failing], Context(store, 2))
    stop = threading.Event()
    stop.set()
    for _ in range(2):
        execute(unfinished, store, Settings(block_size=20_000, stop=stop))
    whole = tmp_path / "whole"
    shutil.copytree(store.folder, whole)
    expected = curves(whole)
    twin = Store(tmp_path / "twin")
    execute(unfinished, twin)
    files = [path for path in sorted(whole.rglob("*")) if path.is_file() and path.suffix != ".lock"]
    assert {"run.json", "curves.npz"} <= {path.name for path in files} and len([p for p in files if ".work" in str(p)]) >= 3

    def unread(path):  # the newest checkpoint is whole, so the one before is not looked at
        return path.name == "checkpoint-000000000020000.bin"

    for path in files:
        shutil.rmtree(store.folder)
        shutil.copytree(whole, store.folder)
        broken = store.folder / path.relative_to(whole)
        data = bytearray(path.read_bytes())
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        broken.write_bytes(data)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            store.failures()
            sweep(wanted, Context(store, 2))
            again = execute(unfinished, store)
        named = any(broken.name in str(warning.message) for warning in seen)
        assert again.status == "done" and named != unread(path), broken
        assert curves(store.folder) == expected | curves(twin.folder)


def test_two_sweeps_on_one_folder_share_the_work(tmp_path):
    spec = tmp_path / "s.toml"
    spec.write_text(f'episodes=20000\ntrials=40\nproblems=["{SMALL}"]\n[[learners]]\nname="primal-dual-lsvi"')
    command = [sys.executable, "-m", "noregret", "sweep", str(spec), "--out", str(tmp_path / "runs"), "--workers", "2"]
    both = [
        subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    now = [int(out.split("(")[1].split(" now")[0]) for out, _ in said]
    assert sum(now) == 40, "each run was played once"
    assert all("40 of 40 runs are finished" in out for out, _ in said)
    store = Store(tmp_path / "runs")
    assert len(store.ids()) == 40 and all(store.whole(id) for id in store.ids())


def test_a_clock_that_goes_backwards_does_not_disturb_a_sweep(tmp_path, monkeypatch):
    back = iter(range(2 * 10**9, 0, -5000))
    monkeypatch.setattr(time, "time", lambda: float(next(back)))
    summary = sweep(keys(6), Context(Store(tmp_path / "runs"), 2, checkpoint_seconds=0.0))
    monkeypatch.undo()
    assert summary.done == 6 and 0 < summary.seconds < 60
    sweep(keys(6), Context(Store(tmp_path / "twin"), 2))
    assert curves(tmp_path / "runs") == curves(tmp_path / "twin")


def test_the_memory_of_a_long_sweep_is_flat(tmp_path):
    script = (
        "import sys, json, os\nfrom noregret.runs.keys import make_key\nfrom noregret.store import Store\n"
        "from noregret.runs import schedule as s\n"
        "from noregret.runs.backends.job import Context\n"
        f"keys = [make_key({SMALL!r}, 'primal-dual-lsvi', 1000, trial=i) for i in range(500)]\n"
        "rss = []\n"
        "def watch(key, ending):\n"
        "    rss.append(int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGESIZE'))\n"
        "s.schedule(keys, Context(Store(sys.argv[1]), 2), tell=watch)\n"
        "print(json.dumps(rss))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "runs")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rss = json.loads(done.stdout)
    assert len(rss) == 500
    assert max(rss[50:]) < 1.1 * rss[49], f"{rss[49] / 1e6:.0f} MB after 50 runs, {max(rss[50:]) / 1e6:.0f} MB later"
