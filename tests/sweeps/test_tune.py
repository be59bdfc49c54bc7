"""Tuning: ranges, the constraint, going on after a stop, the answer."""

from __future__ import annotations

import warnings

import pytest
from typer.testing import CliRunner

from noregret.cli import app
from noregret.errors import FileError, InputError
from noregret.runs import How
from noregret.store import Store, seal
from noregret.sweeps import tune as tuning
from noregret.sweeps.tune import Question, Range, Search, judge, parse_range, tune

SMALL = "random:S=4,A=2,H=3"
RANGES = {"beta": Range(0.01, 10.0, log=True), "eta": Range(0.0, 1.0)}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("beta=0.01:1:log", Range(0.01, 1.0, log=True)),
        ("frame=10:100:int", Range(10, 100, whole=True)),
        ("eta=0:1", Range(0.0, 1.0)),
        ("cap=H,H-h+1", Range(choices=("H", "H-h+1"))),
        ("lower_clip=true,false", Range(choices=(True, False))),
    ],
)
def test_ranges(text, made):
    assert parse_range(text) == (text.split("=")[0], made)


@pytest.mark.parametrize(
    "text", ["beta", "beta=", "beta=1:0", "beta=0:1:log", "n=0.5:3:int", "beta=a:b", "beta=0:1:lgo", "beta=0:inf"]
)
def test_ranges_that_make_no_sense_are_refused(text):
    with pytest.raises(InputError, match="expected"):
        parse_range(text)


@pytest.fixture
def question():
    return Question((SMALL,), "primal-dual-lsvi", RANGES, 300, violation_limit=40.0, seeds=2, preset="simple")


def kept(folder, question):
    return Search.read(folder / f"study-{question.id}.json").choices


def test_the_best_choice_is_the_one_of_least_regret_within_the_limit(tmp_path, question):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    how = How(tmp_path / "runs", workers=2)
    found = tune(question, tmp_path, 14, how)
    assert found.trials == 14 and found.failed == 0 and set(found.importance) == {"beta", "eta"}
    choices = kept(tmp_path, question)
    within = [choice for choice in choices if choice.hard_violation <= 40.0]
    assert 0 < len(within) < len(choices) == 14, "the limit separates the choices"
    best = min(within, key=lambda choice: choice.hard_regret)
    assert found.best == best.params and found.hard_regret == best.hard_regret
    judged, _ = judge(question, found.best, how)
    assert (judged.hard_regret, judged.hard_violation) == (found.hard_regret, found.hard_violation)
    assert len(Store(how.out).ids()) == 14 * 2
    none = Question(**{**vars(question), "violation_limit": 0.0})
    assert tune(none, tmp_path, 14, how).best is None


def test_a_search_that_was_stopped_ends_with_the_same_bytes(tmp_path, question):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    answer = tune(question, whole, 5, How(whole / "runs"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is damaged
        for n in (2, 3, 5):
            again = tune(question, parts, n, How(parts / "runs"))
    assert again == answer
    name = f"study-{question.id}.json"
    assert (whole / name).read_bytes() == (parts / name).read_bytes()
    before = len(Store(parts / "runs").ids())
    assert tune(question, parts, 5, How(parts / "runs")).trials == 5 and len(Store(parts / "runs").ids()) == before
    assert tune(question, parts, 2, How(parts / "runs", fresh=True)).trials == 2


@pytest.mark.parametrize("damage", ["torn", "flipped", "other"])
def test_a_damaged_search_is_moved_aside_and_judged_again(tmp_path, question, damage):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    how = How(tmp_path / "runs")
    answer = tune(question, tmp_path, 3, how)
    path = tmp_path / f"study-{question.id}.json"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(
        {"torn": bytes(data[: len(data) // 2]), "flipped": bytes(data), "other": seal({"choices": [{"x": 1}]})}[damage]
    )
    runs = len(Store(how.out).ids())
    with pytest.warns(UserWarning, match="moved to"):
        assert tune(question, tmp_path, 3, how) == answer
    assert len(Store(how.out).ids()) == runs and path.with_suffix(".damaged").exists()


def test_other_ranges_are_another_search_that_shares_the_runs(tmp_path, question):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    how = How(tmp_path / "runs", workers=2)

    def ask(trials, **ranges):
        return tune(Question(**{**vars(question), "ranges": ranges, "seeds": 1, "violation_limit": 1e9}), tmp_path, trials, how)

    cap = Range(choices=("H", "H-h+1"))
    ask(4, beta=Range(0.01, 10.0, log=True), cap=cap)
    found = ask(3, beta=Range(5.0, 9.0))
    assert found.trials == 3 and found.best.keys() == {"beta"} and 5.0 <= found.best["beta"] <= 9.0
    assert ask(4, cap=cap).trials == 4
    before = Store(how.out).ids()
    found = ask(2, cap=Range(choices=("H",)))
    assert found.trials == 2 and found.best == {"cap": "H"} and Store(how.out).ids() == before


def test_choices_that_fail_are_counted_with_their_error(tmp_path, question):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    ranges = {"cap": Range(choices=("H", "no such cap"))}
    asked = Question(**{**vars(question), "ranges": ranges})
    found = tune(asked, tmp_path, 3, How(tmp_path / "runs"))
    failed = [choice for choice in kept(tmp_path, asked) if choice.error]
    assert found.trials == 3 and found.failed == len(failed) > 0
    assert all("no such cap" in choice.error for choice in failed)


def test_of_two_searches_at_once_for_the_same_the_second_is_refused(tmp_path, question, monkeypatch):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    how = How(tmp_path / "runs", workers=1)
    other = Question(**{**vars(question), "ranges": {"eta": Range(0.0, 1.0)}})
    seen, real = [], tuning.judge

    def judge_with_company(*args):
        monkeypatch.setattr(tuning, "judge", real)
        with pytest.raises(FileError, match="another process is at work on this search"):
            tune(question, tmp_path, 1, how)
        seen.append(tune(other, tmp_path, 1, how).trials)  # in the same folder, but another search
        return real(*args)

    monkeypatch.setattr(tuning, "judge", judge_with_company)
    found = tune(question, tmp_path, 2, how)
    assert seen == [1] and found.trials == 2 and found.failed == 0
    assert not list(tmp_path.glob("*.lock"))


def test_the_command_prints_the_best_and_the_importances(tmp_path):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    args = ["tune", SMALL, "--param", "beta=0.01:10:log", "--param", "cap=H,H-h+1", "--violation-limit", "60", "-k", "200"]
    result = CliRunner().invoke(app, [*args, "--seeds", "1", "--trials", "6", "--out", str(tmp_path / "t")])
    assert result.exit_code == 0, result.output + result.stderr
    assert "6 choices judged, 0 failed" in result.output and "importance" in result.output and "--set beta=" in result.output
    args[args.index("60")] = "0"
    result = CliRunner().invoke(app, [*args, "--seeds", "1", "--trials", "6", "--out", str(tmp_path / "t")])
    assert result.exit_code == 1 and "no choice kept hard violation within 0" in result.stderr
    result = CliRunner().invoke(
        app, ["tune", SMALL, "--param", "bta=0:1", "--violation-limit", "1", "--trials", "1", "--out", str(tmp_path / "u")]
    )
    assert result.exit_code == 1 and "did you mean 'beta'" in result.stderr
