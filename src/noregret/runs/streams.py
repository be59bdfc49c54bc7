"""Random streams: everything random in a run comes from one seed."""

from __future__ import annotations

import numpy as np


def streams(seed: int, trial: int, count: int = 2) -> tuple[np.random.Generator, ...]:
    """The random streams of one trial.

    Args:
        seed: the seed of the run.
        trial: the number of the trial, from 0.
        count: how many streams: the world's, the one for actions, and a third one for learners that draw numbers themselves.
    """
    return tuple(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, i))) for i in range(count))
