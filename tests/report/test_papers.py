"""Figures and tables as a paper needs them: fonts, sizes, colours, digits, single trials."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from noregret import metrics
from noregret.errors import FileError
from noregret.report import comparison, figures
from noregret.report.latex import latex, matched
from noregret.results import Comparison, Outcome, drawing
from noregret.results.base import NumberTable
from tests.made_up import a_result

matplotlib = pytest.importorskip("matplotlib")


def made(*learners: str) -> Comparison:
    return Comparison(Outcome("p", one, ("-", "-"), a_result(learner=one)) for one in learners)


def test_a_pdf_has_no_type_3_fonts_and_fits_its_column(tmp_path: Path) -> None:
    """Venues reject Type 3; a figure that is scaled has letters that nobody can read."""
    written = comparison.write_figures(made("opdop", "triple-q", "mine"), tmp_path)
    for path in (one for one in written if one.suffix == ".pdf"):
        data = path.read_bytes()
        assert b"/Type3" not in data and b"/FontFile2" in data, path
        width = float(re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", data)[1]) / 72  # type: ignore[index]
        size = next((name for name in drawing.WIDTHS if name in path.name), None)
        assert size is None or abs(width - drawing.WIDTHS[size]) < 0.02, path


@pytest.mark.parametrize("size", drawing.WIDTHS)
def test_text_in_a_paper_has_at_least_seven_points(size: str) -> None:
    compared = made("opdop", "triple-q")
    drawn = comparison.figure([(one.label, result) for one, result in compared.ran()], compared.styles(), "p", size)
    sizes = [text.get_fontsize() for text in drawn.findobj(matplotlib.text.Text) if text.get_text().strip()]
    assert min(sizes) >= 7.0 and max(sizes) <= 9.0


def test_a_file_of_the_user_changes_the_style(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "mine.mplstyle"
    own.write_text("axes.grid: False\nfont.size: 13\n")
    monkeypatch.setenv("NOREGRET_STYLE", str(own))
    assert drawing.style()["font.size"] == 13.0 and drawing.style("one-column")["axes.grid"] is False
    assert drawing.style()["pdf.fonttype"] == 42
    monkeypatch.setenv("NOREGRET_STYLE", str(tmp_path / "none"))
    with pytest.raises(FileError, match="none: is no style file of matplotlib"):
        drawing.style()


def test_a_learner_from_elsewhere_looks_unlike_its_neighbours() -> None:
    """A hash picked its colour: two learners were nearly alike."""
    own = ("primal-dual-lsvi", "dope", "opt-dual", "triple-q", "uniform")
    for mine in ("mine", "yours", "a", "b", "my-learner", "zz"):
        looks = drawing.styles((one, one) for one in (*own, mine, "other"))
        for one, other in itertools.combinations(looks, 2):
            apart = np.linalg.norm(drawing._lab(looks[one]["colour"]) - drawing._lab(looks[other]["colour"]))
            assert apart > 20.0, (one, other)
        assert looks[mine]["line"] != "-" and looks["other"]["line"] not in ("-", looks[mine]["line"])


def test_figures_of_regret_have_single_trials_under_the_mean() -> None:
    compared = made("opdop", "triple-q")
    drawn = comparison.figure([(one.label, result) for one, result in compared.ran()], compared.styles(), "p")
    trials = compared.ran()[0][1].trials
    for ax, wanted in zip(drawn.axes, (True, False, False), strict=True):
        thin = [one for one in ax.collections if isinstance(one, matplotlib.collections.LineCollection)]
        assert [len(one.get_segments()) for one in thin] == ([trials, trials] if wanted else [])
    axes = figures.overview(compared.ran()[0][1]).axes
    assert any(isinstance(one, matplotlib.collections.LineCollection) for one in axes[0].collections)


def test_the_worst_of_many_trials_are_among_the_single_ones() -> None:
    result = a_result(trials=200)
    result.regret[137] *= 50.0
    ax = drawing.new(1, 1, 4.0, 3.0)[1][0, 0]
    drawing.band(ax, result, "regret", single=True)
    (thin,) = (one for one in ax.collections if isinstance(one, matplotlib.collections.LineCollection))
    assert len(thin.get_segments()) <= drawing.SINGLE
    assert max(segment[-1, 1] for segment in thin.get_segments()) == result.regret[137, -1]


@pytest.mark.parametrize(
    ("mean", "half", "said"),
    [
        (12040.1337, 0.2739, ("12,040.13", "0.27")), (12040.1337, 27.39, ("12,040", "27")),
        (3.14159, 0.012345, ("3.142", "0.012")),
        (5.0, 123.4, ("5", "123")), (0.5, 0.0, ("0.5",)), (1.0, 1e-12, ("1",)), (-2.5, 0.99, ("-2.50", "0.99")),
    ],
)  # fmt: skip
def test_the_digits_of_a_mean_match_its_interval(mean: float, half: float, said: tuple[str, ...]) -> None:
    assert matched(metrics.Interval(np.float64(mean), np.float64(mean - half), np.float64(mean + half))) == said


def test_a_table_is_booktabs_and_bounds_of_a_violation_are_not_negative() -> None:
    table = made("opdop", "triple-q")._summary()
    text = latex(table)
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule")) and r"\hline" not in text
    lines = [line.split(",") for line in table.csv().splitlines()]
    low = [i for i, name in enumerate(lines[0]) if "violation" in name and name.endswith("low")]
    assert low and all(float(line[i]) >= 0.0 for line in lines[1:] for i in low)


def test_stuck_stands_beside_the_mean_and_few_trials_are_said() -> None:
    result = a_result()
    table = Comparison([Outcome("p", "opdop", ("-", "-"), result)])._summary()
    assert table.rows[0][table.columns.index("stuck")] == result.stuck
    assert "With fewer than 20 trials rare failures cannot be seen." in table.caption
    assert "rare failures" not in Comparison([Outcome("p", "x", ("-", "-"), a_result(trials=20))])._summary().caption
    assert ("stuck trials", result.stuck) in [row[:2] for row in result._summary().rows]
    assert isinstance(table, NumberTable)
