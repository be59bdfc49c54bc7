"""The command line: what it prints, its exit codes, and that it stays quick to start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from noregret.cli import app

runner = CliRunner()


def noregret(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "noregret", *args], capture_output=True, text=True, timeout=120, **options)


def test_help_names_the_commands():
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in ("check", "list", "run"):
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


def test_usage_errors_keep_exit_code_2():
    assert runner.invoke(app, ["run"]).exit_code == 2
    assert runner.invoke(app, ["run", "job-scheduling", "--episodes", "many"]).exit_code == 2
    assert runner.invoke(app, ["fly"]).exit_code == 2


def test_exit_codes_and_debug_of_the_real_command():
    plain = noregret("run", "job-schedulin")
    assert plain.returncode == 1 and "Traceback" not in plain.stderr and plain.stderr.count("\n") == 1
    debug = noregret("run", "job-schedulin", "--debug")
    assert debug.returncode == 1 and "Traceback" in debug.stderr
    version = noregret("--version")
    assert version.returncode == 0 and version.stdout.startswith("noregret 0")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "noregret", "list", "problems"]
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
