"""``noregret table1``: the table from its data; README's is what the command prints."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret import learners, metrics
from noregret.cli import app
from noregret.errors import FileError, InputError
from noregret.experiments import table1 as experiment
from noregret.experiments.table1 import page, settings
from noregret.runs import How

ROOT = Path(__file__).parents[2]
runner = CliRunner()


def test_the_paper_s_table_comes_first() -> None:
    first = [row.learner for row in settings.ROWS[:6]]
    assert first == ["opdop", "opt-primal-dual", "opt-dual", "optpess-primal-dual", "triple-q", "primal-dual-lsvi"]
    assert len({row.learner for row in settings.ROWS}) == len(settings.ROWS)
    assert learners.get("primal-dual-lsvi").promise == ("√(d³H³T)", "√(d³H³T)")
    assert all(learners.get(row.learner).source in ("paper", "code", "notes", "memory") for row in experiment.rows())


def test_a_row_is_what_a_run_gives(tmp_path: Path) -> None:
    measured = experiment.measure(["opt-dual"], How(progress=False), episodes=300, trials=2)
    assert [(row["learner"], row["preset"], row["trials"]) for row in measured] == [
        ("opt-dual", "tuned", 2), ("opt-dual", "practical", 2),
    ]  # fmt: skip
    alone = nr.run(settings.PROBLEM, "opt-dual", episodes=300, trials=2, record_every=1, preset="tuned", progress=False)
    assert measured[0]["hard_regret"] == alone.last("hard_regret").mean
    late = metrics.late(alone.episodes, alone.hard_regret + alone.hard_violation, 0.1)
    assert measured[0]["late_loss"] == pytest.approx(late.mean()) and measured[0]["microseconds"] > 0.0
    page.write(measured, tmp_path)
    again = page.write(measured[1:], tmp_path).read_bytes()  # in the place of the row that was there
    rows = page.read(tmp_path)
    assert [row["preset"] for row in rows] == ["tuned", "practical"] and page.write(measured, tmp_path).read_bytes() == again
    assert float(rows[0]["regret_low"]) == measured[0]["regret_low"]
    text = page.markdown(tmp_path)
    assert "| OptDual-CMDP, Efroni 2020 | tuned |" in text and "| `opt-dual` | √(H³S²AT) |" in text
    assert page.tells("opse-lcmdp") == "mean rewards, mean utilities, a safe policy" and page.tells("opt-dual") == "nothing"


def test_the_pages_show_what_the_command_makes_of_the_data() -> None:
    data = ROOT / "benchmarks" / "table1"
    done = runner.invoke(app, ["table1", "--data", str(data)])
    assert done.exit_code == 0, done.output
    assert done.stdout in (ROOT / "docs" / "table1.md").read_text("utf-8")
    assert page.markdown(data, "paper") in (ROOT / "README.md").read_text("utf-8")
    rows = page.read(data)
    assert {row["learner"] for row in rows} >= {row.learner for row in settings.ROWS[: page.PAPER]}
    with (data / page.DATA).open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(page.FIELDS)


def test_a_page_gets_its_table_between_two_lines(tmp_path: Path) -> None:
    data = ROOT / "benchmarks" / "table1"
    (tmp_path / "page.md").write_text(f"before\n\n{page.BEGIN['all']}\nold\n{page.END}\n\nafter\n", "utf-8")
    done = runner.invoke(app, ["table1", "--data", str(data), "--page", str(tmp_path / "page.md")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "page.md").read_text("utf-8")
    assert text == f"before\n\n{page.markdown(data)}\nafter\n" and page.put(text, data) == text


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="learner 'uniform' has no row"):
        experiment.rows(["uniform"])
    with pytest.raises(FileError, match="cannot be read"):
        page.read(tmp_path)
    with pytest.raises(FileError, match="no place for the table"):
        page.put("nothing here", ROOT / "benchmarks" / "table1")
    (tmp_path / page.DATA).write_text(
        ",".join(page.FIELDS) + "\nuniform,practical" + "," * (len(page.FIELDS) - 2) + "\n", "utf-8"
    )
    with pytest.raises(FileError, match="has a row of 'uniform'"):
        page.read(tmp_path)
