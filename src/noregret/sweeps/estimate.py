"""What a sweep will take, before it is started: runs, time from a short measured pilot, disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from noregret.runs.prepare import prepared
from noregret.runs.start import start
from noregret.store import RunKey, Store

#: Seconds of play for each problem and learner.
PILOT_SECONDS = 0.3
#: Within this factor below a limit, a short pilot does not tell that a run will keep it.
UNCLEAR = 3.0
#: Bytes of a record, and of the file system's smallest unit.
RECORD, UNIT = 4096, 4096


#: The time that this thread was at work.
own_time = time.thread_time


@dataclass(frozen=True)
class SweepEstimate:
    """``seconds`` of wall time with so many workers, ``bytes`` on the disk, for the runs that are not there yet."""

    runs: int
    there: int
    seconds: float
    bytes: int
    pilots: dict[tuple[str, str], float]  # episodes/s of each problem and learner, on one core


def estimate(keys: Sequence[RunKey], store: Store, workers: int) -> SweepEstimate:
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
            rates[pair] = 1.0 / max(seconds_an_episode(key), 1e-12)
        seconds += key.episodes / rates[pair]
        points = -(-key.episodes // key.record_every)
        curves = points * 8 * (3 + 3 * prepared(key).problem.n_constraints)
        size += RECORD + -(-(curves + 1500) // UNIT) * UNIT + UNIT  # the folder itself takes a unit
    return SweepEstimate(len(keys), len(keys) - len(todo), seconds / max(1, min(workers, len(todo))), size, rates)


def seconds_an_episode(key: RunKey, most: float = PILOT_SECONDS) -> float:
    """The time of an episode on one core, compilation aside; of the first episodes, so a learner that slows down takes longer.

    Args:
        key: the run; its first trial is played.
        most: how long the pilot takes, in seconds.
    """
    for k, now in _timed(key):
        if now > most or k == key.episodes:
            break
    return now / k


def seconds_of_run(key: RunKey, most: float) -> float:
    """Estimate how long one run takes; nothing is written.

    A run is played until it seems clear that it ends below ``most``, or it has taken as long: learners that plan seldom are
    slow at first, and what they seem to take may be twenty times what they do. What is left of it is taken to go on at the pace
    of the last half of the time so far.

    Args:
        key: the run; its first trial is played.
        most: the time that matters. A run that seems to end a little below it is played for a quarter of it.

    Returns:
        Seconds of one core, compilation aside; what else the machine does is not counted.
    """
    marks, guess = [(0, 0.0)], 0.0
    for k, now in _timed(key):
        marks.append((k, now))
        past, then = next(mark for mark in reversed(marks) if mark[1] <= now / 2)
        guess = now + (key.episodes - k) * (now - then) / max(k - past, 1)
        if now > most or (now >= most / 4 and guess < most) or (now >= PILOT_SECONDS and guess < most / UNCLEAR):
            break
    return guess


def _timed(key: RunKey) -> Iterator[tuple[int, float]]:
    """Play the first trial of a run block by block: the episodes so far, and the time that this thread was at work."""
    trial = start(replace(key, trial=0))
    trial.compile()
    begin = own_time()
    for k in trial.blocks():
        yield k, own_time() - begin
