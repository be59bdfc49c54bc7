"""Runs: described as keys, handed to the one scheduler, read back from the store as results.

Trial t of seed s has two random streams, the world's and the learner's, spawned from (s, t); blocks draw their uniforms from
them: neither block size, threads, backends nor stops change a bit. The policy of every episode is evaluated exactly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from noregret import DEFAULT_LEARNER
from noregret._system.cores import available_cores
from noregret._system.progress import Progress
from noregret.errors import InputError, NoRegretError
from noregret.features import is_linear
from noregret.results import Played, RunResult
from noregret.runs.backends.job import Context
from noregret.runs.execute import CHECKPOINT_SECONDS, Ending, curves_of, record
from noregret.runs.keys import Ask
from noregret.runs.limits import check_length
from noregret.runs.prepare import prepared
from noregret.runs.schedule import Summary, schedule
from noregret.runs.signals import Wish, stopping
from noregret.runs.supplies import ONLY_HERE
from noregret.runs.trial import Trial
from noregret.store import MemoryStore, RunKey, Store, collect

#: The folder with the runs, inside the folder of whatever they were played for.
RUNS = "runs"


@dataclass(frozen=True)
class How:
    """Where runs are played and kept; nothing here changes a number.

    Attributes:
        out: the folder that keeps the runs, so that they survive; None for memory.
        fresh: whether what ``out`` has of these runs is forgotten first.
        backend: "threads", "processes", "ray" or "dask".
        address: the Ray or Dask cluster; one on this machine by default.
        workers: runs at once; all cores by default.
        checkpoint_seconds: time between two checkpoints of a run.
        loggers: "csv" or "tensorboard".
        imports: modules that other processes import first.
        progress: whether a bar is shown (None: on a terminal), "log", or what is told how many episodes are done.
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
    """Runs that were played, or found finished, and how the sitting ended."""

    store: Store
    summary: Summary
    wish: Wish = field(default_factory=Wish)  # the signal that ended it, if one did
    workers: int = 1

    @property
    def stopped(self) -> bool:
        """Whether some runs are neither finished nor failed."""
        return self.summary.left > 0

    def finished(self, keys: Sequence[RunKey]) -> bool:
        """Whether all of these runs are finished."""
        return all(self.store.has(key.id) for key in keys)

    def result(self, keys: Sequence[RunKey]) -> RunResult:
        """These trials as one result; of those that were stopped, as far as they came."""
        parts = [part for key in keys if (part := self._part(key)) is not None]
        parts = parts or [_begun(keys[0])]
        result = collect(keys[0], parts, len(keys))
        at_once = min(self.workers, len(keys))
        return replace(result, threads=at_once, seconds=result.seconds / at_once)  # without compilation

    def _part(self, key: RunKey) -> tuple[dict[str, Any], dict[str, Any]] | None:
        if self.store.has(key.id):
            run = self.store.read(key.id)
            return run.record, run.curves()
        found = self.store.checkpoints(key.id).load()
        if found is None:
            return None
        home = prepared(key)
        trial = home.start(key)
        trial.restore(*found)
        return record(home, trial) | {"seconds": found[2]["seconds"], "kernel_seconds": trial.seconds}, curves_of(trial)


def _begun(key: RunKey) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run of which nothing was recorded."""
    home = prepared(key)
    trial = home.start(key)
    return record(home, trial) | {"seconds": 0.0, "kernel_seconds": 0.0}, curves_of(trial)


def play(
    keys: Sequence[RunKey],
    how: How,
    *,
    tell: Callable[[RunKey, Ending], None] = lambda key, ending: None,
    **here: Any,
) -> Sitting:
    """Play runs that are not finished yet, and keep them. Ctrl-C or SIGTERM leaves checkpoints; the same call goes on.

    Args:
        keys: the runs.
        how: where they are played and kept.
        tell: is told each run that is through.
        here: ``block_size``, ``keep_policies``, ``raises``, ``watch`` for runs in this process (:class:`Context`).
    """
    with _store(how) as store:
        if how.fresh:
            for key in keys:
                store.forget(key.id)
        unnamed = next((key for key in keys if (key.features_hash or "").startswith(ONLY_HERE)), None)
        if unnamed is not None and not isinstance(store, MemoryStore):
            raise InputError("features is a feature map without plain content; expected out=None and backend 'threads'")
        context = Context(
            store, how.workers or available_cores(), how.checkpoint_seconds, how.loggers, how.imports, how.address, **here
        )
        with stopping(context.stop) as wish:
            summary = schedule(keys, context, how.backend, how.progress, tell)
        if isinstance(store, MemoryStore) or how.out is not None:
            return Sitting(store, summary, wish, context.workers)
        return Sitting(_in_memory(store, keys), summary, wish, context.workers)


@contextmanager
def _store(how: How) -> Iterator[Store]:
    """The folder, memory, or for workers in other processes a folder for as long as it takes."""
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
    problem: Any,
    learner: str = DEFAULT_LEARNER,
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
    out: str | Path | None = None,
    fresh: bool = False,
    backend: str = "threads",
    address: str | None = None,
    **params: Any,
) -> RunResult:
    """Run a learner on a problem and measure its exact regret and violation.

    Args:
        problem: a name such as "job-scheduling", a path to an .npz, or a problem.
        learner: a name of ``learners.names()``, or "optimal" or "safest".
        episodes: K, the episodes of each trial.
        trials: independent repetitions, side by side on all cores.
        seed: one number for all randomness.
        record_every: distance of the recorded episodes; the last one is always recorded.
        preset: where the learner's constants come from.
        features: φ (S,A,d), or a feature map for states in R^D, in place of the problem's.
        slater_gap: what the learner is told of γ: a number, "oracle", or None.
        starts: first states, with regret against the best from each: a state, a sequence used over and over, or "drawn"
            (:mod:`noregret.oracle.starts`). By default they are drawn and regret is against the best from mu.
        threads: trials at once; all cores by default.
        block_size: episodes of a compiled block; chosen by the clock by default. Results do not depend on it.
        progress: show a progress bar; by default when standard error is a terminal. Or a function that is called with the
            number of episodes that are done, several times a second; a KeyboardInterrupt it raises is as Ctrl-C.
        keep_policy: keep the policies that were played, for ``result.policy()``; the curves do not depend on it.
        out: a folder that keeps the runs. After a stop or a crash the same call goes on from there. By default nothing is kept.
        fresh: forget what ``out`` has of these runs.
        backend: "threads", "processes", "ray" or "dask".
        address: the Ray or Dask cluster; one on this machine by default.
        params: constants of the learner that override the preset's.

    Returns:
        The curves. After Ctrl-C the trials that came far enough, as far as they came together; then ``complete`` is False.

    Raises:
        InputError: something given cannot be used; nothing was run.

    Example:
        >>> import noregret as nr
        >>> result = nr.run("job-scheduling", episodes=200, trials=2, progress=False)
        >>> result.regret.shape
        (2, 2)
    """
    check_length(episodes, trials=trials, seed=seed, record_every=record_every, threads=threads, block_size=block_size)
    ask = Ask(problem, learner, episodes, trials, seed, record_every, preset, slater_gap, starts, features, params)
    keys = ask.keys()
    home = prepared(keys[0])
    first = home.start(keys[0])  # what is wrong is said before anything is played
    if keep_policy and not home.keeps_policies:
        raise InputError("keep_policy is True; expected False on a linear CMDP, whose policies are not tables")
    if keep_policy and (starts is not None or out is not None or backend != "threads"):
        raise InputError("keep_policy is True; expected no starts, no out, and backend 'threads'")
    here: dict[str, Any] = {"block_size": block_size, "keep_policies": keep_policy, "raises": True, "notice": first.notice}
    how = How(None if out is None else Path(out), fresh, backend, address, threads, progress=progress)
    sitting = play(keys, how, **(here if backend == "threads" else {}))
    for error in sitting.summary.failed.values():
        raise NoRegretError(error)
    if sitting.stopped and sitting.summary.episodes == 0:
        raise KeyboardInterrupt
    result = sitting.result(keys)
    return replace(result, played=_played(sitting, keys, first)) if keep_policy else result


def _played(sitting: Sitting, keys: Sequence[RunKey], first: Trial) -> Played | None:
    """What ``result.policy()`` needs, with the exact values of each policy."""
    from noregret import oracle

    problem, learner = first.problem, first.learner
    promised = learner.promised(prepared(keys[0]).best(keys[0]).slater_gap, is_linear(problem, learner.phi))
    parts = [part[1]["kept"] for key in keys if (part := sitting._part(key)) is not None]
    played = Played(np.stack(parts), problem.available, first.V_star, problem.b, promised)
    return played.valued(lambda policy: oracle.evaluate(problem, policy))
