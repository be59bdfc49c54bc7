"""Runs: described as keys, handed to the one scheduler, read back from the store as results.

Trial t of seed s has two random streams, the world's and the learner's, spawned from (s, t); blocks draw their uniforms from
them: neither block size, threads, backends nor stops change a bit. The policy of every episode is evaluated exactly.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret import DEFAULT_LEARNER, oracle
from noregret._system import checks
from noregret._system.cores import available_cores
from noregret._system.progress import Progress
from noregret.errors import InputError, NoRegretError
from noregret.learners.base import Learner
from noregret.problems.continuous import Encoder
from noregret.results import Played, RunResult
from noregret.runs.backends.job import Context
from noregret.runs.choose import choose
from noregret.runs.execute import CHECKPOINT_SECONDS, Ending, curves_of, record
from noregret.runs.keys import Ask, StartsAsked, checked_length
from noregret.runs.prepare import Named, prepared
from noregret.runs.schedule import Summary, schedule
from noregret.runs.signals import StopSignal, stopping
from noregret.runs.start import check, notice, promised, start
from noregret.runs.supplies import ONLY_HERE
from noregret.store import MemoryStore, RunKey, Store, collect
from noregret.store.checkpoints import Checkpoint
from noregret.store.records import RunRecord

#: The record and the curves of a trial.
Part: TypeAlias = tuple[RunRecord, dict[str, NDArray[np.generic]]]

#: The folder with the runs, inside the folder of whatever they were played for.
RUNS = "runs"


@dataclass(frozen=True)
class How:
    """How to run: where runs are played, where they are kept, and what is shown meanwhile.

    Nothing in a ``How`` changes a number: runs of one :class:`~noregret.runs.Ask` have the same bits with any of them.

    Attributes:
        out: the folder that keeps the runs. The same call continues there after a stop or a crash. None: memory.
        fresh: whether ``out`` forgets these runs first, so that all of them are played again.
        backend: who plays: "threads", "processes", "ray" or "dask".
        address: the address of the Ray or Dask cluster. None: a cluster is started on this machine.
        workers: how many runs are played at once. None: one for each core.
        checkpoint_seconds: the time between two checkpoints of a run.
        loggers: who writes down a run while it is played: "csv", "tensorboard", or names that were registered.
        imports: the modules that other processes import before they play, such as those that register learners.
        progress: True for a bar, False for none, None for a bar on a terminal only, "log" for plain lines in a log file, or a
            function that is called with the number of episodes played so far.

    Example:
        >>> keys = Ask("random:S=3,A=2,H=2", "uniform", episodes=10, trials=2).keys()
        >>> sitting = play(keys, How(workers=1, progress=False))
        >>> sitting.finished(keys)
        True
    """

    out: Path | None = None
    fresh: bool = False
    backend: str = "threads"
    address: str | None = None
    workers: int | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    loggers: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    progress: Progress | Literal["log"] = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers is {self.workers}; expected a whole number, at least 1")


@dataclass
class Sitting:
    """What one call of :func:`play` left: the store with its runs, and how many of them were finished, stopped or failed."""

    store: Store
    summary: Summary
    signal: StopSignal = field(default_factory=StopSignal)  # the one that ended the call, if one did
    workers: int = 1

    @property
    def stopped(self) -> bool:
        """Whether some runs are neither finished nor failed."""
        return self.summary.left > 0

    def finished(self, keys: Sequence[RunKey]) -> bool:
        """Whether all of these runs are finished."""
        return all(self.store.has(key.id) for key in keys)

    def result(self, keys: Sequence[RunKey]) -> RunResult:
        """These trials as one result. Trials that were stopped are in it as far as they came."""
        parts = [part for key in keys if (part := self._part(key)) is not None]
        parts = parts or [_part_of(keys[0], None)]
        result = collect(keys[0], parts, len(keys))
        at_once, why = min(self.workers, len(keys)), choose(keys[0]).why  # another ask may have played the runs
        return replace(result, threads=at_once, seconds=result.seconds / at_once, explain=result.explain | why)

    def _part(self, key: RunKey) -> Part | None:
        if self.store.has(key.id):
            run = self.store.read(key.id)
            return run.record, run.curves()
        checkpoint = self.store.checkpoints(key.id).load()
        return None if checkpoint is None else _part_of(key, checkpoint)


def _part_of(key: RunKey, checkpoint: Checkpoint | None) -> Part:
    """The record and the curves of a run that is not finished: at its checkpoint, or at its beginning where that is None."""
    trial = start(key)
    if checkpoint is not None:
        trial.restore(*checkpoint)
    spent = {"seconds": 0.0 if checkpoint is None else checkpoint[2]["seconds"], "kernel_seconds": trial.seconds}
    return cast(RunRecord, record(trial) | spent), curves_of(trial)


def play(
    keys: Sequence[RunKey], how: How, *, tell: Callable[[RunKey, Ending], None] = lambda key, ending: None, **here: Any
) -> Sitting:
    """Play the runs that are not finished yet, and keep all of them.

    Ctrl-C or SIGTERM stops the runs and leaves a checkpoint of each; the same call with the same ``out`` continues them.

    Args:
        keys: the runs, as :meth:`Ask.keys` makes them.
        how: where the runs are played and kept.
        tell: a function that is called with each run that is finished or failed, and with its ending.
        here: ``block_size``, ``keep_policies``, ``raises`` and ``watch`` (:class:`~noregret.runs.execute.Settings`) and
            ``notice``, for runs in this process.

    Returns:
        The store with the runs, and how the call ended.

    Raises:
        InputError: something asked for cannot be played; nothing was played.
        FileError: the disk cannot be written; what is finished stays.
    """
    with _store(how) as store:
        if how.fresh:
            for key in keys:
                store.forget(key.id)
        unnamed = next((key for key in keys if (key.features_hash or "").startswith(ONLY_HERE)), None)
        if unnamed is not None and not isinstance(store, MemoryStore):
            raise InputError("features is a feature map without plain content; expected out=None and backend 'threads'")
        context = Context(
            store,
            how.workers or available_cores(),
            how.imports,
            how.address,
            checkpoint_seconds=how.checkpoint_seconds,
            loggers=how.loggers,
            **here,
        )
        with stopping(context.stop) as signal:
            summary = schedule(keys, context, how.backend, how.progress, tell)
        stays = isinstance(store, MemoryStore) or how.out is not None
        return Sitting(store if stays else _in_memory(store, keys), summary, signal, context.workers)


def kept_in(out: str | os.PathLike[str] | None) -> Path | None:
    """The folder with the runs inside the folder ``out`` of whatever they are played for; None for memory."""
    return None if out is None else checks.path("out", out, "a folder, or None to keep nothing") / RUNS


@contextmanager
def _store(how: How) -> Iterator[Store]:
    """The folder that was asked for, else memory; other processes cannot see memory and get a folder that is removed after."""
    if how.out is not None:
        yield Store(how.out)
    elif how.backend == "threads":
        yield MemoryStore()
    else:
        with tempfile.TemporaryDirectory(prefix="noregret-") as folder:
            yield Store(folder)


def _in_memory(store: Store, keys: Sequence[RunKey]) -> MemoryStore:
    memory = MemoryStore()
    for key in keys:
        if store.whole(key.id):
            run = store.read(key.id)
            memory.write(key, run.record, run.curves())
    return memory


def run(
    problem: Named,
    learner: str = DEFAULT_LEARNER,
    *,
    episodes: int,
    trials: int = 10,
    seed: int = 0,
    record_every: int = 100,
    preset: str = "practical",
    features: ArrayLike | Encoder | None = None,
    slater_gap: float | str | None = None,
    starts: StartsAsked = None,
    threads: int | None = None,
    block_size: int | None = None,
    progress: Progress = None,
    keep_policy: bool = False,
    out: str | Path | None = None,
    fresh: bool = False,
    backend: str = "threads",
    address: str | None = None,
    **params: object,
) -> RunResult:
    """Run a learner on a problem and measure its exact regret and violation.

    Args:
        problem: a name such as "job-scheduling", a path to an .npz, or a problem.
        learner: a name of ``learners.names()``, or "optimal" or "safest".
        episodes: K, the episodes of each trial.
        trials: independent repetitions, side by side on all cores.
        seed: the number that all randomness is drawn from.
        record_every: every so many episodes a point of the curves is recorded; the last episode always is.
        preset: which rule gives the learner its constants, such as "practical" or "theory".
        features: φ (S,A,d), or a feature map for states in R^D, in place of the problem's.
        slater_gap: what the learner is told of γ: a number, "oracle", or None.
        starts: first states, with regret against the best from each: a state, a sequence used over and over, or "drawn"
            (:mod:`noregret.oracle.starts`). By default they are drawn and regret is against the best from mu.
        threads: trials at once; all cores by default.
        block_size: episodes of a compiled block; chosen by the clock by default. Results do not depend on it.
        progress: whether a bar is shown; by default on a terminal. Or a function that is called with the number of episodes
            played so far, several times a second. A KeyboardInterrupt that this function raises is taken for Ctrl-C.
        keep_policy: keep the policies that were played, for ``result.policy()``; the curves do not depend on it.
        out: a folder that keeps the runs. After a stop or a crash the same call goes on from there. By default nothing is kept.
        fresh: whether ``out`` forgets these runs first.
        backend: "threads", "processes", "ray" or "dask".
        address: the Ray or Dask cluster; one on this machine by default.
        params: constants of the learner that override the preset's.

    Returns:
        The curves of all trials. After Ctrl-C some trials may be missing and the curves end early; ``complete`` is False then.

    Raises:
        InputError: something given cannot be used; nothing was run.

    Example:
        >>> import noregret as nr
        >>> result = nr.run("job-scheduling", episodes=200, trials=2, progress=False)
        >>> result.regret.shape
        (2, 2)
    """
    others = {"threads": threads, "block_size": block_size}
    length = checked_length(episodes, trials=trials, seed=seed, record_every=record_every, **others)
    ask = Ask(problem, learner, *length, preset, slater_gap, starts, features, params)
    keys = ask.keys()
    made = check(keys[0])  # what is wrong is said before anything is played
    if keep_policy:
        prepared(keys[0]).finite("keep_policy")
    if keep_policy and (starts is not None or out is not None or backend != "threads"):
        raise InputError("keep_policy is True; expected no starts, no out, and backend 'threads'")
    here: dict[str, Any] = {"block_size": block_size, "keep_policies": keep_policy, "raises": True, "notice": notice(made)}
    how = How(kept_in(out), fresh, backend, address, threads, progress=progress)
    sitting = play(keys, how, **(here if backend == "threads" else {}))
    for error in sitting.summary.failed.values():
        raise NoRegretError(error)
    if sitting.stopped and sitting.summary.episodes == 0:
        raise KeyboardInterrupt
    result = sitting.result(keys)
    return replace(result, played=_played(sitting, keys, made)) if keep_policy else result


def _played(sitting: Sitting, keys: Sequence[RunKey], learner: Learner) -> Played:
    """What ``result.policy()`` needs, with the exact values of each policy."""
    home = prepared(keys[0])
    problem = home.finite("keep_policy")
    parts = [part[1]["kept"] for key in keys if (part := sitting._part(key)) is not None]
    promise = promised(keys[0], learner)
    played = Played(np.stack(parts), problem.available, home.best(keys[0]).value, problem.b, promise)
    return played.valued(lambda policy: oracle.evaluate(problem, policy))
