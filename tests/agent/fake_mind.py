"""A mind of a few lines for tests of what is around a mind: mean rewards less costs of each action, and what it was told."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.errors import InputError, unknown_name
from noregret.problems.worlds import WorldSpec


class FakeMind:
    """Prefers actions with a good mean; ``told`` are all episodes, ``plans`` counts what was planned."""

    name, about, bounded_until = "soft-cells", "a mind for tests", None

    def __init__(self, spec: WorldSpec, seed: int, **options: Any) -> None:
        for key in options:
            if key != "heat":
                raise unknown_name("parameter of soft-cells", key, ("heat",))
        self.spec, self.heat = spec, float(options.get("heat", 1.0))
        self.sums, self.counts = np.zeros((2, spec.n_actions))
        self.dual, self.plan = np.zeros(spec.n_constraints), np.zeros(spec.n_actions)
        self.learned = self.planned = self.plans = 0
        self.told: list[PlayedEpisode] = []

    def ready(self) -> None:
        if self.planned != self.learned:
            self.plan, self.planned, self.plans = self.sums / np.maximum(self.counts, 1), self.learned, self.plans + 1

    def chances(self, step: int, observation: Any, mask: Any = None) -> Any:
        assert np.asarray(observation).shape == (() if self.spec.n_states else (self.spec.dimension,))
        weight = np.exp(self.heat * (self.plan - self.plan.max()) + 0.1 * np.sin(float(np.sum(observation))))
        weight = weight if mask is None else np.where(mask, weight, 0.0)
        return weight / weight.sum()

    def steady(self) -> FakeMind:
        return self

    def learn(self, played: PlayedEpisode, counts: bool = True) -> None:
        worth = played.rewards - played.values @ self.dual
        np.add.at(self.sums, played.actions, worth)
        np.add.at(self.counts, played.actions, 1)
        sign = 1.0 if self.spec.costs else -1.0
        if counts:
            self.dual = np.maximum(0.0, self.dual + 0.05 * sign * (played.values.sum(axis=0) - self.spec.limits))
        self.told.append(played)
        self.learned += 1

    @property
    def replans(self) -> int:
        return self.plans

    @property
    def estimate(self) -> Any:
        return np.full(self.spec.n_constraints, np.nan)

    def adequacy(self, fresh: Any) -> Any:
        raise InputError("adequacy is for features that were given")

    def describe(self) -> list[str]:
        return ["features: none", f"heat: {self.heat}, by default"]

    def memory_bound(self) -> int:
        return 1000

    def arrays(self) -> dict[str, Any]:
        numbers = np.array([self.learned, self.planned, self.plans])
        return {"sums": self.sums, "counts": self.counts, "dual": self.dual, "plan": self.plan, "numbers": numbers}

    def restore(self, arrays: dict[str, Any]) -> None:
        self.sums, self.counts, self.dual, self.plan = (arrays[k].copy() for k in ("sums", "counts", "dual", "plan"))
        self.learned, self.planned, self.plans = arrays["numbers"].tolist()
