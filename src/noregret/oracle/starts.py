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
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError
from noregret.oracle.base import Optimum
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.validation import refuse

if TYPE_CHECKING:
    from noregret.oracle.tables import TableOracle

DRAWN = "drawn"
NO_STARTS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PerStart:
    """The optimum from each of ``states``: values (S,), duals (S,m), slater_gaps (S,); entries of other states are nan."""

    states: NDArray[np.int64]
    values: Array
    duals: Array
    slater_gaps: Array


@dataclass(frozen=True)
class Starts:
    """The first states of the episodes, and what is best from each. In the problem of ``truth``, mu is how often each comes."""

    truth: TableOracle
    sequence: NDArray[np.int64]  # used over and over; empty for starts drawn from mu

    @property
    def problem(self) -> TabularCMDP:
        """The problem; its mu says how often each state is a start."""
        return self.truth.problem

    @cached_property
    def best(self) -> PerStart:
        """The optimum from each start."""
        return self.truth.per_start()

    @cached_property
    def optimum(self) -> Optimum:
        """Value and dual as averages over the starts; the Slater gap is the smallest of any start."""
        return self._average(self.best)

    def solve(self, tighten: float = 0.0) -> Optimum:
        """Find the same averages for the thresholds b + ``tighten``."""
        return self._average(self.truth.per_start(tighten))

    def _average(self, best: PerStart) -> Optimum:
        weights = self.problem.mu[best.states]
        return Optimum(
            float(weights @ best.values[best.states]),
            weights @ best.duals[best.states],
            float(best.slater_gaps[best.states].min()),
        )

    def of_block(self, k: int, u: Array) -> NDArray[np.int64]:
        """Give the first states of the episodes k, k+1, ... (counted from 0), one for each uniform in ``u``."""
        if len(self.sequence):
            return self.sequence[(k + np.arange(len(u))) % len(self.sequence)]
        possible = np.flatnonzero(self.problem.mu)
        ends = np.cumsum(self.problem.mu[possible])
        return possible[np.minimum(np.searchsorted(ends, u, side="right"), len(possible) - 1)].astype(np.int64)


def resolve(truth: TableOracle, starts: object) -> Starts | None:
    """Turn the user's ``starts`` (None, "drawn", a state, or a sequence of states) into first states of episodes.

    Raises:
        InputError: ``starts`` is none of these, or names a state that the problem does not have.
    """
    if starts is None:
        return None
    problem = truth.problem
    if isinstance(starts, str):
        if starts != DRAWN:
            raise InputError(f"starts is {starts!r}; expected 'drawn', a state, a sequence of states, or None")
        return Starts(truth, NO_STARTS)
    states = np.atleast_1d(np.asarray(starts))
    if states.ndim != 1 or not len(states) or not np.issubdtype(states.dtype, np.integer):
        raise InputError(f"starts has shape {states.shape} and type {states.dtype}; expected states, as integers")
    refuse("starts", (states < 0) | (states >= problem.n_states), states, f"0..{problem.n_states - 1}")
    sequence = states.astype(np.int64)
    mu = np.bincount(sequence, minlength=problem.n_states) / len(sequence)
    return Starts(type(truth)(problem.replace(mu=mu)), sequence)
