"""From regret to a policy: what a run's policies amount to as one Markov policy, and how good it is.

The paper's PAC remark (paper.tex l. 344) draws one of the K played policies at random. That mixture has the values
(1/K) Σ_k V_j^{π_k}, and so has one Markov policy, that of the average occupancy (l. 944;
:mod:`noregret.kernels.worlds.played`). A regret of R and a signed violation of B then make it ε-optimal with

    ε_r = R/K,   ε_g = B/K,

so a bound on the sums is a promise on the policy. Regret of order √(d³H⁴K) needs d³H⁴/ε² episodes for an ε, that is
d³H⁵/ε² steps: one factor H more than the remark says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noregret._system.checks import integer
from noregret.errors import InputError, unknown_name
from noregret.kernels.worlds.played import ALL, LAST, POLICY, TAIL
from noregret.problems.base import Array
from noregret.problems.policies import markov_policy
from noregret.theory import Promise

Which = Literal["mixture", "last", "tail"]
WHICH: tuple[str, ...] = get_args(Which)
_ROW = {"mixture": ALL, "tail": TAIL, "last": LAST}


@dataclass(frozen=True)
class PolicyReport:
    """How good one policy of a run is, exactly, and what the theorem promises of the mixture.

    ``epsilon_reward`` = V* − V_r and ``epsilon_utility`` = max_i (b_i − V_{g_i}), negative where the policy is better than
    asked for. The ``promised`` ones are the bounds of ``theorem`` with C = 1, divided by K, and they say nothing (``vacuous``)
    from H on, which no policy can miss. Where no theorem covers the policy they are None, and ``unmet`` says which of its
    hypotheses is not met.
    """

    which: str
    trial: int | None
    V_r: float
    V_g: Array
    epsilon_reward: float
    epsilon_utility: float
    promised_reward: float | None
    promised_utility: float | None
    theorem: str | None
    unmet: str | None
    vacuous: bool


@dataclass(frozen=True)
class Played:
    """What the loop kept of the policies of each trial, and their exact values."""

    kept: Array  # (trials,4,H,S,A): see kernels.played
    available: NDArray[np.bool_]  # (H,S,A)
    optimal_value: float
    thresholds: Array  # (m,)
    promise: Promise | str  # or why there is none
    values: dict[tuple[str, int | None], Array] = field(default_factory=dict)  # V_r and V_g of each policy

    def valued(self, evaluate: Callable[[Array], tuple[float, Array]]) -> Played:
        """The same with the values of every policy, by the oracle."""
        values: dict[tuple[str, int | None], Array] = {}
        for which in WHICH:
            for trial in (None, *range(len(self.kept))):
                if self.has(which, trial):
                    V_r, V_g = evaluate(self.policy(which, trial))
                    values[which, trial] = np.concatenate([[V_r], V_g])
        return replace(self, values=values)

    def has(self, which: str, trial: int | None) -> bool:
        """Whether such episodes were played: a run that was stopped early has no last half."""
        return bool(self._rows(which, trial)[:, 0].any(axis=(1, 2)).all())

    def occupancy(self, which: str = "mixture", trial: int | None = None) -> Array:
        """The average occupancy (H,S,A) of the chosen policies; of all trials in equal parts when ``trial`` is None."""
        rows = self._rows(which, trial)
        counts = rows[:, :1].sum(axis=(2, 3), keepdims=True)
        if not (counts > 0.0).all():
            raise InputError(f"which is {which!r}; expected 'mixture' or 'last', for the run was stopped before its last half")
        return np.asarray((rows / counts).mean(axis=0))

    def policy(self, which: str = "mixture", trial: int | None = None) -> Array:
        """The Markov policy (H,S,A) of :meth:`occupancy`; the last one of one trial as it was played, in every state."""
        occupancy = self.occupancy(which, trial)
        if which == "last" and (trial is not None or len(self.kept) == 1):
            return np.array(self.kept[trial or 0, POLICY])
        return markov_policy(occupancy, self.available)

    def report(self, which: str = "mixture", trial: int | None = None) -> PolicyReport:
        """How good that policy is."""
        self.occupancy(which, trial)  # refuses what there is not
        V, H = self.values[which, trial], float(self.available.shape[0])
        promise = self._promise(which)
        short = float(self.optimal_value - V[0]), float((self.thresholds - V[1:]).max())
        values = (which, trial, float(V[0]), V[1:].copy(), *short)
        if isinstance(promise, str):
            return PolicyReport(*values, None, None, None, unmet=promise, vacuous=True)
        r, g = promise.regret / promise.K, promise.violation / promise.K
        return PolicyReport(*values, r, g, promise.theorem, unmet=None, vacuous=min(r, g) >= H)

    def _promise(self, which: str) -> Promise | str:
        """What is promised of that policy, or why nothing is."""
        if isinstance(self.promise, str):
            return self.promise
        played = round(float(self.kept[:, ALL, 0].sum(axis=(1, 2)).min()))
        if played < self.promise.K:
            return f"{played} of {self.promise.K} episodes were played, and {self.promise.theorem} is about all of them"
        return self.promise if which == "mixture" else f"{self.promise.theorem} is about the mixture of all policies"

    def _rows(self, which: str, trial: int | None) -> Array:
        if which not in _ROW:
            raise unknown_name("policy of a run", str(which), _ROW)
        n = len(self.kept)
        if trial is None:
            return self.kept[:, _ROW[which]]
        first = integer("trial", trial, 0, n - 1)
        return self.kept[first : first + 1, _ROW[which]]
