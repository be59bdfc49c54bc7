"""A sweep as a file: problems × learners × parameter grids × seeds, in TOML, refused before anything runs.

    episodes = 10_000
    record_every = 100                  # by default a hundredth of the episodes
    seeds = 5                           # 0..4, or a list
    trials = 1                          # independent repetitions of each seed, as in ``noregret run``
    starts = "drawn"                    # or a state, or a list of states; see noregret.oracle.starts. Left out by default
    problems = ["job-scheduling", "random:seed=3,S=5"]
    imports = ["my_learners"]           # modules that register problems or learners, beside this file or installed; they run

    [[learners]]
    name = "primal-dual-lsvi"
    preset = "practical"
    slater_gap = "oracle"               # or a number
    params = { zeta = 0.01 }
    grid = { beta = [0.1, 0.3], eta = [0.01, 0.1] }   # every combination

Every problem is built and every learner made once, with all its combinations, so that what is wrong is found now and not in
the night; a message names the file and the line.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from noregret._system.arrays import read_bytes
from noregret._system.checks import integer
from noregret._system.plugins import load_module
from noregret.errors import InputError, one_line, shown, told, unknown_name
from noregret.problems.registry import Problem
from noregret.runs.choose import class_of
from noregret.runs.keys import make_key
from noregret.runs.prepare import Prepared, prepare
from noregret.runs.start import check
from noregret.store import RunKey, usual_grid

_TOP = ("episodes", "record_every", "seeds", "trials", "starts", "problems", "imports", "learners")
#: The most runs of one sweep: each is a folder, and all are listed before the first begins.
MOST_RUNS = 100_000
_LEARNER = ("name", "preset", "slater_gap", "params", "grid")


@dataclass(frozen=True)
class SweepPlan:
    """The runs of a sweep, each once, and the modules that must be imported before they are played."""

    keys: tuple[RunKey, ...]
    imports: tuple[str, ...] = ()


def read(path: str | Path) -> SweepPlan:
    """The runs that a file asks for, every one checked.

    Raises:
        FileError: the file cannot be read.
        InputError: an entry is missing, unknown or wrong; the message names its line.
    """
    with told(path, "cannot be read"):
        data = read_bytes(path)
    return parse(data, str(path), Path(path).parent)


def parse(text: str | bytes, source: str = "sweep", folder: Path | None = None) -> SweepPlan:
    """The runs that the text of such a file asks for.

    Args:
        text: the file's content, TOML.
        source: what messages call the text.
        folder: where the modules of ``imports`` are looked for, beside those that are installed.

    Raises:
        InputError: an entry is missing, unknown or wrong; the message names its line.
    """
    try:
        text = text if isinstance(text, str) else text.decode()
        entries = tomllib.loads(text)
    except ValueError as error:  # also of a number of more digits than Python reads
        raise InputError(f"{source}: is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply; expected tables and lists of values") from None
    return _Reader(text, source, entries, folder).plan()


def from_entries(entries: Mapping[str, object]) -> SweepPlan:
    """The runs that a dictionary with the entries of such a file asks for."""
    return _Reader("", "sweep", dict(entries)).plan()


#: Where an entry is: the names of tables and entries, and numbers in lists.
Place = tuple[str | int, ...]


class _Reader:
    """Checks entries and says where they are wrong."""

    def __init__(self, text: str, source: str, top: dict[str, Any], folder: Path | None = None) -> None:
        self.text, self.source, self.top, self.folder = text, source, top, folder

    def plan(self) -> SweepPlan:
        top = self.top
        self._known((), top, _TOP)
        for name in ("episodes", "problems", "learners"):
            if name not in top:
                raise InputError(f"{self.source}: {name!r} is missing; expected {', '.join(_TOP)}")
        episodes = self._whole(("episodes",), top["episodes"], 1)
        every = self._whole(("record_every",), top.get("record_every", usual_grid(episodes)), 1)
        trials = self._whole(("trials",), top.get("trials", 1), 1)
        imports = self.imports(top.get("imports", []))
        seeds = self.seeds(top.get("seeds", 1))
        problems = self.texts(("problems",), top["problems"])
        entries = top["learners"]
        if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
            raise self._wrong(("learners",), "learners is empty or not a list of tables; expected [[learners]] with a name")
        runs = len(problems) * sum(map(self.combinations, range(len(entries)), entries)) * len(seeds) * trials
        if runs > MOST_RUNS:
            raise InputError(f"{self.source}: asks for {shown(runs)} runs; expected at most {MOST_RUNS:,} in one file")
        combinations = [pair for i, entry in enumerate(entries) for pair in self.learner(i, entry)]
        keys: dict[str, RunKey] = {}
        for text in problems:
            home = self.world(text)
            for path, options in combinations:
                first = self.key(path, home.problem, options | {"episodes": episodes, "record_every": every})
                for seed, trial in itertools.product(seeds, range(trials)):
                    key = replace(first, seed=seed, trial=trial)
                    keys.setdefault(key.id, key)
        return SweepPlan(tuple(keys.values()), tuple(imports))

    def combinations(self, i: int, entry: Mapping[str, Any]) -> int:
        """How many combinations a learner's grid has, once its entries are what they should be."""
        path = ("learners", i)
        self._known(path, entry, _LEARNER)
        name = entry.get("name")
        if not isinstance(name, str):
            raise self._wrong(path, 'a learner has no name; expected name = "..."')
        try:
            class_of(name)
        except InputError as error:
            raise self._wrong((*path, "name"), error) from None
        params, grid = (entry.get(part, {}) for part in ("params", "grid"))
        for part, table in (("params", params), ("grid", grid)):
            if not isinstance(table, dict):
                raise self._wrong((*path, part), f"{part} is {table!r}; expected a table of parameters")
        for key, values in grid.items():
            if not isinstance(values, list) or not values:
                raise self._wrong((*path, "grid", key), f"{key} is {values!r}; a grid takes a list of values")
            if key in params:
                raise self._wrong((*path, "grid", key), f"{key} is given in params and in grid; expected one of them")
        return math.prod(map(len, grid.values()))

    def learner(self, i: int, entry: Mapping[str, Any]) -> list[tuple[Place, dict[str, Any]]]:
        """The options of each combination of a learner's grid, each with its place in the file."""
        params, grid = (entry.get(part, {}) for part in ("params", "grid"))
        options = {part: entry[part] for part in ("preset", "slater_gap") if part in entry} | {"learner": entry["name"]}
        return [
            (("learners", i), options | {"params": params | dict(zip(grid, values, strict=True))})
            for values in itertools.product(*grid.values())
        ]

    def world(self, text: str) -> Prepared:
        try:
            home = prepare(text)
        except Exception as error:
            raise self._wrong(("problems",), one_line(error), text) from error
        try:
            home.starts(self.top.get("starts"))
        except Exception as error:
            raise self._wrong(("starts",), f"{text}: {one_line(error)}") from error
        return home

    def key(self, path: Place, problem: Problem, options: Mapping[str, Any]) -> RunKey:
        """Make the key of the first run of a combination, and its learner once, to see that this works."""
        try:
            key = make_key(problem, starts=self.top.get("starts"), **options)
            check(key)
            return key
        except Exception as error:
            # The message names the entry at fault where there is one; its line says more than that of the learner.
            entry, said = self.top["learners"][path[1]], one_line(error)
            places: dict[str, Place] = {name: (name,) for name in ("preset", "slater_gap") if name in entry}
            places |= {name: (part, name) for part in ("params", "grid") for name in entry.get(part, {})}
            words = {name: rf"'{re.escape(name)}'|\b{re.escape(name)} is\b|\bunknown {re.escape(name)}\b" for name in places}
            named = {name: match.start() for name, word in words.items() if (match := re.search(word, said))}
            if named:
                path = (*path, *places[min(named, key=lambda name: named[name])])
            raise self._wrong(path, f"{options['learner']} on {problem.name}: {said}") from error

    # --- values ---

    def _known(self, path: Place, table: Mapping[str, object], names: tuple[str, ...]) -> None:
        for key in table:
            if key not in names:
                raise self._wrong((*path, key), unknown_name("key", key, names))

    def _whole(self, path: Place, value: object, least: int) -> int:
        try:
            return integer(str(path[-1]), value, least)
        except InputError as error:
            raise self._wrong(path, error) from None

    def seeds(self, value: object) -> Sequence[int]:
        if isinstance(value, list) and value:
            return [self._whole(("seeds",), seed, 0) for seed in value]
        return range(min(self._whole(("seeds",), value, 1), MOST_RUNS + 1))

    def texts(self, path: Place, value: object) -> list[str]:
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise self._wrong(path, f"{path[-1]} is {shown(value)}; expected a list of texts")
        return value

    def imports(self, value: object) -> list[str]:
        names = self.texts(("imports",), value) if value != [] else []
        for name in names:
            try:
                load_module(name, self.folder)
            except InputError as error:
                raise self._wrong(("imports",), error, name) from error
        return names

    # --- places ---

    def _wrong(self, path: Place, message: object, quoted: str = "") -> InputError:
        where = f"line {self.line(path, quoted)}" if self.text else ".".join(map(str, path))
        return InputError(f"{self.source}, {where}: {message}")

    def line(self, path: Place, quoted: str = "") -> int:
        """The line of an entry in the file, or of the closest table around it; of the text ``quoted`` in it, if given."""
        place, best = 1, 0
        table: Place = ()
        counts: dict[Place, int] = {}
        lines = self.text.splitlines()
        for number, line in enumerate(lines, 1):
            here = table
            head, closed, _ = line.strip().partition("]")
            key, equals, _ = (part.strip() for part in line.partition("="))
            if head.startswith("[") and closed:
                names = tuple(part.strip().strip("\"'") for part in head.lstrip("[").split("."))
                base: Place = ()
                for name in names[:-1]:
                    base = (*base, name, counts[(*base, name)]) if (*base, name) in counts else (*base, name)
                here = (*base, names[-1])
                if head.startswith("[["):
                    counts[here] = counts.get(here, -1) + 1
                if here in counts:
                    here = (*here, counts[here])
                table = here
            elif equals and re.fullmatch(r"[\w.\"'-]+", key):
                here = (*table, *(part.strip("\"'") for part in key.split(".")))
            else:
                continue
            if path[: len(here)] == here and len(here) > best:
                place, best = number, len(here)
        if quoted:
            written = (f'"{quoted}"', f"'{quoted}'")
            place = next((n for n in range(place, len(lines) + 1) if any(w in lines[n - 1] for w in written)), place)
        return place
