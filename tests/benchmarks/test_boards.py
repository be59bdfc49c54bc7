"""The committed leaderboards: whole, as the protocol says, their pages made from them, and README's table and words theirs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import headline, protocol, release
from noregret import learners
from noregret.report.leaderboard import Leaderboard, page
from tests.made_up_board import a_board

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text("utf-8").split())
BOARDS = {
    episodes: Leaderboard.read(ROOT / "docs" / f"{page.STEM}{'' if episodes == 10_000 else '-100k'}.json")
    for episodes in protocol.LENGTHS
}
HAND, SEARCHED = (f"primal-dual-lsvi ({word})" for word in ("by hand", "searched"))


@pytest.mark.parametrize("episodes", BOARDS)
def test_every_learner_is_there_on_every_test_world(episodes: int) -> None:
    board, length = BOARDS[episodes], protocol.LENGTHS[episodes]
    one = board.protocol
    assert (one.episodes, one.trials, one.most) == (episodes, length.trials, length.seconds)
    assert (one.seed, one.preset) == (protocol.TEST_SEED, "practical")
    assert board.learners == [entry.label for entry in release.everybody()]
    assert [problem.partition(":")[0] for problem in board.problems] == [w.partition(":")[0] for w in protocol.TEST_WORLDS]
    for cell in board.cells:
        assert len(cell.score) == one.trials or cell.reason, (cell.learner, cell.problem)


@pytest.mark.parametrize("episodes", BOARDS)
def test_every_interval_contains_its_rank_and_the_page_is_of_the_board(episodes: int) -> None:
    board = BOARDS[episodes]
    rank = board.analysis.rank
    there = np.isfinite(rank.mean)
    assert ((rank.low <= rank.mean) & (rank.mean <= rank.high))[there].all() and there.sum() >= len(there) - 1
    name = page.STEM if episodes == 10_000 else f"{page.STEM}-100k"
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    assert text == page.markdown(board, name, page.siblings(ROOT / "docs", name))


@pytest.mark.parametrize("episodes", BOARDS)
def test_a_board_names_the_rows_whose_presets_have_changed_since(episodes: int) -> None:
    board = BOARDS[episodes]
    said = [remark for remark in board.protocol.remarks if remark.startswith(headline.SINCE)]
    assert said == [release.earlier(left) for left in [release.stale(board)] if left], (
        "play these rows again, or make the pages anew: python -m benchmarks.release --page README.md"
    )


@pytest.mark.parametrize("episodes", BOARDS)
def test_a_board_names_planners_that_an_estimate_left_out(episodes: int) -> None:
    board = BOARDS[episodes]
    said = [remark for remark in board.protocol.remarks if remark.startswith(headline.GUESSED)]
    assert said == [release.guessed(left) for left in [release.estimated(board)] if left]
    assert not {"opse-lcmdp", "crpo"} & {*release.estimated(board)}, "they plan before every episode"


def test_readme_has_the_first_rows_of_the_boards() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert headline.put(text, [*BOARDS.values()]) == text, "python -m benchmarks.release --page README.md"


def test_what_readme_says_of_the_boards_in_words_is_so() -> None:
    short, long = BOARDS.values()
    assert "the table has the first at 10,000 episodes of those that are not from memory" in README
    rows = {
        name
        for name in re.findall(r"^\| ([a-z-]+) ", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
        if name in learners.names()
    }
    told = re.findall(r"Of these, (.*) are made from what others wrote of them", README)[0]
    assert {*re.findall(r"`([a-z-]+)`", told)} == {name for name in rows if learners.get(name).source == "notes"}
    assert not [name for name in rows if learners.get(name).source == "memory"]
    one, other = (name.lower() for name in re.findall(r"(CRPO|NPG-PD) is first, (?:and )?(CRPO|NPG-PD)", README)[0])
    assert headline.first(short)[0] == one and one != other
    assert {row.learner for row in short.rows if "a simulator" in row.told} == {one, other, "cspda"}
    for board in (short, long):
        assert {*headline.alone(board)[:2]} == {HAND, SEARCHED}, "first at both lengths, of those that are told nothing more"
        stuck = {name: float(board.stuck_everywhere(name) or 0) for name in headline.alone(board)}
        assert max(stuck.pop(HAND), stuck.pop(SEARCHED)) < min(stuck.values()), "README says that fewest of its runs are stuck"
        assert headline.behind(board, SEARCHED) < headline.behind(board, HAND), "README says that what was searched is ahead"


def test_readme_says_which_rows_are_behind_their_presets() -> None:
    made = a_board()
    made.protocol.remarks.append(release.earlier(["opdop"]))
    text = headline.put(f"{headline.BEGIN}\n{headline.END}\n", [made])
    assert text.endswith(f"\n\nAt 1,000 episodes: {release.earlier(['opdop'])}\n\n{headline.END}\n")


def test_a_headline_by_hand() -> None:
    """Means 1000, 125, 250 and none on the left, 5000, 50, 25, 75 on the right; triple-q is told more."""
    made = a_board()
    assert headline.first(made) == ["opdop", "triple-q", "uniform"] and headline.alone(made) == ["opdop", "uniform"]
    assert headline.behind(made, "opdop") == (1.0, 1.0)
    assert headline.behind(made, "triple-q") == pytest.approx((1.0, 2.0)), "twice on the left, half on the right"
    assert headline.behind(made, "safe <i>") == pytest.approx((1.5, 1.5)), "it ran on the right alone"
    (row,) = [row for row in headline.table([made, made]).rows if row[0] == "triple-q"]
    assert row[1] == "a simulator (5 draws an episode)" and row[3:6] == ("1.00", "2.0", "0.0%") and row[2:6] == row[6:]
    made.rows[made.learners.index("triple-q")] = replace(made.rows[made.learners.index("triple-q")], source="memory")
    assert headline.first(made) == ["opdop", "uniform"], "what is from memory is not among README's first"
