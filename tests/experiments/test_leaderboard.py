"""``noregret leaderboard``: what is played, what is left out and why, what is written, and the committed data."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret import learners
from noregret.cli import app
from noregret.errors import InputError
from noregret.experiments.compare.settings import Entry
from noregret.experiments.leaderboard import Contest, pilots, settings
from noregret.learners.presets import FOUND, Number
from noregret.report.leaderboard import Leaderboard
from noregret.runs import Ask, How
from noregret.sweeps import estimate

ROOT = Path(__file__).parents[2]
ARGS = ["leaderboard", "--problems", "random:S=3,A=2,H=2,random:S=3,A=2,H=2,m=2", "-k", "40", "-t", "2"]
NAMES = "uniform,lsvi-bisection,dope:safe_policy=safest"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("leaderboard")
    done = CliRunner().invoke(app, [*ARGS, "--learners", NAMES, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out, done.output


def test_the_command_plays_and_writes(played: tuple[Path, str]) -> None:
    out, printed = played
    files = {f"leaderboard.{kind}" for kind in ("json", "csv", "html", "md", "png", "svg")}
    assert {path.name for path in out.iterdir()} == {*files, "runs", "pilots.json"}
    board = Leaderboard.read(out / "leaderboard.json")
    assert board.problems == ["random:S=3,A=2,H=2", "random:S=3,A=2,H=2,m=2"] and len(board.cells) == 6
    assert "stated for 1" in board.cell("random:S=3,A=2,H=2,m=2", "lsvi-bisection").reason
    assert "[6/6]" in printed and "Leaderboard: 2 trials of 40 episodes, preset practical" in printed
    cell = board.cell("random:S=3,A=2,H=2", "lsvi-bisection")
    alone = nr.run("random:S=3,A=2,H=2", "lsvi-bisection", episodes=40, trials=2, progress=False)
    assert cell.samples["hard_regret"] == pytest.approx(alone.hard_regret[:, -1], rel=1e-5)
    assert cell.curves["hard_violation"]["mean"][-1] == pytest.approx(alone.hard_violation[:, -1].mean(), rel=1e-5)


def test_the_line_of_a_cell_repeats_it(played: tuple[Path, str], tmp_path: Path) -> None:
    board = Leaderboard.read(played[0] / "leaderboard.json")
    cell = board.cell("random:S=3,A=2,H=2", "dope:safe_policy=safest")
    assert cell.line == (
        "noregret run random:S=3,A=2,H=2 --learner dope --episodes 40 --trials 2 --seed 0 --preset practical "
        "--set safe_policy=safest"
    )
    done = CliRunner().invoke(app, [*cell.line.split()[1:], "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    stored = {path.name for path in (tmp_path / "runs").iterdir() if not path.name.startswith(".")}
    assert len(stored) == 2 and stored <= {path.name for path in (played[0] / "runs").iterdir()}, "the same runs"


def test_the_page_is_made_again_from_the_data_alone(played: tuple[Path, str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["leaderboard", "--from", str(played[0] / "leaderboard.json"), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for kind in ("json", "csv", "html", "svg"):
        name = f"leaderboard.{kind}"
        assert (tmp_path / name).read_bytes() == (played[0] / name).read_bytes()


def test_what_is_finished_is_not_played_again(played: tuple[Path, str]) -> None:
    done = CliRunner().invoke(app, [*ARGS, "--learners", NAMES, "--out", str(played[0]), "--most", "0"])
    assert done.exit_code == 0 and "a short pilot" not in done.output


def test_a_row_knows_what_it_was_played_with() -> None:
    entry = Entry.read("opdop")
    one = settings.constants(entry, "practical")
    assert re.fullmatch("[0-9a-f]{12}", one) and settings.row(entry, "practical").constants == one
    others = [settings.constants(entry, "theory"), settings.constants(Entry("x", "opdop", {"beta": "2*usual"}), "practical")]
    assert len({one, *others}) == 3 and settings.constants(Entry("y", "opdop", {}), "practical") == one
    assert settings.constants(Entry("z", "opdop", {"preset": "theory"}), "practical") != one


@pytest.mark.parametrize("kept", [False, True])
def test_cells_that_take_too_long_are_left_out_with_their_reason(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [Entry.read("uniform"), Entry.read("lsvi-ucb")]
    contest = Contest(["random:S=3,A=2,H=2"], entries, 20, 2, 0, "practical", 60.0)
    monkeypatch.setattr(pilots, "seconds_of_run", lambda key, most: 61.0 if key.learner == "lsvi-ucb" else 59.0)
    out = tmp_path / "new" / "runs" if kept else None  # a folder that is not there yet
    board = contest.board(contest.play(How(out, progress=False)))
    assert [cell.reason for cell in board.cells] == ["", "a run takes more than 60 s"]
    assert board.analysis.rank.mean.tolist() == pytest.approx([1.0, float("nan")], nan_ok=True), "it ran nowhere: no rank"


def test_pilots_are_kept_and_played_again_only_where_they_do_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[float] = []
    monkeypatch.setattr(pilots, "seconds_of_run", lambda key, most: played.append(most) or 20.0)
    key = Ask("random:S=3,A=2,H=2", "uniform", 10).keys()[0]
    assert pilots.Pilots(tmp_path).known(key) is None and not pilots.Pilots(tmp_path).enough(key, 5.0)
    assert pilots.Pilots(tmp_path).play(key, 5.0) == 20.0 and played == [5.0]
    again = pilots.Pilots(tmp_path)
    assert again.known(key) == 20.0 and again.enough(key, 5.0) and again.enough(key, 600.0)
    assert not again.enough(key, 30.0), "it was played for another limit, and 20 is near 30"
    assert again.enough(key, 4.0), "what took 5 s takes more than 4"
    assert not again.enough(key, 6.0), "20 s were a guess after 5 s"
    for text in (
        "[1",
        "[" * 10_000,
        f'{{"{key.id}": [NaN, 5]}}',
        f'{{"{key.id}": [{"9" * 400}, 5]}}',
        f'{{"{key.id}": [-1, 5]}}',
    ):
        (tmp_path / "pilots.json").write_text(text)
        assert pilots.Pilots(tmp_path).known(key) is None and pilots.Pilots(None).known(key) is None
    (tmp_path / "pilots.json").unlink()
    os.mkfifo(tmp_path / "pilots.json")
    assert pilots.Pilots(tmp_path).known(key) is None, "a pipe keeps nobody waiting"


def test_no_time_at_all_leaves_everything_out() -> None:
    key = Ask("random:S=3,A=2,H=2", "uniform", 10).keys()[0]
    assert not pilots.Pilots(None).enough(key, 0.0), "nothing is known of it"
    contest = Contest(["random:S=3,A=2,H=2"], [Entry.read("uniform")], 20, 2, 0, "practical", 0)
    assert "more than 0 s" in contest.play(How(progress=False))[0].reason


@pytest.mark.parametrize("most", [float("nan"), float("inf"), -1.0, "long", True, None])
def test_seconds_that_are_no_number_are_refused(most) -> None:
    with pytest.raises(InputError, match=r"most is .*; expected a number of seconds, at least 0"):
        nr.leaderboard(["random:S=3,A=2,H=2"], ["uniform"], episodes=10, trials=1, most=most, progress=False)


def test_the_files_have_the_name_that_is_asked_for(played: tuple[Path, str], tmp_path: Path) -> None:
    read = ["leaderboard", "--from", str(played[0] / "leaderboard.json"), "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*read, "--name", "leaderboard-40"])
    assert done.exit_code == 0 and (tmp_path / "leaderboard-40.html").exists(), done.output
    again = CliRunner().invoke(app, ["leaderboard", "--from", str(tmp_path / "leaderboard-40.json"), "--out", str(tmp_path)])
    assert again.exit_code == 0 and not (tmp_path / "leaderboard.json").exists(), "the name of the file that was read"
    done = CliRunner().invoke(app, [*ARGS, "--learners", "uniform", "--name", "best", "--out", str(tmp_path / "new")])
    assert done.exit_code == 1 and "name is 'best'" in done.stderr and not (tmp_path / "new").exists()


def test_nothing_that_ran_is_an_error(tmp_path: Path) -> None:
    args = ["leaderboard", "--problems", "random:S=3,A=2,H=2,m=2", "--learners", "lsvi-bisection", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 1 and "no learner ran: lsvi-bisection on random:S=3,A=2,H=2,m=2" in done.output


def test_all_learners_and_all_finite_problems_are_on_it() -> None:
    entries = settings.entries()
    assert [entry.name for entry in entries] == learners.names()
    safe = {entry.name for entry in entries if entry.params.get("safe_policy") == "safest"}
    assert safe == {name for name in learners.names() if "safe_policy" in learners.get(name).told} and "dope" in safe
    assert settings.problem_names() == nr.problems.names(continuous=False)
    assert settings.row(Entry.read("opse-lcmdp"), "practical").told == ["the reward", "the utilities"]
    assert "a safe policy (the safest)" in settings.row(next(e for e in entries if e.name == "dope"), "practical").told


def test_the_page_says_where_constants_are_from(monkeypatch: pytest.MonkeyPatch) -> None:
    ucb = nr.learners.get("lsvi-ucb")
    ucb_entry, uniform = Entry.read("lsvi-ucb"), Entry.read("uniform")
    assert settings.remarks("practical", [ucb_entry, uniform]) == []
    monkeypatch.setattr(ucb, "table", ucb.table.with_rows(Number("beta", theory=(1, "printed"), practical=(2.0, FOUND))))
    said, others = settings.remarks("practical", [ucb_entry, uniform, Entry("as searched", "primal-dual-lsvi", {"alpha": 1.0})])
    assert "the same number of configurations for each" in said and "benchmarks/protocol.toml" in said
    assert others == "Constants that no search changed: uniform."
    assert settings.remarks("theory", [ucb_entry]) == [] and len(settings.remarks("practical", [ucb_entry])) == 1
    assert "linear-continuous" in settings.left_out()[0]


def paced(monkeypatch: pytest.MonkeyPatch, pace) -> list[int]:
    """Runs of 1000 episodes, played ten at a time; ``pace(k)`` are the seconds of an episode."""
    trial, seen = SimpleNamespace(seconds=0.0, compile=lambda: None), list[int]()

    def blocks():
        for k in range(10, 1001, 10):
            trial.seconds += 10 * pace(k)
            seen.append(k)
            yield k

    trial.blocks = blocks
    monkeypatch.setattr(estimate, "own_time", lambda: trial.seconds)
    monkeypatch.setattr(estimate, "start", lambda key: trial)
    return seen


def test_a_short_pilot_tells_how_long_a_run_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Ask("random:S=3,A=2,H=2", "uniform", 1000).keys()[0]
    seen = paced(monkeypatch, lambda k: 0.001)
    assert estimate.seconds_of_run(key, 60.0) == pytest.approx(1.0) and seen[-1] == 300, "0.3 s are enough"
    seen = paced(monkeypatch, lambda k: 0.0001)
    assert estimate.seconds_of_run(key, 60.0) == pytest.approx(0.1) and seen[-1] == 1000, "to its end"
    seen = paced(monkeypatch, lambda k: 0.1 if k <= 10 else 0.001)
    assert 1.99 < estimate.seconds_of_run(key, 60.0) < 20.0 and seen[-1] > 10, "slow at first, where 100 s seem to come"
    seen = paced(monkeypatch, lambda k: 0.05)
    assert estimate.seconds_of_run(key, 60.0) == pytest.approx(50.0) and seen[-1] == 300, "near the limit: a quarter of it"
    seen = paced(monkeypatch, lambda k: 1.0)
    assert estimate.seconds_of_run(key, 60.0) == pytest.approx(1000.0) and seen[-1] == 70, "until it has taken as long"
    seen = paced(monkeypatch, lambda k: 0.025 * (math.isqrt(k) - math.isqrt(k - 10)))
    assert 5.0 < estimate.seconds_of_run(key, 8.0) < 8.0, "31 plans, half of them in the first 250 episodes"
