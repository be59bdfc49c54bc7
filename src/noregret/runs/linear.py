"""Episodes on a linear CMDP with states in R^D, and the exact regret of what was played.

The policies are evaluated by quadrature on the record grid of episodes: at every ``record_every``-th episode the values of
the policy it was played with stand for all episodes since the last record (all of them, when ``record_every`` is 1). A policy
that a learner kept from one record to the next is not evaluated again.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret import learners
from noregret.errors import InputError
from noregret.kernels.world import draw_action
from noregret.learners.continuous import DensePrimalDualLSVI
from noregret.oracle import quadrature as linear_oracle
from noregret.problems.base import Array
from noregret.problems.linear_continuous import LinearCMDP
from noregret.runs.streams import streams


def make_learner(
    problem: LinearCMDP,
    name: str,
    opt: linear_oracle.LinearOptimum,
    *,
    episodes: int,
    slater_gap: float | str | None = None,
    **options: Any,
) -> DensePrimalDualLSVI:
    """A learner for a problem whose optimum is known."""
    if isinstance(slater_gap, str):
        if slater_gap != "oracle":
            raise InputError(f"slater_gap is {slater_gap!r}; expected a number, 'oracle' or None")
        slater_gap = opt.slater_gap
    made = learners.make(name, problem.spec, episodes=episodes, slater_gap=slater_gap, **options)
    if not isinstance(made, DensePrimalDualLSVI):
        raise InputError(f"learner {name!r} does not know states in R^D; {problem.name} has such states")
    return made


def tightened_value(problem: LinearCMDP, opt: linear_oracle.LinearOptimum, zeta: float, cells: int | None = None) -> float:
    """V*(b+ζ); nan when ζ is beyond the Slater gap."""
    if zeta == 0.0:
        return opt.value
    return linear_oracle.solve(problem, zeta, cells=cells).value if zeta <= opt.slater_gap else float("nan")


class Trace:
    """Plays learners and records (n, 2+3m): regret, hard regret, signed and hard violations, the dual."""

    def __init__(self, problem: LinearCMDP, episodes: int, every: int, V_star: float, cells: int | None = None) -> None:
        self.problem, self.episodes, self.every, self.V_star = problem, episodes, every, V_star
        self.quadrature = linear_oracle.quadrature(problem, cells)
        n = -(-episodes // every)
        self.grid: NDArray[np.int64] = np.minimum((np.arange(n) + 1) * every, episodes)
        self.seconds: Array = np.zeros(n)  # learning and acting, without the evaluation

    def play(self, learner: DensePrimalDualLSVI, seed: int, trial: int) -> Array:
        """All episodes of a trial; ``seconds`` are the CPU seconds of the learner up to each record."""
        played = LinearTrial(self, learner, seed, trial)
        for row, last in enumerate(self.grid):
            played.advance(int(last) - played.k)
            self.seconds[row] = played.seconds
        return played.curves

    def episode(self, learner: DensePrimalDualLSVI, world: np.random.Generator, own: np.random.Generator) -> None:
        """Play one episode and learn from it."""
        p, view = self.problem, learner.current()
        u, v = world.random((p.horizon, p.uniforms)), own.random(p.horizon)
        phi = np.empty((p.horizon, p.n_actions, p.features.dimension))
        same = learner.map is p.features
        rows = phi if same else np.empty((p.horizon, learner.map.rows, learner.map.width))
        actions, observed = np.empty(p.horizon, dtype=np.int64), np.empty((p.horizon, 1 + p.n_constraints))
        x = p.start
        for h in range(p.horizon):
            phi[h] = p.features.encode(x[None])[0]
            if not same:
                rows[h] = learner.encode(h, x)
            a = actions[h] = draw_action(view.at(h, rows[h : h + 1])[0][None], 0, 0, v[h])
            x, observed[h] = p.step(h, phi[h, a], u[h])
        learner.observe_rows(rows, actions, observed)


class LinearTrial:
    """One learner on one linear CMDP with its curves so far; it can stop after any episode, as a trial of the runner can."""

    def __init__(self, trace: Trace, learner: DensePrimalDualLSVI, seed: int, index: int) -> None:
        self.trace, self.problem, self.learner, self.seed, self.index = trace, trace.problem, learner, seed, index
        self.episodes, self.every = trace.episodes, trace.every
        self.k, self.seconds = 0, 0.0
        m = self.problem.n_constraints
        self.streams = streams(seed, index)
        self.sums, self.curves = np.zeros(2 + 2 * m), np.zeros((len(trace.grid), 2 + 3 * m))
        self._values, self._plan = np.zeros(1 + m), -1
        self.keep_policy, self.notes = False, dict[str, float]()

    @property
    def notice(self) -> str:
        """What a user should know before the run begins."""
        return f"this run needs at most {self.learner.memory_bound() / 1e9:.2g} GB"

    def let_go(self) -> None:
        """Keep what the learner has to say and forget the rest; nothing more can be played."""
        self.notes = self.learner.notes()
        del self.learner._state

    @property
    def recorded(self) -> int:
        """How many points of the grid are behind us."""
        return len(self.curves) if self.k == self.episodes else self.k // self.every

    def advance(self, n: int) -> None:
        """Play the next ``n`` episodes (or as many as are left); ``seconds`` leaves the evaluation out."""
        for _ in range(min(n, self.episodes - self.k)):
            done = self.k + 1
            recorded = done % self.every == 0 or done == self.episodes
            begin = time.thread_time()
            if recorded:
                view = self.learner.current()
                self.seconds += time.thread_time() - begin
                if self._plan != self.learner.replans:
                    self._values, self._plan = self.trace.quadrature.values(view.chances), self.learner.replans
                begin = time.thread_time()
            self.trace.episode(self.learner, *self.streams)
            self.seconds += time.thread_time() - begin
            self.k = done
            if recorded:
                self._record((done - 1) // self.every)

    def _record(self, row: int) -> None:
        """The values of the policy just played stand for all episodes since the last record."""
        n, V_star, values = self.k - row * self.every, self.trace.V_star, self._values
        lack = np.concatenate([[V_star - values[0]], self.problem.b - values[1:]])
        self.sums += n * np.concatenate([lack[:1], np.maximum(lack[:1], 0.0), lack[1:], np.maximum(lack[1:], 0.0)])
        self.curves[row] = np.concatenate([self.sums, self.learner.dual])
