"""Runs as data: which trials of which learner on which problem, as keys. The one place where keys are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from noregret import learners
from noregret.errors import unknown_name
from noregret.learners.registry import source_hash
from noregret.runs.limits import check_length
from noregret.runs.prepare import FIXED_POLICIES, Prepared, prepare
from noregret.runs.supplies import supply
from noregret.store import RunKey


@dataclass(frozen=True)
class Ask:
    """Trials of one learner with one setting on one problem: what a result is made of.

    Attributes:
        problem: a name, a path, or a problem.
        learner: a name of ``learners.names()``, or "optimal" or "safest".
        episodes: K.
        trials: how many, with indices from 0.
        seed: one number for all randomness.
        record_every: distance of the recorded episodes.
        preset: where the learner's constants come from.
        slater_gap: what the learner is told of γ: a number, "oracle", or None.
        starts: first states (:mod:`noregret.oracle.starts`), or None.
        features: φ in place of the problem's, or None.
        params: constants of the learner that override the preset's.
    """

    problem: Any
    learner: str
    episodes: int
    trials: int = 1
    seed: int = 0
    record_every: int = 100
    preset: str = "practical"
    slater_gap: float | str | None = None
    starts: Any = None
    features: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def keys(self) -> list[RunKey]:
        """The keys of the trials, in order.

        Raises:
            InputError: a length, a name or a problem with which nothing can be run.
        """
        check_length(self.episodes, trials=self.trials, seed=self.seed, record_every=self.record_every)
        entries: dict[str, Any] = {
            "episodes": int(self.episodes), "record_every": int(self.record_every), "seed": int(self.seed),
            "preset": self.preset, "slater_gap": self.slater_gap, "starts": _plain(self.starts), "params": dict(self.params),
            "features_hash": None if self.features is None else supply(self.features),
        }  # fmt: skip
        home = prepare(self.problem)
        return [make_key(home, self.learner, trial=trial, **entries) for trial in range(self.trials)]


def make_key(home: Prepared, learner: str, **entries: Any) -> RunKey:
    """The key of one run.

    Args:
        home: the prepared problem.
        learner: the learner's name, or one of :data:`FIXED_POLICIES`.
        entries: the other fields of :class:`~noregret.store.RunKey`.
    """
    if learner not in FIXED_POLICIES and learner not in learners.names():
        raise unknown_name("learner", learner, [*learners.names(), *FIXED_POLICIES])
    key = RunKey(home.name, learner, problem_hash=home.hash, learner_hash=source_hash(learner), **entries)
    return replace(key, meaning=learners.meaning(learner, key.preset, key.params))


def _plain(starts: Any) -> Any:
    """Starts as JSON has them."""
    return starts.tolist() if hasattr(starts, "tolist") else list(starts) if isinstance(starts, tuple) else starts
