"""Theorem 2 with a scaled ζ: nothing violated at the end from some K on, and regret that keeps its slope."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.experiments.zero_violation import page as report
from noregret.experiments.zero_violation import settings as experiment


@pytest.mark.parametrize("name", ["random", "streaming"])
def test_no_trial_ends_with_a_violation(name: str) -> None:
    case = next(case for case in experiment.CASES if case.problem == name)
    problem = nr.problems.load(name)
    runs = [
        nr.run(
            problem, episodes=K, trials=5, record_every=K, slater_gap="oracle", zeta=f"theorem_2({case.scale})", xi="4*H/gamma",
            progress=False,
        )
        for K in (1024, 2048, 4096)
    ]  # fmt: skip
    assert report.safe_from(runs) == 1024
    zeta = np.array([run.constants["zeta"] for run in runs])
    assert (np.diff(zeta) < 0).all()
    assert zeta[0] <= runs[0].slater_gap / 2
    assert report.slope(runs) < 0.85


def test_the_theorems_own_zeta_sits_at_half_the_gap() -> None:
    for case in experiment.CASES:
        problem = nr.problems.load(case.problem)
        gap = nr.solve(problem).slater_gap
        sizes = {"K": case.grid[-1], "H": problem.horizon, "d": problem.spec.dimension, "A": problem.n_actions}
        assert nr.theory.zeta(**sizes, slater_gap=gap) == gap / 2


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from noregret.cli import app

    monkeypatch.setattr(experiment, "CASES", (experiment.ViolationCase("random", 1e-4, 5, 10),))
    done = CliRunner().invoke(app, ["demo", "zero-violation", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    rows = (tmp_path / "zero-violation.csv").read_text().splitlines()
    assert [row.split(",")[:2] for row in rows[1:]] == [["random", "32"], ["random", "64"]]
    assert (tmp_path / "zero-violation.png").stat().st_size > 5000
    assert (tmp_path / "zero-violation.svg").read_text().lstrip().startswith("<?xml")


def fake(K: int, violation: float, regret: float = 1.0) -> nr.RunResult:
    one = np.full((1, 1), 1.0)
    return nr.RunResult(
        problem="p", learner="l", preset="-", constants={"zeta": 0.1}, seed=0, episodes=np.array([K]),
        regret=one * regret * K**0.5, hard_regret=one, violations=np.full((1, 1, 1), violation),
        hard_violations=one[..., None], dual=one[..., None], optimal_value=1.0, tightened_value=1.0, optimal_dual=np.ones(1),
        slater_gap=1.0, slater_gap_used=1.0, episodes_requested=K, seconds=1.0, kernel_seconds=1.0, threads=1,
    )  # fmt: skip


def test_the_picture_shows_what_can_occur_with_room_for_the_last_marker() -> None:
    drawn = report.figure({"p": [fake(4, 0.0), fake(400, 0.0)], "q": [fake(4, 0.0, -1.0), fake(400, 0.0, 1.0)]})
    (low, high), (lower, _) = (ax.get_ylim() for ax in drawn.axes)
    assert low == 0.0 and high >= 1.5 * 20.0  # √400
    assert lower == -2.0  # a mean regret may be negative


def test_safe_from_needs_the_whole_tail() -> None:
    runs = [fake(4, 0.0), fake(8, 1.0), fake(16, 0.0), fake(32, 0.0)]
    assert report.safe_from(runs) == 16
    assert report.safe_from(runs[:2]) is None
    assert report.slope(runs) == pytest.approx(0.5)
