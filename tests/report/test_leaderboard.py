"""The leaderboard: its statistics by hand, its files, its page in a browser. Nothing is played here."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest

from noregret.errors import FileError, InputError
from noregret.report.leaderboard import Leaderboard, LearnerRow, page, pictures
from noregret.report.leaderboard.analysis import SHADES, TAUS, ratio_text, shade
from noregret.report.leaderboard.board import SAMPLES, Cell
from noregret.results import Outcome
from tests import browser
from tests.made_up import a_result
from tests.made_up_board import a_board
from tests.report.test_report_page import Outline, needs_browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("board")
    page.write(a_board(), out)
    return out


def test_ratios_ranks_and_medians_by_hand() -> None:
    """Scores are 1¼ of the hard regret: means 1000, 125, 250 and none on the left, 5000, 50, 25, 75 on the right."""
    found = a_board().analysis
    assert found.best == {"left": "opdop", "right": "triple-q"}
    assert [found.ratio("left", one) for one in found.board.learners] == [8.0, 1.0, 2.0, None]
    assert [found.ratio("right", one) for one in found.board.learners] == [200.0, 2.0, 1.0, 3.0]
    np.testing.assert_allclose(found.rank.mean, [3.5, 1.5, 1.5, 3.0])
    assert found.order == [1, 2, 0, 3], "the last one did not run everywhere: it is ranked apart"
    assert [found.median_ratio(one) for one in found.board.learners] == [104.0, 1.5, 1.5, 3.0]
    assert found.draws("triple-q") == 5000.0 and found.draws("opdop") is None
    assert found.milliseconds("opdop") == 0.5  # half a second for a thousand episodes
    assert found.front("left") == ["opdop"] and found.front("right") == ["triple-q"]


def test_where_every_step_is_limited_unsafe_steps_count_in_place_of_violation() -> None:
    calm, steps = a_result(), np.tile(np.arange(1.0, 41.0), (3, 1))
    limited = dataclasses.replace(calm, unsafe_steps=steps)
    protocol = a_board().protocol
    outcomes = [Outcome("p", "opdop", None, calm), Outcome("q", "opdop", None, limited)]
    lines = {("p", "opdop"): "", ("q", "opdop"): ""}
    board = Leaderboard.of(protocol, [LearnerRow("opdop", [], "", [])], outcomes, lines, {("q", "opdop"): 7.0})
    one, other = board.cells
    assert (one.measure, other.measure) == ("hard_violation", "unsafe_steps")
    np.testing.assert_allclose(one.score, (calm.hard_regret + calm.hard_violation)[:, -1], rtol=1e-5)
    np.testing.assert_allclose(other.score, calm.hard_regret[:, -1] + 40.0, rtol=1e-5)
    np.testing.assert_allclose(other.soft, np.maximum(calm.regret[:, -1], 0.0) + 40.0, rtol=1e-5)
    assert other.curves["unsafe_steps"]["mean"][-1] == 40.0 and "hard_violation" not in other.curves
    rows = list(csv.DictReader(io.StringIO(board.table().csv())))
    assert [row["unsafe steps"] for row in rows] == ["", "40.0"]
    assert page._limited(board) == ["q"] and (one.seconds, other.seconds) == (1.0, 7.0)


def test_soft_sums_have_a_rank_of_their_own() -> None:
    data = a_board()
    for cell in data.cells:
        if cell.learner == "opdop":  # good episodes make up for half of its regret and for all of its violation, and more
            cell.samples["regret"], cell.samples["violation"] = [-60.0, 10.0], [0.0, 0.0]
    assert data.cell("left", "opdop").soft.tolist() == [0.0, 10.0] and data.cell("left", "opdop").score.tolist() == [
        100.0,
        150.0,
    ]
    np.testing.assert_allclose(data.analysis.rank.mean, [3.5, 1.5, 1.5, 3.0])
    np.testing.assert_allclose(data.analysis.soft_rank.mean, [3.5, 1.0, 2.0, 3.0])
    assert [row[2].partition(" ")[0] for row in data._summary().rows] == ["1.00", "2.00", "3.50", "3.00"]


def test_profiles_by_hand() -> None:
    """opdop has runs at 100 and 150 of 125 on the left, and twice the best on the right."""
    found = a_board().analysis
    within = {tau: found.profiles[1].mean[np.flatnonzero(TAUS >= tau)[0]] for tau in (1.0, 1.21, 2.01)}
    assert within == {1.0: 0.25, 1.21: 0.5, 2.01: 1.0}
    assert found.profiles[3].mean[-1] == 0.5, "what was left out is never within any factor"


def test_shades_and_words_of_ratios() -> None:
    assert (shade(1.0), shade(300.0), shade(1e12)) == (SHADES[0], SHADES[-1], SHADES[-1])
    assert shade(300.0 ** (1 / 5)) == SHADES[1], "by the logarithm"
    assert [ratio_text(x) for x in (1.0, 1.04, 9.96, 150.2, 9999.0, 12_345.0)] == ["1", "1", "10", "150", "9999", "12k"]


def test_a_best_score_of_nothing_divides_nothing() -> None:
    data = a_board()
    for cell in data.cells:
        if cell.learner == "opdop":
            for values in cell.samples.values():
                values[:] = [0.0, 0.0]
    found = data.analysis
    assert found.ratio("left", "opdop") == 1.0 and found.ratio("left", "triple-q") == pytest.approx(250 / 1e-6)


def test_what_is_saved_is_read_back_and_makes_the_same_files(folder: Path, tmp_path: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {f"leaderboard.{kind}" for kind in ("json", "csv", "html", "md", "png", "svg")}
    again = Leaderboard.read(folder / "leaderboard.json")
    assert again.cells == a_board().cells and again.rows == a_board().rows and again.protocol == a_board().protocol
    page.write(again, tmp_path)
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_table_has_every_cell(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((folder / "leaderboard.csv").read_text())))
    assert len(rows) == 8
    cells = {(row["problem"], row["learner"]): row for row in rows}
    one = cells["left", "triple-q"]
    assert (one["ratio"], one["score"], one["hard regret"], one["simulator draws"]) == ("2.0", "250.0", "200.0", "5000.0")
    half = 12.7062047 * 40.0  # Student's 97.5% point with one degree of freedom; runs 160 and 240
    assert float(one["hard regret high"]) == pytest.approx(200.0 + half, rel=1e-5)
    out = cells["left", "safe <i>"]
    assert out["reason"] == "it needs <b>more</b>" and out["score"] == out["ratio"] == "" and out["line"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.update(noregret=99), "its format is 99"),
        (lambda found: found.pop("protocol"), "'protocol' is missing"),
        (lambda found: found["protocol"].update(trials=-2), "its episodes or trials are below 1"),
        (lambda found: found["cells"].pop(), "no cell of 'safe <i>' on 'right'"),
        (lambda found: found["cells"].append(found["cells"][0]), "expected one for each"),
        (lambda found: found["cells"][0]["samples"].pop("regret"), "lacks some numbers"),
        (lambda found: found["cells"][0]["samples"]["regret"].append(1.0), "a list that does not fit"),
        (lambda found: found["cells"][0].update(seconds="long"), "'seconds' is 'long'"),
        (lambda found: found["cells"][3].update(reason=""), "lacks some numbers"),
    ],
)
def test_files_that_are_no_leaderboard_are_refused(folder: Path, tmp_path: Path, change, message: str) -> None:
    found = json.loads((folder / "leaderboard.json").read_text())
    change(found)
    (tmp_path / "spoiled.json").write_text(json.dumps(found))
    with pytest.raises(FileError, match=message):
        Leaderboard.read(tmp_path / "spoiled.json")


def test_no_file_and_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        Leaderboard.read(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("no")
    with pytest.raises(FileError, match="is not a leaderboard"):
        Leaderboard.read(tmp_path / "text.json")


def test_what_a_board_shows_of_itself() -> None:
    made = a_board()
    assert repr(made) == "<Leaderboard: 4 learners on 2 problems, 7 of 8 cells ran>"
    frame = made.to_frame()
    assert len(frame["trial"]) == 14 and sorted(set(frame["learner"])) == sorted(made.learners)
    rows = made._summary().rows
    assert [row[0] for row in rows] == ["opdop", "triple-q", "uniform", "safe <i>"]
    # In a quarter of all draws both runs of the last one are 40, as opdop's are: then they share ranks 2 and 3.
    assert (
        (rows[3][1], *rows[3][3:5]) == ("3.00 [2.50, 3.00]", "1 of 2", 3.0)
        and rows[1][7] == 5000.0
        and [row[5] for row in rows] == [0.0] * 4
    )


def test_the_picture_has_every_cell_and_every_profile() -> None:
    map_, profiles = pictures.overview(a_board()).axes
    assert [text.get_text() for text in map_.texts] == ["1", "2", "2", "1", "8", "200", "3"]
    assert sum(patch.get_hatch() is not None for patch in map_.patches) == 1 and len(map_.patches) == 8
    assert [text.get_text() for text in map_.get_yticklabels()] == ["opdop", "triple-q *", "uniform", "safe <i> *"]
    assert len(profiles.get_lines()) == 4
    assert [line.get_ydata()[0] for line in map_.get_lines()] == [3], "the last one did not run everywhere"


def test_the_page_has_every_cell_escapes_text_and_links_only_to_itself(folder: Path) -> None:
    text = (folder / "leaderboard.html").read_text()
    outline = Outline()
    outline.feed(text)
    assert sorted(outline.links) == [f"#cell-{i}" for i in range(8)]
    assert "left out: it needs &lt;b&gt;more&lt;/b&gt;" in text and "safe <i>" not in text and "<b>more</b>" not in text
    assert "Nothing &amp; nobody." in text and text.count("noregret run left --learner opdop") == 1


def test_the_page_for_the_documentation(folder: Path) -> None:
    text = (folder / "leaderboard.md").read_text()
    assert "| opdop | 1.50" in text and "- safe <i> on left: it needs <b>more</b>" in text and "(leaderboard.png)" in text
    assert "4 learners on 2 problems; every cell is 2 trials of 1,000 episodes" in text and "Nothing & nobody." in text


def test_a_folder_can_have_several_lengths_whose_pages_link_to_one_another(tmp_path: Path) -> None:
    short = a_board()
    long = Leaderboard(dataclasses.replace(short.protocol, episodes=100_000), short.rows, short.episodes, short.cells)
    page.write(short, tmp_path)
    page.write(long, tmp_path, "leaderboard-100k")
    (tmp_path / "leaderboard-bad.json").write_text("no leaderboard")
    page.write(short, tmp_path)  # again, now that there is another one
    one, other = ((tmp_path / f"{name}.md").read_text() for name in ("leaderboard", "leaderboard-100k"))
    assert one.startswith("# Leaderboard: 2 trials of 1,000 episodes\n") and "(leaderboard.png)" in one
    assert "Other lengths: [2 trials of 100,000 episodes](leaderboard-100k.md).\n" in one
    assert other.startswith("# Leaderboard: 2 trials of 100,000 episodes\n") and "(leaderboard-100k.png)" in other
    assert "Other lengths: [2 trials of 1,000 episodes](leaderboard.md).\n" in other
    assert "`noregret leaderboard --from docs/leaderboard-100k.json`" in other
    text = (tmp_path / "leaderboard-100k.html").read_text()
    outline = Outline()
    outline.feed(text)
    assert "leaderboard.html" in outline.links and "<h1>Leaderboard: 2 trials of 100,000 episodes</h1>" in text
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {f"leaderboard-100k.{kind}" for kind in ("json", "csv", "html", "md", "png", "svg")}


@pytest.mark.parametrize("name", ["", "other", "leaderboard/x", "leaderboard-", "leaderboard-A", "../leaderboard"])
def test_other_names_are_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="expected 'leaderboard', or more words after it"):
        page.write(a_board(), tmp_path / "new", name)
    assert not (tmp_path / "new").exists()


def test_one_of_a_kind_is_said_so() -> None:
    board = a_board()
    few = Leaderboard(board.protocol, board.rows[:1], board.episodes, [c for c in board.cells[:1]])
    assert "\n1 learner on 1 problem; every cell" in page.markdown(few) and "1 learner on 1 problem;" in page.page(few)


# --- in a browser -------------------------------------------------------------------------------------------------


@needs_browser
def test_cells_lead_to_their_curves_and_lines(folder: Path) -> None:
    with browser.Browser() as window:
        window.size(1400, 900)
        window.open(folder / "leaderboard.html")
        window.wait("document.body && document.body.dataset.drawn === '1'")
        assert window.run("document.getElementById('one-title').textContent") == "opdop on left"
        assert window.run("document.querySelectorAll('#paretos .chart .main-svg').length") >= 2
        assert window.run("document.querySelectorAll('#profiles .scatterlayer .trace').length") == 3 * 4
        window.run("document.querySelector('#map a[data-cell=\"6\"]').click()")
        window.wait("document.body.dataset.shown === '6'")
        assert window.run("document.getElementById('one-title').textContent") == "triple-q on right"
        assert window.run("document.getElementById('one-line').textContent") == "noregret run right --learner triple-q"
        assert window.run("document.querySelectorAll('#hard_regret .scatterlayer .trace').length") == 3 + 3
        last = window.run("document.getElementById('hard_regret').data.at(-1).y.at(-1)")
        assert last == 20.0 and window.run("location.hash") == "#cell-6"
        window.run("document.querySelector('#map a.out').click()")
        window.wait("document.body.dataset.shown === '3'")
        assert window.run("document.getElementById('one-about').textContent") == "Left out: it needs <b>more</b>."
        assert window.run("document.getElementById('one-charts').offsetHeight") == 0
        window.run("document.querySelector('#chips input').click()")
        assert window.run("document.querySelectorAll('#profiles .scatterlayer .trace').length") == 3 * 3 + 1
        window.run("document.getElementById('copy').click()")
        window.wait("document.getElementById('copy').textContent === 'copied'")
        assert window.complaints == [] and len(window.requests) == 1


@needs_browser
def test_names_beside_points_do_not_cover_one_another(tmp_path: Path) -> None:
    """Six learners on one front, so near to one another that there is no room for all names."""
    rows = [LearnerRow(f"learner-number-{i}", [], "", []) for i in range(6)]
    cells = [
        dataclasses.replace(
            a_board().cells[0],
            problem="p",
            learner=row.learner,
            samples={
                "regret": [0.0] * 2, "violation": [0.0] * 2, "late_loss": [0.0] * 2,
                "hard_regret": [100.0 - i] * 2, "hard_violation": [100.0 + i] * 2,
            },
        )
        for i, row in enumerate(rows)
    ]  # fmt: skip
    page.write(Leaderboard(a_board().protocol, rows, a_board().episodes, cells), tmp_path)
    with browser.Browser() as window:
        window.size(1400, 900)
        window.open(tmp_path / "leaderboard.html")
        window.wait("document.body && document.body.dataset.drawn === '1'")
        boxes = window.run(
            "[...document.querySelectorAll('#paretos .textpoint text')].map(e => e.getBoundingClientRect())"
            ".map(b => [b.left, b.top, b.right, b.bottom])"
        )
        assert 1 <= len(boxes) < 6 and window.complaints == []
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@needs_browser
def test_the_page_is_readable_on_a_phone(folder: Path) -> None:
    with browser.Browser() as window:
        window.size(390, 844, phone=True)
        window.open(folder / "leaderboard.html")
        window.wait("document.body && document.body.dataset.drawn === '1'")
        assert window.run("document.documentElement.scrollWidth") <= 390, "nothing sticks out"
        assert window.run("[...document.querySelectorAll('#standings td')].every(e => e.getBoundingClientRect().right <= 390)")
        small = window.run(
            "[...document.querySelectorAll('p, td, th, label, button, .xtitle')]"
            ".map(e => parseFloat(getComputedStyle(e).fontSize)).filter(s => s < 11).length"
        )
        assert small == 0 and window.complaints == []


def test_an_interval_of_what_cannot_be_negative_ends_at_0() -> None:
    """Few trials that differ much have a wide interval, whose lower end was below 0 in the CSV."""
    few = [0.0, 0.0, 9.0]
    cell = Cell("queue", "uniform", "", samples=dict.fromkeys(SAMPLES, few))
    for which in ("score", *SAMPLES):
        found = cell.last(which)
        assert (found.low == 0.0) == (which != "regret") and found.low <= found.mean <= found.high
