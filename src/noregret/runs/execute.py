"""One run, from the store's checkpoint to the store's folder.

The run is held by a lock, taken up from its last whole checkpoint, played block by block, and put in its place by one rename.
Between blocks it looks whether it should stop (then it leaves a checkpoint) and whether a checkpoint is due, by a clock that
never goes backwards. As blocks do not change a bit of a trial, neither do stops, kills and checkpoints.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from noregret.errors import FileError, one_line
from noregret.oracle.starts import tightened_value
from noregret.results import named_curves, record_grid
from noregret.runs.linear import LinearTrial
from noregret.runs.loggers import Loggers
from noregret.runs.provenance import provenance
from noregret.runs.runner import Trial, blocks
from noregret.runs.worlds import World, world
from noregret.store import Checkpoints, RunKey, Store

#: Seconds between checkpoints.
CHECKPOINT_SECONDS = 30.0
#: A checkpoint that took t seconds is followed by at least this many times t of playing: at most 2% go into checkpoints.
PLAY_PER_CHECKPOINT = 50.0
#: Curves of more bytes than this are appended to, not written again at each checkpoint.
LONG_CURVES = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """What became of a run: "done", "there" (it was finished before), "busy" (held by another), "stopped" or "failed"."""

    id: str
    status: str
    error: str = ""
    episodes: int = 0  # played in this sitting
    kernel_seconds: float = 0.0


@dataclass
class Settings:
    """How to play: none of it changes a number.

    ``write`` gets the step that puts the finished run in its place, and may call it in another thread.
    """

    checkpoint_seconds: float = CHECKPOINT_SECONDS
    block_size: int | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    progress: Callable[[str, int], None] = lambda id, episodes: None
    write: Callable[[Callable[[], None]], object] = lambda finish: finish()
    loggers: tuple[str, ...] = ()


def execute(key: RunKey, store: Store, settings: Settings | None = None) -> Outcome:
    """Play a run unless it is finished or held by another; errors of the run are recorded, those of the disk are raised."""
    settings = settings or Settings()
    if store.whole(key.id):
        return Outcome(key.id, "there")
    with ExitStack() as held:
        if not held.enter_context(store.lock(key.id)):
            return Outcome(key.id, "busy")
        if store.finished(key.id):  # by another, between the two lines above
            store.tidy(key.id)
            return Outcome(key.id, "there")
        begin, sitting = time.monotonic(), datetime.now(UTC)
        try:
            home = world(key.problem)
            trial = home.start(key)
            checkpoints = Checkpoints(store.work(key.id))
            before = _resume(trial, checkpoints)
            before["started"] = before["started"] or sitting.isoformat(timespec="seconds")
            first, kernel = trial.k, trial.seconds
            finished = _play(key, trial, checkpoints, before, begin, store, settings)
        except FileError:
            raise
        except Exception as error:
            line = one_line(error)
            store.fail(key, {"error": line, "traceback": traceback.format_exc(), "when": sitting.isoformat(), **provenance()})
            return Outcome(key.id, "failed", line)
        outcome = Outcome(key.id, "done" if finished else "stopped", "", trial.k - first, trial.seconds - kernel)
        if not finished:
            return outcome
        seconds = before["seconds"] + time.monotonic() - begin
        record = _record(key, home, trial, seconds, before["started"], before["sittings"] + 1)
        curves = {
            "episodes": record_grid(len(trial.curves), trial.every, trial.episodes),
            **named_curves(trial.curves, trial.problem.n_constraints),
        }
        release = held.pop_all()

        def finish() -> None:
            with release:
                store.write(key, record, curves)

        settings.write(finish)
        return outcome


def _play(
    key: RunKey,
    trial: Trial | LinearTrial,
    checkpoints: Checkpoints,
    before: dict[str, Any],
    begin: float,
    store: Store,
    settings: Settings,
) -> bool:
    """Play to the end, or until told to stop; then a checkpoint is left and the answer is False."""
    due = time.monotonic() + settings.checkpoint_seconds

    def save() -> float:
        started = time.monotonic()
        spent = before["seconds"] + started - begin
        _save(trial, checkpoints, before | {"seconds": spent, "sittings": before["sittings"] + 1})
        ended = time.monotonic()
        return ended + max(settings.checkpoint_seconds, PLAY_PER_CHECKPOINT * (ended - started))

    with Loggers(settings.loggers, store.folder / "logs", key) as log:
        log(trial)
        settings.progress(key.id, trial.k)
        for k in blocks(trial, settings.block_size):
            log(trial)
            settings.progress(key.id, k)
            if k == trial.episodes:
                break
            if settings.stop.is_set():
                save()
                return False
            if time.monotonic() >= due:
                due = save()
    return True


# --- a trial to a checkpoint and back -----------------------------------------------------------------------------


def _save(trial: Trial | LinearTrial, checkpoints: Checkpoints, meta: Mapping[str, Any]) -> None:
    learner = trial.learner
    arrays = {f"learner.{name}": array for name, array in learner.state().items()}
    arrays |= {"sums": trial.sums, "curves": trial.curves[: trial.recorded]}
    streams = [stream.bit_generator.state for stream in trial.streams]
    growing = {f"learner.{name}": grown for name, grown in learner.append_only().items()}
    if arrays["curves"].nbytes > LONG_CURVES:
        growing["curves"] = (0, trial.recorded)
    checkpoints.save(trial.k, arrays, dict(meta) | {"streams": streams, "kernel_seconds": trial.seconds}, growing)


def _resume(trial: Trial | LinearTrial, checkpoints: Checkpoints) -> dict[str, Any]:
    """Put a trial where its last whole checkpoint left it; what earlier sittings took."""
    found = checkpoints.load()
    if found is None:
        return {"seconds": 0.0, "sittings": 0, "started": None}
    k, arrays, meta = found
    trial.learner.restore({name.removeprefix("learner."): a for name, a in arrays.items() if name.startswith("learner.")})
    trial.sums[:] = arrays["sums"]
    trial.curves[: len(arrays["curves"])] = arrays["curves"]
    for stream, state in zip(trial.streams, meta["streams"], strict=True):
        stream.bit_generator.state = state
    trial.k, trial.seconds = k, meta["kernel_seconds"]
    return {name: meta[name] for name in ("seconds", "sittings", "started")}


def _record(
    key: RunKey, home: World, trial: Trial | LinearTrial, seconds: float, started: str, sittings: int
) -> dict[str, Any]:
    """Everything about a finished run beside its curves."""
    learner, begins = trial.learner, trial.starts if isinstance(trial, Trial) else None
    optimum = home.optimum if begins is None else begins.optimum
    zeta = learner.constants.get("zeta", 0.0)
    last = named_curves(trial.curves[-1], trial.problem.n_constraints)
    gap = optimum.slater_gap if key.slater_gap == "oracle" else key.slater_gap
    return {
        "last": {name: np.asarray(value).tolist() for name, value in last.items()},
        "constants": dict(learner.constants),
        "explain": dict(learner.explain),
        "constraints": list(trial.problem.constraint_names),
        "thresholds": trial.problem.b.tolist(),
        "horizon": trial.problem.horizon,
        "evaluated": "at records" if isinstance(trial, LinearTrial) else "every episode",
        "optimal_value": optimum.value,
        "tightened_value": home.tightened(zeta) if begins is None else tightened_value(begins.problem, optimum, zeta, begins),
        "notes": learner.notes(),
        "optimal_dual": optimum.dual.tolist(),
        "slater_gap": optimum.slater_gap,
        "slater_gap_used": gap,
        "started": started,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "sittings": sittings,
        "seconds": seconds,
        "kernel_seconds": trial.seconds,
        "threads": 1,
        **provenance(),
    }
