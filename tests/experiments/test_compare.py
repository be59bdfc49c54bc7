"""``noregret compare``: reading the lists, the grid, its tables, figures and files, and the paper's Table 1."""

from __future__ import annotations

import csv
import dataclasses
import io
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret import learners, metrics
from noregret._system.text import listed
from noregret.cli import app
from noregret.errors import InputError
from noregret.experiments import compare as experiment
from noregret.experiments.compare import page as report
from noregret.experiments.compare import settings
from noregret.experiments.compare.settings import Entry
from noregret.results import NO_PROMISE, Comparison, Outcome, drawing
from noregret.runs import How
from tests.made_up import a_result

runner = CliRunner()


# --- lists of names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a, b ,c", ["a", "b", "c"]),
        ("random:seed=3,S=5,job-scheduling", ["random:seed=3,S=5", "job-scheduling"]),
        ("x:alpha=inf,y:eta=1,z", ["x:alpha=inf", "y:eta=1", "z"]),
        ("a,,b", ["a", "b"]),
        ("", []),
    ],
)
def test_a_list_of_names_with_parameters(text: str, names: list[str]) -> None:
    assert listed(text) == names


def test_a_learner_with_parameters() -> None:
    one = Entry.read("primal-dual-lsvi:alpha=inf,cap=H,lower_clip=true,beta=0.3")
    assert (one.name, one.params) == ("primal-dual-lsvi", {"alpha": np.inf, "cap": "H", "lower_clip": True, "beta": 0.3})
    assert one.label == "primal-dual-lsvi:alpha=inf,cap=H,lower_clip=true,beta=0.3"
    assert Entry.read("optimal").promise is None and Entry.read("uniform").promise is None
    assert Entry.read("lsvi-ucb").promise == learners.get("lsvi-ucb").promise


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("primal-dual-lsvl", "did you mean 'primal-dual-lsvi'"),
        ("lsvi-ucb:beta", "'beta' is no new parameter; expected key=value"),
        ("lsvi-ucb:beta=1,beta=2", "'beta=2' is no new parameter"),
        ("uniform:episodes=5", "unknown parameter of uniform 'episodes'"),
        ("lsvi-ucb:seed=5", "unknown parameter of lsvi-ucb 'seed'"),
        ("opse-lcmdp:safe_policy=safest,reward=1", "unknown parameter of opse-lcmdp 'reward'"),
        ("lsvi-ucb:preset=paper", "unknown preset of lsvi-ucb 'paper'"),
        ("optimal:beta=1", "optimal is a fixed policy and takes no parameter 'beta'"),
    ],
)
def test_a_learner_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Entry.read(text)


# --- numbers -------------------------------------------------------------------------------------------------------


def test_late_is_the_growth_over_the_last_tenth() -> None:
    k = np.arange(10, 1001, 10)
    curves = np.stack([2.0 * k, np.minimum(k, 900.0), k**2 / 1000.0])
    np.testing.assert_allclose(metrics.late(k, curves), [2.0, 0.0, (1000.0 - 810.0) / 100.0])
    assert metrics.late([7], [[21.0]]) == [3.0]  # nothing was recorded before: the whole sum


def test_a_slope_is_of_hard_regret_and_of_a_line_that_fits() -> None:
    result = nr.run(nr.problems.load("job-scheduling"), "uniform", episodes=50, trials=1, record_every=1)
    flat = dataclasses.replace(result, regret=-np.ones((1, 50)), hard_regret=1.0 - 1e-6 * result.episodes[None])
    value = report.hard_slope(flat)
    assert value is not None and metrics.show(value) == "0.00" and -1e-3 < value < 0  # every digit is kept
    bent = dataclasses.replace(result, hard_regret=np.where(result.episodes < 40, 1.0, 1.0 + result.episodes - 39.0)[None])
    assert report.hard_slope(bent) is None


def test_front_by_hand() -> None:
    points = np.array([[0.0, 9.0], [1.0, 5.0], [2.0, 5.0], [3.0, 1.0], [0.0, 9.0], [4.0, 2.0]])
    np.testing.assert_array_equal(metrics.front(points), [[0.0, 9.0], [1.0, 5.0], [3.0, 1.0]])


# --- the command ---------------------------------------------------------------------------------------------------

NAMES = "uniform,optimal,safest,primal-dual-lsvi,primal-dual-lsvi:alpha=inf,opse-lcmdp"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("compare")
    args = ["compare", "--problems", "job-scheduling,random:seed=3,m=2", "--learners", NAMES, "-k", "400", "-t", "2"]
    done = runner.invoke(app, [*args, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out, done.output


def test_the_table_on_disk(compared: tuple[Path, str]) -> None:
    rows = list(csv.DictReader(io.StringIO((compared[0] / "table.csv").read_text())))
    assert len(rows) == 12
    cells = {(row["problem"], row["learner"]): row for row in rows}
    for problem in ("job-scheduling", "random:seed=3,m=2"):
        best = cells[problem, "optimal"]
        for column in ("regret", "violation", "hard regret", "hard violation", "late loss"):
            assert abs(float(best[column])) < 1e-9 * 400
        assert best["slope of hard regret"] == ""
        assert float(cells[problem, "safest"]["hard violation"]) == 0.0
        assert float(cells[problem, "uniform"]["slope of hard regret"]) == pytest.approx(1.0, abs=1e-9)
        assert cells[problem, "primal-dual-lsvi"]["promised regret"] == "√(d³H³T)"
        greedy = cells[problem, "primal-dual-lsvi:alpha=inf"]
        assert float(greedy["regret"]) != float(cells[problem, "primal-dual-lsvi"]["regret"])
        assert float(greedy["regret low"]) <= float(greedy["regret"]) <= float(greedy["regret high"])
    assert "safe_policy is None" in cells["job-scheduling", "opse-lcmdp"]["reason"]
    assert "stated for 1" in cells["random:seed=3,m=2", "opse-lcmdp"]["reason"]
    assert cells["job-scheduling", "opse-lcmdp"]["regret"] == ""
    uniform = cells["job-scheduling", "uniform"]
    assert float(uniform["late loss"]) == pytest.approx(1.458824 + 0.247024, abs=1e-5)
    assert float(uniform["hard violation"]) == pytest.approx(400 * 0.2470240, rel=1e-5)


def test_the_rows_are_what_run_gives(compared: tuple[Path, str]) -> None:
    alone = nr.run(nr.problems.load("job-scheduling"), "primal-dual-lsvi", episodes=400, trials=2, record_every=1)
    rows = csv.DictReader(io.StringIO((compared[0] / "table.csv").read_text()))
    row = next(row for row in rows if row["learner"] == "primal-dual-lsvi" and row["problem"] == "job-scheduling")
    assert float(row["regret"]) == pytest.approx(alone.regret[:, -1].mean(), rel=1e-12)
    late = (alone.hard_regret + alone.hard_violation)[:, [359, 399]]
    assert float(row["late loss"]) == pytest.approx((late[:, 1] - late[:, 0]).mean() / 40, rel=1e-12)


def test_what_is_printed_and_written(compared: tuple[Path, str]) -> None:
    out, printed = compared
    assert "opse-lcmdp did not run: safe_policy is None" in " ".join(printed.split())
    assert "[12/12] " in printed and "opse-lcmdp on random:seed=3,m=2: " in printed
    figures = [
        f"{name}.{kind}"
        for name in ("curves-job-scheduling", "curves-random-seed-3-m-2", "pareto")
        for kind in ("png", "svg", "pdf")
    ]
    assert {path.name for path in out.iterdir()} == {"table.csv", "table.md", "curves.csv", "runs", *figures}
    for name in figures:
        head = (out / name).read_bytes()[:8]
        assert head.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]])
    assert (out / "table.md").read_text().startswith("## job-scheduling\n\n| learner |")
    curves = list(csv.DictReader(io.StringIO((out / "curves.csv").read_text())))
    assert len(curves) == 2 * 5 * 2 * 400  # problems, learners that ran, trials, recorded episodes
    assert {row["run"] for row in curves if row["violation_1"] != "nan"} == {
        row["run"] for row in curves if row["run"].endswith("m=2")
    }


def test_every_learner_keeps_its_colour() -> None:
    """Whoever else is drawn: a learner's name gives its colour, and its variants differ in their lines."""
    known = a_result(learner="opdop")
    cells = [
        Outcome("p", "a", ("-", "-"), None, "no"),
        Outcome("p", "b", ("x", "y"), known),
        Outcome("p", "c", ("x", "y"), known),
        Outcome("p", "d", ("x", "y"), a_result(learner="triple-q")),
    ]
    for figure in (report.curves_figure(cells), report.curves_figure(cells[1:3]), Comparison(cells).plot()[0, 0].figure):
        for line in figure.axes[0].get_lines():
            assert line.get_color() == drawing.colour("triple-q" if line.get_label() == "d" else "opdop")
            assert line.get_linestyle() == ("--" if line.get_label() == "c" else "-")


def test_a_learner_without_a_promise_is_on_the_front() -> None:
    good, bad = a_result(), a_result(hard_regret=a_result().hard_regret * 9)
    cells = [Outcome("p", "foreign", ("-", "-"), good), Outcome("p", "other", ("x", "y"), bad)]
    fixed = Outcome("p", "fixed", NO_PROMISE, a_result(hard_regret=a_result().hard_regret / 9))
    steps = report.pareto_figure([*cells, fixed]).axes[0].get_lines()[0]
    assert steps.get_ydata().tolist() == [good.hard_regret[:, -1].mean()]


def test_a_comparison_without_matplotlib_has_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.warns(UserWarning, match="no figure was written"):
        files = report.write([Outcome("p", "a", ("x", "y"), a_result())], tmp_path)
    assert [file.name for file in files] == ["table.csv", "table.md", "curves.csv"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--learners", "uniform,uniform"], "learners has 'uniform' twice"),
        (["--problems", "nowhere"], "unknown problem 'nowhere'"),
        (["--learners", "nobody"], "unknown learner 'nobody'"),
        (["--learners", ""], "learners is empty"),
        (["--learners", "lsvi-bisection:passes=0", "-k", "10"], "no learner ran: lsvi-bisection:passes=0 on job-scheduling"),
        (["--learners", "uniform", "--slater-gap", "some"], "slater_gap is 'some'"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(args: list[str], message: str, tmp_path: Path) -> None:
    done = runner.invoke(app, ["compare", *args, "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert f"error: {message}" in done.output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-k", "0"], "episodes is 0"),
        (["-t", "0"], "trials is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--preset", "practicl"], "unknown preset 'practicl'; did you mean 'practical'?"),
        (["--threads", "0"], "workers is 0"),
        (["--preset", "paper"], "no learner ran: uniform"),
    ],
)
def test_a_refused_comparison_leaves_the_files_of_the_last_one(args: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("of the last one")
    done = runner.invoke(app, ["compare", "--learners", "uniform", "-k", "10", *args, "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert f"error: {message}" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    assert (tmp_path / "table.csv").read_text() == "of the last one"


def test_cells_give_the_same_in_any_number_and_are_told_when_they_are_through() -> None:
    grid = experiment.Grid(
        ["job-scheduling"], [Entry.read(text) for text in ("uniform", "optimal", "safest")], 300, 2, 4, "practical"
    )
    told: list[Outcome] = []
    alone = experiment.run_grid(grid, How(workers=1, progress=False))
    together = experiment.run_grid(grid, How(workers=2, progress=False), told.append)
    assert [one.label for one in together] == ["uniform", "optimal", "safest"]
    assert sorted(one.label for one in told) == ["optimal", "safest", "uniform"]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.result.regret, other.result.regret)
        np.testing.assert_array_equal(one.result.hard_violations, other.result.hard_violations)


def test_python_and_the_command_give_the_same(compared: tuple[Path, str]) -> None:
    cells = nr.compare(["job-scheduling"], ["uniform", "primal-dual-lsvi:alpha=inf"], episodes=400, trials=2, progress=False)
    rows = list(csv.DictReader(io.StringIO((compared[0] / "table.csv").read_text())))
    for one in cells:
        row = next(row for row in rows if row["learner"] == one.label and row["problem"] == "job-scheduling")
        assert float(row["regret"]) == one.result.regret[:, -1].mean()


def stop_after_the_first(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Ctrl-C when a line that starts with ``when`` is said."""

    def say(line: str) -> None:
        if line.startswith(when):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("noregret.cli.compare.say", say)


def test_after_ctrl_c_what_was_done_is_written_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["compare", "--learners", "uniform,optimal,safest", "-k", "4e5", "-t", "1", "--threads", "1", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        stop_after_the_first(patch, "[1/3]")
        done = runner.invoke(app, args)
    assert done.exit_code == 130, done.output
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    assert [row["reason"] for row in rows] == ["", settings.STOPPED, settings.STOPPED]
    assert float(rows[0]["regret"]) > 0 and rows[1]["regret"] == ""
    assert f"optimal did not run: {settings.STOPPED}" in (tmp_path / "table.md").read_text()
    done = runner.invoke(app, args)
    assert done.exit_code == 0, done.output
    whole = tmp_path / "whole"
    assert runner.invoke(app, [*args[:-1], str(whole)]).exit_code == 0
    for path in whole.iterdir():
        if path.is_file():
            assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_every_table_has_draws_and_unsafe_steps_where_there_are_any() -> None:
    plain, drew = a_result(), dataclasses.replace(a_result(), notes={"simulator draws": np.array([600.0, 600.0, 900.0])})
    limited = dataclasses.replace(a_result(), unsafe_steps=np.tile(np.arange(1.0, 41.0), (3, 1)))
    outcomes = [Outcome("p", "npg-pd", None, drew), Outcome("p", "opdop", None, plain), Outcome("p", "dope", None, limited)]
    for made in (report.table(outcomes), Comparison(outcomes)._summary()):
        at = {name: i for i, name in enumerate(made.columns)}
        assert [row[at["draws"]] for row in made.rows] == [700.0, None, None]
        steps = [row[at["unsafe steps"]] for row in made.rows]
        assert steps[:2] == [None, None] and steps[2].mean == 40.0
        assert "Draws: transitions of a trial" in made.caption and "An unsafe step:" in made.caption
    for made in (report.table(outcomes[1:2]), Comparison(outcomes[1:2])._summary()):
        assert not {"draws", "unsafe steps"} & set(made.columns) and "Draws" not in made.caption
