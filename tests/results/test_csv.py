"""CSV that a spreadsheet opens: names stay names."""

from __future__ import annotations

import csv
import io

from noregret.results.base import csv_text


def test_a_text_that_looks_like_a_formula_is_none() -> None:
    cells = ["=HYPERLINK(1)", "+cmd", "@SUM(A1)", "-2+3", "  =1", "-", "-1.5", "1e5", "opdop", -3.0, None, "=", ""]
    read = next(csv.reader(io.StringIO(csv_text([cells]))))
    assert read == [
        "'=HYPERLINK(1)", "'+cmd", "'@SUM(A1)", "'-2+3", "'  =1", "-", "-1.5", "1e5", "opdop", "-3.0", "", "=", "",
    ]  # fmt: skip
