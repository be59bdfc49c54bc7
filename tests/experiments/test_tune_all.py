"""``noregret tune-all``: the same search for every learner; killed and started again it finds the same."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from noregret import learners
from noregret.cli import app
from noregret.errors import FileError, InputError
from noregret.experiments import tune_all as experiment
from noregret.experiments.tune_all import page, settings
from noregret.experiments.tune_all.search import (
    Form,
    Found,
    Journal,
    Trial,
    begins,
    configurations,
    near,
    score,
    sizes,
    yardstick,
)
from noregret.experiments.tune_all.settings import Test as Judged
from noregret.learners import tuned
from noregret.sweeps.tune import parse_range

RUNGS = ((Judged("random:seed=1,S=3,A=2,H=2", 60, (0,)),), (Judged("streaming:seed=1,H=2,buffer=2", 60, (0, 1)),))
HELD = (Judged("random:seed=2,S=3,A=2,H=2", 80, (0,)),)
NAMES = ["opt-dual", "triple-q"]


def small(out: Path, **others: Any) -> list[Found]:
    return experiment.tune_all(NAMES, out, **{"budget": 6, "rungs": RUNGS, "held_out": HELD, "progress": False} | others)


def seen(found: list[Found]) -> Any:
    return [(one.form, [(t.number, t.params, t.rungs, t.score) for t in one.trials], one.held_out) for one in found]


def test_killed_and_started_again_it_finds_the_same(tmp_path: Path) -> None:
    whole = small(tmp_path / "whole")
    script = (
        "import sys, time; from pathlib import Path\n"
        "from tests.experiments import test_tune_all as t\n"
        "from noregret.experiments.tune_all.search import Journal\n"
        "add = Journal.add\n"
        "def slowly(self, id, loss): add(self, id, loss); time.sleep(0.05)\n"
        "Journal.add = slowly\n"
        "t.small(Path(sys.argv[1]))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "killed")])
    journal = tmp_path / "killed" / experiment.JOURNALS / "opt-dual-tuned.jsonl"
    for _ in range(1200):
        if journal.exists() and journal.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    with journal.open("ab") as file:
        file.write(b'{"run": "torn')  # as a kill leaves it
    before = len(Journal(journal).losses)
    assert before >= 3
    assert seen(small(tmp_path / "killed")) == seen(whole)
    again = small(tmp_path / "killed")  # nothing is left to play
    assert seen(again) == seen(whole)


def test_a_search_tries_what_its_budget_allows_and_the_beginning_goes_on(tmp_path: Path) -> None:
    told: list[Found] = []
    found = small(tmp_path, tell=told.append)
    assert [one.form.name for one in found] == ["opt-dual-tuned", "opt-dual-practical", "triple-q-tuned", "triple-q-practical"]
    assert told == found
    for one in found:
        assert len(one.trials) == 6 and [t.rungs for t in one.trials].count(2) == sizes(6, RUNGS)[1] == 2
        assert one.begin.rungs == 2 and one.winner.score <= one.begin.score
        assert one.finalists[0].score == min(t.score for t in one.trials if t.rungs == 2)
        assert all(np.isfinite(one.held_out["winner"])) and len(one.held_out["begin"]) == 1
    files = page.write(found, tmp_path / "data", 6, 0)
    assert {file.name for file in files} == {page.CONFIGURATIONS, page.HELD, page.PROTOCOL, page.TABLE, page.WINNERS}
    first = [(file, file.read_bytes()) for file in files]
    page.write(found[:2], tmp_path / "data", 6, 0)  # some of them again: the others stay
    assert [(file, file.read_bytes()) for file in files] == first
    winners = json.loads((tmp_path / "data" / page.WINNERS).read_text("utf-8"))
    for one in found:
        assert winners.get(one.form.learner, {}).get(one.form.preset, {}) == one.entry
    table = (tmp_path / "data" / page.TABLE).read_text("utf-8")
    assert table.count("\n") == 2 + len(found) and "| opt-dual | tuned | 6 |" in table


def test_what_an_earlier_search_found_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form("opt-dual", "practical")
    usual = configurations(form, 8, 0, RUNGS[0][0].problem)
    keys = [form.key("random:seed=1,S=3,A=2,H=2", 60, 0, params).id for params in usual]
    monkeypatch.setattr(tuned, "packaged", lambda: {"opt-dual": {"practical": {"bonus_scale": 0.5, "damping": True}}})
    assert configurations(form, 8, 0, RUNGS[0][0].problem) == usual
    assert [form.key("random:seed=1,S=3,A=2,H=2", 60, 0, params).id for params in usual] == keys
    assert usual[0] == begins(form, RUNGS[0][0].problem) and usual[0]["bonus_scale"] == 0.01 and usual[0]["eta_scale"] == 1.0


def test_near_a_good_one_something_moves_and_stays_in_its_range() -> None:
    form = Form("opt-dual", "practical")
    (first,) = configurations(form, 1, 0, RUNGS[0][0].problem)
    found = near(form, [first], 40, 0)
    assert all(one != first for one in found[:1]) and near(form, [first], 40, 0) == found
    for name, each in form.ranges.items():
        values = [one[name] for one in found]
        assert len(set(values)) > 1
        assert all(value in each.choices if each.choices else each.low <= value <= each.high for value in values)


def test_a_range_knows_its_way() -> None:
    _, log = parse_range("x=0.01:100:log")
    _, whole = parse_range("x=2:9:int")
    _, words = parse_range("x=a,b,c")
    assert log.at(0.5) == 1.0 and log.share(1.0) == pytest.approx(0.5) and log.share(1e9) == 1.0
    assert whole.at(0.0) == 2 and whole.at(0.999) == 9 and isinstance(whole.at(0.3), int)
    assert [words.at(u) for u in (0.0, 0.5, 0.99)] == ["a", "b", "c"] and words.at(words.share("b")) == "b"


def test_the_score_is_a_geometric_mean_over_tests_of_means_over_runs_and_a_failure_is_the_worst() -> None:
    assert score([[0.1], [0.4]]) == pytest.approx(0.2)
    assert score([[0.1], [0.1, 0.7]]) == pytest.approx(0.2)  # a run that fails now and then counts by its size
    assert score([[0.0]]) == pytest.approx(settings.LEAST)
    assert score([[float("inf")]]) == pytest.approx(100.0) == pytest.approx(score([[float("nan")]]))
    assert yardstick("random:seed=1,S=3,A=2,H=2") > 0.0


def test_a_preset_stays_unless_something_is_clearly_better_and_does_no_harm() -> None:
    form = Form("opt-dual", "practical")
    x, y = Judged("x", 10, (0,)), Judged("y", 10, (0,))
    first, second = Trial(0, {"a": 1}, 2, 0.100, {x: 0.1, y: 0.1}), Trial(1, {"a": 2}, 2, 0.097, {x: 0.097, y: 0.097})
    found = Found(form, [first, second, Trial(2, {"a": 3}, 1, 0.001, {x: 0.001})])
    assert found.winner is first and found.entry == {}  # hardly better; and the third was judged on less
    second.score = 0.09
    assert found.winner is second and found.entry == {"a": 2}
    second.losses = {x: 0.01, y: 0.8}  # it gains much and fails somewhere
    assert found.winner is first
    second.losses, found.form = {x: 0.01, y: 0.01}, Form("primal-dual-lsvi", "practical")
    assert found.winner is first  # its numbers are kept


def test_every_learner_with_a_space_is_searched_in_the_forms_it_declares() -> None:
    searched = {one.learner for one in experiment.forms()}
    assert searched == {name for name in learners.names() if learners.get(name).space} - {"slucb-qvi"}
    with pytest.raises(InputError, match="no limit on a step"):
        experiment.forms(["slucb-qvi"])
    assert {test.problem for test in settings.HELD_OUT}.isdisjoint(test.problem for rung in settings.RUNGS for test in rung)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--learners", "uniform"], "learner 'uniform' has no space"),
        (["--learners", "opdob"], "did you mean 'opdop'"),
        (["--learners", ""], "learners is empty; expected at least one name"),
        (["--learners", "opdop,opdop"], "learners has 'opdop' twice; expected each once"),
        (["--budget", "1"], "budget is 1; expected"),
        (["--budget", "many"], "'many' is not a whole number"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_runs(line: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tune-all", *line, "--out", str(tmp_path / "out")])
    assert done.exit_code != 0 and said in " ".join(done.output.split())


@pytest.mark.parametrize("line", [b"no JSON", b'{"run": "x"}', b'{"run": "x", "loss": "much"}', b"[1]", b"\xff"])
def test_a_journal_that_no_search_wrote_is_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"run": "a", "loss": 0.5}\n' + line + b"\n")
    with pytest.raises(FileError, match="expected a run and its loss"):
        Journal(tmp_path / "x.jsonl")


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"opdop": 1}', '{"opdop": {"tuned": 2}}'])
def test_winners_that_cannot_be_read_are_named_and_nothing_is_written(text: str, tmp_path: Path) -> None:
    (tmp_path / page.WINNERS).write_text(text)
    for write in (lambda: page.write([], tmp_path), lambda: page.write_winners([], tmp_path / page.WINNERS)):
        with pytest.raises(FileError, match="expected the winners of a search"):
            write()
    assert [path.name for path in tmp_path.iterdir()] == [page.WINNERS]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    from noregret._system.files import hold, make_folder

    folder = make_folder(tmp_path / experiment.JOURNALS)
    with hold(folder / "tuning.lock"), pytest.raises(FileError, match="another process is at work"):
        small(tmp_path)


def test_a_learner_without_a_space_is_named() -> None:
    with pytest.raises(InputError, match="'uniform' has no space"):
        experiment.forms(["uniform"])
