"""What the uniform policy loses in an episode: a run keeps it, so that a stored result says which trials are stuck.

It depends on the problem and the starts alone, and is computed once for each in a process.
"""

from __future__ import annotations

import weakref
from typing import cast

import numpy as np

from noregret import oracle
from noregret.problems.base import Array
from noregret.problems.kinds import is_finite
from noregret.problems.registry import Problem
from noregret.runs.trial import LinearTrial, Trial

_known: weakref.WeakKeyDictionary[Problem, float] = weakref.WeakKeyDictionary()


def uniform_loss(trial: Trial, best: float) -> float:
    """What a policy that takes all available actions alike lacks in an episode: reward, and utility of the worst constraint.

    Args:
        trial: a trial on the problem.
        best: the optimum that the trial is measured against.
    """
    problem = trial.problem
    if problem not in _known:
        reward, utilities = _values(trial)
        _known[problem] = max(best - reward, 0.0) + max(float(np.max(problem.b - utilities)), 0.0)
    return _known[problem]


def _values(trial: Trial) -> tuple[float, Array]:
    problem = trial.problem
    if is_finite(problem):
        return oracle.evaluate(problem, problem.available / problem.available.sum(axis=2, keepdims=True))
    A = problem.n_actions
    truth = cast(LinearTrial, trial).truth
    return truth.evaluate(lambda step, states: np.full((len(states), A), 1.0 / A))
