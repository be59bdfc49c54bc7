"""Tables in the pages: a row that a blank line cuts off is shown as text, and a row with too many cells loses the last ones."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])


def tables(text: str) -> list[list[str]]:
    """The rows of each table of a page, outside of code."""
    lines = re.sub(r"^( *```).*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE).split("\n")
    starts = [
        n for n, (before, line) in enumerate(pairwise(["", *lines])) if line.startswith("|") and not before.startswith("|")
    ]
    ends = [next((n for n in range(start, len(lines)) if not lines[n].startswith("|")), len(lines)) for start in starts]
    return [lines[start:end] for start, end in zip(starts, ends, strict=True)]


def cells(row: str) -> int:
    """How many cells a row has; a bar after a backslash divides nothing."""
    return len(re.findall(r"(?<!\\)\|", row)) - row.rstrip().endswith("|")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_belongs_to_a_table_and_has_its_cells(page: Path) -> None:
    for rows in tables(page.read_text("utf-8")):
        assert len(rows) > 1 and re.fullmatch(r"\|[\s:|-]+", rows[1]), rows[0]
        for row in rows[2:]:
            assert cells(row) <= cells(rows[0]), row


def test_a_row_that_a_blank_line_cuts_off_is_found() -> None:
    assert tables("| a |\n|---|\n| 1 |\n\n| 2 |\n```\n| no table\n```\n") == [["| a |", "|---|", "| 1 |"], ["| 2 |"]]
    assert cells("| a | b \\| c |") == 2
