"""Journals and tables of searches, leaderboards and Table 1, spoiled: what each leaves and reads again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from benchmarks.table1 import page as table1
from benchmarks.tuning import page as tuning

from noregret._system.arrays import is_plain
from noregret.experiments.leaderboard.pilots import FILE, Pilots
from noregret.report.leaderboard import Leaderboard, page
from noregret.results.base import csv_text
from noregret.store.folder import seal
from noregret.sweeps.search import Candidate, SearchJournal
from tests.fuzz.damage import ODD, Rng, pick, spoiled_bytes, spoiled_value
from tests.fuzz.reader import Reader
from tests.made_up_board import a_board

BENCHMARKS = Path(table1.__file__).parents[1]


def spoiled_json(rng: Rng, value: Any) -> bytes:
    """The text of a value with another one inside; nested too deep for a parser where the value is."""
    try:
        return json.dumps(spoiled_value(rng, value)).encode("utf-8", "replace")
    except RecursionError:
        return b"[" * 10_000


def spoiled_csv(rng: Rng, data: bytes) -> bytes:
    """A table with a cell exchanged, or a line that is short, long, lost or doubled."""
    rows = list(csv.reader(data.decode().splitlines()))
    at = int(rng.integers(len(rows)))
    match int(rng.integers(8)):
        case 0:
            rows[at] = rows[at][: int(rng.integers(len(rows[at])))]
        case 1:
            rows[at] = [*rows[at], "more"]
        case 2:
            del rows[at]
        case 3:
            rows.insert(at, rows[int(rng.integers(len(rows)))])
        case _:
            odd = pick(rng, [*ODD, "nan", "-inf", "-1e9", "1e999", "9" * 400, "=1+1", '"'])
            rows[at][int(rng.integers(len(rows[at])))] = str(odd)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8", "replace")


class TuneSearch(Reader):
    """The choices of a search that were judged."""

    def prepare(self, folder: Path) -> None:
        self.path = folder / "study-1.json"
        search = SearchJournal(self.path)
        for beta in (0.1, 0.2):
            search.add(Candidate({"beta": beta}, 0, 10.0 * beta, 1.0))
        self.good = self.path.read_bytes()
        self.entries = {key: value for key, value in json.loads(self.good).items() if key != "sha256"}

    def spoil(self, rng: Rng) -> None:
        data = spoiled_bytes(rng, self.good)
        if rng.random() < 0.6:
            try:
                data = seal({"candidates": spoiled_value(rng, self.entries["candidates"])})
            except (ValueError, TypeError, RecursionError):
                pass  # no JSON: such a file cannot be sealed
        self.path.write_bytes(data)

    def read(self) -> None:
        journal = SearchJournal.read(self.path)
        assert all(isinstance(each.params, dict) for each in journal.candidates)
        assert all(0.0 <= number < float("inf") for each in journal.judged() for number in (each.value, each.violation))


class BoardFile(Reader):
    """The data of a leaderboard, and what is made of it."""

    share = 0.5

    def prepare(self, folder: Path) -> None:
        self.path = a_board().save(folder / "leaderboard.json")
        self.good = self.path.read_bytes()

    def spoil(self, rng: Rng) -> None:
        good = json.loads(self.good)
        self.path.write_bytes(spoiled_json(rng, good) if rng.random() < 0.7 else spoiled_bytes(rng, self.good))

    def read(self) -> None:
        board = Leaderboard.read(self.path)
        board.table().csv()
        page._data(board), page._standings(board.analysis), page._rows(board.analysis)
        board.save(self.path)


class Rows(Reader):
    """The data of Table 1, and the page that is made of them."""

    def prepare(self, folder: Path) -> None:
        self.path, self.good = folder / table1.DATA, (BENCHMARKS / "table1" / table1.DATA).read_bytes()
        self.path.write_bytes(self.good)

    def spoil(self, rng: Rng) -> None:
        self.path.write_bytes((spoiled_bytes if rng.random() < 0.3 else spoiled_csv)(rng, self.good))

    def read(self) -> None:
        text = table1.markdown(self.path.parent)
        assert "nan" not in text and is_plain(text.replace("\n", " "))


class Tried(Rows):
    """The configurations that a search tried, and the table that is made of them."""

    def prepare(self, folder: Path) -> None:
        rows = [tuning.TRIED, *(["opdop", "tuned", i, 1, 0.5 + i, 0.25, "yes" if i == 2 else "", f"eta={i}"] for i in range(4))]
        self.path, self.good = folder / tuning.CONFIGURATIONS, csv_text(rows).encode()
        self.path.write_bytes(self.good)

    def read(self) -> None:
        assert is_plain(tuning.markdown(self.path.parent).replace("\n", " "))


class PilotFile(Reader):
    """What pilots said: numbers that can be, or nothing."""

    share = 0.5

    def prepare(self, folder: Path) -> None:
        self.path, self.entries = folder / FILE, {"1f90989c6b98732c": [0.5, 60.0], "2f90989c6b98732c": [7.25, 60.0]}
        self.path.write_text(json.dumps(self.entries))

    def spoil(self, rng: Rng) -> None:
        good = json.dumps(self.entries).encode()
        self.path.write_bytes(spoiled_bytes(rng, good) if rng.random() < 0.3 else spoiled_json(rng, self.entries))

    def read(self) -> None:
        for seconds, most in Pilots(self.path.parent)._known.values():
            assert 0.0 <= seconds < float("inf") and 0.0 <= most < float("inf")
