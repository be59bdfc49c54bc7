"""The leaderboard as one HTML page that needs no network, and all of its files. Nothing is run."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from noregret import metrics
from noregret._system.files import all_or_none, make_folder
from noregret._system.plugins import library
from noregret.errors import FileError, InputError, shown
from noregret.metrics import Interval, number, show
from noregret.report import figures
from noregret.report.leaderboard import analysis
from noregret.report.leaderboard.analysis import TAUS, Analysis, is_dark, ratio_text, shade
from noregret.report.leaderboard.board import SAMPLES, UNSAFE, Cell, Leaderboard, LearnerRow, short
from noregret.report.leaderboard.pictures import NAMED, overview
from noregret.report.page import fill
from noregret.report.tables import write_text

#: The name of all files unless another one is given, and what other names begin with.
STEM = "leaderboard"
#: What the page and its file of data are called in a line that a person reads.
_NAME = re.compile(rf"{STEM}(-[a-z0-9][a-z0-9-]*)?")
_DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}


def write(board: Leaderboard, folder: str | os.PathLike[str], name: str = STEM) -> list[Path]:
    """Write the page, the data as JSON and as CSV, a page for the documentation, and the picture as PNG and SVG.

    All files appear together, or none. There is no picture without matplotlib. Pages link to the other leaderboards of the
    folder, such as a longer one.

    Args:
        board: the leaderboard.
        folder: where the files go; it is made if it is not there.
        name: of all files, without an ending: "leaderboard", or more words after it, as "leaderboard-100k".

    Raises:
        InputError: the name is no such name.
    """
    check_name(name)
    out = make_folder(folder)
    others = siblings(out, name)
    text = page(board, others=others)
    with all_or_none(out) as draft:
        made = [board.save(draft / f"{name}.json"), write_text(draft / f"{name}.csv", board.table().csv())]
        made += [write_text(draft / f"{name}.html", text), write_text(draft / f"{name}.md", markdown(board, name, others))]
        if figures.available():
            drawn = overview(board)
            made += [figures.write(drawn, draft / f"{name}.{kind}", 120) for kind in ("png", "svg")]
    return [out / file.name for file in made]


def check_name(name: str) -> str:
    """The name of the files of a leaderboard, if it is one.

    Raises:
        InputError: it is not "leaderboard" or "leaderboard-" with small letters, digits and dashes.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"name is {shown(name)}; expected {STEM!r}, or more words after it, as '{STEM}-100k'")
    return name


def siblings(folder: Path, name: str) -> list[tuple[str, str]]:
    """The other leaderboards of a folder, the shortest runs first: the name of the files of each, and how long its runs are."""
    written = []
    for path in folder.glob(f"{STEM}*.json"):
        if path.stem != name and _NAME.fullmatch(path.stem):
            with contextlib.suppress(FileError):
                protocol = Leaderboard.read(path).protocol
                written.append(((protocol.episodes, path.stem), metrics.length(protocol.trials, protocol.episodes)))
    return [(stem, length) for (_, stem), length in sorted(written)]


def title_of(board: Leaderboard) -> str:
    """The title of a page: how long the runs are."""
    return f"Leaderboard: {metrics.length(board.protocol.trials, board.protocol.episodes)}"


def about(board: Leaderboard) -> list[str]:
    """How the cells were played and what was left out, an entry a line."""
    protocol, limited = board.protocol, ", ".join(_limited(board))
    steps = f"On {limited} every single step is limited, and unsafe steps take the place of hard violation."
    most = f"A cell whose runs would take over {protocol.most:g} s each is left out."
    memory = ", ".join(row.learner for row in board.rows if row.source == "memory")
    recalled = f"Written from memory, as of the paper the abstract at most could be read: {memory}."
    return [*([steps] if limited else []), *protocol.remarks, *([recalled] if memory else []), most]


def markdown(board: Leaderboard, name: str = STEM, others: Sequence[tuple[str, str]] = ()) -> str:
    """A page for the documentation: the picture, the standings, how it was played, and what was left out.

    Args:
        board: the leaderboard.
        name: of its files.
        others: other leaderboards of the same folder, as :func:`siblings` finds them.
    """
    protocol, table = board.protocol, board.analysis.standings()
    length = metrics.length(protocol.trials, protocol.episodes)
    head = (
        f"{_size(board)}; every cell is {length}, preset `{protocol.preset}`, seed {protocol.seed}. A score is hard regret "
        "plus hard violation, summed over all episodes; lower is better."
    )
    links = " · ".join(f"[{length}]({stem}.md)" for stem, length in others)
    reasons = [f"- {learner} on {', '.join(where)}: {reason}" for learner, reason, where in _reasons(board)]
    parts = [
        f"# {title_of(board)}",
        f"![Ratio of every learner to the best one of each problem, and performance profiles]({name}.png)",
        head,
        *([f"Other lengths: {links}."] if links else []),
        "\n".join(f"- {line}" for line in about(board)),
        table.markdown().rstrip(),
        table.caption,
        f"Every number: [{name}.csv]({name}.csv). The page with the curves of each cell and the line that repeats it is made "
        f"from [{name}.json]({name}.json) by `noregret leaderboard --from docs/{name}.json`; nothing is played for that.",
        *(["## What was left out, and why", "\n".join(reasons)] if reasons else []),
    ]
    return "\n\n".join(parts) + "\n"


def _size(board: Leaderboard) -> str:
    return f"{metrics.count(len(board.learners), 'learner')} on {metrics.count(len(board.problems), 'problem')}"


def page(board: Leaderboard, title: str = "", others: Sequence[tuple[str, str]] = (), script: str = "") -> str:
    """The page as a text of HTML.

    Args:
        board: the leaderboard.
        title: of the page; how long the runs are unless given.
        others: other leaderboards of the same folder, as :func:`siblings` finds them.
        script: where plotly lies beside the page; inside the page unless given.

    Raises:
        NoRegretError: a library that the page needs is not installed.
    """
    plotly = library("plotly.offline", "the page", "report")
    found = board.analysis
    # In a script element only "<" can end the text early; JSON may write it otherwise.
    data = json.dumps(_data(board), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    protocol = board.protocol
    return fill(
        f"{STEM}.html",
        title=title or title_of(board),
        size=_size(board),
        about=about(board),
        others=others,
        board=board,
        protocol=protocol,
        data=data,
        plotly="" if script else plotly.get_plotlyjs(),
        script=script,
        length=metrics.length(protocol.trials, protocol.episodes),
        rows=_rows(found),
        shade=shade,
        scale=[(ratio_text(x), shade(x), is_dark(shade(x))) for x in (1.0, 2.0, 5.0, 10.0, 30.0, 100.0, analysis.DARKEST)],
        standings=_standings(found),
        reasons=_reasons(board),
        samples=("score", *SAMPLES),
        words=metrics.words,
        show=show,
        ran=[cell for cell in board.cells if cell.samples],
        ratio_text=ratio_text,
        found=found,
        caption=analysis.caption(board),
        named=min(NAMED, len(board.learners)),
    )


def _limited(board: Leaderboard) -> list[str]:
    """The problems that limit every single step."""
    return sorted({cell.problem for cell in board.cells if cell.measure == UNSAFE})


def _rows(analysis: Analysis) -> list[tuple[LearnerRow, list[dict[str, object]]]]:
    """The learners in their order, each with what its cells of the map show."""
    board, made = analysis.board, []
    places = {(cell.problem, cell.learner): i for i, cell in enumerate(board.cells)}
    for i in analysis.order:
        row, cells = board.rows[i], []
        for problem in board.problems:
            cell, ratio = board.cell(problem, row.learner), analysis.ratio(problem, row.learner)
            about = f"{row.learner} on {problem}: {_tip(cell, ratio)}"
            shown = {
                "place": places[problem, row.learner],
                "tip": about,
                "text": "–",
                "colour": "",
                "dark": False,
                "best": False,
            }
            if ratio is not None:
                colour = shade(ratio)
                shown |= {"text": ratio_text(ratio), "colour": colour, "dark": is_dark(colour)}
                shown["best"] = analysis.best[problem] == row.learner
            cells.append(shown)
        made.append((row, cells))
    return made


def _tip(cell: Cell, ratio: float | None) -> str:
    if ratio is None:
        return f"left out: {cell.reason}"
    sums = f"hard regret {show(cell.last('hard_regret'))}, {metrics.words(cell.measure)} {show(cell.last(cell.measure))}"
    return f"{number(ratio)} times the best; {sums}"


def _standings(analysis: Analysis) -> list[dict[str, object]]:
    """The table of ranks; ``bar`` has the ends and the point of the interval as percentages of all ranks."""
    board, made = analysis.board, []
    most = max(len(board.learners) - 1, 1)
    table = analysis.standings()
    for i, cells in zip(analysis.order, table.rows, strict=True):
        rank = analysis.interval(analysis.rank, i)
        places = (rank.low, rank.mean, rank.high) if analysis.ran_on(i) else (1.0, 1.0, 1.0)
        low, point, high = (100.0 * (float(end) - 1.0) / most for end in places)
        bar = (low, point, max(high - low, 0.4))
        made.append({"row": board.rows[i], "bar": bar, "rank": cells[1], "cells": list(cells)[2:-1]})
    return made


def _reasons(board: Leaderboard) -> list[tuple[str, str, list[str]]]:
    """Why cells were left out: the learner, the reason, and the problems that share it."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for cell in board.cells:
        if not cell.samples:
            grouped.setdefault((cell.learner, cell.reason), []).append(cell.problem)
    return [(learner, reason, where) for (learner, reason), where in grouped.items()]


# --- what the page draws ------------------------------------------------------------------------------------------


def _data(board: Leaderboard) -> dict[str, object]:
    found = board.analysis
    styles = board.styles()
    looks = {
        name: {"colour": styles[name]["colour"], "dash": _DASHES[styles[name]["line"]], "named": found.order.index(i) < NAMED}
        for i, name in enumerate(board.learners)
    }
    cells = []
    for cell in board.cells:
        entry: dict[str, object] = {"problem": cell.problem, "learner": cell.learner, "line": cell.line, "reason": cell.reason}
        ratio = found.ratio(cell.problem, cell.learner)
        if ratio is not None:
            entry |= {
                "ratio": number(ratio),
                "curves": {name: {end: _drawn(values) for end, values in curve.items()} for name, curve in cell.curves.items()},
                "seconds": cell.seconds,
                "notes": cell.notes,
                "last": [_ends(cell.last(name)) for name in ("hard_regret", cell.measure)],
                "measure": cell.measure,
                "said": {metrics.words(name): show(cell.last(name)) for name in ("score", *cell.samples)},
            }
        cells.append(entry)
    profiles = {
        name: {end: [short(x) for x in getattr(found.profiles[i], end)] for end in ("mean", "low", "high")}
        for i, name in enumerate(board.learners)
    }
    return {
        "learners": [board.learners[i] for i in found.order],
        "looks": looks,
        "problems": board.problems,
        "best": found.best,
        "fronts": {problem: found.front(problem) for problem in board.problems},
        "episodes": board.episodes,
        "cells": cells,
        "taus": [short(x) for x in TAUS],
        "profiles": profiles,
    }


def _drawn(values: Sequence[float]) -> list[float]:
    """Numbers of a curve with three digits, which is finer than a screen shows."""
    return [int(x) if x.is_integer() else x for x in (float(f"{value:.3g}") for value in values)]


def _ends(interval: Interval) -> list[float]:
    return [short(end) for end in (interval.mean, interval.low, interval.high)]
