"""Runs as data: which trials of which learner on which problem. Keys of runs are made here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.checks import integer
from noregret.errors import InputError
from noregret.learners.registry import checked_episodes
from noregret.problems.continuous import Encoder
from noregret.runs.choose import choose, class_of
from noregret.runs.code import code_of
from noregret.runs.prepare import Named, prepare
from noregret.runs.supplies import supply
from noregret.store import RunKey

#: The first states as one may ask for them: drawn, one, or several in turn.
StartsAsked: TypeAlias = str | int | list[int] | tuple[int, ...] | NDArray[np.integer] | None

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

    problem: Named
    learner: str
    episodes: int
    trials: int = 1
    seed: int = 0
    record_every: int = 100
    preset: str = "practical"
    slater_gap: float | str | None = None
    starts: StartsAsked = None
    features: ArrayLike | Encoder | None = None
    params: Mapping[str, object] = field(default_factory=dict)

    def keys(self) -> list[RunKey]:
        """Make the key of each trial, in the order of the trials.

        Raises:
            InputError: the problem or the learner is not known, or a number is out of its range.
        """
        episodes, trials, seed, every = checked_length(
            self.episodes, trials=self.trials, seed=self.seed, record_every=self.record_every
        )
        first = make_key(
            self.problem,
            self.learner,
            episodes,
            seed,
            record_every=every,
            preset=self.preset,
            slater_gap=self.slater_gap,
            starts=self.starts,
            features=self.features,
            params=self.params,
        )
        return [replace(first, trial=trial) for trial in range(trials)]


def checked_length(
    episodes: int, *, trials: int, seed: int, record_every: int, **others: int | None
) -> tuple[int, int, int, int]:
    """Refuse lengths with which nothing can be run; returns episodes, trials, seed and record_every as integers.

    Args:
        episodes: the episodes of a trial, at least 1.
        trials: how many trials, at least 1.
        seed: the seed, at least 0.
        record_every: the distance of recorded episodes, at least 1.
        others: further numbers by name, each at least 1 or None.

    Raises:
        InputError: a number is not whole, too small, or so large that it must be a mistake.
    """
    episodes, trials = checked_episodes(episodes), integer("trials", trials, 1)
    record_every = integer("record_every", record_every, 1)
    for name, value in others.items():
        if value is not None:
            integer(name, value, 1)
    if trials > MOST_TRIALS or episodes // record_every > MOST_POINTS:
        raise InputError(
            f"{trials} trials with {episodes // record_every} recorded points each were asked for; expected at most "
            f"{MOST_TRIALS:,} trials and {MOST_POINTS:,} points each: raise record_every, or lower trials"
        )
    return episodes, trials, integer("seed", seed, 0), record_every


def make_key(
    problem: Named,
    learner: str,
    episodes: int,
    seed: int = 0,
    trial: int = 0,
    record_every: int = 100,
    *,
    preset: str = "practical",
    slater_gap: float | str | None = None,
    starts: StartsAsked = None,
    features: ArrayLike | Encoder | None = None,
    params: Mapping[str, object] | None = None,
) -> RunKey:
    """Make the key of one run: find the constants in force, and a hash of the code. Nothing is solved but a Slater gap.

    Args:
        problem: as in :class:`Ask`, and so are the others.
        learner: the learner's name, or "optimal" or "safest".
        episodes: how many episodes the trial has.
        seed: the number that all randomness is drawn from.
        trial: the number of the trial, from 0.
        record_every: every so many episodes a point of the curves is recorded.
        preset: which column of the learner's table gives its constants.
        slater_gap: what the learner is told of the Slater gap γ; "oracle" solves the problem.
        starts: the first states.
        features: the features φ that the learner sees.
        params: constants of the learner that override the preset's.

    Raises:
        InputError: the problem, the learner or a parameter is not known, or a value cannot be used.
    """
    home = prepare(problem)
    key = RunKey(
        home.name,
        learner,
        int(episodes),
        int(seed),
        trial,
        int(record_every),
        starts=_plain(starts),
        problem_hash=home.hash,
        features_hash=None if features is None else supply(features),
        code=code_of(class_of(learner), home.name),
        preset=preset,
        slater_gap=slater_gap,
        params=dict(params or {}),
    )
    choice = choose(key)
    return replace(key, constants=choice.constants, told=choice.told)


def _plain(starts: StartsAsked) -> str | int | list[int] | None:
    """Starts as JSON can hold them: an array or a tuple becomes a list."""
    if isinstance(starts, np.ndarray | np.generic):
        plain: int | list[int] = starts.tolist()
        return plain
    return list(starts) if isinstance(starts, tuple) else starts
