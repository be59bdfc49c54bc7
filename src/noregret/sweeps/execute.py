"""One run, from the store's checkpoint to the store's folder.

The run is held by a lock, taken up from its last whole checkpoint, played block by block, and put in its place by one rename.
Between blocks it looks whether it should stop (then it leaves a checkpoint) and whether a checkpoint is due, by a clock that
never goes backwards. As blocks do not change a bit of a trial, neither do stops, kills and checkpoints.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from noregret import oracle, problems
from noregret.errors import FileError, InputError, NoRegretError
from noregret.kernels import world as worlds
from noregret.problems.base import TabularCMDP
from noregret.problems.registry import is_built_in
from noregret.results import named_curves, record_grid
from noregret.runner import Trial, blocks, make_learner, tightened_value
from noregret.store import Checkpoints, RunKey, Store, content_hash
from noregret.sweeps.loggers import Loggers
from noregret.sweeps.provenance import provenance

#: Seconds between checkpoints.
CHECKPOINT_SECONDS = 30.0
#: A checkpoint that took t seconds is followed by at least this many times t of playing: at most 2% go into checkpoints.
PLAY_PER_CHECKPOINT = 50.0
#: Curves of more bytes than this are appended to, not written again at each checkpoint.
LONG_CURVES = 1 << 20
#: Problems kept ready in a process.
READY = 8


@dataclass(frozen=True)
class Outcome:
    """What became of a run: "done", "there" (it was finished before), "busy" (held by another), "stopped" or "failed"."""

    id: str
    status: str
    error: str = ""
    episodes: int = 0  # played in this sitting
    kernel_seconds: float = 0.0


class World:
    """A problem with what its runs share: its optimum, its layout for the kernels, the optima of tightened thresholds."""

    def __init__(self, text: str) -> None:
        self.problem = problems.load(text)
        self.name = self.problem.name
        self.hash = None if is_built_in(text) else problem_hash(self.problem)
        self.optimum = oracle.solve(self.problem)
        self.layout = worlds.compile_world(self.problem)
        self._tightened: dict[float, float] = {}

    def start(self, key: RunKey) -> Trial:
        """The trial of a run, before its first episode."""
        if key.problem_hash != self.hash:
            raise InputError(f"problem {key.problem!r} is not the one that the run was planned for: its arrays differ")
        learner = make_learner(
            self.problem, key.learner, self.optimum, episodes=key.episodes, preset=key.preset, slater_gap=key.slater_gap,
            **key.params,
        )  # fmt: skip
        return Trial(
            self.problem, self.layout, learner, key.seed, key.trial, key.episodes, key.record_every, self.optimum.value
        )

    def tightened(self, zeta: float) -> float:
        """V*(b+ζ)."""
        if zeta not in self._tightened:
            self._tightened[zeta] = tightened_value(self.problem, self.optimum, zeta)
        return self._tightened[zeta]


_worlds: OrderedDict[str, World] = OrderedDict()
_worlds_lock = threading.Lock()


def world(text: str) -> World:
    """The world that ``text`` names; the last few are kept."""
    with _worlds_lock:
        if text not in _worlds:
            _worlds[text] = World(text)
            while len(_worlds) > READY:
                _worlds.popitem(last=False)
        _worlds.move_to_end(text)
        return _worlds[text]


def problem_hash(problem: TabularCMDP) -> str:
    """A hash of everything that a problem is, its names aside."""
    labels = ("name", "constraint_names", "senses")
    return content_hash({name: value for name, value in vars(problem).items() if name not in labels})


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
            line = str(error) if isinstance(error, NoRegretError) else f"{type(error).__name__}: {error}"
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
    trial: Trial,
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


def _save(trial: Trial, checkpoints: Checkpoints, meta: Mapping[str, Any]) -> None:
    learner = trial.learner
    grows: Callable[[], Mapping[str, int]] = getattr(learner, "append_only", dict)
    arrays = {f"learner.{name}": array for name, array in learner.state().items()}
    arrays |= {"sums": trial.sums, "curves": trial.curves[: trial.recorded]}
    streams = [stream.bit_generator.state for stream in trial.streams]
    growing = {f"learner.{name}": axis for name, axis in grows().items()}
    if arrays["curves"].nbytes > LONG_CURVES:
        growing["curves"] = 0
    checkpoints.save(trial.k, arrays, dict(meta) | {"streams": streams, "kernel_seconds": trial.seconds}, growing)


def _resume(trial: Trial, checkpoints: Checkpoints) -> dict[str, Any]:
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


def _record(key: RunKey, home: World, trial: Trial, seconds: float, started: str, sittings: int) -> dict[str, Any]:
    """Everything about a finished run beside its curves."""
    learner, optimum = trial.learner, home.optimum
    last = named_curves(trial.curves[-1], trial.problem.n_constraints)
    gap = optimum.slater_gap if key.slater_gap == "oracle" else key.slater_gap
    return {
        "last": {name: np.asarray(value).tolist() for name, value in last.items()},
        "constants": dict(learner.constants),
        "explain": dict(learner.explain),
        "constraints": list(trial.problem.constraint_names),
        "thresholds": trial.problem.b.tolist(),
        "horizon": trial.problem.horizon,
        "optimal_value": optimum.value,
        "tightened_value": home.tightened(learner.constants.get("zeta", 0.0)),
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
