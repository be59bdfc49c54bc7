"""What a sweep will take, before it is started: runs, time from a short measured pilot, disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from noregret.runs.prepare import prepared
from noregret.store import RunKey, Store

#: Seconds of play for each problem and learner.
PILOT_SECONDS = 0.3
#: Bytes of a record, and of the file system's smallest unit.
RECORD, UNIT = 4096, 4096


@dataclass(frozen=True)
class Estimate:
    """``seconds`` of wall time with so many workers, ``bytes`` on the disk, for the runs that are not there yet."""

    runs: int
    there: int
    seconds: float
    bytes: int
    pilots: dict[tuple[str, str], float]  # episodes/s of each problem and learner, on one core


def estimate(keys: Sequence[RunKey], store: Store, workers: int) -> Estimate:
    """Estimate how long some runs will take and how much disk they need.

    Each pair of a problem and a learner is played for :data:`PILOT_SECONDS`; nothing is written.

    Args:
        keys: the runs.
        store: the runs that are in it already cost nothing.
        workers: how many runs will be played at once.
    """
    todo = [key for key in keys if not store.has(key.id)]
    rates: dict[tuple[str, str], float] = {}
    seconds, size = 0.0, 0
    for key in todo:
        pair = (key.problem, key.learner)
        if pair not in rates:
            rates[pair] = _pilot(key)
        seconds += key.episodes / rates[pair]
        points = -(-key.episodes // key.record_every)
        curves = points * 8 * (3 + 3 * prepared(key).problem.n_constraints)
        size += RECORD + -(-(curves + 1500) // UNIT) * UNIT + UNIT  # the folder itself takes a unit
    return Estimate(len(keys), len(keys) - len(todo), seconds / max(1, min(workers, len(todo))), size, rates)


def _pilot(key: RunKey) -> float:
    """Episodes a second, compilation aside; of the first episodes, so a learner that slows down takes longer."""
    trial = prepared(key).start(replace(key, trial=0))
    trial.compile()
    begin = time.monotonic()
    for _ in trial.blocks():
        if time.monotonic() - begin > PILOT_SECONDS:
            break
    return trial.k / max(trial.seconds, 1e-9)
