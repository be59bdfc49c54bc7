"""The committed leaderboards: whole, as the protocol says, their pages made from them, and README's numbers theirs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import protocol, release
from noregret.report.leaderboard import Leaderboard, page

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


def alone(board: Leaderboard) -> list[str]:
    """The learners that ran everywhere and are told nothing more, Algorithm 1 in both of its rows among them."""
    found = board.analysis
    everywhere = [board.learners[i] for i in found.order if found.ran_on(i) == len(board.problems)]
    return [name for name in everywhere if not next(row for row in board.rows if row.learner == name).told]


def behind(board: Leaderboard) -> tuple[float, float]:
    """What Algorithm 1 by hand loses over the best of all that are told nothing: geometric mean, and the most."""
    others = [row.learner for row in board.rows if not row.told and row.learner != SEARCHED]
    ratios = []
    for problem in board.problems:
        best = min(cell.score.mean() for one in others if len((cell := board.cell(problem, one)).score))
        ratios.append(board.cell(problem, HAND).score.mean() / best)
    return float(np.exp(np.mean(np.log(ratios)))), float(max(ratios))


def rank(board: Leaderboard, learner: str) -> str:
    found = board.analysis.interval(board.analysis.rank, board.learners.index(learner))
    return f"{float(found.mean):.1f} [{float(found.low):.1f}, {float(found.high):.1f}]"


def test_readme_has_the_numbers_of_the_boards() -> None:
    short, long = BOARDS.values()
    stale = [bool(release.EARLIER.fullmatch(remark)) for board in (short, long) for remark in board.protocol.remarks]
    assert any(stale) == ("have changed since these boards were played" in README)
    first = [short.learners[i] for i in short.analysis.order[:2]]
    said = re.search(r"(CRPO|NPG-PD) and (CRPO|NPG-PD) are first: mean ranks ([\d.]+) and ([\d.]+)\.", README)
    assert said and [name.lower() for name in said.groups()[:2]] == first
    assert [f"{short.analysis.rank.mean[short.analysis.order[i]]:.1f}" for i in (0, 1)] == list(said.groups()[2:])
    assert f"rank {rank(short, SEARCHED)} as the search has it, {rank(short, HAND)} by hand" in README
    assert {*alone(short)[:2]} == {HAND, SEARCHED}, "README says that Algorithm 1 is first of those that are told nothing"
    after = alone(short)[2]
    assert f"the next has {short.analysis.rank.mean[short.learners.index(after)]:.1f}." in README
    mean, most = behind(short)
    assert f"By hand it loses {mean:.2f} times" in README and f"{most:.1f} times at worst, on a world of 40 states" in README
    assert f"{100 * float(short.stuck_everywhere(HAND) or 0):.1f}% of its runs are stuck" in README
    assert f"it has rank {rank(long, HAND)}" in README and not long.stuck_everywhere(HAND)
    mean, most = behind(long)
    assert f"{mean:.2f} times the best such learner of each world and {most:.1f} times at worst" in README
    least = min(float(short.stuck_everywhere(name) or 0) for name in alone(short))
    assert short.stuck_everywhere(HAND) == least, "README says that fewest of its runs are stuck"
