"""Episodes that start from different states, as in the paper's appendix: each start state is a constrained problem of its own.

By default the start of an episode is drawn from the problem's mu and regret is against the optimum from mu. With ``starts`` the
first states x_1^k are a sequence: one state, a list used over and over, or ``"drawn"`` from mu; and episode k is measured
against its own start: regret Σ V*(x_1^k) − V_r(x_1^k), violation Σ b − V_g(x_1^k), where V*(x) is the optimum from x. The
learner's dual step is at V_g(x_1^k) in any case (Alg. 1, l. 16). Every start needs a strictly feasible policy.

One dual serves all starts, so b − V_g(x_1^k) changes sign with the start. The practical preset's damping takes that for a swing
and slows the dual down: with several starts give ``damping=False``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret import oracle
from noregret.errors import InputError
from noregret.problems.base import Array, TabularCMDP

DRAWN = "drawn"
NO_STARTS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Start:
    """What a run says of its problem, as averages over the starts."""

    value: float
    dual: Array
    slater_gap: float


@dataclass(frozen=True)
class Starts:
    """Which starts, and the best from each. ``problem`` has as mu how often each state is a start."""

    problem: TabularCMDP
    sequence: NDArray[np.int64]  # used over and over; empty for starts drawn from mu
    best: oracle.PerStart

    @property
    def optimum(self) -> Start:
        """Averages over the starts; the Slater gap is the smallest one."""
        weights = self.problem.mu[self.best.states]
        return Start(
            value=float(weights @ self.best.values[self.best.states]), dual=weights @ self.best.duals[self.best.states],
            slater_gap=float(self.best.slater_gaps[self.best.states].min()),
        )  # fmt: skip

    def tightened(self, zeta: float) -> float:
        """The average of V*(x) with b + ζ."""
        best = oracle.per_start(self.problem, tighten=zeta)
        return float(self.problem.mu[best.states] @ best.values[best.states])

    def of_block(self, k: int, u: Array) -> NDArray[np.int64]:
        """The first states of the episodes from k on (from 0), given the uniform of each."""
        if len(self.sequence):
            return self.sequence[(k + np.arange(len(u))) % len(self.sequence)]
        possible = np.flatnonzero(self.problem.mu)
        ends = np.cumsum(self.problem.mu[possible])
        return possible[np.minimum(np.searchsorted(ends, u, side="right"), len(possible) - 1)].astype(np.int64)


def resolve(problem: TabularCMDP, starts: Any) -> Starts | None:
    """What ``starts`` means: None, "drawn", a state, or a sequence of states."""
    if starts is None:
        return None
    sequence = NO_STARTS
    if isinstance(starts, str):
        if starts != DRAWN:
            raise InputError(f"starts is {starts!r}; expected 'drawn', a state, a sequence of states, or None")
    else:
        given = np.atleast_1d(np.asarray(starts))
        if given.ndim != 1 or not len(given) or not np.issubdtype(given.dtype, np.integer):
            raise InputError(f"starts has shape {given.shape} and type {given.dtype}; expected states, as integers")
        bad = (given < 0) | (given >= problem.n_states)
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(f"starts[{i}] is {given[i]}; expected 0..{problem.n_states - 1}")
        sequence = given.astype(np.int64)
        problem = problem.replace(mu=np.bincount(sequence, minlength=problem.n_states) / len(sequence))
    return Starts(problem, sequence, oracle.per_start(problem))


def tightened_value(problem: TabularCMDP, opt: oracle.Optimum | Start, zeta: float, starts: Starts | None = None) -> float:
    """V*(b+ζ); nan when ζ is beyond the Slater gap, so that no policy meets the tightened problem."""
    if zeta == 0.0:
        return opt.value
    if zeta > opt.slater_gap:
        return float("nan")
    return oracle.solve(problem, tighten=zeta).value if starts is None else starts.tightened(zeta)
