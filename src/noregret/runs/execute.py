"""One run, from the store's checkpoint to the store.

The run is held by a lock, taken up from its last whole checkpoint, played block by block, and put in its place by one rename.
Between blocks it looks whether it should stop (then it leaves a checkpoint) and whether a checkpoint is due, by a clock that
never goes backwards. As blocks do not change a bit of a trial, neither do stops, kills and checkpoints.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from noregret.errors import FileError, InputError, one_line
from noregret.results import named_curves, record_grid
from noregret.runs.loggers import Loggers
from noregret.runs.prepare import prepared
from noregret.runs.provenance import provenance
from noregret.runs.start import start
from noregret.runs.trial import Trial
from noregret.runs.uniform import uniform_loss
from noregret.store import RunKey, Store
from noregret.store.checkpoints import CheckpointKeeper, Numbers
from noregret.store.records import check_entries

#: Seconds between checkpoints.
CHECKPOINT_SECONDS = 30.0
#: A checkpoint that took t seconds is followed by at least this many times t of playing: at most 2% go into checkpoints.
PLAY_PER_CHECKPOINT = 50.0


@dataclass(frozen=True)
class Ending:
    """How one run ended: "done", "there" (it was finished before), "busy" (another holds it), "stopped" or "failed"."""

    id: str
    status: str
    error: str = ""
    episodes: int = 0  # played this time
    kernel_seconds: float = 0.0


@dataclass(kw_only=True)
class Settings:
    """How one run is played. None of the settings changes a number.

    Attributes:
        checkpoint_seconds: the time between two checkpoints.
        block_size: the episodes of a compiled block; the clock chooses by default.
        stop: an event. Once it is set, the run leaves a checkpoint and ends.
        progress: a function of the run's id and its episode, called after each block.
        write: a function that gets the last step, the writing of the finished run; it may take that step in another thread.
        loggers: the names of loggers.
        keep_policies: whether the store also gets the policies that were played.
        raises: whether an error of the run is raised. By default it is recorded in the store.
        watch: a function of the trial, called before the first episode and after each block.
    """

    checkpoint_seconds: float = CHECKPOINT_SECONDS
    block_size: int | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    progress: Callable[[str, int], None] = lambda id, episodes: None
    write: Callable[[Callable[[], None]], object] = lambda finish: finish()
    loggers: tuple[str, ...] = ()
    keep_policies: bool = False
    raises: bool = False
    watch: Callable[[Trial], None] | None = None


def execute(key: RunKey, store: Store, settings: Settings | None = None) -> Ending:
    """Play one run and put it in the store, unless it is finished there or another process holds it.

    Args:
        key: the run.
        store: where the run is kept, with its checkpoints.
        settings: how the run is played.

    Returns:
        How it ended. An error of the run itself is an ending with the status "failed", and is recorded in the store.

    Raises:
        FileError: the disk cannot be read or written.
    """
    settings = settings or Settings()
    if store.whole(key.id):
        return Ending(key.id, "there")
    with ExitStack() as held:
        if not held.enter_context(store.lock(key.id)):
            return Ending(key.id, "busy")
        if store.finished(key.id):  # by another, between the two lines above
            store.tidy(key.id)
            return Ending(key.id, "there")
        sitting, first = datetime.now(UTC), 0
        try:
            checkpoints = store.checkpoints(key.id)
            trial, before = _take_up(key, store, checkpoints, settings)
            begin = time.monotonic()
            before["started"] = before["started"] or sitting.isoformat(timespec="seconds")
            first, kernel = trial.k, trial.seconds
            finished = _play(trial, checkpoints, before, begin, store, settings)
        except FileError:
            raise
        except Exception as error:
            if first:  # its checkpoint's numbers may each be possible and together be wrong: the run is judged from its start
                _forget(store, key, checkpoints, f"its checkpoint of episode {first} led to an error: {one_line(error)}")
                held.close()
                return execute(key, store, settings)
            if settings.raises:
                raise
            line = one_line(error)
            store.fail(key, {"error": line, "traceback": traceback.format_exc(), "when": sitting.isoformat(), **provenance()})
            return Ending(key.id, "failed", line)
        ending = Ending(key.id, "done" if finished else "stopped", "", trial.k - first, trial.seconds - kernel)
        if not finished:
            return ending
        times = {"started": before["started"], "finished": datetime.now(UTC).isoformat(timespec="seconds")}
        times |= {"sittings": before["sittings"] + 1, "seconds": before["seconds"] + time.monotonic() - begin}
        entries = record(trial) | times | {"kernel_seconds": trial.seconds, "threads": 1} | provenance()
        curves = curves_of(trial)
        release = held.pop_all()

        def finish() -> None:
            with release:
                store.write(key, entries, curves)

        settings.write(finish)
        return ending


def _play(
    trial: Trial, checkpoints: CheckpointKeeper, before: dict[str, Any], begin: float, store: Store, settings: Settings
) -> bool:
    """Play to the end, or until ``settings.stop`` is set; then a checkpoint is left and the answer is False."""
    due = time.monotonic() + settings.checkpoint_seconds
    key = trial.key

    def save() -> float:
        started = time.monotonic()
        arrays, meta, growing = trial.state()
        spent = {"seconds": before["seconds"] + started - begin, "sittings": before["sittings"] + 1}
        checkpoints.save(trial.k, arrays, before | spent | meta, growing)
        ended = time.monotonic()
        return ended + max(settings.checkpoint_seconds, PLAY_PER_CHECKPOINT * (ended - started))

    def tell() -> None:
        log(trial)
        settings.progress(key.id, trial.k)
        if settings.watch is not None:
            settings.watch(trial)

    with Loggers(settings.loggers, store.folder / "logs", key) as log:
        tell()
        for k in trial.blocks(settings.block_size):
            tell()
            if k == trial.episodes:
                break
            if settings.stop.is_set():
                save()
                return False
            if time.monotonic() >= due:
                due = save()
    return True


def _take_up(key: RunKey, store: Store, checkpoints: CheckpointKeeper, settings: Settings) -> tuple[Trial, dict[str, Any]]:
    """The trial where its last whole checkpoint left it, compiled, and what earlier sittings took.

    A checkpoint that does not fit, of another version's learner, is named in a warning and moved aside; the run starts again.
    So does a run that fails after it was taken up.
    """
    begun: dict[str, Any] = {"seconds": 0.0, "sittings": 0, "started": None}
    trial, checkpoint = _fresh(key, settings), checkpoints.load()
    if checkpoint is None:
        return trial, begun
    k, arrays, meta = checkpoint
    try:
        check_entries(meta, {"seconds": float, "sittings": int, "started": str | None})
        trial.restore(k, arrays, meta)
        return trial, {name: meta[name] for name in begun}
    except (InputError, KeyError, ValueError, TypeError) as error:
        _forget(store, key, checkpoints, f"its checkpoint does not fit: {one_line(error)}")
        return _fresh(key, settings), begun


def _forget(store: Store, key: RunKey, checkpoints: CheckpointKeeper, why: str) -> None:
    """Move a checkpoint aside, with a warning that says why."""
    store.set_aside(store.work(key.id), InputError(f"run {key.id}: {why}"))
    checkpoints.forget()


def _fresh(key: RunKey, settings: Settings) -> Trial:
    trial = start(key)
    if settings.keep_policies:
        trial.keep_policies()
    trial.compile()
    return trial


def curves_of(trial: Trial) -> dict[str, Numbers]:
    """The curves of a trial so far, by name; with the policies that were played, if the trial keeps them."""
    n = trial.recorded
    curves: dict[str, Numbers] = {"episodes": record_grid(n, trial.every, trial.episodes)}
    curves |= named_curves(trial.curves[:n], trial.problem.n_constraints)
    return curves if trial.kept is None else curves | {"kept": trial.kept}


def record(trial: Trial) -> dict[str, object]:
    """What the store keeps of a run beside its curves, its times and its machine."""
    learner, key, problem = trial.learner, trial.key, trial.problem
    home = prepared(key)
    best = home.best(key)
    last = named_curves(trial.curves[-1], problem.n_constraints)
    return {
        "last": {name: np.asarray(value).tolist() for name, value in last.items()},
        "constants": dict(learner.constants),
        "explain": dict(learner.explain),
        "constraints": list(problem.constraint_names),
        "thresholds": problem.b.tolist(),
        "horizon": problem.horizon,
        "evaluated": trial.evaluated,
        "optimal_value": best.value,
        "tightened_value": home.tightened(key, learner.constants.get("zeta", 0.0)),
        "notes": learner.notes(),
        "optimal_dual": best.dual.tolist(),
        "slater_gap": best.slater_gap,
        "uniform_loss": uniform_loss(trial, best.value),
    }
