"""The page about an agent that learned: what it reached, how, what it does now, and what was chosen for it."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from noregret.metrics import show
from noregret.report import figures, tables
from noregret.report.page import fill
from noregret.results import History, drawing
from noregret.results.base import csv_text
from noregret.results.history import RECENT


class Picture(NamedTuple):
    """A picture of the page: its name, what it shows, and its file (PNG or GIF)."""

    name: str
    caption: str
    path: Path


def write(
    folder: str | os.PathLike[str],
    history: History,
    *,
    title: tuple[str, str],
    summary: str,
    pictures: Sequence[Picture] = (),
    repeats: Sequence[tuple[str, str]] = (),
) -> list[Path]:
    """Write the page of a learning curve, its figure and its numbers. Nothing is played.

    Args:
        folder: where the files go; it is there.
        history: the learning curve, with at least one episode.
        title: of the page, and the line below it.
        summary: what was chosen, in lines.
        pictures: shown below the curve.
        repeats: pairs of words and code that say how to go on.

    Returns:
        The files: curves.csv, the figure as PNG, SVG and PDF, and page.html.
    """
    out = Path(folder)
    figure, axes = drawing.new(1, 3, 15.0, 4.2)
    history.plot(axes)
    files = [tables.write_text(out / "curves.csv", _csv(history)), *figures.write_all(figure, out / "curves")]
    good = _meets(history)
    text = fill(
        "learned.html",
        title=title[0],
        subtitle=title[1],
        table=history._summary(),
        cell=show,
        met=[None, *good],
        curves=_inlined(out / "curves.png"),
        pictures=[(p.name, p.caption, _inlined(p.path)) for p in pictures],
        summary=summary,
        repeats=repeats,
    )
    return [*files, tables.write_text(out / "page.html", text)]


def _meets(history: History) -> list[bool]:
    means, limits = history.values[-RECENT:].mean(axis=0), np.array(history.limits)
    return [bool(x) for x in (means <= limits if history.costs else means >= limits)]


def _csv(history: History) -> str:
    columns = history._columns()
    return csv_text([columns, *zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)])


def _inlined(path: Path) -> str:
    kind = "gif" if path.suffix == ".gif" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
