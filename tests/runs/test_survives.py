"""Commands that are killed and started again: they go on from what is there, and end with the same bytes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.store import Store

SMALL = "random:S=4,A=2,H=3"
LEARNERS = "uniform,lsvi-ucb,primal-dual-lsvi"
COMMANDS = {
    "run": ["run", SMALL, "-k", "2e4", "-t", "6", "--workers", "1"],
    "compare": ["compare", "--problems", SMALL, "--learners", LEARNERS, "-k", "5e3", "-t", "2"],
    "paper": ["paper", "--episodes", "2000", "--trials", "2"],
    "demo": ["demo", "zero-violation", "--quick"],
    "tune": ["tune", SMALL, "--param", "beta=0.01:10:log", "--violation-limit", "1e9", "-k", "2e3", "--trials", "4"],
}


def start(args: list[str], out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "noregret", *args, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(args: list[str], out: Path) -> str:
    """The same command to its end, in this process: it shares nothing with the one that was killed but the folder."""
    done = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return done.output


def files(folder: Path) -> dict[str, bytes]:
    """What a user sees, and the curves of every run; times and machines are in the records only.

    A draft that was being written at the kill is hidden, and goes with the first write after ten seconds: see test_files.
    """
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.suffix != ".tmp"}
    return found | {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("runs/*/curves.npz")}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, name: str) -> None:
    args, out = COMMANDS[name], tmp_path / "killed"
    process, deadline = start(args, out), time.monotonic() + 200
    while not Store(out / "runs").ids() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    first = len(Store(out / "runs").ids())
    finish(args, out)
    finish(args, tmp_path / "whole")
    killed, whole = files(out), files(tmp_path / "whole")
    assert first > 0 and killed.keys() == whole.keys() and len(whole) > 2
    assert [path for path in whole if killed[path] != whole[path]] == []


def test_fresh_forgets_what_is_there_and_ids_do_not_depend_on_the_command(tmp_path: Path) -> None:
    args = ["run", SMALL, "-l", "uniform", "-k", "1000", "-t", "2"]
    finish(args, tmp_path)
    store = Store(tmp_path / "runs")
    when = {id: store.read(id).record["finished"] for id in store.ids()}
    time.sleep(1.1)
    finish(args, tmp_path)
    assert {id: store.read(id).record["finished"] for id in store.ids()} == when, "finished runs are left alone"
    finish([*args, "--fresh"], tmp_path)
    assert when.keys() == set(store.ids()) and all(store.read(id).record["finished"] != when[id] for id in when)


def test_other_processes_serve_every_command(tmp_path: Path) -> None:
    args = ["compare", "--problems", SMALL, "--learners", "uniform,lsvi-ucb", "-k", "500", "-t", "2"]
    finish(args, tmp_path / "threads")
    finish([*args, "--backend", "processes"], tmp_path / "processes")
    assert files(tmp_path / "threads") == files(tmp_path / "processes")


def test_runs_are_found_where_commands_keep_them(tmp_path: Path) -> None:
    finish(["run", SMALL, "-l", "uniform", "-k", "100", "-t", "2"], tmp_path)
    assert len(nr.load_runs(tmp_path).runs) == 2
    again = nr.run(SMALL, "uniform", episodes=100, trials=2, record_every=1, out=tmp_path, progress=False)
    assert len(Store(tmp_path / "runs").ids()) == 2 and again.complete, "Python and the command share their runs"
    for wrong in ("", 3):
        with pytest.raises(nr.NoRegretError, match="out is"):
            nr.run(SMALL, "uniform", episodes=5, out=wrong)
