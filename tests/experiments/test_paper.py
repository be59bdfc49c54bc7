"""``noregret paper``: the constants are section 5's, and what it leaves is whole and says what was measured."""

from __future__ import annotations

import csv
import errno
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.experiments.paper import page as report
from noregret.experiments.paper import settings as experiment
from noregret.metrics import number

FIGURES = {f"{name}.{kind}" for name in ("figure1", "neighbours") for kind in ("png", "svg", "pdf")}
FILES = {*FIGURES, "table.csv", "curves.csv", "page.md", "runs"}
K, TRIALS = 600, 3
runner = CliRunner()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper") / "deep" / "out"
    result = runner.invoke(app, ["paper", "--out", str(out), "--episodes", str(K), "--trials", str(TRIALS)])
    assert result.exit_code == 0, result.output
    return out, result


def test_constants_are_those_of_section_5():
    problem = nr.problems.load(experiment.PROBLEM)
    K, H = experiment.EPISODES, problem.horizon
    assert (K, experiment.TRIALS, H, problem.n_states, problem.n_actions) == (200_000, 10, 10, 10, 2)
    made = nr.learners.make(
        experiment.LEARNER, problem.spec, episodes=K, preset=experiment.PRESET, **experiment.MAIN.params
    )  # fmt: skip
    c = made.constants
    assert c["alpha"] == pytest.approx(K / (1 + 2 * H + H))
    assert c["eta"] == pytest.approx(2 * H / math.sqrt(K * H**2))
    assert (c["xi"], c["zeta"], c["beta"], c["cap"], c["features"]) == (20.0, 0.1, 1.0, "H", "one-hot")
    assert c["lam"] == pytest.approx((c["beta"] / H) ** 2)


def test_neighbours_surround_the_choice():
    problem = nr.problems.load(experiment.PROBLEM)
    seen = set()
    for setting in (experiment.MAIN, *experiment.NEIGHBOURS):
        c = nr.learners.make(experiment.LEARNER, problem.spec, episodes=100, preset="paper", **setting.params).constants
        rule = experiment.UNIT if c["lam"] == 1.0 else experiment.UNTRIED_WORTH_H
        assert setting.row == rule and f"β = {c['beta']:g}" in setting.label
        seen.add((c["beta"], rule, c["zeta"]))
    assert len(seen) == 1 + len(experiment.NEIGHBOURS)
    assert {(b, r, 0.1) for b in (0.3, 1.0, 3.0) for r in (experiment.UNIT, experiment.UNTRIED_WORTH_H)} <= seen


def test_all_files_are_there_and_whole(done):
    out, result = done
    assert {path.name for path in out.iterdir()} == FILES
    for name in ("figure1", "neighbours"):
        data = (out / f"{name}.png").read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82") and len(data) > 30_000
        assert ET.parse(out / f"{name}.svg").getroot().tag.endswith("svg")
    text = (out / "figure1.svg").read_text()
    for words in ("against V*(b)", "against V*(b+ζ)", "dual variable", "for comparison", "hard violation"):
        assert words in text
    assert str(out / "page.md") in result.output.replace("\n", "")


def test_curves_and_table_are_those_of_a_run_of_ones_own(done):
    out, _ = done
    own = nr.run(
        nr.problems.load("job-scheduling"), episodes=K, trials=TRIALS, seed=0, preset="paper", record_every=1, progress=False
    )  # fmt: skip
    with open(out / "curves.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["run"].endswith("(main)")]
    assert np.array_equal(np.reshape([float(row["regret"]) for row in rows], own.regret.shape), own.regret)
    assert np.array_equal(np.reshape([float(row["violation_0"]) for row in rows], own.violation.shape), own.violation)
    assert np.array_equal(np.reshape([float(row["dual_0"]) for row in rows], own.dual[:, :, 0].shape), own.dual[:, :, 0])
    with open(out / "table.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 1 + len(experiment.NEIGHBOURS) and len({row["run"] for row in table}) == len(table)
    assert float(table[0]["regret"]) == own.regret[:, -1].mean()
    assert float(table[0]["violation"]) == own.violation[:, -1].mean()


def test_page_says_what_was_measured_and_what_is_true(done):
    out, _ = done
    page = " ".join((out / "page.md").read_text(encoding="utf-8").split())
    with open(out / "table.csv", newline="") as file:
        main = next(csv.DictReader(file))
    for column in ("regret", "violation", "hard violation", "hard regret"):
        assert number(float(main[column])) in page
    assert (
        "| lower_clip | False | as printed in the paper |" in page and "| xi_rule | fixed | as printed in the paper |" in page
    )
    best = nr.solve(nr.problems.load("job-scheduling"))
    tight = nr.solve(nr.problems.load("job-scheduling"), tighten=0.1)
    for exact in (
        f"the Slater gap is {best.slater_gap:.4f}",
        f"earns {best.value - tight.value:.4f} less an episode",
        f"linear in K: {number((best.value - tight.value) * K)} after {K:,} episodes",
        f"{best.dual[0]:.4f} for b and {tight.dual[0]:.4f} for b+ζ",
        "counted from 0 it would be 9.058824",
    ):
        assert exact in page
    assert best.slater_gap == pytest.approx(0.4998, abs=1e-4) and best.value - tight.value == pytest.approx(0.0274, abs=1e-4)
    assert "not the paper's setting" in page
    assert "{" not in page and "nan" not in page
    for name in FILES & {"figure1.png", "neighbours.png", "curves.csv", "table.csv"}:
        assert f"({name})" in page


def a_paper(**changes) -> report.Paper:
    """Results with the wanted curves, in place of a run."""
    k = np.arange(1, 101) * 2000
    zeros = np.zeros((2, 100))
    curves = {"regret": zeros + np.sqrt(k), "violation": zeros + 100 * np.sin(np.pi * k / k[-1]), **changes}
    result = nr.RunResult(
        problem="job-scheduling", learner="primal-dual-lsvi", preset="paper", seed=0, episodes=k, regret=curves["regret"],
        constants={"zeta": 0.1, "beta": 1.0, "lam": 0.01, "xi": 20.0, "eta": 0.00447}, hard_regret=np.abs(curves["regret"]) + 1,
        violations=curves["violation"][:, :, None], hard_violations=curves["violation"][:, :, None] + 7,
        dual=np.full((2, 100, 1), 0.3), optimal_value=9.058824, tightened_value=9.031451, optimal_dual=np.array([0.2353]),
        slater_gap=0.4998, slater_gap_used=None, episodes_requested=200_000, seconds=1.0, kernel_seconds=1.0, threads=1,
    )  # fmt: skip
    return report.Paper(
        main=result, neighbours=[report.Neighbour("β = 1", "λ = (β/H)²", result)], threshold=4.0, horizon=10, states=10,
        actions=2, tightened_dual=0.4444, jobs_left=0.07, counted_from_0=9.058824, as_published=True,
    )  # fmt: skip


def test_page_follows_the_curves():
    k = np.arange(1, 101) * 2000
    page = report.page(a_paper())
    assert "violation comes back" in page and "does not come back" not in page
    assert "slope of the regret is 0.50" in page and "regret is small" in page
    assert "once: it rises and it falls" in page and "not the paper's setting" not in page
    growing = report.page(a_paper(violation=np.zeros((2, 100)) + k, regret=np.zeros((2, 100)) - k))
    assert "does not come back" in growing and "still growing" in growing and "violation comes back" not in growing
    assert "regret has none" in growing and "regret is small" not in growing
    waves = report.page(a_paper(violation=np.zeros((2, 100)) + 100 + 50 * np.sin(8 * np.pi * k / k[-1])))
    assert "8 times on average" in waves


def test_a_short_run_claims_nothing_it_did_not_see(tmp_path):
    result = runner.invoke(app, ["paper", "--out", str(tmp_path), "--episodes", "1", "--trials", "1"])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.md").read_text()
    assert "too few episodes" in page and "below zero" not in page and "does its work" not in page
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path, monkeypatch):
    import os
    import stat

    command = ["paper", "--out", str(tmp_path), "--episodes", "50", "--trials", "1"]
    assert runner.invoke(app, command).exit_code == 0
    for name in FILES - {"runs"}:
        (tmp_path / name).unlink()
    real, written = os.fsync, []

    def full_at_the_fourth(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):  # folders are synced too
            written.append(descriptor)
        if len(written) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr("os.fsync", full_at_the_fourth)
    result = runner.invoke(app, command)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == f"error: {tmp_path / 'neighbours.png'}: cannot be written: No space left on device"
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_an_unusable_folder_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    result = runner.invoke(app, ["paper", "--out", str(tmp_path / "file")])
    assert result.exit_code == 1 and "cannot be used as a folder" in result.stderr and "running" not in result.stderr
