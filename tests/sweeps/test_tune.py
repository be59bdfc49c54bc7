"""Tuning: ranges, the constraint, going on after a stop, the answer."""

from __future__ import annotations

import hashlib
import warnings

import pytest
from typer.testing import CliRunner

from noregret import learners
from noregret.cli import app
from noregret.errors import FileError, InputError
from noregret.runs import How
from noregret.store import Store, seal
from noregret.sweeps import tune as tuning
from noregret.sweeps.search import Candidate, Range, SearchJournal, journal_at, parse_range, promote, scaled
from noregret.sweeps.search import search as engine
from noregret.sweeps.tune import Question, judge, tune

SMALL = "random:S=4,A=2,H=3"
RANGES = {"beta": Range(0.01, 10.0, log=True), "eta": Range(0.0, 1.0)}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("beta=0.01:1:log", Range(0.01, 1.0, log=True)),
        ("frame=10:100:int", Range(10, 100, whole=True)),
        ("eta=0:1", Range(0.0, 1.0)),
        ("eta=0.03x:30x:log", Range(0.03, 30.0, log=True, relative=True)),
        ("cap=H,H-h+1", Range(choices=("H", "H-h+1"))),
        ("lower_clip=true,false", Range(choices=(True, False))),
    ],
)
def test_ranges(text, made):
    assert parse_range(text) == (text.split("=")[0], made)


@pytest.mark.parametrize(
    "text",
    [
        "beta",
        "beta=",
        "beta=1:0",
        "beta=0:1:log",
        "n=0.5:3:int",
        "beta=a:b",
        "beta=0:1:lgo",
        "beta=0:inf",
        "beta=1x:2",
        "n=1x:9x:int",
    ],
)
def test_ranges_that_make_no_sense_are_refused(text):
    with pytest.raises(InputError, match="expected"):
        parse_range(text)


@pytest.fixture
def question():
    return Question((SMALL,), "primal-dual-lsvi", RANGES, 300, violation_limit=40.0, seeds=2, preset="paper")


def kept(folder, question):
    return SearchJournal.read(folder / question.file).candidates


def test_the_best_choice_is_the_one_of_least_regret_within_the_limit(tmp_path, question):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    how = How(tmp_path / "runs", workers=2)
    found = tune(question, tmp_path, 14, how)
    assert found.trials == 14 and found.failed == 0 and set(found.importance) == {"beta", "eta"}
    choices = kept(tmp_path, question)
    within = [choice for choice in choices if choice.violation <= 40.0]
    assert 0 < len(within) < len(choices) == 14, "the limit separates the choices"
    best = min(within, key=lambda choice: choice.value)
    assert found.best == best.params and found.hard_regret == best.value
    judged, _ = judge(question, found.best, how)
    assert (judged.value, judged.violation) == (found.hard_regret, found.hard_violation)
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
    name = question.file
    assert (whole / name).read_bytes() == (parts / name).read_bytes()
    before = len(Store(parts / "runs").ids())
    assert tune(question, parts, 5, How(parts / "runs")).trials == 5 and len(Store(parts / "runs").ids()) == before
    assert tune(question, parts, 2, How(parts / "runs", fresh=True)).trials == 2


@pytest.mark.parametrize("damage", ["torn", "flipped", "other"])
def test_a_damaged_search_is_moved_aside_and_judged_again(tmp_path, question, damage):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    how = How(tmp_path / "runs")
    answer = tune(question, tmp_path, 3, how)
    path = tmp_path / question.file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(
        {"torn": bytes(data[: len(data) // 2]), "flipped": bytes(data), "other": seal({"candidates": [{"x": 1}]})}[damage]
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
    assert (
        "6 configurations judged, 0 failed" in result.output
        and "importance" in result.output
        and "--set beta=" in result.output
    )
    args[args.index("60")] = "0"
    result = CliRunner().invoke(app, [*args, "--seeds", "1", "--trials", "6", "--out", str(tmp_path / "t")])
    assert result.exit_code == 1 and "no configuration kept hard violation within 0" in result.stderr
    result = CliRunner().invoke(
        app, ["tune", SMALL, "--param", "bta=0:1", "--violation-limit", "1", "--trials", "1", "--out", str(tmp_path / "u")]
    )
    assert result.exit_code == 1 and "did you mean 'beta'" in result.stderr


def test_factors_multiply_what_the_preset_has(tmp_path):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    ucb = learners.get("lsvi-ucb")
    assert scaled(ucb, "beta", 0.01, "theory") == "0.01*(d*H*sqrt(log(2*d*K*H/p)))"
    assert scaled(ucb, "beta", 2.0) == "2*usual"
    for name in ("cap", "bta"):
        with pytest.raises(InputError, match=f"{name} has factors; expected a number in the table of lsvi-ucb"):
            scaled(ucb, name, 2.0)
    asked = Question((SMALL,), "lsvi-ucb", {"beta": Range(0.1, 10.0, log=True, relative=True)}, 50, 1e9, seeds=1)
    found = tune(asked, tmp_path, 3, How(tmp_path / "runs"))
    factor = SearchJournal.read(tmp_path / asked.file).judged()[0].params["beta"]
    assert found.best["beta"].endswith("*usual")
    assert asked.keys({"beta": factor})[0].constants["beta"] == pytest.approx(factor * 0.3)


def test_rungs_take_the_best_on_and_what_must_go_on(tmp_path):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")

    def verdict(params, rung):
        return Candidate(dict(params), rung, abs(params["x"] - 0.3) + rung), None

    with journal_at(tmp_path / "search.json") as journal:
        first = [{"x": 1.0}]
        assert engine({"x": Range(0.0, 1.0)}, verdict, journal, trials=12, first=first, random_first=4) is None
        assert journal.judged()[0].params == first[0] and len(journal.judged()) == 12
        assert promote(verdict, journal, 1, 2, first) is None
        best = sorted(each.value for each in journal.judged())[:2]
        assert sorted(each.value - 1 for each in journal.judged(1)) == pytest.approx([*best, 0.7])
        assert promote(lambda params, rung: pytest.fail("judged again"), journal, 1, 2, first) is None
        assert promote(lambda params, rung: (Candidate({}), 15), journal, 2, 1) == 15
        before = (tmp_path / "search.json").read_bytes()
    with journal_at(tmp_path / "search.json") as journal:
        assert len(journal.candidates) == 15 and (tmp_path / "search.json").read_bytes() == before
        with pytest.raises(FileError, match="another process is at work"), journal_at(tmp_path / "search.json"):
            pass


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"value": {"number": "nan"}}, "value of a candidate is nan; expected a finite number"),
        ({"value": -1e9}, "value of a candidate is -1000000000.0"),
        ({"violation": -1.0}, "violation of a candidate is -1.0"),
        ({"parts": {"a": {"number": "inf"}}}, "a of a candidate is inf"),
        ({"value": 10**400}, "entry of a candidate 'value' is 1000"),
        ({"rung": "one"}, "entry of a candidate 'rung' is 'one'"),
    ],
)
def test_numbers_that_no_judge_gives_are_refused_in_one_sentence(tmp_path, entry, said):
    good = {"params": {"x": 1.0}, "rung": 0, "value": 1.0, "violation": 0.0, "parts": {}, "error": ""}
    path = tmp_path / "search.json"
    path.write_bytes(seal({"candidates": [good]}))
    assert SearchJournal.read(path).judged()[0].value == 1.0
    path.write_bytes(seal({"candidates": [good | entry]}))
    with pytest.warns(UserWarning, match=said):
        assert SearchJournal.read(path).candidates == []
    assert path.with_suffix(".damaged").exists() and not path.exists()


def test_a_journal_that_is_nested_too_deeply_is_moved_aside(tmp_path):
    path = tmp_path / "search.json"
    body = b'{\n "candidates": ' + b"[" * 100_000 + b"]" * 100_000 + b"\n}"
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(body[: -len(b"\n}")] + f',\n "sha256": "{digest}"\n}}\n'.encode())
    with pytest.warns(UserWarning, match="is not what noregret writes"):
        assert SearchJournal.read(path).candidates == []
