"""A uniform sample of the policies a learner played, where no model can average them.

The paper's PAC remark (paper.tex l. 344) draws one of the K played policies at random. Without a model there are no
occupancies to average, and all K policies would be too many to keep. A reservoir keeps n of them: episode k replaces a
random one with probability n/k (Vitter's Algorithm R), and after any number of episodes each has been kept with the same
probability. Drawing from the reservoir is drawing from all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noregret._system.checks import integer
from noregret.errors import InputError


class PolicyReservoir:
    """Keeps ``size`` of the snapshots it is offered, each with the same probability; the same for the same seed.

    Offer it one snapshot for each episode, before the episode is observed. What a snapshot is, is the caller's affair: a
    table, a plan, a state; it is taken as given, so it must not change afterwards.

    >>> reservoir = PolicyReservoir(size=2, seed=0)
    >>> for k in range(5):
    ...     _ = reservoir.offer(lambda k=k: f"policy {k}")
    >>> len(reservoir.snapshots), reservoir.offered
    (2, 5)
    """

    def __init__(self, size: int = 32, seed: int = 0) -> None:
        for name, value, least in (("size", size, 1), ("seed", seed, 0)):
            integer(name, value, least)
        self.size, self.offered = int(size), 0
        self.snapshots: list[Any] = []
        self.episodes: list[int] = []  # from 0, beside the snapshots
        self._random = np.random.default_rng([int(seed), 0x5E5E])

    def offer(self, snapshot: Callable[[], Any]) -> bool:
        """The policy of the next episode, made by ``snapshot()`` only if it is kept; says whether it was."""
        k, self.offered = self.offered, self.offered + 1
        place = k if k < self.size else int(self._random.integers(k + 1))
        if place >= self.size:
            return False
        if k < self.size:
            self.snapshots.append(snapshot())
            self.episodes.append(k)
        else:
            self.snapshots[place], self.episodes[place] = snapshot(), k
        return True

    def draw(self, random: np.random.Generator) -> Any:
        """One of the snapshots: play it for a whole episode, and draw again for the next."""
        if not self.snapshots:
            raise InputError("the reservoir is empty; expected at least one offered policy")
        return self.snapshots[int(random.integers(len(self.snapshots)))]
