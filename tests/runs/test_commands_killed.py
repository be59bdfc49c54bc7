"""What the long commands survive: kills, a second one on the same folder, a read-only disk, tables that cannot be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.command import run
from benchmarks.table1 import __main__ as table1
from benchmarks.tuning import __main__ as tuning
from benchmarks.tuning import page, tables
from typer.testing import CliRunner

from noregret.cli import app
from noregret.errors import InputError
from noregret.experiments.leaderboard import pilots
from noregret.learners.lsvi import lsvi_ucb
from noregret.runs import Ask
from tests.disks import small_disk

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_kills_and_two_at_once_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)}
    command = [sys.executable, "-m", "tests.killed_commands", str(tmp_path), "3", "0"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert sum(each["killed"] for each in found.values()) >= 6
    assert found["leaderboard"]["codes"] == found["table1"]["codes"] == [0, 0], "the second waits for the runs of the first"
    refused = found["search"]["refused"]
    assert found["search"]["codes"] == [0, len(refused)] and all("another process is at work" in text for text in refused)


@pytest.mark.slow
def test_a_read_only_folder_is_refused_in_one_line_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was played")

    monkeypatch.setattr("benchmarks.table1.play", never)
    monkeypatch.setattr("benchmarks.table1.pilot", never)
    monkeypatch.setattr("benchmarks.tuning.search.play", never)
    monkeypatch.setattr(pilots, "seconds_of_run", never)
    with small_disk(tmp_path / "disk", "size=1m,ro") as disk:
        for main, words in (
            (tuning.main, ["--learners", "triple-q", "--out", disk / "x"]),
            (
                table1.main,
                [
                    "--measure",
                    "--learners",
                    "triple-q",
                    "--log",
                    tmp_path / "log",
                    "--data",
                    disk / "x",
                    "--out",
                    tmp_path / "runs",
                ],
            ),
            (
                table1.main,
                [
                    "--measure",
                    "--learners",
                    "triple-q",
                    "--log",
                    tmp_path / "log",
                    "--data",
                    tmp_path / "data",
                    "--out",
                    disk / "x",
                ],
            ),
        ):
            assert run(main, list(map(str, words))) == 1
            said = capsys.readouterr().err.strip()
            assert len(said.splitlines()) == 1 and str(disk / "x") in said and "Read-only file system" in said
        words = ["leaderboard", "--problems", "random:S=3,A=2,H=2", "--learners", "uniform", "-k", "20", "-t", "1"]
        done = CliRunner().invoke(app, [*words, "--out", str(disk / "x")])
        assert done.exit_code == 1 and len(done.stderr.strip().splitlines()) == 1 and "Read-only file system" in done.stderr


def test_a_table_that_cannot_be_read_is_refused_before_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / page.CONFIGURATIONS).write_text("not a table\n")
    monkeypatch.setattr(tuning, "tune_all", lambda *_, **__: pytest.fail("it was searched"))
    assert run(tuning.main, ["--out", str(tmp_path)]) == 1
    assert (tmp_path / page.CONFIGURATIONS).read_text() == "not a table\n" and not (tmp_path / page.TABLE).exists()


def test_pilots_of_two_processes_are_both_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilots, "seconds_of_run", lambda key, most: 20.0)
    keys = [Ask("random:S=3,A=2,H=2", "uniform", episodes).keys()[0] for episodes in (10, 20)]
    both = [pilots.Pilots(tmp_path) for _ in keys]  # each read the file before the other wrote it
    for each, key in zip(both, keys, strict=True):
        each.play(key, 5.0)
    assert [pilots.Pilots(tmp_path).known(key) for key in keys] == [20.0, 20.0]


def test_the_files_of_a_leaderboard_appear_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ROOT / "docs" / "leaderboard.json"
    from noregret.report.leaderboard import page as pages

    monkeypatch.setattr(pages, "overview", lambda board: 1 / 0)  # as a kill while it is drawn
    done = CliRunner().invoke(app, ["leaderboard", "--from", str(data), "--out", str(tmp_path)])
    assert isinstance(done.exception, ZeroDivisionError) and list(tmp_path.iterdir()) == []


def test_of_the_constants_of_a_winner_all_are_written_or_none(tmp_path: Path) -> None:
    path = tmp_path / "copied.py"
    path.write_bytes(before := Path(lsvi_ucb.__file__).read_bytes())
    with pytest.raises(InputError, match="has no row 'bta'"):
        tables.rewrite(path, "lsvi-ucb", "practical", {"beta": 0.123, "bta": 0.5})
    assert path.read_bytes() == before
