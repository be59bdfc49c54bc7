"""Tables and figures: the numbers are the result's, the files are real, nothing half-written is left."""

from __future__ import annotations

import csv
import errno
import io
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from noregret import metrics
from noregret._system.files import make_folder
from noregret.errors import FileError, NoRegretError
from noregret.report import figures, tables
from noregret.results import RunResult, drawing
from tests.made_up import a_result


def test_summary_has_the_results_own_numbers():
    result = a_result()
    table = tables.summary({"one": result})
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert len(rows) == 1 and rows[0]["run"] == "one" and int(rows[0]["episodes"]) == 1000
    for column, which in (
        ("regret", "regret"),
        ("hard regret", "hard_regret"),
        ("violation", "violation"),
        ("hard violation", "hard_violation"),
        ("regret against the tightened optimum", "regret_tightened"),
    ):
        expected = metrics.mean_interval(getattr(result, which)[:, -1])
        assert float(rows[0][column]) == expected.mean
        assert float(rows[0][f"{column} low"]) == expected.low
        assert float(rows[0][f"{column} high"]) == expected.high
    assert float(rows[0]["slope of regret"]) == pytest.approx(0.5, abs=1e-9)
    assert float(rows[0]["episodes/s"]) == 3 * 1000 / 2.0


def test_slope_is_not_fitted_through_a_curve_that_is_below_zero():
    result = a_result()
    crossing = RunResult(**{**vars(result), "regret": result.regret - result.regret[:, 20:21]})
    assert np.isnan(crossing.slope())
    assert "-" in tables.summary({"x": crossing}).markdown()


@pytest.mark.parametrize("m", [1, 3])
def test_curves_have_every_number_of_every_trial(m):
    results = {"a": a_result(m=m), "b, with a comma": a_result(trials=2, points=7, seed=1)}
    rows = list(csv.DictReader(io.StringIO(tables.curves(results))))
    assert len(rows) == 3 * 40 + 2 * 7
    for label, result in results.items():
        own = [row for row in rows if row["run"] == label]
        for name, array in (("regret", result.regret), ("regret_tightened", result.regret_tightened)):
            assert np.array_equal(np.reshape([float(row[name]) for row in own], array.shape), array)
        for i in range(result.dual.shape[2]):
            for name, array in (("dual", result.dual), ("hard_violation", result.hard_violations)):
                assert np.array_equal(np.reshape([float(row[f"{name}_{i}"]) for row in own], array.shape[:2]), array[:, :, i])
    if m == 3:
        assert all(row["dual_2"] == "nan" for row in rows if row["run"] != "a")


def test_numbers_read_well():
    shown = [metrics.number(x) for x in (5474.2, 0.49979, 200000, 0.0, -0.0, 1.2e-7, float("nan"), -842.2, float("inf"))]
    assert shown == ["5,474", "0.4998", "200,000", "0", "0", "1.2e-07", "-", "-842.2", "inf"]
    assert metrics.show(metrics.mean_interval([1.0, 2.0, 3.0])) == "2 ± 2.484"
    assert metrics.show(metrics.mean_interval([2.0])) == "2"
    assert metrics.show(None) == "-"


def test_markdown_is_a_table_and_escapes_bars():
    text = tables.NumberTable("", ("a", "b"), (("x|y", 1.5),)).markdown()
    assert text == "| a | b |\n|---|---|\n| x\\|y | 1.5 |\n"


def test_swings():
    assert metrics.swings([0, 1, 2, 3], 0.5) == 0
    assert metrics.swings([0, 3, 0], 0.5) == 1
    assert metrics.swings([0, 3, 0, 3, 0], 0.5) == 3
    assert metrics.swings([0, 3, 2.8, 3.1, 0], 0.5) == 1  # a small dip does not count
    assert metrics.swings([3, 0, 3], 0.5) == 1
    assert metrics.swings([1.0], 0.5) == 0
    assert metrics.swings([0, 9, 0, 4], 1.0) == 2  # a turn counts before it is back where it came from
    assert metrics.swings([9, 0, 9, 5], 1.0) == 2


@pytest.mark.parametrize("m", [1, 2])
def test_figures_are_whole_png_svg_and_pdf(tmp_path, m):
    png, svg, pdf = figures.write_all(figures.overview(a_result(m=m)), tmp_path / "a")
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
    import matplotlib.image

    pixels = matplotlib.image.imread(png)
    assert pixels.shape[0] > 300 and pixels.shape[1] > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50
    root = ET.parse(svg).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = svg.read_text()
    assert "cumulative regret (reward)" in text and "cumulative violation (utility)" in text
    assert pdf.read_bytes().startswith(b"%PDF") and pdf.read_bytes().rstrip().endswith(b"%%EOF")
    again = figures.write_all(figures.overview(a_result(m=m)), tmp_path / "b")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in (png, svg, pdf)], "the same each time"


def drawn_band(result, which):
    _, axes = drawing.new(1, 1, 4, 3)
    drawing.band(axes[0, 0], result, which)
    assert np.array_equal(axes[0, 0].lines[0].get_ydata(), getattr(result, which).mean(axis=0))
    return axes[0, 0].collections[0].get_paths()[0].vertices[:, 1]


def test_bands_are_the_interval_and_end_at_zero_only_where_a_curve_cannot_go_below():
    result = a_result()
    assert metrics.mean_interval(result.violation).low.min() < 0.0 <= drawn_band(result, "violation").min()
    uneven = a_result(regret=np.array([[1.0], [2.0], [100.0]]) * np.ones(40))  # all positive, the interval is not
    low = metrics.mean_interval(uneven.regret).low.min()
    assert low < -50.0 and drawn_band(uneven, "regret").min() == pytest.approx(low)


def test_a_slope_of_rounding_is_zero():
    flat = a_result(regret=np.full((3, 40), 7.3), hard_regret=np.full((3, 40), 7.3))
    assert abs(flat.slope()) < 1e-12
    assert metrics.show(flat.slope()) == metrics.show(metrics.Slope(-9e-17)) == "0.00"
    assert "0.00" in flat._summary().markdown() and "e-1" not in tables.summary({"x": flat}).markdown()
    assert metrics.show(metrics.Slope("nan")) == "-"


def test_one_trial_has_no_band():
    _, axes = drawing.new(1, 1, 4, 3)
    drawing.band(axes[0, 0], a_result(trials=1), "regret")
    assert len(axes[0, 0].lines) == 1 and not axes[0, 0].collections


def test_fitted_line_has_the_slope_and_passes_through_the_curve():
    result = a_result()
    slope, k, line = figures.log_log_fit(result, "regret")
    assert slope == pytest.approx(0.5, abs=1e-9)
    assert np.allclose(line, np.interp(k, result.episodes, result.regret.mean(axis=0)), rtol=5e-3)


def test_a_missing_matplotlib_is_said_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NoRegretError, match=r"pip install 'noregret\[report\]'"):
        drawing.new(1, 1, 3, 3)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    for write in (
        lambda: tables.write_text(tmp_path / "x.csv", "a,b\n"),
        lambda: figures.write(figures.overview(a_result()), tmp_path / "x.png"),
    ):
        with pytest.raises(FileError, match="No space left on device"):
            write()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FileError, match="cannot be used as a folder"):
            make_folder(path)
    assert make_folder(tmp_path / "a" / "b").is_dir()
