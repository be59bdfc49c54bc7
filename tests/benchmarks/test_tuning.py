"""``python -m benchmarks.tuning``: the same search for every learner; killed and started again it finds the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.command import run
from benchmarks.protocol import BUDGET, LEAST, SLOW, STUCK, Judged
from benchmarks.protocol import RUNGS as RUNGS_OF_ALL
from benchmarks.tuning import page, search, tables
from benchmarks.tuning.__main__ import main, put
from benchmarks.tuning.search import Form, Found, forms, part, score, sizes, yardstick

from benchmarks import release, tuning
from noregret import learners
from noregret.errors import FileError, InputError
from noregret.learners.lsvi import lsvi_ucb
from noregret.learners.presets import FOUND, Count, Number
from noregret.sweeps.search import Candidate, SearchJournal, parse_range

pytest.importorskip("optuna", reason="not run: optuna is not installed")

RUNGS = ((Judged("random:seed=1,S=3,A=2,H=2", 60, (0,)),), (Judged("streaming:seed=1,H=2,buffer=2", 60, (0, 1)),))
SPACES = '[lsvi-ucb]\npractical = ["beta=0.01x:10x:log", "cap=H,H-h+1"]\n'


@pytest.fixture
def spaces(tmp_path: Path) -> Path:
    (tmp_path / "spaces.toml").write_text(SPACES)
    return tmp_path / "spaces.toml"


def small(out: Path, spaces: Path, **others: Any) -> list[Found]:
    return tuning.tune_all(
        None, out, **{"budget": 6, "rungs": RUNGS, "spaces": spaces} | others
    )  # fmt: skip


def seen(found: list[Found]) -> list[bytes]:
    return [each.journal.path.read_bytes() for each in found]


def test_killed_and_started_again_it_finds_the_same(tmp_path: Path, spaces: Path) -> None:
    whole = small(tmp_path / "whole", spaces)
    script = (
        "import sys, time; from pathlib import Path\n"
        "from tests.benchmarks import test_tuning as t\n"
        "from noregret.sweeps.search import SearchJournal\n"
        "add = SearchJournal.add\n"
        "def slowly(self, candidate): add(self, candidate); time.sleep(0.3)\n"
        "SearchJournal.add = slowly\n"
        "t.small(Path(sys.argv[1]), Path(sys.argv[2]))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "killed"), str(spaces)])
    journal = tmp_path / "killed" / tuning.JOURNALS / "lsvi-ucb-practical.json"
    for _ in range(1200):
        if journal.exists() and len(SearchJournal.read(journal).candidates) >= 3:
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert 3 <= len(SearchJournal.read(journal).candidates) < len(whole[0].journal.candidates)
    assert seen(small(tmp_path / "killed", spaces)) == seen(whole)
    assert seen(small(tmp_path / "killed", spaces)) == seen(whole)  # nothing is left to play


def test_a_search_tries_what_its_budget_allows_and_the_beginning_goes_on(tmp_path: Path, spaces: Path) -> None:
    told: list[Found] = []
    (found,) = small(tmp_path, spaces, tell=told.append)
    assert told == [found] and found.form.name == "lsvi-ucb-practical"
    assert len(found.journal.judged(0)) == 6 and len(found.journal.judged(1)) == sizes(6, RUNGS)[1] == 2
    assert found.journal.judged()[0].params == {} == found.begin.params
    assert found.winner.value <= found.begin.value and found.finalists[0].value <= found.begin.value
    assert all(set(each.params) == {"beta", "cap"} for each in found.journal.judged()[1:])
    assert {len(each.parts) for each in found.finalists} == {6} and all(
        0.0 <= search.stuck_share(each) <= 1.0 for each in found.finalists
    )
    files = page.write([found], tmp_path / "data")
    assert [file.name for file in files] == [page.CONFIGURATIONS, page.TABLE]
    first = [(file, file.read_bytes()) for file in files]
    page.write([], tmp_path / "data")  # none of them again: all stay
    page.write([found], tmp_path / "data")
    assert [(file, file.read_bytes()) for file in files] == first
    table = (tmp_path / "data" / page.TABLE).read_text("utf-8")
    assert table.startswith(page.RULES) and table.count("\n") == 5 and "| lsvi-ucb | practical | 6 |" in table


def test_the_score_is_a_geometric_mean_over_tests_of_means_over_runs() -> None:
    assert score([[0.1], [0.4]]) == pytest.approx(0.2)
    assert score([[0.1], [0.1, 0.7]]) == pytest.approx(0.2)  # a run that fails now and then counts by its size
    assert score([[0.1], [0.4]], 0.1) == pytest.approx(0.2 * (1 + 0.1 * STUCK)), "a tenth of the runs is stuck"
    assert score([[0.0]]) == pytest.approx(LEAST)
    assert score([[float("inf")]]) == pytest.approx(search.WORST)
    assert yardstick("random:seed=1,S=3,A=2,H=2") > 0.0


def test_the_lowest_score_of_the_last_rung_wins_and_the_preset_is_one_of_them(tmp_path: Path) -> None:
    x, y = Judged("x", 10, (0,)), Judged("y", 10, (0,))

    def winner(value: float) -> dict[str, Any]:
        candidates = [Candidate({}, 1, 0.1), Candidate({"a": 2}, 1, value), Candidate({"a": 3}, 0, 0.001)]
        found = Found(Form("opt-dual", "practical", {}), SearchJournal(tmp_path / "x", candidates), ((x,), (y,)))
        return found.winner.params

    assert winner(0.11) == {} == winner(0.1), "nothing is better; and the third was judged on less"
    assert winner(0.099) == {"a": 2}


def test_what_may_be_tried_is_known_to_the_learners() -> None:
    spaces = search.read_spaces()
    assert set(spaces) <= set(learners.names()) and {"tuned", "practical", "soft"} == {
        p for each in spaces.values() for p in each
    }
    for name, each in spaces.items():
        table = learners.get(name).table
        for preset, ranges in each.items() if table is not None else ():
            assert ranges.keys() <= table.rows.keys(), (name, preset)


def test_a_learner_of_another_kind_is_left_out_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "spaces.toml"
    path.write_text(SPACES + '[slucb-qvi]\npractical = ["p=0.1,0.2"]\n')
    assert [form.learner for form in forms(None, path)] == ["lsvi-ucb"]
    with pytest.raises(InputError, match="no limit on a step"):
        forms(["slucb-qvi"], path)
    for text in ("[a", "[uniform]\nother = []\n", "[uniform]\ntuned = [1]\n", "x = 1\n", "a = " + "[" * 5000):
        path.write_text(text)
        with pytest.raises(FileError, match="expected ranges by learner and form"):
            search.read_spaces(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--learners", "uniform"], "learner 'uniform' has no space"),
        (["--learners", "opdob"], "did you mean 'opdop'"),
        (["--learners", ""], "learners is empty; expected at least one name"),
        (["--learners", "opdop,opdop"], "learners has 'opdop' twice; expected each once"),
        (["--budget", "1"], "budget is 1; expected"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_runs(
    line: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(main, [*line, "--out", str(tmp_path / "out")]) == 1
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (page.CONFIGURATIONS, "learner,preset\na,b\n"),
        (page.CONFIGURATIONS, ",".join(page.TRIED) + "\nopdop\n"),
        (page.CONFIGURATIONS, ",".join(page.TRIED) + "\nopdop,tuned,0,1,nan,0,,x\n"),
        (page.CONFIGURATIONS, ",".join(page.TRIED) + "\nopdop,tuned,0,1,-1e9,0,,x\n"),
        (page.CONFIGURATIONS, ",".join(page.TRIED) + "\nopdop,tuned,0,1," + "9" * 400 + ",0,,x\n"),
        (page.CONFIGURATIONS, ",".join(page.TRIED) + "\nopdop,tuned,0,1,1,0,,\x1b[2J\n"),
        (page.CONFIGURATIONS, "\0"),
        (page.CONFIGURATIONS, ""),
    ],
)
def test_numbers_that_no_search_wrote_are_named_and_nothing_is_written(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=r"expected columns|expected a number of at least 0"):
        page.write([], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_one_process_at_a_time(tmp_path: Path, spaces: Path) -> None:
    from noregret._system.files import hold, make_folder

    folder = make_folder(tmp_path / tuning.JOURNALS)
    with hold(folder / "lsvi-ucb-practical.lock"), pytest.raises(FileError, match="another process is at work"):
        small(tmp_path, spaces)


@pytest.mark.skipif(os.geteuid() == 0, reason="not run: root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, spaces: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(FileError, match="closed"):
        small(tmp_path / "closed", spaces)


# --- the learners' files -------------------------------------------------------------------------------------------


def imported(path: Path) -> Any:
    """The class in a copy of LSVI-UCB's file, under another name."""
    path.write_text(path.read_text("utf-8").replace("@register\n", "").replace("register_kernels(", "(lambda *_: 0)("), "utf-8")
    spec = util.spec_from_file_location("copied", path)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LSVIUCB


def test_the_winners_are_put_into_a_copy_of_the_file_which_still_imports(tmp_path: Path) -> None:
    path = tmp_path / "copied.py"
    before = Path(lsvi_ucb.__file__).read_text("utf-8")
    path.write_text(before, "utf-8")
    tables.rewrite(path, "lsvi-ucb", "practical", {"beta": 0.123})
    tables.rewrite(path, "lsvi-ucb", "tuned", {"beta": "0.01*(d*H*sqrt(log(2*d*K*H/p)))"})
    after = path.read_text("utf-8")
    rows = imported(path).table.rows
    assert rows["beta"].columns["practical"] == (0.123, FOUND)
    assert rows["beta"].columns["tuned"] == ("0.01*(d*H*sqrt(log(2*d*K*H/p)))", FOUND)
    assert rows["beta"].columns["theory"] == lsvi_ucb.LSVIUCB.table.rows["beta"].columns["theory"]  # type: ignore[union-attr]
    changed = [line for line in after.splitlines() if line not in before.splitlines()]
    assert len(changed) == 1 or len(changed) == 2, "nothing else was touched"
    for learner, row in (("lsvi-ucb", "bta"), ("opdop", "beta")):
        kept = path.read_bytes()
        with pytest.raises(InputError, match=r"has no row|has no class"):
            tables.rewrite(path, learner, "practical", {row: 1.0})
        assert path.read_bytes() == kept


def test_a_search_writes_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "copied.py"
    path.write_text(Path(lsvi_ucb.__file__).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(tables, "file_of", lambda learner: path)
    candidates = [
        Candidate({}, 0, 0.5, parts={part(RUNGS[0][0], 0): 0.5}),
        Candidate({"beta": 0.5}, 0, 0.1, parts={part(RUNGS[0][0], 0): 0.1}),
    ]
    form = Form("lsvi-ucb", "practical", dict([parse_range("beta=0.1x:10x:log")]))
    put(Found(form, SearchJournal(path, candidates), RUNGS[:1]))
    assert imported(path).table.rows["beta"].columns["practical"] == (0.15, FOUND)


def test_factors_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ucb = lsvi_ucb.LSVIUCB
    (name, values), (_, words) = parse_range("beta=0.1x:10x:log"), parse_range("cap=H,H-h+1")
    assert tables.value_of("lsvi-ucb", "theory", name, 0.5, values) == "0.5*(d*H*sqrt(log(2*d*K*H/p)))"
    assert tables.value_of("lsvi-ucb", "practical", name, 0.5, values) == 0.15
    assert tables.value_of("lsvi-ucb", "practical", "cap", "H", words) == "H"
    rows = Number("beta", theory=("0.5*(d*H)", "x"), practical=("2*(d)*(H)", "x"))
    count = Count("every", theory=("H", "x"), practical=(10, "x"))
    monkeypatch.setattr(ucb, "table", ucb.table.with_rows(rows, count))  # type: ignore[union-attr]
    assert tables.value_of("lsvi-ucb", "theory", name, 0.5, values) == "0.25*(d*H)"
    assert tables.value_of("lsvi-ucb", "practical", name, 0.5, values) == "0.5*(2*(d)*(H))"
    assert tables.value_of("lsvi-ucb", "practical", "every", 0.26, values) == 3
    assert tables.value_of("lsvi-ucb", "theory", "every", 0.26, values) == "max(1, round(0.26*(H)))"
    key = Form("lsvi-ucb", "practical", {"every": values}).key("random:S=3,A=2,H=2", 10, 0, {"every": 0.26})
    assert key.constants["every"] == 3 and np.isfinite(key.constants["lam"])


def test_a_learner_is_judged_on_the_worlds_that_it_takes() -> None:
    one, two = Judged("bandit:seed=1", 60, (0,)), Judged("bandit:seed=1,m=2", 60, (0,))
    assert search.taken(Form("triple-q", "practical", {}), ((one, two),)) == [[one]]
    assert search.taken(Form("ucrl-opt-lp", "practical", {}), ((one, two),)) == [[one, two]]


def test_a_soft_form_is_judged_by_soft_sums(tmp_path: Path) -> None:
    test = Judged("random:seed=1,S=3,A=2,H=2", 200, (0,))
    losses = {}
    for preset in ("tuned", "soft"):
        form, journal = Form("triple-q", preset, {}), SearchJournal(tmp_path / preset)
        candidate, _ = search.judge(form, journal, tuning.How(progress=False), ((test,),), {}, 0)
        losses[preset] = candidate.parts[part(test, 0)]
    assert losses["soft"] < losses["tuned"], "the soft column has the tuned one's numbers, and soft sums are smaller"


def test_a_table_in_a_file_of_its_own_is_written_there_and_a_preset_by_hand_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = tables.file_of("primal-dual-lsvi")
    assert original.name == "table.py" and tables.file_of("lsvi-ucb").name == "lsvi_ucb.py"
    path = tmp_path / "table.py"
    path.write_bytes(original.read_bytes())
    monkeypatch.setattr(tables, "file_of", lambda learner: path)
    candidates = [
        Candidate({}, 0, 0.5, parts={part(RUNGS[0][0], 0): 0.5}),
        Candidate({"beta": 0.5}, 0, 0.1, parts={part(RUNGS[0][0], 0): 0.1}),
    ]
    for preset in ("practical", "tuned"):
        form = Form("primal-dual-lsvi", preset, dict([parse_range("beta=0.1x:10x:log")]))
        put(Found(form, SearchJournal(path, candidates), RUNGS[:1]))
    spec = util.spec_from_file_location("copied_table", path)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    old, new = (table.rows["beta"].columns for table in (learners.get("primal-dual-lsvi").table, module.TABLE))
    assert new["tuned"] == (f"0.5*({old['theory'][0]})", FOUND)
    assert {name: entry for name, entry in new.items() if name != "tuned"} == {
        name: entry for name, entry in old.items() if name != "tuned"
    }


def test_no_preset_is_one_that_a_better_point_of_its_search_contradicts() -> None:
    rows = page._read(page.HERE / page.CONFIGURATIONS)
    best: dict[tuple[str, str], float] = {}
    for learner, preset in dict.fromkeys((row["learner"], row["preset"]) for row in rows):
        mine = [row for row in rows if (row["learner"], row["preset"]) == (learner, preset)]
        last = [row for row in mine if int(row["rungs"]) == len(RUNGS_OF_ALL)]
        (won,) = [row for row in mine if row["winner"]]
        assert won in last and float(won["score"]) == min(float(row["score"]) for row in last), (learner, preset)
        assert sum(not row["configuration"].startswith("preset=") for row in mine) == BUDGET
        best[learner, preset] = float(won["score"])
        if won["configuration"].startswith("preset="):
            other = dict(pair.split("=") for pair in won["configuration"].split("; "))
            other.setdefault("share", "nothing")
            table = learners.get(learner).table
            for row in table:
                expected = other.get(row.name, row.entry(other["preset"], table.like)[0])
                assert row.entry(preset, table.like)[0] == expected, (learner, row.name)
    for (learner, preset), score_of in best.items():
        assert score_of <= best.get((learner, "tuned"), np.inf) or preset != "practical", learner


def test_every_preset_is_what_its_search_found() -> None:
    """Factors of a practical preset are of what it was before the search, which is gone; all else can be told."""
    spaces, told = search.read_spaces(), 0
    for row in page._read(page.HERE / page.CONFIGURATIONS):
        learner, preset = row["learner"], row["preset"]
        if not row["winner"] or (learner, preset) == (search.BY_HAND, "practical"):
            continue
        table = learners.get(learner).table
        for name, text in page.winner(learner, preset).items() if not row["configuration"].startswith("preset=") else ():
            values, entry = spaces[learner][preset][name], table.rows[name].entry(preset, table.like)[0]
            if not values.relative:
                expected: Any = text
            elif search.FORMS[preset] == "theory":
                expected = tables.value_of(learner, "theory", name, float(text), values)
            else:
                continue
            assert as_text(entry) == as_text(expected), (learner, preset, name)
            told += 1
    assert told > 50


def as_text(value: Any) -> str:
    """An entry as a text, in which 1 and 1.0 are one."""
    try:
        return page._word(value) if isinstance(value, bool) else f"{float(value):.6g}"
    except (TypeError, ValueError):
        return page._word(value)


def test_every_form_is_searched_but_those_that_the_pages_name() -> None:
    searched = {(row["learner"], row["preset"]) for row in page._read(page.HERE / page.CONFIGURATIONS)}
    left = {(form.learner, form.preset) for form in forms()} - searched
    text = (page.HERE.parents[1] / "docs" / "practical.md").read_text("utf-8")
    said = text[text.index("**What was not searched.**") :].partition("\n\n")[0]
    unsearched = {name.removesuffix("-tuned") for name in SLOW} | (
        {entry.name for entry in release.everybody()} - set(search.read_spaces()) - {"uniform"}
    )
    for name in unsearched | {"slucb-qvi"} | {learner for learner, _ in left}:
        assert f"`{name}`" in said, name
    assert {preset for _, preset in left} <= {"tuned"} | {p for n, p in left if n == "opse-lcmdp"}
