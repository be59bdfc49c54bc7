"""The table from its data: what is measured, and who is who. README shows the paper's rows, docs/table1.md all of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import between
from benchmarks.table1.settings import FORMS, ROWS, SHARING
from noregret import learners
from noregret._system.arrays import LARGEST, read_bytes
from noregret._system.files import make_folder, wait_and_hold, write_whole
from noregret.errors import FileError, InputError, shown, told
from noregret.metrics import Cell, Interval, Slope, show
from noregret.results.base import NumberTable, csv_text

#: The file with the numbers.
DATA = "rows.csv"
NUMBERS = ("regret", "violation", "hard_regret", "hard_violation", "late_loss")
FIELDS = (
    "learner", "form", "episodes", "trials", "microseconds",
    *(f"{name}{end}" for name in NUMBERS for end in ("", "_low", "_high")),
    "hard_regret_slope", "hard_regret_since", "hard_violation_slope", "hard_violation_since", "draws",
    "stuck", "sources",
)  # fmt: skip
#: What a learner is told beyond the spec and the episodes, in words.
WORDS = {"reward": "mean rewards", "utilities": "mean utilities", "safe_policy": "a safe policy", "simulator": "a simulator"}
#: The lines of a page between which the table stands, for the paper's rows alone and for all.
BEGIN = {"paper": "<!-- the paper's rows, made by benchmarks.table1 -->", "all": "<!-- all rows, made by benchmarks.table1 -->"}
END = "<!-- end of what benchmarks.table1 makes -->"
#: How many rows the paper's table has.
PAPER = 6
#: The file that one process holds while it changes the numbers.
LOCK = "rows.lock"


def read(folder: Path) -> list[dict[str, str]]:
    """The rows that were measured, in the order of the table.

    Raises:
        FileError: there is no such file, or it is not one that noregret wrote.
    """
    path = folder / DATA
    with told(path, "cannot be read; expected the data of the table"):
        data = read_bytes(path)
    try:
        header, *lines = csv.reader(data.decode().splitlines(), strict=True)
    except (ValueError, csv.Error):
        raise FileError(f"{path}: is no table of numbers; expected what python -m benchmarks.table1 --measure writes") from None
    known = {row.learner for row in ROWS}
    for name in FIELDS:
        if name not in header:
            raise FileError(f"{path}: has no column {name!r}; expected {', '.join(FIELDS)}")
    found = [dict(zip(header, line, strict=False)) for line in lines]
    for row in found:
        if row.get("learner") not in known or row.get("form") not in FORMS:
            raise FileError(
                f"{path}: has a row of {row.get('learner')!r}, form {row.get('form')!r}; expected rows of the table"
            )
        for name in FIELDS[2:]:
            if not _fits(name, row.get(name)):
                where = f"{row['learner']}, form {row['form']}"
                raise FileError(
                    f"{path}: {name} of {where} is {shown(row.get(name))}; expected {_EXPECTED.get(name, 'a number')}"
                )
        for which in ("hard_regret", "hard_violation"):
            if bool(row[f"{which}_slope"]) != bool(row[f"{which}_since"]):
                raise FileError(
                    f"{path}: {row['learner']}, form {row['form']} has only one of {which}_slope and {which}_since; "
                    "expected both or none"
                )
        for name in NUMBERS:
            low, middle, high = (float(row[f"{name}{end}"]) for end in ("_low", "", "_high"))
            if not low <= middle <= high:
                raise FileError(
                    f"{path}: {name} of {row['learner']}, form {row['form']} is {middle:g}; "
                    f"expected a number in its interval, {low:g} to {high:g}"
                )
    return sorted(found, key=_place)


def _place(row: Mapping[str, Any]) -> tuple[int, int]:
    """Where a row stands in the table."""
    return [one.learner for one in ROWS].index(row["learner"]), list(FORMS).index(row["form"])


#: What may be empty: a slope where no line fits, draws of who has no simulator, and what older rows do not have.
_MAYBE = ("hard_regret_slope", "hard_regret_since", "hard_violation_slope", "hard_violation_since", "draws", "stuck", "sources")
_WHOLE = ("episodes", "trials")
#: What cannot be negative. Regret, violation and slopes can, and so can what a wide interval reaches down to.
_AT_LEAST_0 = ("microseconds", "draws", "stuck", "hard_regret", "hard_violation", "late_loss")
_EXPECTED = {"sources": "a hash, or nothing"} | (
    dict.fromkeys(_AT_LEAST_0, "a number, at least 0")
    | dict.fromkeys(_WHOLE, "a whole number, at least 1")
    | dict.fromkeys(_MAYBE, "a number, or nothing")
)


def _fits(name: str, text: str | None) -> bool:
    """Whether the text of a field is a number that it may have."""
    if not text:
        return text is not None and name in _MAYBE
    if name == "sources":
        return re.fullmatch("[0-9a-f]{1,16}", text) is not None
    try:
        if name in _WHOLE:
            return 1 <= int(text) <= 10**15
        least = 0.0 if name in _AT_LEAST_0 else -LARGEST
        return least <= float(text) <= LARGEST
    except ValueError:
        return False


def check_length(folder: Path, episodes: int) -> None:
    """Refuse to put runs of another length beside those that are there: a table has one K.

    Raises:
        InputError: the data have rows of another number of episodes.
    """
    kept = read(folder) if (folder / DATA).exists() else []
    for row in kept:
        if int(row["episodes"]) != episodes:
            raise InputError(
                f"episodes is {episodes}; {folder / DATA} has rows of {row['episodes']}; expected the same, or another folder"
            )


def write(rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Put rows into the data, in place of those of the same learner and form; one process at a time does so."""
    make_folder(folder)
    with wait_and_hold(folder / LOCK):
        return _put_rows(rows, folder)


def _put_rows(rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    here = {(row["learner"], row["form"]) for row in rows}
    kept = read(folder) if (folder / DATA).exists() else []
    lines = [*(row for row in kept if (row["learner"], row["form"]) not in here), *rows]
    text = csv_text([FIELDS, *([row.get(field) for field in FIELDS] for row in sorted(lines, key=_place))])
    return write_whole(folder / DATA, lambda file: file.write(text.encode()))


def measured(rows: Sequence[Mapping[str, str]]) -> NumberTable:
    """What each form did."""
    names = {row.learner: f"{row.algorithm}, {row.source}" for row in ROWS}
    made: list[tuple[Cell, ...]] = []
    for row in rows:
        numbers = [_interval(row, name) for name in NUMBERS]
        slopes = [_slope(row, which) for which in ("hard_regret", "hard_violation")]
        draws = f"{float(row['draws']):,.0f}" if row["draws"] else "-"
        spent = f"{float(row['microseconds']):.3g} µs"
        stuck = f"{float(row['stuck']):.2f}" if row["stuck"] else "-"
        made.append((names[row["learner"]], row["form"], *numbers, stuck, *slopes, draws, spent, int(row["trials"])))
    columns = (
        "algorithm", "form", "regret", "violation", "hard regret", "hard violation", "late loss", "stuck",
        "slope of hard regret", "slope of hard violation", "simulator draws", "time an episode", "trials",
    )  # fmt: skip
    return NumberTable("Table 1 of the paper, measured", columns, made)


def who(rows: Sequence[Mapping[str, str]]) -> NumberTable:
    """What each algorithm promises, is told, and where its formulas are from."""
    names = {row.learner: f"{row.algorithm}, {row.source}" for row in ROWS}
    made: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(row["learner"] for row in rows):
        learner = learners.get(name)
        orders = learner.promise or ("-", "-")
        made.append((names[name], f"`{name}`", *orders, tells(name), known(name)))
    columns = ("algorithm", "learner", "regret (order)", "violation (order)", "is told", "formulas from")
    return NumberTable("Who is who", columns, made)


def known(name: str) -> str:
    """Where a learner's formulas are from, and which of its constants are from memory."""
    learner = learners.get(name)
    return f"{learner.source}; {learner.recalled} from memory" if learner.recalled else learner.source or "-"


def tells(name: str) -> str:
    """What a learner is told beyond the spec and the episodes, in words."""
    return ", ".join(WORDS.get(each, each) for each in learners.get(name).told) or "nothing"


def markdown(folder: Path, which: str = "all") -> str:
    """The tables as a page has them, between its two lines.

    Args:
        folder: has the data.
        which: "paper" for its own rows whose sources were read, or "all".
    """
    paper = {row.learner for row in ROWS[:PAPER] if learners.get(row.learner).source != "memory"}
    rows = [row for row in read(folder) if which == "all" or row["learner"] in paper]
    alone = [row for row in rows if not row["form"].endswith(SHARING)]
    left = {"simulator draws"} if which == "paper" else set[str]()
    if not any(row["stuck"] for row in rows):
        left |= {"stuck"}
    own = measured(alone)
    parts = [own.only(set(own.columns) - left).markdown()]
    if which == "all":
        pairs = {(row["learner"], row["form"]) for row in rows if row not in alone}
        pairs |= {(learner, form.removesuffix(SHARING)) for learner, form in pairs}
        both = measured([row for row in rows if (row["learner"], row["form"]) in pairs])
        parts.append(
            f"Where steps pool their transitions:\n\n{both.only(set(both.columns) - left - {'simulator draws'}).markdown()}"
        )
    parts.append(who(rows).markdown())
    parts += [f"{_sources(rows)}\n"] if which == "all" else []
    return "\n".join([BEGIN[which], "", *parts, END, ""])


def _sources(rows: Sequence[Mapping[str, str]]) -> str:
    """Which rows are of which sources, in words."""
    of: dict[str, list[str]] = {}
    for row in rows:
        of.setdefault(row["sources"] or "unknown", []).append(f"{row['learner']} ({row['form']})")
    usual = max(of, key=lambda sources: len(of[sources]), default="")
    others = "".join(f" Of sources {sources}: {', '.join(of[sources])}." for sources in of if sources != usual)
    return f"Rows are of sources {usual}, unless said otherwise.{others}"


def put(text: str, folder: Path) -> str:
    """A page with the table made anew between its two lines.

    Raises:
        FileError: the page has no such lines.
    """
    which = next((name for name, begin in BEGIN.items() if begin in text), "all")
    return between(text, BEGIN[which], END, markdown(folder, which))


def _interval(row: Mapping[str, str], name: str) -> Interval:
    return Interval(*(np.float64(row[f"{name}{end}"]) for end in ("", "_low", "_high")))  # type: ignore[arg-type]


def _slope(row: Mapping[str, str], which: str) -> str:
    if not row[f"{which}_slope"]:
        return "-"
    return f"{show(Slope(row[f'{which}_slope']))} (k ≥ {float(row[f'{which}_since']):,.0f})"
