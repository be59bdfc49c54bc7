"""What a search leaves: every candidate with its score, and a table. All of it is small, and data."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import protocol
from benchmarks.tuning.search import Found, stuck_share
from noregret._system.arrays import is_plain, read_bytes
from noregret._system.files import all_or_none, make_folder, wait_and_hold
from noregret.errors import FileError, shown, told
from noregret.report.tables import write_text
from noregret.results.base import csv_text

#: The folder of the data that are committed.
HERE = Path(__file__).parent
#: The files, in the order in which they are written.
CONFIGURATIONS, TABLE = "configurations.csv", "table.md"
#: Held while they are read and written: searches of other learners may end in the same folder at the same time.
LOCK = "tables.lock"
#: The columns of the table of numbers, and which of them are numbers that are not negative.
TRIED = ("learner", "preset", "number", "rungs", "score", "stuck", "winner", "configuration")
NUMBERS = ("number", "rungs", "score", "stuck")
#: What stands above the table.
RULES = " ".join([
    "A run's loss is its hard regret and its worst hard violation, over what the uniform policy loses. A configuration's score",
    "is the geometric mean over worlds of the mean loss over seeds,",
    f"times 1 + {protocol.STUCK:g} x (share of stuck runs). A search tries {protocol.BUDGET} configurations of each form,",
    f"{protocol.EXPLORE:.0%} of them drawn over the whole space, the others proposed by a model of the scores.",
    f"{protocol.SHARES[1]:.0%} go on to the second rung and {protocol.SHARES[2]:.0%} to the third,",
    f"{protocol.SHARES[3]:.0%} to the fourth and the fifth, which add worlds, seeds and longer runs;",
    "the preset as it was always goes on, and so do the learner's printed forms with the numbers that they have",
    "(`preset=tuned` in the table). The lowest score of the last rung becomes the preset.",
    "Form `soft` is judged by soft sums.",
    "A world that a learner does not take (several constraints) is left out for it.",
    "`benchmarks/protocol.toml` has the worlds, lengths and seeds; no test world is among them.\n",
])  # fmt: skip


def write(found: Sequence[Found], folder: Path) -> list[Path]:
    """Write what was found, all files or none; forms that were not searched keep the lines that the folder has of them.

    Args:
        found: finished searches.
        folder: where the files go.
    """
    make_folder(folder)
    here = {(each.form.learner, each.form.preset) for each in found}
    with wait_and_hold(folder / LOCK), all_or_none(folder) as draft:
        kept = [row for row in _read(folder / CONFIGURATIONS) if (row["learner"], row["preset"]) not in here]
        rows = sorted([*([row[name] for name in TRIED] for row in kept), *_tried(found)], key=lambda row: (row[0], row[1]))
        write_text(draft / CONFIGURATIONS, csv_text([TRIED, *rows]))
        write_text(draft / TABLE, markdown(draft))
    return [folder / CONFIGURATIONS, folder / TABLE]


def check(folder: Path) -> None:
    """Refuse a folder whose table cannot be read: before a search, not after it."""
    _read(folder / CONFIGURATIONS)


def markdown(folder: Path) -> str:
    """The rules of a search, and a table from its data: scores and stuck shares before and after."""
    every = _read(folder / CONFIGURATIONS)
    lines = [
        RULES,
        "| learner | preset | tried | before | stuck | after | stuck | winner |",
        "|---|---|" + "---|" * 6,
    ]
    for learner, preset in dict.fromkeys((row["learner"], row["preset"]) for row in every):
        rows = [row for row in every if (row["learner"], row["preset"]) == (learner, preset)]
        winner = next((row for row in rows if row["winner"]), rows[0])
        numbers = [
            f"{float(row[name]):.{digits}f}" for row in (rows[0], winner) for name, digits in (("score", 4), ("stuck", 2))
        ]
        won = winner["configuration"].replace("; ", ", ") if winner is not rows[0] else "stays"
        lines.append(f"| {learner} | {preset} | {len(rows)} | {' | '.join(numbers)} | {won} |")
    return "\n".join(lines) + "\n"


def winner(learner: str, preset: str, folder: Path = HERE) -> dict[str, str]:
    """What the search found for a form: values and factors by name, in text; nothing where the preset stays.

    Args:
        learner: its name.
        preset: the form.
        folder: has the table.
    """
    for row in _read(folder / CONFIGURATIONS):
        if (row["learner"], row["preset"], row["winner"]) == (learner, preset, "yes") and "=" in row["configuration"]:
            return dict(pair.split("=") for pair in row["configuration"].split("; "))
    return {}


def tried(learner: str, preset: str, folder: Path = HERE) -> bool:
    """Whether the search of a form is among the data.

    Args:
        learner: its name.
        preset: the form.
        folder: has the table.
    """
    return any((row["learner"], row["preset"]) == (learner, preset) for row in _read(folder / CONFIGURATIONS))


def _tried(found: Sequence[Found]) -> list[list[Any]]:
    """Each candidate with the last rung that it came to."""
    lines = []
    for each in found:
        last = len(each.rungs) - 1
        for number, candidate in enumerate(each.journal.judged()):
            reached = [c for rung in range(last + 1) if (c := each.journal.find(candidate.params, rung)) is not None]
            won = "yes" if candidate.params == each.winner.params else ""
            said = "; ".join(f"{name}={_word(value)}" for name, value in candidate.params.items()) or "the preset as it was"
            numbers = [number, len(reached), f"{reached[-1].value:.5g}", f"{stuck_share(reached[-1]):.3g}"]
            lines.append([each.form.learner, each.form.preset, *numbers, won, said])
    return lines


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(path: Path) -> list[dict[str, str]]:
    """The rows of the table of numbers that a search wrote; none where there is no file.

    Raises:
        FileError: the file is not such a table, or a number in it is none or negative.
    """
    if not path.exists():
        return []
    with told(path, "cannot be read; expected what a search wrote"):
        data = read_bytes(path)
    try:
        first, *lines = csv.reader(data.decode().splitlines(), strict=True)
        rows = [dict(zip(TRIED, line, strict=True)) for line in lines]
        assert tuple(first) == TRIED and all(is_plain(cell) for line in lines for cell in line)
    except (ValueError, csv.Error, AssertionError):
        raise FileError(f"{path}: is no table of a search; expected columns {', '.join(TRIED)} in every line") from None
    for row in rows:
        for name in NUMBERS:
            if not _is_number(row[name]):
                raise FileError(f"{path}: {name} of {row['learner']} is {shown(row[name])}; expected a number of at least 0")
    return rows


def _is_number(text: str) -> bool:
    try:
        return 0.0 <= float(text) < math.inf
    except ValueError:
        return False
