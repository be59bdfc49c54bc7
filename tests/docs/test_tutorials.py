"""The tutorials as sources: cells that compile, a title, links to pages that are there; the one that proves equality is run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = sorted(DOCS.rglob("*.py"))


def _cells(path: Path) -> list[tuple[bool, str]]:
    """Whether a cell is Markdown, and its text."""
    parts = re.split(r"^# %%(.*)\n", path.read_text(), flags=re.MULTILINE)[1:]
    return [("[markdown]" in head, body) for head, body in zip(parts[::2], parts[1::2], strict=True)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_has_a_title_and_cells_that_compile(path: Path) -> None:
    cells = _cells(path)
    assert cells[0][0] and cells[0][1].startswith("# # "), "the first cell is Markdown and begins with the title"
    for markdown, body in cells:
        if markdown:
            assert all(line.startswith("#") or not line for line in body.splitlines())
        else:
            compile(body, str(path), "exec")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_lines_that_a_page_shows_fit_its_column(path: Path) -> None:
    for head, body in zip(*[iter(re.split(r"^# %%(.*)\n", path.read_text(), flags=re.MULTILINE)[1:])] * 2, strict=True):
        shown = "[markdown]" not in head and "hide-input" not in head
        assert not shown or max(map(len, body.splitlines()), default=0) <= 88, f"ruff format --line-length 88 {path}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_links_lead_to_a_page_or_to_the_source_of_one(path: Path) -> None:
    made = ("gallery/", "reference/")  # by the build
    text = "".join(body for markdown, body in _cells(path) if markdown)
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", re.sub(r"\n# ?", " ", text)):
        target = (path.parent / link).resolve()
        page = target.relative_to(DOCS.resolve()).as_posix()
        assert page.startswith(made) or target.exists() or target.with_suffix(".py").exists(), f"{path.name} links to {link}"


def test_algorithm_1_by_hand_is_the_librarys() -> None:
    """The page asserts that each of its numbers is the learner's."""
    path = DOCS / "tutorials" / "algorithm-1-by-hand.py"
    assert path.read_text().count("assert ") >= 3
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "150 episodes: the largest difference" in done.stdout
