"""What names a run: the constants in force, not the way they were asked for; and making a key solves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import learners
from noregret.errors import InputError
from noregret.learners.lsvi import lsvi_ucb
from noregret.learners.presets import Number
from noregret.oracle.tables import TableOracle
from noregret.runs import Ask, How, play
from noregret.runs.choose import choose, class_of
from noregret.runs.code import _code_of, code_of
from noregret.runs.keys import make_key
from noregret.runs.start import check
from noregret.runs.trial import Trial
from noregret.store import RunKey, Store

SMALL = "random:S=4,A=2,H=3"
UCB = lsvi_ucb.LSVIUCB


def edited(monkeypatch: pytest.MonkeyPatch, row: Number) -> None:
    """LSVI-UCB with another row in its table."""
    monkeypatch.setattr(UCB, "table", UCB.table.with_rows(row))  # type: ignore[union-attr]


def test_two_ways_to_ask_for_the_same_numbers_are_one_run(tmp_path: Path) -> None:
    preset = make_key(SMALL, "lsvi-ucb", 20)
    given = make_key(SMALL, "lsvi-ucb", 20, params={"beta": 0.3})
    formula = make_key(SMALL, "lsvi-ucb", 20, params={"beta": "3/10"})
    whole = make_key(SMALL, "lsvi-ucb", 20, preset="theory", slater_gap=0.5, params=preset.constants)
    assert preset == given == formula == whole and len({key.id for key in (preset, given, formula, whole)}) == 1
    assert [key.params.get("beta") for key in (preset, given, formula)] == [None, 0.3, "3/10"]
    assert make_key(SMALL, "lsvi-ucb", 20, params={"beta": 0.31}).id != preset.id
    sitting = play([preset, given, whole], How(tmp_path, progress=False))
    assert (sitting.summary.done, sitting.summary.left, len(Store(tmp_path).ids())) == (1, 0, 1)
    results = [sitting.result([key]) for key in (preset, given, whole)]
    assert [result.preset for result in results] == ["practical", "practical", "theory"]
    assert [result.slater_gap_used for result in results] == [None, None, 0.5]
    assert [result.explain["beta"] for result in results] == ["chosen, as in primal-dual-lsvi", "given", "given"]


def test_an_edited_preset_plays_other_runs_and_the_other_presets_play_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    def names() -> list[str]:
        return [make_key(SMALL, "lsvi-ucb", 20, preset=preset, slater_gap=1.0).id for preset in ("practical", "theory")]

    practical, theory = names()
    columns = UCB.table.rows["beta"].columns  # type: ignore[union-attr]
    edited(monkeypatch, Number("beta", **columns | {"practical": (0.4, "edited")}))
    assert names()[0] != practical and names()[1] == theory
    edited(monkeypatch, Number("beta", **columns | {"practical": (0.3, "the same for another reason")}))
    assert names() == [practical, theory]


def test_two_presets_with_the_same_numbers_share_runs_and_keep_their_labels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(UCB, "presets", (*UCB.presets, "twin"))
    monkeypatch.setitem(UCB.table.like, "twin", "practical")  # type: ignore[union-attr]
    asked: dict[str, Any] = {"episodes": 20, "trials": 2, "out": tmp_path, "progress": False}
    first = nr.run(SMALL, "lsvi-ucb", **asked)
    second = nr.run(SMALL, "lsvi-ucb", preset="twin", **asked)
    assert len(Store(tmp_path / "runs").ids()) == 2
    assert (first.preset, second.preset) == ("practical", "twin")
    np.testing.assert_array_equal(first.regret, second.regret)


def test_every_constant_of_every_table_can_be_written_out() -> None:
    """A run with all constants written out is the run of the preset, and its learner is made from the key alone."""
    tried = 0
    for name in learners.names():
        cls = class_of(name)
        if cls.table is None or cls.told or cls.stepwise:
            continue
        for preset in cls.presets:
            safe = {"safe_policy": "safest"} if preset == "safe" else {}
            key = make_key(SMALL, name, 50, preset=preset, slater_gap=0.5, params=safe)
            written = make_key(SMALL, name, 50, preset=preset, slater_gap=0.5, params=safe | dict(key.constants))
            assert written == key, (name, preset)
            assert check(key).constants.keys() >= key.constants.keys()
            tried += 1
    assert tried


def test_making_a_key_solves_nothing_and_the_optimum_is_found_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[str] = []
    solve = TableOracle.solve
    monkeypatch.setattr(TableOracle, "solve", lambda self, *more: solved.append(self.problem.name) or solve(self, *more))
    problem = "random:seed=77,S=4,A=2,H=3"
    (key,) = Ask(problem, "lsvi-ucb", 20).keys()
    check(key)
    assert solved == []
    Ask(problem, "lsvi-ucb", 20, slater_gap="oracle").keys()
    assert solved == [problem]
    nr.run(problem, "lsvi-ucb", episodes=5, trials=2, progress=False)
    assert solved == [problem], "once for all"


def test_a_run_is_checked_without_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    init = Trial.__init__
    monkeypatch.setattr(Trial, "__init__", lambda self, *args: begun.append(args[2].trial) or init(self, *args))
    nr.run(SMALL, "lsvi-ucb", episodes=5, trials=3, threads=1, progress=False)
    assert begun == [0, 1, 2]
    with pytest.raises(InputError, match="features"):
        nr.run(SMALL, "lsvi-ucb", episodes=5, features=np.zeros((9, 9, 9)), progress=False)
    assert begun == [0, 1, 2]


def test_a_run_that_was_planned_for_other_constants_or_code_is_refused() -> None:
    key = make_key(SMALL, "lsvi-ucb", 20)
    entries = key.to_json()
    with pytest.raises(InputError, match=r"planned for other constants than lsvi-ucb has \(beta\): it can only be read"):
        check(RunKey.from_json(entries | {"constants": {name: 1 for name in key.constants if name != "beta"}}))
    with pytest.raises(InputError, match="its source differs"):
        check(RunKey.from_json(entries | {"code": "0" * 16}))
    mine = RunKey.from_json(entries | {"constants": dict(key.constants) | {"beta": 0.7}})
    assert check(mine).constants["beta"] == 0.7, "the key's own constants are played, whatever the table has now"


def test_what_a_learner_is_told_is_in_the_name() -> None:
    safest = make_key(SMALL, "opse-lcmdp", 20, params={"safe_policy": "safest"})
    policy = nr.problems.load(SMALL).available / 2.0
    table, same = (make_key(SMALL, "opse-lcmdp", 20, params={"safe_policy": one}) for one in (policy, policy.tolist()))
    assert safest.told == {"safe_policy": "safest"} and len(table.told["safe_policy"]) == 64
    assert table == same and len({safest.id, table.id, make_key(SMALL, "lsvi-ucb", 20).id}) == 3


def test_the_code_counts_and_words_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh() -> str:
        _code_of.cache_clear()
        return code_of(UCB, SMALL)

    before, other = fresh(), code_of(class_of("uniform"), SMALL)
    monkeypatch.setattr(lsvi_ucb.plan, "__doc__", "Other words.")
    monkeypatch.setattr(UCB, "summary", "other words")
    assert fresh() == before != other
    monkeypatch.setattr(lsvi_ucb, "plan", lambda state: None)
    assert fresh() != before
    assert code_of(class_of("uniform"), SMALL) == other, "another learner's code"


def test_reasons_are_those_of_the_ask() -> None:
    assert choose(make_key(SMALL, "lsvi-ucb", 20, params={"beta": "H/10"})).why["beta"] == "H/10: given"
