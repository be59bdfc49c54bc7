"""Agents on disk: one .npz of plain arrays, one of them JSON text; no pickle.

The file holds the setup, the learning curve, the episodes in flight and what the learner knows. It is sealed by a hash, which
finds damage. A hash can be made again by anyone, so every number is checked all the same before it is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import noregret
from noregret._system.arrays import is_plain, load_npz, most_bytes, said, save_npz
from noregret.agent.ranges import OUTSIDE
from noregret.agent.setup import FINDERS, LARGEST_OPTION, Setup, fix, is_problem
from noregret.errors import FileError, InputError, shown, unknown_name
from noregret.features import FeatureMap, OneHot, Transformer
from noregret.features.base import show
from noregret.gym import Objectives
from noregret.gym.actions import MOST_ACTIONS, Actions
from noregret.gym.environments import world_of
from noregret.gym.spaces import Observations
from noregret.gym.world import OVERRUNS, EnvWorld
from noregret.kernels.gram.dense import Sizes, bytes_needed
from noregret.learners.arrays import Numbers
from noregret.learners.lsvi.continuous import FIRST_ROOM
from noregret.problems.checks import integer, number
from noregret.store.identity import content_hash, decode, encode

if TYPE_CHECKING:
    from noregret.agent.agent import Agent

#: Of the file's layout; read() refuses others.
FORMAT = 5
#: What the JSON holds, with the kind of each entry.
META: dict[str, Any] = {
    "format": int, "version": str, "learner": str, "options": dict, "episodes": int | None, "seed": int,
    "objectives": dict, "features": str, "one_hot": list | None, "bound": float | int | None, "n_actions": int, "starts": list,
    "parts": list, "shape": list, "world": list, "outside": str, "overrun": str,
}  # fmt: skip
#: Seconds between two saves where nobody says it.
EVERY = 30.0
#: Numbers drawn for each coordinate, and states that a plan has at least, where features are found from data.
DRAWN, LEAST = 260, 64

Arrays = dict[str, Numbers]
Path = str | os.PathLike[str]


class Keeper:
    """Writes an agent to files: when asked, and by itself. It notices that somebody else wrote a file since."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int, int] | None] = {}  # what each file was like when this agent read or wrote it
        self._path: Path | None = None
        self._every: int | None = None
        self._seconds: float | None = None
        self._saved, self._clock = -1, 0.0

    def note(self, path: Path) -> None:
        """Remember what a file is like, as the agent now has what it holds."""
        self._known[os.path.realpath(path)] = _look(path)

    def save(self, agent: Agent, path: Path, replace: bool = False) -> None:
        """Write the agent; a failed write leaves the old file.

        Args:
            agent: what is written.
            path: the file.
            replace: write although somebody else has written the file since this agent read or wrote it.

        Raises:
            FileError: the file cannot be written, or was written by somebody else.
        """
        name = os.path.realpath(path)

        def unchanged() -> None:
            if not replace and name in self._known and _look(path) not in (None, self._known[name]):
                raise FileError(
                    f"{path}: was written by another process since this agent read or wrote it; expected one agent for a file "
                    f"(save under another name, or with replace=True)"
                )

        unchanged()
        save_npz(path, content(agent), unchanged)
        self.note(path)

    def autosave(self, path: Path | None, every: int | None, seconds: float | None) -> None:
        """Save by itself from now on; None stops it.

        Args:
            path: the file.
            every: after so many episodes, or None.
            seconds: after so much time, or None.
        """
        if path is None:
            self._path = None
            return
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"path is {path!r}; expected the name of a file")
        every = None if every is None else integer("every", every, 1)
        seconds = EVERY if every is None and seconds is None else seconds
        if seconds is not None:
            number("seconds", seconds, 0.0)
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise FileError(f"{path}: cannot be written: there is no such folder")
        self._path, self._every, self._seconds, self._saved, self._clock = path, every, seconds, -1, time.monotonic()

    def look(self, agent: Agent, end: bool = False) -> None:
        """Save the agent if it is time, or at the end of a call, unless the file is up to date."""
        if self._path is None:
            return
        done = agent.episodes
        due = self._every is not None and (done - max(self._saved, 0)) >= self._every
        due = due or (self._seconds is not None and time.monotonic() - self._clock >= self._seconds)
        if (due or end) and done not in (0, self._saved):
            self._clock = time.monotonic()
            try:
                self.save(agent, self._path)
                self._saved = done
            except FileError as error:  # what was learned is in memory, and the next time may go well
                if end:
                    raise
                warnings.warn(f"the agent was not saved by itself: {said(error)}", stacklevel=2)


def _look(path: Path) -> tuple[int, int, int] | None:
    """What tells one content of a file from the next."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_mtime_ns, found.st_size
    return None


# --- writing ------------------------------------------------------------------------------------------------------------


def content(agent: Agent) -> Arrays:
    """All arrays of an agent's file, sealed."""
    setup, f = agent.setup, agent.setup.features
    seen, actions = setup.observations, setup.actions
    meta = {
        "format": FORMAT, "version": noregret.__version__, "learner": setup.learner, "options": setup.options,
        "episodes": setup.total, "seed": setup.seed, "objectives": setup.objectives.plain(),
        "features": "auto" if f is None else f.describe(), "one_hot": [f.width, f.n_actions] if isinstance(f, OneHot) else None,
        "bound": f.bound if isinstance(f, Transformer) else None, "n_actions": actions.n, "starts": [seen.first, actions.first],
        "parts": actions.parts, "shape": actions.shape, "world": [seen.n_states, seen.dimension], "outside": setup.outside,
        "overrun": setup.overrun,
    }  # fmt: skip
    arrays: Arrays = {"meta": np.frombuffer(json.dumps(encode(meta)).encode(), dtype=np.uint8), **agent.curve.arrays()}
    probes = arrays["probes"]
    arrays["probe_rows"] = f.encode(probes) if f is not None and len(probes) else np.zeros(0)
    if actions.table is not None:
        arrays["actions"] = actions.table
    arrays |= {f"flight.{name}": value for name, value in agent.flights.arrays().items()}
    return sealed(arrays | {f"state.{name}": value for name, value in agent.learner.arrays().items()})


def sealed(arrays: Mapping[str, Numbers]) -> Arrays:
    """Arrays with a hash of the names and the content of all others."""
    arrays = {name: value for name, value in arrays.items() if name != "seal"}
    return arrays | {"seal": np.frombuffer(bytes.fromhex(content_hash(arrays)), dtype=np.uint8)}


# --- reading ------------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """What :meth:`Keeper.save` wrote: the JSON, each entry of the kind it should be, and the arrays.

    Raises:
        FileError: the file cannot be read, or is none of an agent.
    """
    arrays = load_npz(path, "an agent that noregret saved")
    seal = arrays.get("seal")
    with explained(path):
        meta = decode(json.loads(arrays["meta"].tobytes().decode()))
        found = meta.get("format")
        meta.setdefault("shape", [])  # there was none in earlier versions
    if found != FORMAT:
        raise FileError(f"{path}: has format {found!r:.60}; expected {FORMAT}")
    with explained(path):
        whole = seal is not None and seal.dtype == np.uint8 and np.array_equal(seal, sealed(arrays)["seal"])
    if not whole:
        raise FileError(f"{path}: is not an agent that noregret saved: its content is not what was written")
    for name, kind in META.items():
        if name not in meta:
            raise FileError(f"{path}: entry {name!r} is missing")
        if not isinstance(meta[name], kind) or isinstance(meta[name], bool) or not is_plain(str(meta[name])):
            raise FileError(f"{path}: entry {name!r} is {meta[name]!r:.60}; expected {getattr(kind, '__name__', kind)}")
    return meta, arrays


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn whatever is raised by the content of a file into one line that names the file."""
    try:
        yield
    except FileError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {said(error)}") from None
    except Exception as error:
        kind = type(error).__name__
        raise FileError(f"{path}: is not an agent that noregret saved: {kind}: {said(error)}") from None


def setup_of(path: Path, meta: dict[str, Any], arrays: Arrays, features: object) -> Setup:
    """The setup that a file describes, with every number checked and the memory counted that it asks for.

    Args:
        path: of the file.
        meta: its JSON.
        arrays: its arrays.
        features: the feature map that the user gave; None where it was one-hot or found from data.

    Raises:
        InputError: the feature map is not the one that the agent was made with, or a number cannot be.
        FileError: the agent would need far more memory than the file has numbers for.
    """
    auto = meta["features"] == "auto"
    if auto and not (features is None or (isinstance(features, str) and features == "auto")):
        raise InputError(f"{path}: the agent found its features itself; expected features=None")
    with explained(path):
        objectives = Objectives.from_plain(meta["objectives"])
        first, lowest = _whole(meta, "starts", 2, -(1 << 62), 1 << 62)
        n_states, dimension = _whole(meta, "world", 2, 0, 1 << 40)
        n = integer("n_actions", meta["n_actions"], 1, 1 << 40)
        _check_actions(arrays.get("actions"), n)
        actions = Actions(n, lowest, arrays.get("actions"), _whole(meta, "parts", None, 1, MOST_ACTIONS), meta["shape"])
        if actions.shape and actions.number(actions.to_env(0), 0):
            raise InputError(f"shape is {shown(actions.shape)}; expected that of the first action")
        for key, known in (("outside", OUTSIDE), ("overrun", OVERRUNS)):
            if meta[key] not in known:
                raise unknown_name(key, meta[key], known)
        if auto and meta["learner"] not in FINDERS:
            raise unknown_name("learner without features", meta["learner"], FINDERS)
        if auto and bool(n_states) == bool(dimension):
            raise InputError(f"world is {meta['world']}; expected states or numbers of an observation")
        features = OneHot(*meta["one_hot"]) if features is None and meta["one_hot"] else features
        if hasattr(features, "transform"):
            probe = arrays["probes"] if len(arrays["probes"]) else None
            features = Transformer(features, n_actions=n, bound=meta["bound"], probe=probe)
    if not auto and not hasattr(features, "encode"):
        raise InputError(f"features is {features!r}; expected the feature map the agent was made with ({meta['features']})")
    f: FeatureMap | None = None if auto else features  # type: ignore[assignment]
    with explained(path):
        need = _bytes_needed(objectives, n, dimension, f)
        total = None if meta["episodes"] is None else integer("episodes", meta["episodes"], 1, LARGEST_OPTION)
        if f is not None:
            _check_features(f, meta, arrays)
        made = Setup(
            meta["learner"], meta["options"], objectives, total, integer("seed", meta["seed"], 0), meta["outside"],
            meta["overrun"], actions, Observations(n_states, dimension, first), f,
        )  # fmt: skip
    if need > (most := 8 * most_bytes(os.path.getsize(path))):  # far more than the file holds numbers for
        raise FileError(f"{path}: needs {need:,} bytes; expected at most {most:,} (NOREGRET_MOST_BYTES sets a limit)")
    return made


def _whole(meta: dict[str, Any], name: str, length: int | None, low: int, high: int) -> tuple[int, ...]:
    found = tuple(integer(name, value, low, high) for value in meta[name])
    if length is not None and len(found) != length:
        raise InputError(f"{name} is {list(found)}; expected {length} numbers")
    return found


def _check_actions(table: Numbers | None, n: int) -> None:
    if table is not None and (table.dtype.kind not in "biuf" or len(table) != n or not np.isfinite(table).all()):
        raise InputError(f"actions has shape {table.shape} and type {table.dtype}; expected {n} actions of finite numbers")


def _bytes_needed(objectives: Objectives, n_actions: int, dimension: int, f: FeatureMap | None) -> int:
    """The memory that an agent takes before its arrays are read, and its first small plan."""
    H, m = objectives.horizon, len(objectives.limits)
    if f is None:
        return 8 * (DRAWN * dimension + n_actions * LEAST * (1 + m)) + 4 * (H + 1) * (1 + m) * LEAST
    return bytes_needed(Sizes(H, f.n_actions, 1 + 2 * m, m, f.rows, f.blocks, f.width), FIRST_ROOM)


def _check_features(features: FeatureMap, meta: dict[str, Any], arrays: Arrays) -> None:
    """Refuse features that give other numbers at the observations of the file."""
    probes, rows = arrays["probes"], arrays["probe_rows"]
    if features.n_actions != meta["n_actions"]:
        raise InputError(f"features are for {features.n_actions} actions; expected {meta['n_actions']}")
    if not len(probes):
        return
    found = features.encode(probes)
    if found.shape != rows.shape:
        raise InputError(f"features have shape {found.shape[1:]}; expected {rows.shape[1:]} ({meta['features']})")
    off = np.abs(found - rows).max(axis=(1, 2))
    if not off.max() <= 1e-9:
        i = int(off.argmax())
        raise InputError(
            f"features differ from those the agent learned with: by {off[i]:.3g} at observation {show(probes[i])}; "
            f"expected {meta['features']}"
        )


def part(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def world_for(setup: Setup, env: Any, **options: Any) -> EnvWorld:
    """Make the world of an agent from a file; its actions and its way with long episodes are those of the file by default.

    Args:
        setup: what the file says.
        env: a Gymnasium environment.
        options: those of EnvWorld.

    Raises:
        InputError: the environment cannot be the one that the agent was made for.
    """
    if is_problem(env) and not setup.objectives.costs:
        options["utility"] = options["utility"] or "utility"
    options["overrun"] = options["overrun"] or setup.overrun
    if options["actions"] is None and not (setup.actions.parts or setup.actions.shape):
        options["actions"] = setup.actions.table
    world = world_of(env, setup.objectives, **options)
    check_world(world, setup)
    fix(world, setup.features is None)
    return world


def check_world(world: EnvWorld, setup: Setup) -> None:
    """Refuse an environment that cannot be the one the agent was made for.

    Raises:
        InputError: it has other actions or other observations.
    """
    starts = [setup.observations.first, setup.actions.first]
    if world.n_actions != setup.actions.n:
        raise InputError(f"env has {world.n_actions} actions; expected {setup.actions.n}, as the agent learned with")
    if list(world.starts) != starts:
        raise InputError(f"env counts states and actions from {list(world.starts)}; expected {starts}, as before")
    was = setup.observations
    if isinstance(setup.features, OneHot):
        was = Observations(setup.features.width, 0, was.first)
    elif setup.features is not None:
        return
    seen = Observations.of(world.observation_space)
    if seen.n_states and was.n_states and seen.n_states != was.n_states:
        raise InputError(f"env has {seen.n_states} states; expected {was.n_states}, as the agent learned with")
    if (seen.n_states, seen.dimension) != (was.n_states, was.dimension):
        raise InputError(
            f"env shows {seen.n_states or seen.dimension} {'states' if seen.n_states else 'numbers'}; expected "
            f"{was.n_states or was.dimension} {'states' if was.n_states else 'numbers'}, as the agent learned with"
        )
