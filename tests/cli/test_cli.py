"""The command line: what it prints, its exit codes, and that it stays quick to start."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from noregret.cli import app, arguments

runner = CliRunner()


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """Commands keep their runs in the current folder."""
    monkeypatch.chdir(tmp_path)


def noregret(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "noregret", *args], capture_output=True, text=True, timeout=120, **options)


def test_help_names_the_commands():
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in ("check", "list", "paper", "run"):
        assert command in result.output


def test_list_names_problems_and_learners():
    result = runner.invoke(app, ["list"])
    assert result.exit_code == 0
    assert "job-scheduling" in result.output and "primal-dual-lsvi" in result.output and "optimal" in result.output
    only = runner.invoke(app, ["list", "problems"])
    assert "job-scheduling" in only.output and "primal-dual-lsvi" not in only.output


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["run", "job-schedulin"], "did you mean 'job-scheduling'?"),
        (["run", "job-scheduling", "--learner", "primal-dual-lsv"], "did you mean 'primal-dual-lsvi'?"),
        (["run", "job-scheduling", "--preset", "practica"], "did you mean 'practical'?"),
        (["run", "job-scheduling", "--set", "bta=1"], "did you mean 'beta'?"),
        (["run", "job-scheduling", "--set", "beta"], "expected key=value"),
        (["run", "job-scheduling", "--set", "beta=1", "--set", "beta=2"], "given twice"),
        (["run", "job-scheduling", "--set", "beta=much"], "expected a number"),
        (["run", "job-scheduling", "--slater-gap", "big"], "expected a number or 'oracle'"),
        (["run", "job-scheduling", "--episodes", "0"], "episodes is 0"),
        (["run", "job-scheduling", "--trials", "-1"], "trials is -1"),
        (["run", "job-scheduling:b=5"], "reach"),
        (["run", "job-scheduling", "--preset", "theory"], "slater_gap"),
        (["run", "nowhere.npz"], "nowhere.npz"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(args, hint):
    result = runner.invoke(app, args)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["run"], "Missing argument 'PROBLEM'; noregret run --help"),
        (["run", "job-scheduling", "--episodes", "many"], "'-k': 'many' is not a whole number"),
        (["run", "job-scheduling", "--episodes", "1.5"], "'1.5' is not a whole number"),
        (["run", "job-scheduling", "--episodes", "1e30"], "expected a whole number from 1 to"),
        (["run", "job-scheduling", "--episodes", "10", "--trials", "1e30"], "raise record_every, or lower trials"),
        (["run", "job-scheduling", "--epsiodes", "5"], "No such option: --epsiodes"),
        (["run", "job-scheduling", "--set", "seed=3"], "expected the option --seed"),
        (["run", "job-scheduling", "--set", "block_size=3"], "no such option"),
        (["run", "job-scheduling", "--set", "beta=1e308"], "beta is 1e+308"),
        (["run", "job-scheduling", "--set", f"beta={'9' * 400}"], "beta is inf"),
        (["check", "job-scheduling", "--set", "name=3"], "no such option"),
        (["check", "linear-continuous"], "states in R^D"),
        (["paper", "--episodes", "0"], "episodes is 0"),
        (["fly"], "No such command 'fly'"),
        (["runn"], "No such command 'runn'. Did you mean 'run'? noregret --help shows"),
        (["list", "foo"], "foo"),
    ],
)
def test_lines_that_cannot_be_read_are_bad_input_too(args, hint):
    result = runner.invoke(app, args)
    unreadable = "--help shows what is expected" in result.stderr
    assert result.exit_code == (2 if unreadable else 1)
    assert unreadable == any(word in hint for word in ("Missing", "not a whole", "No such", "foo"))
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1 and hint in result.stderr, result.stderr
    assert result.stdout == ""


def test_no_arguments_show_the_help():
    result = runner.invoke(app, [])
    assert result.exit_code == 0 and "Usage" in result.output


def test_run_prints_and_writes_the_numbers_of_the_same_run_in_python(tmp_path):
    import csv

    import numpy as np

    import noregret as nr

    out = tmp_path / "new" / "folder"
    args = ["run", "job-scheduling", "-k", "1e3", "-t", "3", "--seed", "5", "--set", "beta=0.2", "--out", str(out)]
    result = runner.invoke(app, args)
    assert result.exit_code == 0, result.output
    own = nr.run(
        nr.problems.load("job-scheduling"), episodes=1000, trials=3, seed=5, beta=0.2, record_every=2, progress=False
    )  # fmt: skip
    for which in ("regret", "violation", "hard_violation", "hard_regret"):
        assert nr.metrics.show(own.last(which)) in result.stdout
    with open(out / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert np.array_equal(np.reshape([float(row["regret"]) for row in rows], own.regret.shape), own.regret)
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in out.iterdir()} == {"curves.csv", "curves.png", "curves.svg", "curves.pdf", "runs"}


def test_run_names_the_tightened_baseline_and_what_the_learner_was_told():
    args = ["run", "job-scheduling", "-k", "200", "-t", "2", "--preset", "paper", "--slater-gap", "oracle"]
    result = runner.invoke(app, args)
    assert result.exit_code == 0
    assert "regret, tightened" in result.stdout and "told a Slater gap of 0.499791" in result.stdout


def test_run_refuses_an_unusable_folder_before_it_runs(tmp_path):
    (tmp_path / "file").write_text("")
    result = runner.invoke(app, ["run", "job-scheduling", "-k", "100", "--out", str(tmp_path / "file")])
    assert result.exit_code == 1 and "cannot be used as a folder" in result.stderr and result.stdout == ""


def test_run_without_matplotlib_writes_the_rest_and_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.warns(UserWarning, match=r"no figure was written: .* pip install 'noregret\[report\]'"):
        result = runner.invoke(app, ["run", "job-scheduling", "-k", "100", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0 and (tmp_path / "out" / "curves.csv").exists()


def test_check_says_what_is_true_of_the_problem():
    result = runner.invoke(app, ["check", "job-scheduling", "--preset", "paper", "--episodes", "200_000"])
    assert result.exit_code == 0, result.output
    for words in (
        "10 steps",
        "at least 4",
        "0.000000 to 4.499791",
        "9.058824",
        "0.235294",
        "0.499791",
        "0.00447214",
        "Theorem 2",
    ):
        assert words in result.stdout
    assert "the ε of section 5, read as ζ" in result.stdout


def test_check_speaks_of_costs_as_they_were_stated():
    import noregret as nr

    result = runner.invoke(app, ["check", "queue", "--preset", "theory", "--episodes", "1000"])
    assert result.exit_code == 0, result.output
    problem = nr.problems.load("queue")
    low, high = problem.horizon - nr.oracle.reachable(problem)[1][::-1]
    assert f"{low:.6f} to {high:.6f}" in result.stdout and "at most 3" in result.stdout
    assert "told the exact Slater gap" in result.stdout and "No bound: the problem has 2 constraints" in result.stdout


def test_check_shows_the_bounds_of_the_theorem():
    import noregret as nr

    result = runner.invoke(app, ["check", "job-scheduling", "--preset", "theory", "--episodes", "1000"])
    gap = nr.solve(nr.problems.load("job-scheduling")).slater_gap
    bound = nr.theory.regret_bound(d=20, H=10, K=1000, A=2, xi=nr.theory.xi(H=10, slater_gap=gap))
    assert f"{bound:.3e}" in result.stdout and "Theorem 1, with C = 1" in result.stdout and "says nothing" in result.stdout


def test_check_shows_the_range_of_an_infeasible_problem_before_the_error():
    result = runner.invoke(app, ["check", "job-scheduling:b=5"])
    assert result.exit_code == 1 and "4.499791" in result.stdout and result.stderr.count("\n") == 1


def test_check_gives_a_reason_for_every_constant_and_shows_what_a_user_can_give():
    result = runner.invoke(app, ["check", "random", "-k", "1000", "--set", "schedule=doubling", "--set", "xi_rule=estimate"])
    assert result.exit_code == 0, result.output
    assert "these are for its K = 512" in result.stdout
    shown = re.sub("[│╭╮╰╯─]", " ", runner.invoke(app, ["check", "--help"]).stdout)
    assert "All learners: practical, theory; most: tuned; some: paper, safe" in " ".join(shown.split())


def test_check_of_other_learners_and_of_too_much_tightening():
    assert "uniform has no constants" in runner.invoke(app, ["check", "job-scheduling", "-l", "uniform"]).stdout
    result = runner.invoke(app, ["check", "job-scheduling", "--preset", "theory", "--set", "zeta=0.4"])
    assert result.exit_code == 0 and "No bound: ζ is 0.4" in result.stdout
    assert "for opt-dual" in runner.invoke(app, ["check", "job-scheduling", "-l", "opt-dual"]).stdout


def test_settings_are_read_as_what_they_are():
    read = arguments.settings(["a=1", "b=2.5", "c=true", "d=none", "e=H-h+1", "f=inf", "g-h=x=y"])
    assert read == {"a": 1, "b": 2.5, "c": True, "d": None, "e": "H-h+1", "f": float("inf"), "g_h": "x=y"}
    assert isinstance(read["a"], int) and arguments.whole("2e5") == arguments.whole("200_000") == 200_000


def test_a_warning_is_one_line():
    done = noregret("check", "job-scheduling:b=0")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: ") and "every policy meets it" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("args", [["run", "job-scheduling", "-k", "1e9", "-t", "2"], ["paper", "--episodes", "1e9"]])
def test_ctrl_c_prints_what_is_done_and_exits_with_130(args, tmp_path):
    args = [*args, "--out", str(tmp_path / "out")] if args[0] == "paper" else args
    code = "import sys; from noregret.cli import main; print('ready', flush=True); main(sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        kept = Path("results/run" if args[0] == "run" else tmp_path / "out") / "runs" / ".work"
        deadline = time.monotonic() + 100
        while not list(kept.glob("*.lock")) and time.monotonic() < deadline:  # a run is under way
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err and err.splitlines()[-1].startswith("stopped")
    if args[0] == "paper":
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["runs"]


def test_a_stopped_run_prints_its_numbers(monkeypatch):
    import noregret as nr
    from noregret import runs

    whole = nr.run(nr.problems.load("job-scheduling"), episodes=200, trials=2, record_every=1, progress=False)
    monkeypatch.setattr(runs, "run", lambda *args, **options: dataclasses.replace(whole, episodes_requested=1000))
    result = runner.invoke(app, ["run", "job-scheduling", "-k", "1000", "-t", "2"])
    assert result.exit_code == 130
    assert "hard violation" in result.stdout
    assert result.stderr == "stopped: 200 of 1,000 episodes were recorded of each trial; the same command goes on\n"


def test_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys; from noregret.cli import app; "
        "heavy = {'numba', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules); assert not heavy, heavy"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_exit_codes_and_debug_of_the_real_command():
    plain = noregret("run", "job-schedulin")
    assert plain.returncode == 1 and "Traceback" not in plain.stderr and plain.stderr.count("\n") == 1
    debug = noregret("run", "job-schedulin", "--debug")
    assert debug.returncode == 1 and "Traceback" in debug.stderr
    version = noregret("--version")
    assert version.returncode == 0 and version.stdout.startswith("noregret 0")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("args", [["list", "problems"], ["--help"]])
def test_output_that_cannot_be_written_is_one_line(args):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "noregret", *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "error: the output: No space left on device\n"


def test_a_closed_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "noregret", "list", "problems"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert done.stderr == ""
