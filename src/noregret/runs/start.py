"""Which trial a run is: a learner in its world, before the first episode."""

from __future__ import annotations

from typing import cast

from noregret.errors import InputError
from noregret.features import is_linear
from noregret.kernels.worlds import world as worlds
from noregret.learners.base import Learner
from noregret.learners.lsvi.vectors import ContinuousLearner
from noregret.runs.choose import class_of, make_learner
from noregret.runs.code import code_of
from noregret.runs.prepare import PreparedTables, PreparedVectors, prepared
from noregret.runs.trial import LinearTrial, TableTrial, Trial
from noregret.store import RunKey
from noregret.theory import Promise


def start(key: RunKey) -> Trial:
    """The trial of a run, before its first episode.

    Raises:
        InputError: the run was planned for another problem, another code or other constants, or the learner refuses.
    """
    learner = check(key)
    home = prepared(key)
    if isinstance(home, PreparedVectors):
        return LinearTrial(home.problem, cast(ContinuousLearner, learner), key, home.best(key).value, home.truth(key))
    home = cast(PreparedTables, home)
    starts = home.starts(key.starts)
    problem = home.problem if starts is None else starts.problem
    layout = home.layout if starts is None else worlds.compile_world(problem)
    trial = TableTrial(problem, learner, key, home.best(key).value, layout)
    return trial if starts is None else trial.from_starts(starts)


def check(key: RunKey) -> Learner:
    """Refuse a run that cannot be played, and return its learner; nothing is solved but what the learner is told.

    Raises:
        InputError: the run was planned for another problem, another code or other constants, or the learner refuses.
    """
    prepared(key).starts(key.starts)
    if key.code != code_of(class_of(key.learner), key.problem):
        raise InputError(f"learner {key.learner!r} is not the one that the run was planned for: its source differs")
    return make_learner(key)


def promised(key: RunKey, learner: Learner) -> Promise | str:
    """What a theorem promises of a run, or in one sentence why none does; no episode need be played.

    Args:
        key: the run.
        learner: its learner.
    """
    home = prepared(key)
    linear = learner.phi is None or is_linear(home.finite("a promise for other features"), learner.phi)
    return learner.promised(home.best(key).slater_gap, linear)


def notice(learner: Learner) -> str:
    """A line that a user should read before the run begins, on the memory that it takes; empty where that is little."""
    bound = getattr(learner, "memory_bound", None)
    return "" if bound is None else f"this run needs at most {bound() / 1e9:.2g} GB"
