"""``python -m benchmarks.table1``: the table from its data; README's is what the command prints."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from benchmarks.command import run
from benchmarks.table1 import page, settings
from benchmarks.table1.__main__ import main
from benchmarks.tuning import page as page_of_search

import noregret as nr
from benchmarks import release
from benchmarks import table1 as experiment
from noregret import learners, metrics
from noregret.errors import FileError, InputError
from noregret.runs import How
from noregret.runs.runner import Sitting
from noregret.runs.schedule import Summary
from tests import growing
from tests.support import OURS

ROOT = Path(__file__).parents[2]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Runs the command: its exit code, what it prints, and what it says on standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        log = ["--log", str(tmp_path / "test-log.csv")] if "--measure" in words else []
        code = run(main, [*map(str, words), *log])
        return code, *capsys.readouterr()

    return call


def test_the_paper_s_table_comes_first() -> None:
    first = [row.learner for row in settings.ROWS[:6]]
    assert first == ["opdop", "opt-primal-dual", "opt-dual", "optpess-primal-dual", "triple-q", "primal-dual-lsvi"]
    assert len({row.learner for row in settings.ROWS}) == len(settings.ROWS)
    assert learners.get("primal-dual-lsvi").promise == ("√(d³H³T)", "√(d³H³T)")
    assert all(learners.get(row.learner).source in ("paper", "code", "notes", "memory") for row in experiment.rows())


def test_a_row_says_that_it_is_a_port_and_what_is_from_memory() -> None:
    said = {row.learner: "episodic port" in row.algorithm for row in settings.ROWS}
    assert said == {name: "episodic port" in learners.get(name).summary for name in said}
    assert {name for name, port in said.items() if port} == {"c-ucrl", "cmdp-rl", "npg-pd", "crpo", "cspda"}
    assert page.known("opdop") == "paper" and page.known("conrl") == "code; the factor of the bonus from memory"
    memory = [row.algorithm for row in settings.ROWS[: page.PAPER] if learners.get(row.learner).source == "memory"]
    assert memory == ["OptPess-PrimalDual"]
    assert f"{', '.join(memory)} is from memory" in (ROOT / "README.md").read_text("utf-8")


def test_a_row_is_what_a_run_gives(tmp_path: Path) -> None:
    measured = experiment.measure(["opt-dual"], How(progress=False), episodes=300, trials=2)
    assert [(row["learner"], row["form"], row["trials"]) for row in measured] == [
        ("opt-dual", "tuned", 2), ("opt-dual", "practical", 2),
    ]  # fmt: skip
    alone = nr.run(
        settings.PROBLEM, "opt-dual", episodes=300, trials=2, seed=settings.SEED, record_every=1, preset="tuned", progress=False
    )
    assert measured[0]["hard_regret"] == alone.last("hard_regret").mean
    late = metrics.late(alone.episodes, alone.hard_regret + alone.hard_violation, 0.1)
    assert measured[0]["late_loss"] == pytest.approx(late.mean()) and measured[0]["microseconds"] > 0.0
    page.write(measured, tmp_path)
    again = page.write(measured[1:], tmp_path).read_bytes()  # in the place of the row that was there
    rows = page.read(tmp_path)
    assert [row["form"] for row in rows] == ["tuned", "practical"] and page.write(measured, tmp_path).read_bytes() == again
    assert float(rows[0]["regret_low"]) == measured[0]["regret_low"]
    text = page.markdown(tmp_path)
    assert "| OptDual-CMDP, Efroni 2020 | tuned |" in text and "| `opt-dual` | √(H³S²AT) |" in text
    assert page.tells("opse-lcmdp") == "mean rewards, mean utilities, a safe policy" and page.tells("opt-dual") == "nothing"


def test_the_pages_show_what_the_command_makes_of_the_data(command: Command) -> None:
    data = ROOT / "benchmarks" / "table1"
    code, printed, said = command()
    assert code == 0, said
    assert printed in (ROOT / "docs" / "table1.md").read_text("utf-8")
    assert page.markdown(data, "paper") in (ROOT / "README.md").read_text("utf-8")
    rows = page.read(data)
    assert {row["learner"] for row in rows} >= {row.learner for row in settings.ROWS[: page.PAPER]}
    with (data / page.DATA).open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(page.FIELDS)


def test_what_the_page_says_of_its_rows_in_words_is_so() -> None:
    text = (ROOT / "docs" / "table1.md").read_text("utf-8")
    said = " ".join(text[text.index("**What the rows say") : text.index("**What has no row.**")].split())
    rows = {(row["learner"], row["form"]): row for row in page.read(ROOT / "benchmarks" / "table1")}
    tuned = {row.learner: rows[row.learner, "tuned"] for row in settings.ROWS[: page.PAPER]}
    soft = sorted(tuned, key=lambda name: -float(tuned[name]["violation"]))
    most, second = (f"{float(tuned[name]['violation']):,.0f}" for name in soft[:2])
    assert soft[:2] == ["primal-dual-lsvi", "opt-dual"] and float(tuned["primal-dual-lsvi"]["regret"]) < 0
    assert f"Algorithm 1's has the largest soft violation, {most}," in said and f"OptDual's is next, {second}." in said
    none = [name for name in tuned if float(tuned[name]["violation"]) == 0]
    paid = " and ".join(f"{float(tuned[name]['regret']):,.0f}" for name in none)
    assert none == ["optpess-primal-dual", "triple-q"] and "OptPess-PrimalDual and Triple-Q have none" in said
    assert f"pay for it with regret, {paid}." in said
    sums = {where: float(row["hard_regret"]) + float(row["hard_violation"]) for where, row in rows.items()}
    worse = {
        name: f"{sums[name, 'practical'] / sums[name, 'tuned']:.1f}"
        for name, form in sums
        if form == "practical" and sums[name, form] > 1.05 * sums.get((name, "tuned"), np.inf)
    }
    assert list(worse) == ["opt-dual", "triple-q", "c-ucrl"]
    assert "the practical rows of OptDual, Triple-Q and C-UCRL are worse here than the tuned ones" in said
    assert f"by hard sums {', '.join([*worse.values()][:2])} and {worse['c-ucrl']} times" in said


def test_every_form_has_a_row_or_the_page_says_why_not() -> None:
    text = (ROOT / "docs" / "table1.md").read_text("utf-8")
    said = " ".join(text[text.index("**What has no row.**") :].split("\n\n")[0].split())
    data = page.read(ROOT / "benchmarks" / "table1")
    there = {(row["learner"], row["form"]) for row in data}
    missing = {(row, form) for row, form in experiment.forms() if (row.learner, form) not in there}
    for row, _ in missing:
        assert row.algorithm.lower() in said.lower() or f"`{row.learner}`" in said, row
    assert not any(form == "soft" for _, form in [*missing, *there]) and "there is no row *soft*" in said
    assert {int(row["trials"]) for row in data} == {settings.TRIALS}


def test_who_can_share_what_this_world_declares_has_a_row_that_does() -> None:
    sharing = {row.learner for row, form in experiment.forms() if form == f"practical{settings.SHARING}"}
    assert sharing == {
        row.learner
        for row in settings.ROWS
        if (share := learners.get(row.learner).table.rows.get("share")) is not None and "transitions" in share.words
    }
    assert {"ucrl-opt-lp", "dope", "primal-dual-lsvi"} <= sharing
    for row, form in experiment.forms():
        constants = experiment.asked(row, form, 100).keys()[0].constants
        assert constants.get("share", "nothing") == ("transitions" if form.endswith(settings.SHARING) else "nothing"), row
    data = page.read(ROOT / "benchmarks" / "table1")
    played = {form: {row["learner"] for row in data if row["form"] == form} for form in settings.FORMS}
    assert played[f"practical{settings.SHARING}"] == played["practical"] & sharing
    main, both = page.markdown(ROOT / "benchmarks" / "table1").split("Where steps pool")
    assert settings.SHARING not in main and both.count("| practical (sharing) |") == len(played["practical"] & sharing)


def test_the_page_says_which_rows_are_of_which_sources(tmp_path: Path) -> None:
    (row,) = experiment.measure(["triple-q"], How(progress=False), wanted=["tuned"], episodes=200_000 // 1000, trials=1)
    assert re.fullmatch("[0-9a-f]{12}", row["sources"])
    page.write([row, row | {"form": "practical"}, row | {"learner": "opdop", "sources": "0" * 12}], tmp_path)
    assert page.markdown(tmp_path).count(f"Rows are of sources {row['sources']}, unless said otherwise. Of sources 0") == 1


def test_a_page_gets_its_table_between_two_lines(tmp_path: Path, command: Command) -> None:
    data = ROOT / "benchmarks" / "table1"
    (tmp_path / "page.md").write_text(f"before\n\n{page.BEGIN['all']}\nold\n{page.END}\n\nafter\n", "utf-8")
    assert command("--data", data, "--page", tmp_path / "page.md")[:2] == (0, "")
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


GOOD = (ROOT / "benchmarks" / "table1" / page.DATA).read_text("utf-8")


def spoiled(numbers: str) -> str:
    """The data with other episodes, trials and microseconds of the first row."""
    return re.sub(r"opdop,tuned,\d+,\d+,[^,]+", f"opdop,tuned,{numbers}", GOOD)


def with_cell(column: str, text: str) -> bytes:
    """The data with another text in a column of the first row."""
    header, first, *others = GOOD.splitlines()
    cells = first.split(",")
    cells[header.split(",").index(column)] = text
    return "\n".join([header, ",".join(cells), *others]).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfe", "is no table of numbers"),
        (b"", "is no table of numbers"),
        (GOOD.replace(",draws", ",other", 1).encode(), "has no column 'draws'"),
        (spoiled("9,nan,1").encode(), "trials of opdop, form tuned is 'nan'"),
        (spoiled("0,9,1").encode(), "episodes of opdop, form tuned is '0'"),
        (GOOD[: GOOD.index("opdop,practical") + 60].encode(), "of opdop, form practical is None"),
        (spoiled("9" * 5000 + ",9,1").encode(), "episodes of opdop, form tuned is"),
        (GOOD.replace("opdop,tuned,", "opdop\n", 1).encode(), "has a row of 'opdop', form None"),
        (spoiled("9," + "9" * 400 + ",1").encode(), "trials of opdop, form tuned is"),
        (spoiled("9,9,inf").encode(), "microseconds of opdop, form tuned is 'inf'"),
        (spoiled("9,9,-1").encode(), "microseconds of opdop, form tuned is '-1'; expected a number, at least 0"),
        (with_cell("late_loss", "-1e9"), "late_loss of opdop, form tuned is '-1e9'; expected a number, at least 0"),
        (with_cell("hard_regret", "nan"), "hard_regret of opdop, form tuned is 'nan'; expected a number, at least 0"),
        (with_cell("hard_regret_since", ""), "has only one of hard_regret_slope and hard_regret_since"),
        (with_cell("regret_low", "1e9"), "expected a number in its interval, 1e+09 to"),
    ],
)
def test_damaged_data_are_named_in_one_line(tmp_path: Path, data: bytes, said: str, command: Command) -> None:
    (tmp_path / page.DATA).write_bytes(data)
    code, _, error = command("--data", tmp_path)
    assert code == 1 and said in error and len(error.splitlines()) == 1, error


def test_a_page_that_is_no_text_is_refused(tmp_path: Path, command: Command) -> None:
    (tmp_path / "page.md").write_bytes(b"\xff\xfe")
    code, _, error = command("--page", tmp_path / "page.md")
    assert code == 1 and "is no text in UTF-8" in error
    assert "cannot be read" in command("--page", tmp_path / "none.md")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--measure", "--learners", ""], "learners is empty"),
        (["--measure", "--learners", "opdop", "--trials", "0", "--episodes", "20"], "trials is 0"),
        (["--learners", "opdop"], "--learners is given without --measure"),
        (["--measure", "--forms", "tunned"], "did you mean 'tuned'"),
        (["--forms", "tuned"], "--forms is given without --measure"),
        (["--trials", "3"], "--trials is given without --measure"),
    ],
)
def test_wrong_lines_are_refused(tmp_path: Path, words: list[str], said: str, command: Command) -> None:
    code, _, error = command(*words, "--data", tmp_path / "data", "--out", tmp_path / "out")
    assert code == 1 and said in error, error
    assert not (tmp_path / "data").exists()


def test_runs_of_another_length_are_not_put_beside_the_others(tmp_path: Path, command: Command) -> None:
    (tmp_path / page.DATA).write_text(GOOD, "utf-8")
    words = ["--measure", "--learners", "triple-q", "--episodes", "50", "--data", tmp_path, "--out", tmp_path / "out"]
    code, _, error = command(*words)
    assert code == 1 and "has rows of 200000; expected the same, or another folder" in error
    assert (tmp_path / page.DATA).read_text("utf-8") == GOOD


def test_a_stop_is_said_and_a_failure_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    words = ["--measure", "--learners", "triple-q", "--episodes", "20", "--trials", "1", "--data", tmp_path]
    words += ["--out", tmp_path / "out"]
    monkeypatch.setattr(Sitting, "finished", lambda self, keys: False)  # as after Ctrl-C
    code, _, error = command(*words)
    assert code == 130 and "0 of 2 rows were measured; the same command goes on" in error, error
    monkeypatch.setattr(Summary, "reasons", lambda self: [("out of\nluck", ["a"])])
    code, _, error = command(*words)
    assert code == 1 and "triple-q, form tuned: out of luck" in error


def test_two_at_once_lose_no_row(tmp_path: Path) -> None:
    rows = {(row["learner"], row["form"]): row for row in page.read(ROOT / "benchmarks" / "table1")}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda row: page.write([row], tmp_path), rows.values()))
    assert (tmp_path / page.DATA).read_text("utf-8") == GOOD and not (tmp_path / page.LOCK).exists()


def test_the_preset_by_hand_is_a_row_of_its_own_beside_what_the_search_found() -> None:
    (row,) = experiment.rows(["primal-dual-lsvi"])
    keys = {form: experiment.asked(row, form, 100).keys()[0] for _, form in experiment.forms(["primal-dual-lsvi"])}
    alone, sharing = ["tuned", "practical", "by hand"], ["practical (sharing)", "by hand (sharing)"]
    assert list(keys) == alone + sharing
    assert len({key.id for key in keys.values()}) == 5
    shared = {form: key.constants["share"] for form, key in keys.items()}
    assert shared == dict.fromkeys(alone, "nothing") | dict.fromkeys(sharing, "transitions")
    found = page_of_search.winner("primal-dual-lsvi", "practical")
    for name, factor in found.items():
        assert keys["practical"].constants[name] == pytest.approx(float(factor) * keys["by hand"].constants[name])
    labels = [entry.label for entry in release.everybody()]
    assert {"primal-dual-lsvi (by hand)", "primal-dual-lsvi (searched)"} <= set(labels)
    assert len(labels) == len(OURS) + 1 and growing.Growing.name in set(learners.names()) - {*labels}, "no guest is played"
