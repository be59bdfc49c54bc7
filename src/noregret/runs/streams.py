"""Random streams: everything random in a run comes from one seed."""

from __future__ import annotations

import numpy as np


def streams(seed: int, trial: int, count: int = 2) -> tuple[np.random.Generator, ...]:
    """The random streams of a trial: the world's, the one that actions are drawn from, and a third of learners that draw."""
    return tuple(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, i))) for i in range(count))
