"""The shelf keeps what was computed, and knows when it is old."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.docsite.site import Site


def test_results_are_made_once_and_again_when_something_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS_CACHE", str(tmp_path / "kept"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.py").write_text("one")
    made: list[str] = []

    def ask(number: int, stale: bool = False, compute: bool = True) -> bytes | None:
        def make(folder: Path) -> None:
            made.append(f"{number}")
            (folder / "result.txt").write_text(f"{number}")

        site = Site(root=tmp_path, stale=stale, log=lambda line: None)
        found = site.kept("some/result", {"number": number}, make, compute=compute)
        return found["result.txt"] if found else None

    assert ask(1, compute=False) is None
    assert ask(1) == ask(1) == b"1" and made == ["1"]
    assert ask(2) == b"2" and made == ["1", "2"]  # other inputs
    (tmp_path / "src" / "code.py").write_text("two")  # another package
    assert ask(2, compute=False) is None
    assert ask(2, stale=True) == b"2" and made == ["1", "2"]
    assert ask(2) == b"2" and made == ["1", "2", "2"]
    assert ask(3, stale=True) == b"3"  # other inputs are never old enough


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS_CACHE", str(tmp_path / "kept"))

    def make(folder: Path) -> None:
        (folder / "half.txt").write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Site(root=tmp_path, log=lambda line: None).kept("result", {}, make)
    assert list((tmp_path / "kept").iterdir()) == []
