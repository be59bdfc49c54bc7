"""Tuning: ranges, the constraint, going on after a stop, the answer."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from noregret.cli import app
from noregret.cli.arguments import value
from noregret.errors import FileError, InputError
from noregret.runs.backends.job import Context
from noregret.store import Store
from noregret.sweeps import tune as tuning
from noregret.sweeps.tune import Question, Range, judge, parse_range, tune

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
    assert parse_range(text, value) == (text.split("=")[0], made)


@pytest.mark.parametrize(
    "text", ["beta", "beta=", "beta=1:0", "beta=0:1:log", "n=0.5:3:int", "beta=a:b", "beta=0:1:lgo", "beta=0:inf"]
)
def test_ranges_that_make_no_sense_are_refused(text):
    with pytest.raises(InputError, match="expected"):
        parse_range(text, value)


@pytest.fixture
def question():
    return Question((SMALL,), "primal-dual-lsvi", RANGES, 300, violation_limit=40.0, seeds=2)


def test_the_best_choice_is_the_one_of_least_regret_within_the_limit(tmp_path, question):
    optuna = pytest.importorskip("optuna", reason="not run: optuna is not installed")
    context = Context(Store(tmp_path / "runs"), 2)
    found = tune(question, tmp_path, 14, context)
    assert found.trials == 14 and found.failed == 0 and set(found.importance) == {"beta", "eta"}
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal")))
    study = optuna.load_study(study_name=None, storage=storage)
    trials = study.get_trials()
    within = [t for t in trials if t.user_attrs["hard_violation"] <= 40.0]
    assert 0 < len(within) < len(trials), "the limit separates the choices"
    best = min(within, key=lambda t: t.value)
    assert found.best == best.params and found.hard_regret == best.value <= min(t.value for t in within)
    assert judge(question, found.best, context)[:2] == (found.hard_regret, found.hard_violation)
    assert len(context.store.ids()) == 14 * 2
    none = Question(**{**vars(question), "violation_limit": 0.0})
    assert tune(none, tmp_path, 14, context).best is None


def test_a_search_goes_on_where_it_was_stopped(tmp_path, question):
    optuna = pytest.importorskip("optuna", reason="not run: optuna is not installed")
    context = Context(Store(tmp_path / "runs"), 1)
    tune(question, tmp_path, 3, context)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal")))
    killed = optuna.load_study(study_name=None, storage=storage).ask()  # a sitting that was killed in its midst
    wanted = {name: values.suggest(killed, name) for name, values in RANGES.items()}
    again = tune(question, tmp_path, 5, context)
    assert again.trials == 5 and again.failed == 0, "an interrupted choice did not fail"
    trials = optuna.load_study(study_name=None, storage=storage).get_trials()
    assert [t.params for t in trials if t.state.name == "COMPLETE"].count(wanted) == 1, "its choice was judged after all"
    assert len({tuple(t.params.values()) for t in trials if t.state.name == "COMPLETE"}) == 5
    before = len(context.store.ids())
    assert tune(question, tmp_path, 5, context).trials == 5 and len(context.store.ids()) == before


def test_other_ranges_are_another_search_that_shares_the_runs(tmp_path, question):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    context = Context(Store(tmp_path / "runs"), 2)

    def ask(trials, **ranges):
        return tune(
            Question(**{**vars(question), "ranges": ranges, "seeds": 1, "violation_limit": 1e9}), tmp_path, trials, context
        )

    cap = Range(choices=("H", "H-h+1"))
    ask(4, beta=Range(0.01, 10.0, log=True), cap=cap)
    found = ask(3, beta=Range(5.0, 9.0))
    assert found.trials == 3 and found.best.keys() == {"beta"} and 5.0 <= found.best["beta"] <= 9.0
    assert ask(4, cap=cap).trials == 4
    before = context.store.ids()
    found = ask(2, cap=Range(choices=("H",)))
    assert found.trials == 2 and found.best == {"cap": "H"} and context.store.ids() == before


def test_choices_that_fail_are_counted_with_their_error(tmp_path, question):
    optuna = pytest.importorskip("optuna", reason="not run: optuna is not installed")
    ranges = {"cap": Range(choices=("H", "no such cap"))}
    found = tune(Question(**{**vars(question), "ranges": ranges}), tmp_path, 3, Context(Store(tmp_path / "runs"), 1))
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal")))
    failed = [t for t in optuna.load_study(study_name=None, storage=storage).get_trials() if t.state.name == "FAIL"]
    assert found.trials == 3 and found.failed == len(failed) > 0
    assert all("no such cap" in t.user_attrs["error"] for t in failed)


def test_of_two_searches_at_once_for_the_same_the_second_is_refused(tmp_path, question, monkeypatch):
    pytest.importorskip("optuna", reason="not run: optuna is not installed")
    context = Context(Store(tmp_path / "runs"), 1)
    other = Question(**{**vars(question), "ranges": {"eta": Range(0.0, 1.0)}})
    seen, real = [], tuning.judge

    def judge_with_company(*args):
        monkeypatch.setattr(tuning, "judge", real)
        with pytest.raises(FileError, match="another process is at work on this search"):
            tune(question, tmp_path, 1, context)
        seen.append(tune(other, tmp_path, 1, context).trials)  # in the same folder, but another search
        return real(*args)

    monkeypatch.setattr(tuning, "judge", judge_with_company)
    found = tune(question, tmp_path, 2, context)
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
