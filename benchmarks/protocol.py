"""The protocol of all measurements, read from ``protocol.toml``: what is played for what; and the log of test worlds played."""

from __future__ import annotations

import csv
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.command import say
from noregret._system.files import wait_and_hold, write_whole
from noregret.runs.provenance import provenance

FILE = Path(__file__).parent / "protocol.toml"
#: A line for each time that a test world or a test seed was played; it is committed.
LOG = Path(__file__).parent / "test-log.csv"
COLUMNS = ("when", "command", "worlds", "learners", "episodes", "trials", "source")


class Judged(NamedTuple):
    """Some runs that judge a configuration: a problem, its episodes, and seeds."""

    problem: str
    episodes: int
    seeds: tuple[int, ...]


class Length(NamedTuple):
    """How many runs of a length are played, and the seconds that one may take."""

    trials: int
    seconds: float


SETS: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text("utf-8"))


def _rung(worlds: list[dict[str, Any]]) -> tuple[Judged, ...]:
    first = SETS["tuning"]["run_seeds"][0]
    return tuple(Judged(each["problem"], each["episodes"], tuple(range(first, first + each["seeds"]))) for each in worlds)


_TUNING = SETS["tuning"]
BUDGET: int = _TUNING["budget"]
EXPLORE: float = _TUNING["explore"]
SHARES: tuple[float, ...] = tuple(_TUNING["shares"])
LEAST: float = _TUNING["least"]
STUCK: float = _TUNING["stuck"]
#: Forms that take an hour and more to search: only if they are named.
SLOW: tuple[str, ...] = tuple(_TUNING["slow"]["forms"])
#: The worlds that each rung adds to those before it.
RUNGS: tuple[tuple[Judged, ...], ...] = tuple(_rung(each["worlds"]) for each in _TUNING["rungs"])

#: The worlds of a release, its lengths by their episodes, and the first seed of runs.
TEST_WORLDS: tuple[str, ...] = tuple(SETS["test"]["worlds"])
LENGTHS: dict[int, Length] = {each["episodes"]: Length(each["trials"], each["seconds"]) for each in SETS["test"]["lengths"]}
TEST_SEED: int = SETS["test"]["run_seeds"][0]


def world(text: str) -> tuple[str, frozenset[str]]:
    """A world as a name and what is said of it, so that two texts of one world are equal."""
    name, _, tail = text.partition(":")
    return name, frozenset(filter(None, tail.split(",")))


def declare(command: str, worlds: str, learners: str, episodes: int, trials: int, log: Path = LOG) -> None:
    """Say that test worlds or test seeds are about to be played, and write it into the log.

    Args:
        command: what plays them.
        worlds: which ones, in words.
        learners: which ones, in words.
        episodes: K.
        trials: runs of each learner on each world.
        log: the file.
    """
    source = str(provenance()["versions"]["sources"])[:12]
    with wait_and_hold(log.with_suffix(".lock")):
        rows = list(csv.reader(log.read_text("utf-8").splitlines())) if log.exists() else [list(COLUMNS)]
        rows.append([f"{datetime.now(UTC):%Y-%m-%d %H:%M}", command, worlds, learners, str(episodes), str(trials), source])
        lines = "\n".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows) + "\n"
        write_whole(log, lambda file: file.write(lines.encode()))
    say(f"{command} plays test worlds or test seeds: {worlds}. {log.name} has a line of it; commit that file.")
