"""Episodes on a linear CMDP with states in R^D, and the exact regret of what was played.

The policies are evaluated by quadrature on the record grid of episodes: at every ``record_every``-th episode the values of
the policy it was played with stand for all episodes since the last record (all of them, when ``record_every`` is 1). A policy
that a learner kept from one record to the next is not evaluated again.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret import learners, linear_oracle
from noregret.errors import InputError
from noregret.kernels.world import draw_action
from noregret.learners.continuous import DensePrimalDualLSVI
from noregret.problems.base import Array
from noregret.problems.linear import LinearCMDP
from noregret.results import RunResult
from noregret.streams import streams


def run(
    problem: LinearCMDP,
    learner: str,
    *,
    episodes: int,
    trials: int,
    seed: int,
    record_every: int,
    preset: str,
    features: Any = None,
    slater_gap: float | str | None = None,
    progress: bool | None = None,
    cells: int | None = None,
    **params: Any,
) -> RunResult:
    """:func:`noregret.run` on a :class:`~noregret.problems.linear.LinearCMDP`, trials one after the other."""
    opt = linear_oracle.solve(problem, cells=cells)
    gap = opt.slater_gap if slater_gap == "oracle" else slater_gap
    if isinstance(gap, str):
        raise InputError(f"slater_gap is {slater_gap!r}; expected a number, 'oracle' or None")
    trace = Trace(problem, episodes, record_every, opt.value, cells)
    curves, begin = [], time.perf_counter()
    for trial in range(trials):
        made = learners.make(
            learner, problem.spec, episodes=episodes, preset=preset, features=features, slater_gap=gap, **params
        )
        assert isinstance(made, DensePrimalDualLSVI)
        if trial == 0 and (progress or (progress is None and sys.stderr.isatty())):
            print(f"this run needs at most {made.memory_bound() / 1e9:.2g} GB", file=sys.stderr)
        curves.append(trace.play(made, seed, trial))
    zeta = float(made.constants["zeta"])
    tightened = opt.value
    if zeta:
        within = zeta <= opt.slater_gap
        tightened = linear_oracle.solve(problem, zeta, cells=cells).value if within else float("nan")
    m, table = problem.n_constraints, np.stack(curves)
    seconds = time.perf_counter() - begin
    return RunResult(
        problem=problem.name, learner=learner, preset=preset, constants=dict(made.constants), explain=dict(made.explain),
        seed=seed, episodes=trace.grid, regret=table[:, :, 0], hard_regret=table[:, :, 1],
        violations=np.maximum(table[:, :, 2 : 2 + m], 0.0), hard_violations=table[:, :, 2 + m : 2 + 2 * m],
        dual=table[:, :, 2 + 2 * m :], optimal_value=opt.value, tightened_value=tightened, optimal_dual=opt.dual,
        slater_gap=opt.slater_gap, slater_gap_used=gap, episodes_requested=episodes, seconds=seconds, kernel_seconds=seconds,
        threads=1,
    )  # fmt: skip


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
