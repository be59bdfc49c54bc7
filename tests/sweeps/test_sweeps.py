"""Sweeps: what a file may say, what is refused with its line, backends, failures, exit codes, progress."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.errors import FileError, InputError
from noregret.learners import registry
from noregret.runs import execute
from noregret.runs.backends.job import Context
from noregret.runs.keys import make_key
from noregret.runs.loggers import CSVLogger
from noregret.runs.progress import Tally, clock, log_lines
from noregret.runs.schedule import schedule as sweep
from noregret.runs.start import start
from noregret.store import RunKey, Store
from noregret.sweeps import spec
from noregret.sweeps.estimate import estimate

runner = CliRunner()

TWO_BY_TWO = """
episodes = 200
record_every = 50
seeds = 2
problems = ["random:S=4,A=2,H=3", "random:S=4,A=2,H=3,seed=1"]

[[learners]]
name = "primal-dual-lsvi"
params = { zeta = 0.0 }
grid = { beta = [0.1, 0.3] }

[[learners]]
name = "uniform"
"""


#: For processes that are started in another folder.
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(TWO_BY_TWO)
    return path


def curves(folder):
    return {path.parent.name: path.read_bytes() for path in Path(folder).glob("*/curves.npz")}


# --- the file -----------------------------------------------------------------------------------------------------


def test_a_sweep_is_the_product_of_its_lists():
    plan = spec.parse(TWO_BY_TWO)
    assert len(plan.keys) == len({key.id for key in plan.keys}) == 2 * 2 * (2 + 1)
    seen = {(key.problem, key.learner, key.params.get("beta"), key.seed) for key in plan.keys}
    assert ("random:S=4,A=2,H=3" in {s[0] for s in seen}) and {s[2] for s in seen} == {0.1, 0.3, None}
    assert all(key.params["zeta"] == 0.0 for key in plan.keys if key.learner == "primal-dual-lsvi")
    text = TWO_BY_TWO.replace("seeds = 2", "seeds = [3, 5]\ntrials = 2").replace(
        "random:S=4,A=2,H=3,seed=1", "random:A=2,H=3,S=4"
    )
    again = spec.parse(text)
    assert {(key.seed, key.trial) for key in again.keys} == {(3, 0), (3, 1), (5, 0), (5, 1)}
    assert len(again.keys) == 4 * 3, "the same problem written otherwise is the same problem"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("episodes = 200", "epsiodes = 200", 2, "unknown key 'epsiodes'; did you mean 'episodes'?"),
        ("episodes = 200", "episodes = 0", 2, "episodes is 0; expected a whole number, at least 1"),
        ("seeds = 2", "seeds = [0, -1]", 4, "seeds is -1; expected a whole number, at least 0"),
        ("seeds = 2", "seeds = 'x'", 4, "seeds is 'x'"),
        ('problems = ["random:S=4,A=2,H=3"', 'problems = ["randm:S=4"', 5, "unknown problem 'randm'; did you mean 'random'?"),
        ("random:S=4,A=2,H=3,seed=1", "random:Q=1", 5, "unknown parameter of problem 'random': 'Q'"),
        ('name = "uniform"', 'name = "uniforn"', 13, "unknown learner 'uniforn'; did you mean 'uniform'?"),
        ('name = "uniform"', 'name = "uniform"\npreest = "theory"', 14, "unknown key 'preest'; did you mean 'preset'?"),
        ('name = "uniform"', 'name = "uniform"\npreset = "theorie"', 14, "did you mean 'theory'?"),
        ('name = "uniform"', 'name = "uniform"\npreset = 3', 14, "unknown preset of uniform 3 (known:"),
        ('name = "uniform"', 'name = "uniform"\nslater_gap = [1]', 14, "uniform on random:S=4,A=2,H=3: slater_gap is [1]"),
        ("{ zeta = 0.0 }", "{ episodes = 3 }", 9, "'episodes' is among the parameters; expected constants of the learner"),
        ("seeds = 2", "seeds = []", 4, "seeds is []"),
        ("seeds = 2", "seeds = 2\nstarts = 999", 5, "starts[0] is 999; expected 0..3"),
        ("seeds = 2", "starts = [[0], [1, 2]]", 4, "ValueError: "),
        ("seeds = 2\nproblems = [", "seeds = 2\nstarts = 0\nproblems = [\n'linear-continuous', ", 5, "draws its own start"),
        ("problems = [", "problems = [\n 'random:S=4',\n 'randm',\n ", 7, "did you mean 'random'?"),
        ("grid = { beta = [0.1, 0.3] }", "[learners.grid]\nbeta = [0.1]\neta = [-1]", 12, "eta is -1; expected a number"),
        ("grid = { beta = [0.1, 0.3] }", "grid = { bta = [0.1] }", 10, "did you mean 'beta'?"),
        ("grid = { beta = [0.1, 0.3] }", "grid.beta = 0.1", 10, "beta is 0.1; a grid takes a list of values"),
        ("grid = { beta = [0.1, 0.3] }", "grid = { zeta = [0.1] }", 10, "zeta is given in params and in grid"),
        ('name = "uniform"', "grid = {}", 12, "a learner has no name"),
        ("seeds = 2", 'imports = ["no_such_module_x"]', 4, "module 'no_such_module_x' cannot be imported"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_line(old, new, line, words):
    assert old in TWO_BY_TWO
    with pytest.raises(InputError, match=rf"sweep, line {line}: .*{re.escape(words)}"):
        spec.parse(TWO_BY_TWO.replace(old, new))


def test_what_is_missing_or_not_toml_is_refused():
    with pytest.raises(InputError, match="'learners' is missing"):
        spec.parse("episodes = 3\nproblems = ['random']")
    with pytest.raises(InputError, match="sweep, line 3: learners is empty"):
        spec.parse("episodes = 3\nproblems = ['random']\nlearners = []")
    with pytest.raises(InputError, match=r"is not TOML: .*line 1"):
        spec.parse("episodes = = 3")
    with pytest.raises(FileError, match=r"nothing\.toml: cannot be read"):
        spec.read("nothing.toml")


# --- playing ------------------------------------------------------------------------------------------------------


def test_threads_and_processes_give_the_bits_of_run_in_any_number(file, tmp_path):
    plan = spec.read(file)
    folders = {}
    for backend, workers in (("threads", 1), ("threads", 3), ("processes", 2)):
        folders[backend, workers] = folder = tmp_path / f"{backend}{workers}"
        summary = sweep(plan.keys, Context(Store(folder), workers), backend)
        assert (summary.done, summary.there, summary.failed, summary.left) == (12, 0, {}, 0)
        assert summary.episodes == 12 * 200
    first, *others = (curves(folder) for folder in folders.values())
    assert len(first) == 12 and all(other == first for other in others)
    for key in plan.keys[::5]:
        direct = nr.run(
            nr.problems.load(key.problem), key.learner, episodes=200, trials=1, seed=key.seed, record_every=50, **key.params
        )
        stored = Store(folder).read(key.id).curves()
        assert stored["regret"].tolist() == direct.regret[0].tolist()
    again = sweep(plan.keys, Context(Store(folder), 2))
    assert (again.done, again.there, again.episodes) == (0, 12, 0)


def test_a_run_that_raises_does_not_stop_the_rest_and_the_last_lines_say_why(file, tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "start", lambda key: start(key) if key.seed or not broken else 1 / 0)
    broken = False
    plan = spec.read(file)
    broken = True
    monkeypatch.setattr(spec, "read", lambda path: plan)
    result = runner.invoke(app, ["sweep", str(file), "--out", str(tmp_path / "runs"), "--workers", "2"])
    assert result.exit_code == 1
    assert "6 of 12 runs are finished" in result.output
    assert "6 of 12 runs failed" in result.stderr and "6 x ZeroDivisionError: division by zero" in result.stderr
    store = Store(tmp_path / "runs")
    assert len(store.ids()) == 6 and len(store.failures()) == 6
    shown = runner.invoke(app, ["show", next(iter(store.failures())), "--runs", str(store.folder)])
    assert shown.exit_code == 0 and "Traceback" in shown.output and "1 / 0" in shown.output
    listed = runner.invoke(app, ["list", "runs", "--runs", str(store.folder)])
    assert "6 finished, 6 failed" in listed.output
    broken = False
    result = runner.invoke(app, ["sweep", str(file), "--out", str(store.folder)])
    assert result.exit_code == 0 and store.failures() == {} and len(store.ids()) == 12


def test_dry_run_counts_measures_and_runs_nothing(file, tmp_path):
    result = runner.invoke(app, ["sweep", str(file), "--out", str(tmp_path / "runs"), "--dry-run"])
    assert result.exit_code == 0 and "12 runs, 0 of them finished" in result.output
    assert "expected time" in result.output and "expected disk" in result.output and "episodes/s" in result.output
    assert not (tmp_path / "runs").exists()
    store, plan = Store(tmp_path / "runs"), spec.read(file)
    before = estimate(plan.keys, store, 2)
    sweep(plan.keys, Context(store, 2))
    used = sum(os.lstat(path).st_blocks * 512 for path in store.folder.rglob("*"))
    assert 0.5 < before.bytes / used < 2
    assert estimate(plan.keys, store, 2).seconds == 0


def test_an_unknown_backend_or_logger_is_refused(file, tmp_path):
    for option, words in ((["--backend", "thread"], "did you mean 'threads'"), (["--log", "cvs"], "did you mean 'csv'")):
        result = runner.invoke(app, ["sweep", str(file), "--out", str(tmp_path / "runs"), *option])
        assert result.exit_code == 1 and words in result.stderr
    assert Store(tmp_path / "runs").ids() == []


def test_show_and_list_say_what_a_run_is(file, tmp_path):
    store = Store(tmp_path / "runs")
    sweep(spec.read(file).keys[:2], Context(store, 1))
    id = store.ids()[0]
    shown = runner.invoke(app, ["show", id[:10], "--runs", str(store.folder)])
    assert shown.exit_code == 0, shown.output
    for words in (id, "primal-dual-lsvi", "beta", "numpy", "Repeat it: nr.run(nr.problems.load('random:S=4,A=2,H=3')"):
        assert words in shown.output
    code = shown.output.split("Repeat it: ")[1].replace("\n", "")
    repeated = eval(code, {"nr": nr})
    assert repeated.regret[-1].tolist() == store.read(id).curves()["regret"].tolist()
    table = tmp_path / "t.csv"
    listed = runner.invoke(app, ["list", "runs", "--runs", str(store.folder), "--csv", str(table)])
    assert listed.exit_code == 0 and id in listed.output and id in table.read_text()
    assert runner.invoke(app, ["show", "zz", "--runs", str(store.folder)]).exit_code == 1


# --- stopping -----------------------------------------------------------------------------------------------------

LONG = """
episodes = 100000000
seeds = 2
problems = ["random:S=4,A=2,H=3"]
[[learners]]
name = "primal-dual-lsvi"
"""


@pytest.mark.parametrize(("backend", "number"), [("threads", signal.SIGINT), ("processes", signal.SIGTERM)])
def test_a_signal_leaves_checkpoints_and_says_so(tmp_path, backend, number):
    (tmp_path / "long.toml").write_text(LONG)
    command = [sys.executable, "-m", "noregret", "sweep", "long.toml", "--backend", backend, "--checkpoint", "0.2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    store = Store(tmp_path / "runs")
    deadline = time.monotonic() + 60
    while len(list((store.folder / ".work").glob("*/checkpoint-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "0 of 2 runs are finished" in out and "2 runs are left; the same command goes on" in err
    checkpoints = {
        path.parent: int(path.stem.split("-")[1]) for path in sorted((store.folder / ".work").glob("*/checkpoint-*"))
    }
    assert f"(0 now, {sum(checkpoints.values()):,} episodes in" in out.replace("\n", " "), "what was played is counted"
    assert not list((store.folder / ".work").glob("*.lock"))
    for folder in (path for path in (store.folder / ".work").iterdir()):
        assert list(folder.glob("checkpoint-*")), "each run left a checkpoint"


def test_a_worker_that_dies_has_its_run_taken_up_again(tmp_path):
    (tmp_path / "s.toml").write_text(LONG.replace("100000000", "300000"))
    command = [sys.executable, "-m", "noregret", "sweep", "s.toml", "--backend", "processes", "--checkpoint", "0", "-w1"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    store, killed, deadline = Store(tmp_path / "runs"), set(), time.monotonic() + 60
    while len(killed) < 2 and process.poll() is None and time.monotonic() < deadline:
        locks = list((store.folder / ".work").glob("*/checkpoint-*"))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        fresh = [int(pid) for pid in children if int(pid) not in killed]
        if locks and fresh:
            os.kill(fresh[0], signal.SIGKILL)
            killed.add(fresh[0])
        time.sleep(0.05)
    out, err = process.communicate(timeout=100)
    assert len(killed) == 2 and process.returncode == 0, err
    assert "2 of 2 runs are finished" in out
    twin = Store(tmp_path / "twin")
    sweep(spec.read(tmp_path / "s.toml").keys, Context(twin, 2))
    assert curves(store.folder) == curves(twin.folder)


def test_a_run_that_kills_its_workers_is_given_up(tmp_path, monkeypatch):
    from noregret.runs.backends import processes

    (tmp_path / "deadly.py").write_text(
        "import os, sys\nfrom noregret import learners\n\n@learners.register\nclass Deadly(learners.fixed.Uniform):\n"
        "    name = 'deadly'\n    def begin(self, c):\n"
        "        if '-P' in sys.orig_argv:  # a worker\n            os.abort()\n"
        "        return super().begin(c)\n"
    )
    monkeypatch.setattr(processes, "DEATHS", 2)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]]))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("deadly")
    keys = [make_key("random:S=4,A=2,H=3", name, 10) for name in ("deadly", "uniform")]
    summary = sweep(keys, Context(Store(tmp_path / "runs"), 1, imports=("deadly",)), "processes")
    assert summary.done == 1
    assert summary.failed == {keys[0].id: "its worker died 2 times, the last time by signal SIGABRT"}
    assert Store(tmp_path / "runs").failures().keys() == summary.failed.keys()
    del registry._learners["deadly"]


# --- progress and loggers -----------------------------------------------------------------------------------------


def test_progress_is_plain_lines_in_a_log(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    tally = Tally(4, 4000)
    show = log_lines(tally, stream)
    tally.note("a", 500)  # taken up at 500
    tally.note("a", 900)
    tally.finished, tally.failed = 1, 1
    tally.settle("b", 1000, 1000)
    now[0] = 102.0
    show(tally.episodes_done)
    assert stream.getvalue() == "", "a log gets a line every ten seconds"
    now[0] = 110.0
    show(tally.episodes_done)
    assert stream.getvalue() == "1 of 4 runs done, 1 failed, 2 left; 140 episodes/s; 0:00:15 left\n"
    assert tally.words() == "1 of 4 runs done, 1 failed" and tally.episodes_done == 1900
    assert clock(59.6) == "0:01:00"


def test_what_is_logged_does_not_depend_on_stops(tmp_path):
    from noregret.runs.execute import Settings, execute

    class Once:
        def __init__(self):
            self.looks = 0

        def is_set(self):
            self.looks += 1
            return self.looks > 2

    key = make_key("random:S=4,A=2,H=3", "primal-dual-lsvi", 100, record_every=10)
    quiet, stopped = Store(tmp_path / "q"), Store(tmp_path / "s")
    execute(key, quiet, Settings(loggers=("csv",)))
    assert execute(key, stopped, Settings(loggers=("csv",), block_size=15, stop=Once())).status == "stopped"
    half = (stopped.folder / "logs" / f"{key.id}.csv").read_text()
    execute(key, stopped, Settings(loggers=("csv",)))
    whole = (stopped.folder / "logs" / f"{key.id}.csv").read_text()
    assert whole == (quiet.folder / "logs" / f"{key.id}.csv").read_text() and whole.startswith(half)
    lines = whole.splitlines()
    assert lines[0] == "episode,regret,hard_regret,violation,hard_violation,dual" and len(lines) == 11
    assert float(lines[-1].split(",")[1]) == quiet.read(key.id).record["last"]["regret"]
    with pytest.raises(InputError):
        CSVLogger(tmp_path).log(1, {})


def test_tensorboard_reads_what_was_logged(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    key = make_key("random:S=4,A=2,H=3", "uniform", 100, record_every=10)
    store = Store(tmp_path / "runs")
    sweep([key], Context(store, 1, loggers=("tensorboard",)))
    events = EventAccumulator(str(store.folder / "logs" / key.id))
    events.Reload()
    scalars = events.Scalars("regret")
    assert [scalar.step for scalar in scalars] == list(range(10, 101, 10))
    assert scalars[-1].value == pytest.approx(store.read(key.id).record["last"]["regret"], rel=1e-6)


def test_jobs_are_plain_text(tmp_path):
    key = make_key("random:S=4", "primal-dual-lsvi", 10, params={"alpha": float("inf")})
    job = Context(Store(tmp_path), 1).job(key)
    assert RunKey.from_json(json.loads(job)["key"]).id == key.id
