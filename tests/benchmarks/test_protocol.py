"""``benchmarks/protocol.toml``: development, tuning and test share no world and no seed, and nothing names a test world."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from benchmarks.command import run
from benchmarks.table1 import settings as table1

import noregret as nr
from benchmarks import headline, noise, protocol, release
from noregret.report.leaderboard import Leaderboard
from noregret.runs.prepare import prepare

ROOT = Path(__file__).parents[2]
TUNING = [each.problem for rung in protocol.RUNGS for each in rung]


def seeds(texts: list[str] | tuple[str, ...]) -> set[int]:
    return {int(seed) for text in texts for seed in re.findall(r"seed=(\d+)", text)}


def test_the_sets_share_no_world_and_no_seed() -> None:
    runs = {name: set(range(each["run_seeds"][0], each["run_seeds"][1] + 1)) for name, each in protocol.SETS.items()}
    worlds = {
        name: set().union(*(range(low, high + 1) for low, high in each["world_seeds"])) for name, each in protocol.SETS.items()
    }
    for one, other in combinations(protocol.SETS, 2):
        assert not runs[one] & runs[other] and not worlds[one] & worlds[other]
    assert min(worlds["test"]) >= 1000 and protocol.TEST_SEED >= 1000
    assert seeds(TUNING) <= worlds["tuning"] and seeds(protocol.TEST_WORLDS) <= worlds["test"]
    assert {seed for rung in protocol.RUNGS for each in rung for seed in each.seeds} <= runs["tuning"]
    built_in = {(name, frozenset[str]()) for name in nr.problems.names()}
    tuned, tested = {protocol.world(text) for text in TUNING}, {protocol.world(text) for text in protocol.TEST_WORLDS}
    assert len(tuned) == len(TUNING) and len(tested) == len(protocol.TEST_WORLDS)
    assert not tuned & tested and not (tuned | tested) & built_in
    noiseless = [{part for part in parts if not part.startswith(("noise", "seed"))} for _, parts in (*tuned, *tested)]
    sizes = [(name, frozenset(parts)) for (name, _), parts in zip((*tuned, *tested), noiseless, strict=True)]
    assert len({*sizes[: len(tuned)]} & {*sizes[len(tuned) :]}) == 0, "a size that was tuned on is tested on"


def test_the_development_worlds_of_other_benchmarks_are_development_worlds() -> None:
    ranges = protocol.SETS["development"]["world_seeds"]
    for first in noise.SETS.values():
        assert any(low <= first and first + noise.WORLDS - 1 <= high for low, high in ranges)


def test_at_least_half_of_each_set_is_noisy_and_all_can_be_met() -> None:
    for texts in (TUNING, protocol.TEST_WORLDS):
        noisy = sum("noise=" in text or text.startswith(("bandit", "admission")) for text in texts)
        assert noisy >= len(texts) / 2
        worlds = [prepare(text).finite("a test") for text in texts]
        assert {len(np.atleast_1d(world.b)) for world in worlds} >= {1, 2}
        assert any("slack" in text for text in texts)


def test_nothing_that_was_chosen_names_a_test_world() -> None:
    mine = {Path(__file__), protocol.FILE, protocol.LOG}
    families = sorted({text.partition(":")[0] for text in protocol.TEST_WORLDS})
    named = re.compile(rf"\b(?:{'|'.join(families)}):[A-Za-z][\w.=,-]*\w")
    texts: dict[str, Path] = {}
    for folder in ("src", "tests", "docs", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".toml", ".csv", ".jsonl") and path not in mine and "leaderboard" not in path.stem:
                text = path.read_text("utf-8")
                assert not any(world in text for world in protocol.TEST_WORLDS), path
                assert not re.search(r"seed(?:=| = |: | )1\d{3}\b", text), path
                texts |= dict.fromkeys(named.findall(text), path)
    tests = {nr.problems.load(text).name for text in protocol.TEST_WORLDS}
    for text, path in texts.items():
        with contextlib.suppress(nr.NoRegretError):  # a text that shows what is refused
            assert nr.problems.load(text).name not in tests, (path, text)
    assert len(texts) > 100


def test_a_failure_of_one_run_in_twenty_is_seen_on_the_last_rungs() -> None:
    full = [each for rung in protocol.RUNGS[-3:] for each in rung]
    runs = sum(len(each.seeds) for each in full)
    assert runs == 88 and 1.0 - 0.95**runs > 0.9
    assert {each.episodes for each in full} == set(protocol.LENGTHS), "the search sees every length of a release"
    assert table1.SEED >= 1000


def test_playing_test_worlds_is_said_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(protocol, "TEST_WORLDS", ("random:seed=3,S=2,A=2,H=2",))
    monkeypatch.setattr(protocol, "LENGTHS", {50: protocol.Length(2, 20.0)})
    words = ["--learners", "uniform,lsvi-ucb", "--out", str(tmp_path / "out"), "--log", str(tmp_path / "log.csv")]
    assert run(release.main, words) == 0
    assert "plays test worlds" in capsys.readouterr().err
    first = (tmp_path / "log.csv").read_text()
    assert run(release.main, words) == 0  # everything is there: nothing is played, nothing is logged
    assert "plays test worlds" not in capsys.readouterr().err and (tmp_path / "log.csv").read_text() == first
    (row,) = csv.DictReader(first.splitlines())
    assert tuple(row) == protocol.COLUMNS and row["learners"] == "lsvi-ucb, uniform" and row["trials"] == "2"
    assert (tmp_path / "out" / "leaderboard.json").exists()
    again = [*words[:1], "lsvi-ucb", "--out", str(tmp_path / "again"), *words[4:]]
    assert run(release.main, again) == 0 and "lsvi-ucb,50" in (tmp_path / "log.csv").read_text()
    monkeypatch.setattr(release, "everybody", lambda: release.everyone())
    board = (tmp_path / "out" / "leaderboard.json").read_bytes()
    onto = ["--from", str(tmp_path / "again"), "--onto", str(tmp_path / "out")]
    assert run(release.main, onto) == 0
    same, before = (json.loads(text) for text in ((tmp_path / "out" / "leaderboard.json").read_bytes(), board))
    for cell in (*same["cells"], *before["cells"]):
        cell["seconds"] = 0.0  # of the clock
    assert same["cells"] == before["cells"] and same["rows"] == before["rows"], "the same runs, in the place of those before"
    both = tmp_path / "out" / "leaderboard.json"
    older = re.sub('"constants":"[0-9a-f]+"', '"constants":"0"', both.read_text())  # as if both presets had changed since
    both.write_text(older)
    assert release.stale(Leaderboard.read(both)) == ["lsvi-ucb", "uniform"]
    assert run(release.main, onto) == 0
    stale = Leaderboard.read(both).protocol.remarks[-1]
    assert stale == release.earlier(["uniform"]) and stale in both.with_suffix(".md").read_text(), "what is played again is not"
    (tmp_path / "page.md").write_text(f"# Page\n\n{headline.BEGIN}\n{headline.END}\n\nend\n")
    words_of_page = ["--page", str(tmp_path / "page.md")]
    assert run(release.main, [*again, "--onto", str(tmp_path / "out"), *words_of_page]) == 0  # plays, merges, makes the page
    text = (tmp_path / "page.md").read_text()
    assert (
        text.count("| uniform | nothing more |") == 1
        and text.endswith(f"{headline.END}\n\nend\n")
        and headline.put(text, [Leaderboard.read(both)]) == text
    )
    assert run(release.main, ["--learners", "uniform", *words_of_page]) == 1
    assert "given without --onto" in capsys.readouterr().err
    changed = tmp_path / "again" / "leaderboard.json"
    changed.write_text(re.sub('"sources":"[0-9a-f]+"', '"sources":"0123abcd"', changed.read_text()))
    assert run(release.main, onto) == 0 and run(release.main, onto) == 0
    page = (tmp_path / "out" / "leaderboard.md").read_text()
    assert page.count("Played again with sources 0123abcd, all else as before: lsvi-ucb.") == 1
    assert not (tmp_path / "out" / "leaderboard.html").exists(), "the site makes it"
    for most, code in (("10.0", 1), ("30.0", 0)):  # a longer limit is taken, where nobody else was left out for the time
        changed.write_text(re.sub('"most":[0-9.]+', f'"most":{most}', changed.read_text()))
        assert run(release.main, onto) == code
    assert Leaderboard.read(both).protocol.most == 30.0
    changed.write_text(changed.read_text().replace('"most":30.0', '"most":40.0'))
    left, cut = {"reason": "a run takes more than 30 s"}, json.loads(both.read_text())
    cut["cells"] = [cell | (left if cell["learner"] == "uniform" else {}) for cell in cut["cells"]]
    both.write_text(json.dumps(cut))
    assert run(release.main, onto) == 1 and "or a longer one and uniform in it" in capsys.readouterr().err
    changed.write_text(changed.read_text().replace('"seed":1000', '"seed":1001'))
    assert run(release.main, onto) == 1 and run(release.main, onto[:2]) == 1 and run(release.main, [*words[:1], "opdob"]) == 1
    errors = capsys.readouterr().err
    assert all(
        said in errors for said in ("the boards differ in worlds", "--from is given without --onto", "did you mean 'opdop'")
    )
    assert run(release.main, [*words, "--episodes", "7"]) == 1
    assert "expected one of 50" in capsys.readouterr().err
