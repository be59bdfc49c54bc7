"""Runs: trials side by side, a compiled block of episodes at a time, one seed for everything.

Trial t of seed s has two random streams, the world's and the learner's, spawned from (s, t); blocks draw their uniforms from
them: neither block size, threads nor trials change a bit. The policy of every episode is evaluated exactly before it is played.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from noregret import learners, oracle, theory
from noregret._system.progress import Progress, bar
from noregret.errors import InputError, NumericalError
from noregret.kernels import world as worlds
from noregret.kernels.played import room
from noregret.learners.base import Learner
from noregret.learners.fixed import FixedPolicy
from noregret.oracle import quadrature as linear_oracle
from noregret.oracle.starts import NO_STARTS, Start, Starts, resolve, tightened_value
from noregret.problems.base import TabularCMDP
from noregret.problems.checks import policy_table
from noregret.problems.linear_continuous import LinearCMDP
from noregret.results import Played, RunResult, named_curves, record_grid
from noregret.runs import linear as linear_runner
from noregret.runs.limits import check_length
from noregret.runs.loop import block_for
from noregret.runs.streams import streams

#: Policies that the runner builds from the oracle; not learners.
FIXED_POLICIES = ("optimal", "safest")

#: What the runner itself tells the learners that must be told.
TELLS = ("reward", "utilities")

#: Wall time a block should take: short enough to stop at once, long enough to be all kernel.
BLOCK_SECONDS = 0.1


@dataclass
class Trial:
    """One learner in one world, with its two random streams and its curves so far; ``advance`` it by any number of episodes."""

    problem: TabularCMDP
    world: worlds.World
    learner: Learner
    seed: int
    index: int
    episodes: int
    every: int
    V_star: float
    keep_policy: bool = False
    starts: Starts | None = None
    k: int = 0
    seconds: float = 0.0
    notes: dict[str, float] = field(default_factory=dict)
    _block: Callable[..., int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        m = self.problem.n_constraints
        self.streams = streams(self.seed, self.index)
        self._best = np.array([self.V_star]) if self.starts is None else self.starts.best.values
        if self.starts is not None:  # the kernel writes each start into the world
            self.world = worlds.own_start(self.world)
        self.sums = np.zeros(2 + 2 * m)
        self.curves = np.zeros((-(-self.episodes // self.every), 2 + 3 * m))
        self.kept = room(self.problem.r.shape) if self.keep_policy else None
        self.scratch = worlds.scratch_for(self.world)
        self._block = block_for(self.learner._state)
        if not self.learner._state.policy.flags.c_contiguous:
            raise InputError(f"the policy of {self.learner.name} is not in C order; expected np.ascontiguousarray of it")

    def advance(self, n: int) -> None:
        """Play the next ``n`` episodes (or as many as are left)."""
        n = min(n, self.episodes - self.k)
        u = self.streams[0].random((n, worlds.world_width(self.problem)))
        v = self.streams[1].random((n, self.problem.horizon))
        first = NO_STARTS if self.starts is None else self.starts.of_block(self.k, u[:, 0])
        begin = time.perf_counter()
        bad = self._block(
            self.learner._state, self.world, self.scratch, u, v, self.k, self.episodes, self.every, first, self._best,
            self.problem.b, self.sums, self.curves, self.kept,
        )  # fmt: skip
        self.seconds += time.perf_counter() - begin
        self.learner._planned = False
        if bad >= 0:
            raise self._diagnose(bad)
        self.k += n

    @property
    def notice(self) -> str:
        """What a user should know before the run begins."""
        return ""

    def let_go(self) -> None:
        """Keep what the learner has to say and forget its tables; nothing more can be played."""
        self.notes = self.learner.notes()
        del self.learner._state

    @property
    def recorded(self) -> int:
        """How many points of the grid are behind us."""
        return len(self.curves) if self.k == self.episodes else self.k // self.every

    def _diagnose(self, episode: int) -> NumericalError:
        """Name the first quantity of the learner that is not finite; what a plan makes of the others comes last."""
        where = "the policy's value"
        for key, array in sorted(self.learner.state().items(), key=lambda item: item[0] in ("Q", "V", "policy", "target")):
            bad = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(0, dtype=bool)
            if bad.any():
                index = [int(i) for i in np.argwhere(bad)[0]]
                where = f"{key}{index} = {array[tuple(index)]}"
                break
        return NumericalError(
            f"{self.learner.name} on {self.problem.name}, trial {self.index}: not finite at episode {episode + 1}: {where}"
        )


#: A trial in a world with finitely many states, or with states in R^D.
AnyTrial: TypeAlias = Trial | linear_runner.LinearTrial


def make_learner(
    problem: TabularCMDP,
    name: str,
    opt: oracle.Optimum | Start,
    *,
    episodes: int,
    slater_gap: float | str | None = None,
    **options: Any,
) -> Learner:
    """A learner for a problem whose optimum is known, or one of :data:`FIXED_POLICIES`."""
    if name in FIXED_POLICIES:
        if isinstance(opt, Start):
            raise InputError(f"learner is {name!r}; with starts the best policy depends on the start")
        policy = opt.policy if name == "optimal" else oracle.safest(problem)
        fixed = FixedPolicy(problem.spec, policy, episodes)
        fixed.name = name  # type: ignore[misc]
        return fixed
    if isinstance(slater_gap, str):
        if slater_gap != "oracle":
            raise InputError(f"slater_gap is {slater_gap!r}; expected a number, 'oracle' or None")
        slater_gap = opt.slater_gap
    if isinstance(options.get("safe_policy"), str):
        if options["safe_policy"] != "safest":
            raise InputError(f"safe_policy is {options['safe_policy']!r}; expected an array (H,S,A), 'safest' or None")
        options["safe_policy"] = oracle.safest(problem)
    if options.get("safe_policy") is not None and isinstance(opt, Start) and (problem.mu > 0.0).sum() > 1:
        raise InputError("starts has several states; with a safe_policy expected one: only the mean over starts is certified")
    for key in filter(learners.get(name).told.__contains__, TELLS):
        if key in options:
            raise InputError(f"{key} is given; {name} is told the problem's own: leave it out")
        options[key] = problem.r if key == "reward" else problem.g
    return learners.make(name, problem.spec, episodes=episodes, slater_gap=slater_gap, **options)


def run(
    problem: TabularCMDP | LinearCMDP,
    learner: str = "primal-dual-lsvi",
    *,
    episodes: int,
    trials: int = 10,
    seed: int = 0,
    record_every: int = 100,
    preset: str = "practical",
    features: Any = None,
    slater_gap: float | str | None = None,
    starts: Any = None,
    threads: int | None = None,
    block_size: int | None = None,
    progress: Progress = None,
    keep_policy: bool = False,
    **params: Any,
) -> RunResult:
    """Run a learner and measure its exact regret and violation.

    Args:
        problem: the world.
        learner: a name of ``learners.names()``, or "optimal" or "safest".
        episodes: K.
        trials: independent repetitions, side by side on all cores.
        seed: one number for all randomness.
        record_every: distance of the recorded episodes; the last one is always recorded.
        preset: where the learner's constants come from.
        features: φ (S,A,d), or a feature map for states in R^D, in place of the problem's.
        slater_gap: what the learner is told of γ: a number, "oracle", or None.
        starts: first states, with regret against the best from each: a state, a sequence used over and over, or "drawn"
            (:mod:`noregret.oracle.starts`). By default they are drawn and regret is against the best from mu.
        threads: trials run at once; all cores by default.
        block_size: episodes of a compiled block; chosen by the clock by default. Results do not depend on it.
        progress: show a progress bar; by default when standard error is a terminal. Or a function that is called with the
            number of episodes that are done, several times a second; a KeyboardInterrupt it raises is as Ctrl-C.
        keep_policy: keep the policies that were played, for ``result.policy()``; the curves do not depend on it.
        params: constants of the learner that override the preset's.

    Returns:
        The curves. After Ctrl-C, as many trials, as far, as make the largest table: then ``complete`` is False.
    """
    check_length(episodes, trials=trials, seed=seed, record_every=record_every, threads=threads, block_size=block_size)
    if keep_policy and isinstance(problem, LinearCMDP):
        raise InputError("keep_policy is True; expected False on a linear CMDP, whose policies are not tables")
    if starts is not None and (keep_policy or isinstance(problem, LinearCMDP)):
        raise InputError("starts is given; expected a problem with finitely many states, and keep_policy False")
    options = {"preset": preset, "features": features, "slater_gap": slater_gap, **params}
    length = (int(episodes), int(record_every), int(seed))
    if isinstance(problem, LinearCMDP):
        threads, plan = 1, _on_linear(problem, learner, *length, options)
    else:
        threads, plan = threads or available_cores(), _on_tables(problem, learner, *length, options, starts, bool(keep_policy))
    first = plan.start(0)
    tightened = plan.tightened(first.learner.constants.get("zeta", 0.0))
    finished, seconds = _play_all(plan.start, first, trials, min(trials, threads), block_size, progress)
    return _collect(finished, plan.opt, tightened, options, int(episodes), trials, seconds, min(trials, threads))


class _Plan(NamedTuple):
    """What a run on a kind of problem needs."""

    opt: Any  # the optimum
    start: Callable[[int], AnyTrial]  # a trial before its first episode
    tightened: Callable[[float], float]  # V*(b+ζ)


def _on_tables(
    problem: TabularCMDP,
    learner: str,
    episodes: int,
    every: int,
    seed: int,
    options: dict[str, Any],
    starts: Any,
    keep_policy: bool,
) -> _Plan:
    begins = resolve(problem, starts)
    world_problem = problem if begins is None else begins.problem
    opt = oracle.solve(problem) if begins is None else begins.optimum
    world = worlds.compile_world(world_problem)
    safe = options.get("safe_policy")
    if safe is not None and not isinstance(safe, str):
        utilities = oracle.evaluate(world_problem, policy_table(safe, problem.available, "safe_policy"))[1]
        for i in np.flatnonzero(utilities < problem.b - 1e-9):
            told = f"its utility {problem.constraint_names[i]!r} is {utilities[i]:.6g}, below {problem.b[i]:.6g}"
            warnings.warn(f"safe_policy is not safe: {told}", stacklevel=3)

    def start(index: int) -> Trial:
        made = make_learner(world_problem, learner, opt, episodes=episodes, **options)
        return Trial(world_problem, world, made, seed, index, episodes, every, opt.value, keep_policy, begins)

    return _Plan(opt, start, lambda zeta: tightened_value(world_problem, opt, zeta, begins))


def _on_linear(problem: LinearCMDP, learner: str, episodes: int, every: int, seed: int, options: dict[str, Any]) -> _Plan:
    cells = options.pop("cells", None)
    opt = linear_oracle.solve(problem, cells=cells)
    trace = linear_runner.Trace(problem, episodes, every, opt.value, cells)

    def start(index: int) -> linear_runner.LinearTrial:
        made = linear_runner.make_learner(problem, learner, opt, episodes=episodes, **options)
        return linear_runner.LinearTrial(trace, made, seed, index)

    return _Plan(opt, start, lambda zeta: linear_runner.tightened_value(problem, opt, zeta, cells))


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks(trial: AnyTrial, size: int | None = None) -> Iterator[int]:
    """Play a trial to its end, a block at a time; gives its episode after each. Without ``size`` the clock chooses."""
    n = size or 64
    while trial.k < trial.episodes:
        before = trial.seconds
        trial.advance(n)
        if size is None:
            spent = max(trial.seconds - before, 1e-6)
            n = int(min(max(n * BLOCK_SECONDS / spent, n / 2, 1), n * 4, 50_000))
        yield trial.k


def _play_all(
    start: Callable[[int], AnyTrial],
    first: AnyTrial,
    trials: int,
    threads: int,
    block_size: int | None,
    progress: Progress,
) -> tuple[list[AnyTrial], float]:
    """Play all trials, ``threads`` at a time; a trial is made when its turn comes and its learner let go when it is done.

    The seconds given back do not count the compilation.
    """
    started: dict[int, AnyTrial] = {0: first}
    stop = threading.Event()
    begin = time.perf_counter()

    def play(index: int) -> None:
        trial = first if index == 0 else started.setdefault(index, start(index))
        if not stop.is_set():
            for _ in blocks(trial, block_size):
                if stop.is_set():
                    break
        trial.let_go()

    with bar(trials * first.episodes, progress, first.notice) as show:
        try:
            first.advance(1)  # compiles, or loads the compiled code, before threads wait for it
            first.seconds, begin = 0.0, time.perf_counter()
            show(1)
            with ThreadPoolExecutor(threads) as pool:
                turns = iter(range(trials))
                waiting = {pool.submit(play, index) for index in islice(turns, threads)}
                try:
                    while waiting:
                        done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                        waiting |= {pool.submit(play, index) for index in islice(turns, len(done))}
                        for future in done:
                            future.result()
                        show(sum(trial.k for trial in list(started.values())))
                except BaseException:
                    stop.set()
                    pool.shutdown(wait=False, cancel_futures=True)  # trials that wait for their turn do not begin
                    raise
        except KeyboardInterrupt:
            if first.k == 0:
                raise
    return [started[index] for index in sorted(started)], time.perf_counter() - begin


def _collect(
    finished: list[AnyTrial],
    opt: Any,
    tightened: float,
    options: dict[str, Any],
    episodes: int,
    trials: int,
    seconds: float,
    threads: int,
) -> RunResult:
    """Lay the trials' curves side by side; after Ctrl-C as many trials, as far, as make the largest table."""
    first = finished[0]
    m = first.problem.n_constraints
    lengths = [trial.recorded for trial in finished]
    n = max(lengths, key=lambda length: length * sum(other >= length for other in lengths))
    finished = [trial for trial in finished if trial.recorded >= n]
    curves = np.stack([trial.curves[:n] for trial in finished])
    grid = record_grid(n, first.every, episodes)
    gap = options["slater_gap"]
    named = named_curves(curves, m)
    signed = named.pop("signed_violations")
    return RunResult(
        problem=first.problem.name, learner=first.learner.name, preset=first.learner.preset,
        constants=dict(first.learner.constants), explain=dict(first.learner.explain), seed=first.seed, episodes=grid,
        violations=np.maximum(signed, 0.0), **named, optimal_value=opt.value,
        tightened_value=tightened, optimal_dual=np.array(opt.dual), slater_gap=opt.slater_gap,
        slater_gap_used=opt.slater_gap if gap == "oracle" else gap, episodes_requested=episodes,
        trials_requested=trials, seconds=seconds,
        kernel_seconds=sum(trial.seconds for trial in finished), threads=threads, played=_played(finished, opt, options),
        notes={key: np.array([trial.notes[key] for trial in finished]) for key in first.notes},
    )  # fmt: skip


def _played(finished: list[AnyTrial], opt: Any, options: dict[str, Any]) -> Played | None:
    """What ``result.policy()`` needs, with the exact values of each policy; None unless the policies were kept."""
    on_tables = [trial for trial in finished if isinstance(trial, Trial) and trial.keep_policy]
    if not on_tables:
        return None
    first = on_tables[0]
    problem, spec, c = first.problem, first.learner.spec, first.learner.constants
    promised = None
    if first.learner.name == "primal-dual-lsvi":
        d = spec.dimension if options["features"] is None else np.shape(options["features"])[2]
        promised = theory.promise(
            d=d, H=spec.horizon, K=first.episodes, A=spec.n_actions, xi=c["xi"], zeta=c["zeta"], slater_gap=opt.slater_gap
        )
    kept = np.stack([trial.kept for trial in on_tables if trial.kept is not None])
    played = Played(kept, problem.available, opt.value, problem.b, promised)
    return played.valued(lambda policy: oracle.evaluate(problem, policy))
