"""How long a run may be: episodes, trials, recorded points; refused before anything is solved, compiled or written."""

from __future__ import annotations

from typing import Any

from noregret._system.checks import integer
from noregret.errors import InputError
from noregret.learners.registry import check_episodes

#: More trials of a run, and points of a curve, would be a mistake.
MOST_TRIALS, MOST_POINTS = 1_000_000, 10_000_000


def check_length(episodes: Any, *, trials: Any, seed: Any, record_every: Any, **others: Any) -> None:
    """Refuse lengths with which nothing can be run.

    Args:
        episodes: the episodes of a trial, at least 1.
        trials: how many trials, at least 1.
        seed: the seed, at least 0.
        record_every: the distance of recorded episodes, at least 1.
        others: further numbers by name, each at least 1 or None.

    Raises:
        InputError: a number is not whole, too small, or so large that it must be a mistake.
    """
    check_episodes(episodes)
    for name, value in {"trials": trials, "record_every": record_every, **others}.items():
        if value is not None or name in ("trials", "record_every"):
            integer(name, value, 1)
    if trials > MOST_TRIALS or episodes // record_every > MOST_POINTS:
        raise InputError(
            f"{trials} trials with {episodes // record_every} recorded points each were asked for; expected at most "
            f"{MOST_TRIALS:,} and {MOST_POINTS:,}: raise record_every, or lower trials"
        )
    integer("seed", seed, 0)
