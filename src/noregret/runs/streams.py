"""Random streams: everything random in a run comes from one seed."""

from __future__ import annotations

import numpy as np


def streams(seed: int, trial: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The world's and the learner's random stream of a trial."""
    world, learner = (np.random.SeedSequence(seed, spawn_key=(trial, i)) for i in (0, 1))
    return np.random.default_rng(world), np.random.default_rng(learner)
