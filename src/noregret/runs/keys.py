"""Runs as data: which trials of which learner on which problem. This is the one place where keys of runs are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from noregret import learners
from noregret._system.checks import integer
from noregret.errors import InputError, unknown_name
from noregret.learners.registry import check_episodes, source_hash
from noregret.runs.prepare import FIXED_POLICIES, Prepared, prepare
from noregret.runs.supplies import supply
from noregret.store import RunKey

#: More trials of a run, and points of a curve, would be a mistake.
MOST_TRIALS, MOST_POINTS = 1_000_000, 10_000_000


@dataclass(frozen=True)
class Ask:
    """What to run: some trials of one learner, with one setting, on one problem.

    An ``Ask`` holds everything that decides the numbers of these trials, and nothing else. :class:`~noregret.runs.How` holds
    the rest: where the trials are played and where they are kept. An ``Ask`` plays nothing; :meth:`keys` turns it into one key
    for each trial, and :func:`~noregret.runs.play` plays keys.

    Attributes:
        problem: the problem: its name, the path of a .npz file, or the object itself.
        learner: a name of ``learners.names()``, or one of the fixed policies "optimal" and "safest".
        episodes: how many episodes each trial has (the paper's K).
        trials: how many trials there are. They are numbered from 0, and each number has its own random streams.
        seed: the number that all randomness of all trials is drawn from.
        record_every: every so many episodes a point of the curves is recorded; the last episode always is.
        preset: which rule gives the learner its constants, such as "practical" or "theory".
        slater_gap: what the learner is told of the Slater gap γ: a number, "oracle" for the exact one, or None for nothing.
        starts: the first state of each episode (:mod:`noregret.oracle.starts`). None: the problem draws them.
        features: the features φ that the learner sees. None: those of the problem.
        params: constants of the learner, by name. They override the preset's.

    Example:
        >>> ask = Ask("random:S=3,A=2,H=2", "uniform", episodes=10, trials=2)
        >>> [(key.learner, key.trial) for key in ask.keys()]
        [('uniform', 0), ('uniform', 1)]
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
        """Make the key of each trial, in the order of the trials.

        Raises:
            InputError: the problem or the learner is not known, or a number is out of its range.
        """
        check_length(self.episodes, trials=self.trials, seed=self.seed, record_every=self.record_every)
        entries: dict[str, Any] = {
            "episodes": int(self.episodes), "record_every": int(self.record_every), "seed": int(self.seed),
            "preset": self.preset, "slater_gap": self.slater_gap, "starts": _plain(self.starts), "params": dict(self.params),
            "features_hash": None if self.features is None else supply(self.features),
        }  # fmt: skip
        home = prepare(self.problem)
        return [make_key(home, self.learner, trial=trial, **entries) for trial in range(self.trials)]


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


def make_key(home: Prepared, learner: str, **entries: Any) -> RunKey:
    """Make the key of one run.

    Args:
        home: the prepared problem.
        learner: the learner's name, or one of :data:`FIXED_POLICIES`.
        entries: the other fields of :class:`~noregret.store.RunKey`.

    Raises:
        InputError: no learner has this name.
    """
    if learner not in FIXED_POLICIES and learner not in learners.names():
        raise unknown_name("learner", learner, [*learners.names(), *FIXED_POLICIES])
    key = RunKey(home.name, learner, problem_hash=home.hash, learner_hash=source_hash(learner), **entries)
    return replace(key, meaning=home.meaning(learner, key.preset, key.params))


def _plain(starts: Any) -> Any:
    """Starts as JSON can hold them: an array or a tuple becomes a list."""
    return starts.tolist() if hasattr(starts, "tolist") else list(starts) if isinstance(starts, tuple) else starts
