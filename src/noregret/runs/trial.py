"""One learner in one world: its random streams, its curves so far, and how they go to a checkpoint and come back.

A trial can stop after any episode. Its numbers follow from its key alone, so neither blocks nor stops change a bit of it. What
differs between the kinds of problems is how episodes are played; that is the one method a kind of trial has to bring.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from noregret._system.arrays import LARGEST, check_arrays
from noregret.errors import InputError, NoRegretError, NumericalError
from noregret.kernels.compiler.guests import uniforms_of
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.played import room
from noregret.kernels.worlds.world import draw_action
from noregret.learners.base import Learner
from noregret.learners.lsvi.vectors import ContinuousLearner
from noregret.oracle.quadrature import GridOracle
from noregret.oracle.starts import NO_STARTS, Starts
from noregret.problems.base import Array, Mask, TabularCMDP
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.registry import Problem
from noregret.runs.loop import block_for
from noregret.runs.streams import streams
from noregret.store import RunKey
from noregret.store.checkpoints import Numbers
from noregret.store.records import check_entries

#: Wall time a block should take: short enough to stop at once, long enough to be all kernel.
BLOCK_SECONDS = 0.1
#: Curves of more bytes than this are appended to, not written again at each checkpoint.
LONG_CURVES = 1 << 20

_compiling = threading.Lock()
_compiled: set[tuple[object, ...]] = set()


class Trial(ABC):
    """What trials on all kinds of problems share. A subclass plays episodes in ``_play``.

    ``curves`` (n, 2+3m) hold at each recorded episode: regret, hard regret, m signed and m hard violations, the dual; with a
    limit on every step, as the last column, the unsafe steps too.
    ``seconds`` is the time that the learner and the world took, without compilation and without evaluation by quadrature.
    """

    evaluated = "every episode"
    kept: Array | None = None

    def __init__(self, problem: Problem, learner: Learner, key: RunKey, V_star: float) -> None:
        self.problem, self.learner, self.key, self.V_star = problem, learner, key, V_star
        self.episodes, self.every = key.episodes, key.record_every
        self._draws = uniforms_of(learner._state)
        self.streams = streams(key.seed, key.trial, 3 if self._draws else 2)
        m = problem.n_constraints
        self.limit: float | None = getattr(problem, "step_limit", None)
        more = 0 if self.limit is None else 1
        self.sums = np.zeros(2 + 2 * m + more)
        self.curves = np.zeros((-(-self.episodes // self.every), 2 + 3 * m + more))
        self.k, self.seconds = 0, 0.0

    @property
    def recorded(self) -> int:
        """How many points of the curves are recorded."""
        return len(self.curves) if self.k == self.episodes else self.k // self.every

    def advance(self, n: int) -> None:
        """Play the next ``n`` episodes, or as many as are left."""
        self._play(min(n, self.episodes - self.k))

    def compile(self) -> None:
        """Compile everything that episodes need, so that compilation is not counted as time of the run."""
        with _compiling:
            self._play(0)

    def keep_policies(self) -> Array:
        """Also keep sums of the policies that are played, and return where. The curves do not change."""
        raise InputError(f"{self.problem.name} has no tables; policies are kept where there are finitely many states")

    @abstractmethod
    def _play(self, n: int) -> None:
        """Play ``n`` episodes: add what each lacks to the sums, and record the points that are due."""

    def blocks(self, size: int | None = None) -> Iterator[int]:
        """Play to the end in blocks of ``size`` episodes, by default of a tenth of a second; yields the episodes played."""
        n = size or 1
        while self.k < self.episodes:
            before = self.seconds
            self.advance(n)
            if size is None:
                spent = max(self.seconds - before, 1e-6)
                n = int(min(max(n * BLOCK_SECONDS / spent, n / 2, 1), n * 4, 50_000))
            yield self.k

    # --- to a checkpoint and back -----------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Numbers], dict[str, Any], dict[str, tuple[int, int]]]:
        """What a checkpoint keeps: arrays, JSON values, which arrays only grow (:meth:`noregret.store.Checkpoints.save`)."""
        arrays = {f"learner.{name}": array for name, array in self.learner.state().items()}
        arrays |= {"sums": self.sums, "curves": self.curves[: self.recorded]} | (
            {} if self.kept is None else {"kept": self.kept}
        )
        growing = {f"learner.{name}": grown for name, grown in self.learner.append_only().items()}
        if arrays["curves"].nbytes > LONG_CURVES:
            growing["curves"] = (0, self.recorded)
        drawn = [stream.bit_generator.state for stream in self.streams]
        return arrays, {"streams": drawn, "kernel_seconds": self.seconds}, growing

    def restore(self, k: int, arrays: Mapping[str, Numbers], meta: Mapping[str, Any]) -> None:
        """Continue from a checkpoint.

        Args:
            k: how many episodes were played.
            arrays: the arrays that :meth:`state` gave.
            meta: the JSON values that :meth:`state` gave.

        Raises:
            InputError: the checkpoint is not of such a trial.
        """
        check_entries(meta, {"streams": list, "kernel_seconds": float})
        if not 0 <= k <= self.episodes:
            raise InputError(f"the checkpoint is of episode {k}; expected 0 to {self.episodes}")
        mine = {"sums": self.sums, "curves": self.curves[: len(self.curves) if k == self.episodes else k // self.every]}
        if "kept" in arrays:
            mine["kept"] = self.keep_policies()
        check_arrays(mine, {name: arrays[name] for name in mine}, lambda name: (-LARGEST, LARGEST), "checkpoint")
        learned = {name.removeprefix("learner."): array for name, array in arrays.items() if name.startswith("learner.")}
        self.learner.restore(learned)
        for name, array in mine.items():
            array[...] = arrays[name]
        for stream, state in zip(self.streams, meta["streams"], strict=True):
            stream.bit_generator.state = state
        self.k, self.seconds = k, meta["kernel_seconds"]


class TableTrial(Trial):
    """A trial on finitely many states: compiled blocks, every policy evaluated exactly before it is played."""

    problem: TabularCMDP

    def __init__(
        self, problem: TabularCMDP, learner: Learner, key: RunKey, V_star: float, layout: worlds.CompiledWorld
    ) -> None:
        super().__init__(problem, learner, key, V_star)
        self.layout = layout
        self._starts: Starts | None = None
        self._best = np.array([V_star])
        self.scratch = worlds.scratch_for(layout)
        self._block: Callable[..., int] = block_for(learner._state)
        if not learner._state.policy.flags.c_contiguous:
            raise InputError(f"the policy of {learner.name} is not in C order; expected np.ascontiguousarray of it")

    def from_starts(self, starts: Starts) -> TableTrial:
        """Give each episode its first state; regret is then against the best policy from that state. Returns the trial."""
        self._starts, self._best = starts, starts.best.values
        self.layout = worlds.own_start(self.layout)  # the kernel writes each start into it
        return self

    def keep_policies(self) -> Array:
        """Also keep sums of the policies that are played, and return where. The curves do not change."""
        self.kept = room(self.problem.r.shape)
        return self.kept

    def _play(self, n: int) -> None:
        u = self.streams[0].random((n, worlds.world_width(self.problem)))
        v = self.streams[1].random((n, self.problem.horizon))
        z = self.streams[2].random((n, self._draws)) if self._draws else None
        first = NO_STARTS if self._starts is None else self._starts.of_block(self.k, u[:, 0])
        begin = time.perf_counter()
        bad = self._block(
            self.learner._state,
            self.layout,
            self.scratch,
            u,
            v,
            z,
            self.k,
            self.episodes,
            self.every,
            first,
            self._best,
            self.problem.b,
            self.sums,
            self.curves,
            self.kept,
            self.limit,
        )
        if n == 0:
            return
        self.seconds += time.perf_counter() - begin
        self.learner._planned = False
        if bad >= 0:
            raise self._diagnose(bad)
        self.k += n

    def _diagnose(self, episode: int) -> NoRegretError:
        """Name the first entry of the policy that makes it none, or the first quantity of the learner that is not finite."""
        who = f"{self.learner.name} on {self.problem.name}, trial {self.key.trial}, episode {episode + 1}"
        if (wrong := wrong_policy(self.learner._state.policy, self.problem.available)) is not None:
            return InputError(f"{who}: {wrong}")
        where = "the policy's value"
        made_by_plan = ("Q", "V", "policy")
        for key, array in sorted(self.learner.state().items(), key=lambda item: item[0].rpartition(".")[2] in made_by_plan):
            bad = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(0, dtype=bool)
            if bad.any():
                index = [int(i) for i in np.argwhere(bad)[0]]
                where = f"{key}{index} = {array[tuple(index)]}"
                break
        return NumericalError(f"{who}: not finite: {where}")


def wrong_policy(policy: Array, available: Mask) -> str | None:
    """Say where the probabilities of a policy (H,S,A) are negative, do not sum to 1, or take an action that is not there.

    Args:
        policy: the table, all of its entries finite; else None is returned.
        available: (H,S,A) which actions exist.
    """
    if not np.isfinite(policy).all():
        return None
    sums = policy.sum(axis=2)
    faults = (policy < 0.0, (policy > 0.0) & ~available, np.broadcast_to(np.abs(sums - 1.0)[..., None] > 1e-6, policy.shape))
    said = ("is negative", "belongs to an action that is not available", "is in a row that sums to {:.6g}")
    for fault, words in zip(faults, said, strict=True):
        if fault.any():
            h, s, a = (int(i) for i in np.argwhere(fault)[0])
            told = f"policy[{h}, {s}, {a}] = {policy[h, s, a]:.6g} {words.format(sums[h, s])}"
            return f"{told} (step {h}, state {s}); expected probabilities of available actions that sum to 1"
    return None


class LinearTrial(Trial):
    """A trial on a linear CMDP with states in R^D.

    Every plan is evaluated by quadrature before it is played; episodes played with one plan have its values. With the parameter
    ``evaluate="records"`` only the policies of recorded episodes are, and each stands for all episodes since the last record:
    faster where every episode is planned, and regret comes out too small while the learner improves.
    """

    problem: LinearCMDP
    learner: ContinuousLearner

    def __init__(self, problem: LinearCMDP, learner: ContinuousLearner, key: RunKey, V_star: float, truth: GridOracle) -> None:
        super().__init__(problem, learner, key, V_star)
        self.truth, self._all = truth, key.told.get("evaluate") != "records"
        self.evaluated = "every plan" if self._all else "at records"
        self._values, self._plan = np.zeros(1 + problem.n_constraints), -1

    def compile(self) -> None:
        """Compile by playing an episode and taking it back, the first time that a process meets features of these sizes."""
        sizes = (type(self.learner), self.learner.map.rows, self.learner.map.width, self.learner.map.blocks)
        with _compiling:
            if self.k == 0 and sizes not in _compiled:
                arrays, meta, _ = self.state()
                before = {name: array.copy() for name, array in arrays.items()}
                self._play(1)
                self.restore(0, before, meta)
                self._plan = -1
                _compiled.add(sizes)

    def _play(self, n: int) -> None:
        for _ in range(n):
            done = self.k + 1
            recorded = done % self.every == 0 or done == self.episodes
            begin = time.thread_time()
            if recorded or self._all:
                view = self.learner.current()
                self.seconds += time.thread_time() - begin
                if self._plan != self.learner.replans:
                    self._values, self._plan = np.append(*self.truth.evaluate(view)), self.learner.replans
                begin = time.thread_time()
            self._episode()
            self.seconds += time.thread_time() - begin
            self.k = done
            if recorded or self._all:
                self._add(1 if self._all else done - (done - 1) // self.every * self.every)
            if recorded:
                self.curves[(done - 1) // self.every] = np.concatenate([self.sums, self.learner.dual])

    def _episode(self) -> None:
        """Play one episode and learn from it."""
        p, learner = self.problem, self.learner
        view = learner.current()
        u, v = self.streams[0].random((p.horizon, p.uniforms)), self.streams[1].random(p.horizon)
        phi = np.empty((p.horizon + 1, p.n_actions, p.features.dimension))
        same = learner.map is p.features
        rows = phi if same else np.empty((p.horizon + 1, learner.map.rows, learner.map.width))
        actions, observed = np.empty(p.horizon, dtype=np.int64), np.empty((p.horizon, 1 + p.n_constraints))
        x = p.start
        for h in range(p.horizon):
            phi[h] = p.features.encode(x[None])[0]
            if not same:
                rows[h] = learner.encode(h, x)
            a = actions[h] = draw_action(view.at(h, rows[h : h + 1])[0][None], 0, 0, v[h])
            x, observed[h] = p.step(h, phi[h, a], u[h])
        if learner.shares:
            rows[-1] = learner.encode(p.horizon, x)
        learner.observe_rows(rows if learner.shares else rows[:-1], actions, observed)

    def _add(self, n: int) -> None:
        """Add what the policy just played lacks, for n episodes."""
        values = self._values
        lack = np.concatenate([[self.V_star - values[0]], self.problem.b - values[1:]])
        self.sums += n * np.concatenate([lack[:1], np.maximum(lack[:1], 0.0), lack[1:], np.maximum(lack[1:], 0.0)])
