"""Results as tables, figures and pages. Nothing here runs a learner.

The package can be called: ``nr.report("runs")`` is :func:`build`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from noregret._system.checks import path


def build(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str] = "report",
    title: str | None = None,
) -> list[Path]:
    """Write a page about stored runs, a figure for each problem, and a table in LaTeX. Nothing is run.

    Args:
        runs: a folder with stored runs, or several.
        folder: where the files go; it is made if it is not there.
        title: of the page; the names of the folders if None.

    Returns:
        The files: ``report.html``, the figures (none without matplotlib), ``table.tex``.

    Raises:
        FileError: there are no finished runs, or a file cannot be written.
    """
    from noregret._system.files import make_folder
    from noregret.report import comparison, figures, page
    from noregret.store.groups import compared

    wanted = list(runs) if isinstance(runs, list | tuple | set) else [runs]
    folders = [path("runs", one, "a folder with stored runs, or several (out= of a run is one)") for one in wanted]
    finished, failed = page.collect(folders)
    rows, out = page.rows(finished), make_folder(path("folder", folder))
    written = [page.write_rows(out / "report.html", rows, failed, title or page.title_of(folders))]
    made = compared((row.group, row.result) for row in rows)
    written += comparison.write_figures(made, out) if figures.available() else []
    return [*written, comparison.write_latex(made, out / "table.tex")]


class _Callable(ModuleType):
    """A package that is called as :func:`build`."""

    def __call__(
        self,
        runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        folder: str | os.PathLike[str],
        title: str | None = None,
    ) -> list[Path]:
        return build(runs, folder, title)


sys.modules[__name__].__class__ = _Callable
