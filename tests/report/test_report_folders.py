"""``noregret report`` makes the folders of the files that it is asked for, as the other commands do."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app


def test_folders_are_made(tmp_path: Path) -> None:
    nr.run("random:S=3,A=2,H=2", "uniform", episodes=20, trials=2, out=tmp_path, progress=False)
    page, table = tmp_path / "new" / "page.html", tmp_path / "other" / "table.tex"
    done = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(page), "--latex", str(table)])
    assert done.exit_code == 0, done.output
    assert page.exists() and "booktabs" in table.read_text()
