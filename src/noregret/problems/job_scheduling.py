r"""The job-scheduling world of the paper's section 5 (Ghosh, Zhou, Shroff, NeurIPS 2022).

Up to nine jobs wait; x is their number, 9 at the start. Sending (a=1) takes two jobs to a machine that may finish
fewer of them:

.. math::  x' = \max(x-2a,0) \text{ w.p. } 0.8,\quad \max(x-a,0) \text{ w.p. } 0.1,\quad x \text{ w.p. } 0.1.

The reward is 1 - 0.9a at the expensive steps (3 to 6, counted from 1) and 1 - 0.2a otherwise. The utility
(x - x')/2 is seen at the transition, so it is given by next state; at least b = 4 is wanted in expectation.

With the defaults: optimum 9.058824 = 10 - 4·0.2/0.85, dual 0.235294 = 0.2/0.85, Slater gap 0.499791 (the paper's
γ = 1 cannot be had: the largest utility is 4.499791).
"""

from __future__ import annotations

import numpy as np

from noregret.problems import checks
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import register

#: How many of the two jobs sent are finished, with which probability.
FINISHED = ((2, 0.8), (1, 0.1), (0, 0.1))


@register("job-scheduling")
def job_scheduling(
    b: float = 4.0, first_expensive: int = 3, last_expensive: int = 6, H: int = 10, jobs: int = 9
) -> TabularCMDP:
    """The paper's section 5: when to send jobs to a machine, two at a time, dearer at some steps.

    Args:
        b: the least expected utility, half the number of jobs finished.
        first_expensive: the first expensive step, counted from 1.
        last_expensive: the last expensive step, counted from 1.
        H: steps of an episode.
        jobs: jobs waiting at the start.
    """
    jobs = checks.integer("jobs", jobs, 1)
    checks.fits(H=H, S=jobs + 1, A=2, next=jobs + 1)
    last_expensive = checks.integer("last_expensive", last_expensive, 1, H)
    first_expensive = checks.integer("first_expensive", first_expensive, 1, last_expensive)
    S = jobs + 1
    states = np.arange(S)
    P = np.zeros((H, S, 2, S))
    P[:, states, 0, states] = 1.0
    for finished, probability in FINISHED:
        P[:, states, 1, np.maximum(states - finished, 0)] += probability
    r = np.ones((H, S, 2))
    r[:, :, 1] -= 0.2
    r[first_expensive - 1 : last_expensive, :, 1] = 0.1
    done = np.maximum(states[:, None] - states[None, :], 0) / 2.0  # (x - x')/2, by (x, x')
    g = np.broadcast_to(np.minimum(done, 1.0)[:, None, :], (1, H, S, 2, S))
    return TabularCMDP(P, r, g, checks.number("b", b), jobs, constraint_names=["jobs finished / 2"], share="transitions")
