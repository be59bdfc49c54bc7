"""The page about the paper has all 27 places, each once, each with what we do; and the short table has the same."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_every_place_is_there_with_a_decision() -> None:
    parts = re.split(r"^\*\*I-(\d+) · ", (DOCS / "reference" / "paper.md").read_text(), flags=re.MULTILINE)
    numbers, texts = list(map(int, parts[1::2])), parts[2::2]
    assert sorted(numbers) == list(range(1, 28))
    assert all("*Here:*" in text for text in texts)
    assert re.findall(r"^\| I-(\d+) \|", (DOCS / "algorithm1.md").read_text(), re.MULTILINE) == [str(i) for i in range(1, 28)]
