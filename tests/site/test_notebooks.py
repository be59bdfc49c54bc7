"""Notebooks of the site: the build passes on what a kernel's process writes while cells run, and not its last words."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.docsite.notebooks import execute

CELLS = """# %%
import atexit, os
atexit.register(lambda: os.write(2, b"last words\\n"))
# %%
os.write(2, b"a warning of compiled code\\n");
# %%
{}
"""


def run(folder: Path, last: str) -> list[str]:
    """Run a notebook that ends with a cell; the files that it left."""
    source, out = folder / "notebook.py", folder / "out"
    source.write_text(CELLS.format(last))
    out.mkdir()
    execute(source, out, folder / "store")
    return sorted(path.name for path in out.iterdir())


@pytest.mark.slow
def test_words_of_a_kernel_that_ends_are_not_the_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "print(1)") == ["notebook.ipynb"]
    assert capsys.readouterr().err == "a warning of compiled code\n"


@pytest.mark.slow
def test_words_of_a_kernel_that_fails_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="Kernel died"):
        run(tmp_path, "os.write(2, b'it broke\\n'); os.abort()")
    assert "it broke" in capsys.readouterr().err
