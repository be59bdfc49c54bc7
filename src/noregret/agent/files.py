"""Agents on disk: one .npz of plain arrays, one of them JSON text; no pickle.

Layout 2 is that of a learner on given features with numbered actions, as version 0.1 wrote it. Layout 3 adds the world's sizes,
for a mind that found its features itself, and the table of actions, where these are no numbers. It is sealed by a hash of all
that is in it: what a mind keeps is of many kinds, and compiled code relies on it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, check_arrays, check_range, is_plain, load_npz, most_bytes, said, save_npz
from noregret.agent import choice
from noregret.agent.ranges import Ranges
from noregret.agent.regression import Regression
from noregret.errors import FileError, InputError, unknown_name
from noregret.features import OneHot, Transformer
from noregret.features.base import show
from noregret.gym import Objectives
from noregret.gym.environments import as_environment, world_of
from noregret.gym.spaces import MOST_ACTIONS, Actions, is_discrete
from noregret.gym.world import World
from noregret.kernels.gram.dense import Sizes, bytes_needed
from noregret.learners.continuous import FIRST_ROOM
from noregret.problems.checks import integer, number
from noregret.store.identity import content_hash, decode, encode

#: Of the file's layout; read() refuses others.
FORMATS = (2, 3)
#: What a file holds besides the learner's state: the JSON entries with their kinds, and the arrays with their types.
META: dict[str, Any] = {
    "learner": str, "options": dict, "episodes": int | None, "seed": int, "objectives": dict, "features": str,
    "one_hot": list | None, "bound": float | int | None, "n_actions": int, "starts": list,
}  # fmt: skip
#: Entries that layout 3 adds, and what an older file means.
ADDED: dict[str, tuple[Any, Any]] = {"world": (list, [0, 0]), "parts": (list, []), "outside": (str, "clip")}
ARRAYS = {"rewards", "values", "lengths", "probes", "probe_rows"}
#: Arguments that say how an environment is read, which are not saved.
WORLD = ("utility", "reward_weights", "utility_weights", "overrun", "actions")
#: Seconds between two saves where nobody says it.
EVERY = 30.0

Arrays = dict[str, NDArray[Any]]


class Autosave:
    """Saves an agent again and again.

    Args:
        path: the file.
        every: after so many episodes, or None.
        seconds: after so much time, or None.
    """

    def __init__(self, path: str | os.PathLike[str], every: int | None, seconds: float | None) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"path is {path!r}; expected the name of a file")
        self.path = path
        self.every = None if every is None else integer("every", every, 1)
        self.seconds = EVERY if every is None and seconds is None else seconds
        if self.seconds is not None:
            number("seconds", self.seconds, 0.0)
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise FileError(f"{path}: cannot be written: there is no such folder")
        self._saved, self._clock = -1, time.monotonic()

    def look(self, agent: Any, end: bool = False) -> None:
        """Save the agent if it is time, or at the end of a call, unless the file is up to date."""
        done = agent.episodes
        due = self.every is not None and (done - max(self._saved, 0)) >= self.every
        due = due or (self.seconds is not None and time.monotonic() - self._clock >= self.seconds)
        if (due or end) and done not in (0, self._saved):
            self._clock = time.monotonic()
            try:
                write(self.path, agent)
                self._saved = done
            except FileError as error:  # what was learned is in memory, and the next time may go well
                if end:
                    raise
                warnings.warn(f"the agent was not saved by itself: {said(error)}", stacklevel=2)


def write(path: str | os.PathLike[str], agent: Any) -> None:
    """Write an agent."""
    f, given = agent.features, isinstance(agent.mind, Regression)
    plain = given and agent.actions.table is None
    meta = {
        "format": 2 if plain else 3,
        "learner": agent.learner_name,
        "options": agent.options,
        "episodes": agent.total,
        "seed": agent.seed,
        "objectives": agent.objectives.plain(),
        "features": f.describe() if given else f,
        "one_hot": [f.width, f.n_actions] if isinstance(f, OneHot) else None,
        "bound": f.bound if isinstance(f, Transformer) else None,
        "n_actions": agent.actions.n,
        "starts": agent.starts,
        "outside": agent.ranges.outside,
        "parts": agent.actions.parts,
        "world": [0, 0] if given else [agent.spec.n_states, agent.spec.dimension],
    }
    text = json.dumps(encode(meta))
    m = len(agent.objectives.limits)
    probes = np.array(agent.probes) if agent.probes else np.zeros((0,))
    arrays: Arrays = {
        "meta": np.frombuffer(text.encode(), dtype=np.uint8),
        "rewards": np.array(agent.rewards, dtype=np.float64),
        "values": np.array(agent.values, dtype=np.float64).reshape(-1, m),
        "duals": np.array(agent.duals, dtype=np.float64).reshape(-1, m),
        "lengths": np.array(agent.lengths, dtype=np.int64),
        "probes": probes,
        "probe_rows": f.encode(probes) if given and len(probes) else np.zeros((0,)),
        "seen": agent.seen,
    }
    if agent.actions.table is not None:
        arrays["actions"] = agent.actions.table
    arrays |= {f"state.{key}": value for key, value in agent.mind.arrays().items()}
    save_npz(path, arrays if plain else arrays | {"seal": _seal(arrays)})


def _seal(arrays: Arrays) -> NDArray[np.uint8]:
    """A hash of the names and the content of arrays."""
    return np.frombuffer(bytes.fromhex(content_hash(arrays)), dtype=np.uint8)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """What :func:`write` wrote: the JSON and the arrays, each of the kind it should be."""
    arrays = load_npz(path, "an agent that noregret saved")
    seal = arrays.pop("seal", None)
    whole = seal is not None and seal.dtype == np.uint8 and np.array_equal(seal, _seal(arrays))
    with explained(path):
        meta = decode(json.loads(arrays.pop("meta").tobytes().decode()))
        found = meta.get("format")
    if found not in FORMATS:
        raise FileError(f"{path}: has format {found!r}; expected {' or '.join(map(str, FORMATS))}")
    if found != 2 and not whole:
        raise FileError(f"{path}: is not an agent that noregret saved: its content is not what was written")
    for name, (_, usual) in ADDED.items():
        meta.setdefault(name, usual)
    missing = [*sorted(META.keys() - meta.keys()), *sorted(ARRAYS - arrays.keys())]
    if missing:
        raise FileError(f"{path}: entry {missing[0]!r} is missing")
    for name, kind in (META | {name: kind for name, (kind, _) in ADDED.items()}).items():
        if not isinstance(meta[name], kind) or isinstance(meta[name], bool) or not is_plain(str(meta[name])):
            raise FileError(f"{path}: entry {name!r} is {meta[name]!r:.60}; expected {getattr(kind, '__name__', kind)}")
    with explained(path):
        meta["starts"] = tuple(integer("starts", i, -(1 << 62), 1 << 62) for i in meta["starts"])
        n, m = len(arrays["rewards"]), len(meta["objectives"]["limits"])
        like = {"rewards": np.zeros(n), "values": np.zeros((n, m)), "lengths": np.zeros(n, np.int64)}
        like |= {"duals": np.zeros((n, m))} if "duals" in arrays else {}  # nan where an older file had none
        bounds = {"duals": None}
        check_arrays(like, {k: arrays[k] for k in like}, lambda key: bounds.get(key, (-LARGEST, LARGEST)), "agent")
        check_range("lengths", arrays["lengths"], (1, integer("horizon", meta["objectives"]["horizon"], 1)))
        meta["parts"] = tuple(integer("parts", n, 1, MOST_ACTIONS) for n in meta["parts"])
        meta["world"] = tuple(integer("world", n, 0, 1 << 40) for n in meta["world"])
        if len(meta["world"]) != 2:
            raise ValueError(f"world is {meta['world']}; expected two numbers")
        if "seen" in arrays and (arrays["seen"].shape[:1] != (2,) or not np.isfinite(arrays["seen"]).all()):
            raise ValueError("seen is not two rows of numbers")
        if "actions" in arrays and len(arrays["actions"]) != meta["n_actions"]:
            raise ValueError(f"actions has {len(arrays['actions'])} entries; expected {meta['n_actions']}")
        if len(meta["starts"]) != 2:
            raise ValueError(f"starts is {meta['starts']}; expected two numbers")
    return meta, arrays


@contextlib.contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
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


def check_world(world: World, meta: dict[str, Any]) -> None:
    """Refuse an environment that cannot be the one the agent was made for."""
    if world.n_actions != meta["n_actions"]:
        raise InputError(f"env has {world.n_actions} actions; expected {meta['n_actions']}, as the agent learned with")
    if list(world.starts) != list(meta["starts"]):
        raise InputError(f"env counts states and actions from {list(world.starts)}; expected {list(meta['starts'])}, as before")
    states = meta["one_hot"][0] if meta["one_hot"] else meta["world"][0]
    space = world.observation_space
    if states and is_discrete(space) and int(space.n) != states:
        raise InputError(f"env has {int(space.n)} states; expected {states}, as the agent learned with")


def load(kind: Any, path: str | os.PathLike[str], features: Any, env: Any, world: dict[str, Any]) -> Any:
    """Make the agent that a file holds; :meth:`noregret.Agent.load` says what the arguments are.

    Args:
        kind: the class of the agent.
        path: of the file.
        features: the feature map, or None.
        env: the environment, or None.
        world: how it is read.

    Raises:
        InputError: the feature map or the environment is not the one that the agent was made with.
        FileError: the file cannot be read.
    """
    for key in world:
        if key not in WORLD:
            raise unknown_name("argument of Agent.load", key, ("env", "features", *WORLD))
    meta, arrays = read(path)
    auto = meta["learner"] in choice.MINDS
    if auto and not (features is None or features == "auto"):
        raise InputError(f"{path}: the agent found its features itself; expected features=None")
    with explained(path):
        objectives = Objectives.from_plain(meta["objectives"])
        if features is None and meta["one_hot"]:
            features = OneHot(*meta["one_hot"])
        if hasattr(features, "transform"):
            probe = arrays["probes"] if len(arrays["probes"]) else None
            features = Transformer(features, n_actions=meta["n_actions"], bound=meta["bound"], probe=probe)
    if not auto and not hasattr(features, "encode"):
        raise InputError(f"features is {features!r}; expected the feature map the agent was made with ({meta['features']})")
    there = _world(env, objectives, meta, arrays, world)
    need, most = _bytes_needed(meta, objectives, features), 8 * most_bytes(os.path.getsize(path))
    if need > most:  # far more than the file holds numbers for
        raise FileError(f"{path}: needs {need:,} bytes; expected at most {most:,} (NOREGRET_MOST_BYTES sets a limit)")
    agent = kind.__new__(kind)
    with explained(path):
        agent._begin(there, objectives, meta["episodes"], meta["seed"], Ranges(objectives, meta["outside"]))
        agent.actions = Actions(meta["n_actions"], meta["starts"][1], arrays.get("actions"), meta["parts"])
        if auto:
            spec = choice.make_spec(objectives, meta["n_actions"], *meta["world"])
            agent._find(meta["learner"], spec, meta["options"])
        else:
            agent._regress(meta["learner"], features, meta["options"])
        fill(agent, meta, arrays)
    if there is not None and auto:
        seen = there.flat()
        if (seen.n_states, seen.dimension) != meta["world"]:
            raise InputError(
                f"env shows {seen.n_states or seen.dimension} {'states' if seen.n_states else 'numbers'}; expected "
                f"{max(meta['world'])}, as the agent learned with"
            )
    return agent


def _bytes_needed(meta: dict[str, Any], objectives: Objectives, features: Any) -> int:
    """The memory that an agent takes before its arrays are read."""
    if meta["learner"] in choice.MINDS:
        return 8 * int(meta["world"][0]) * int(meta["n_actions"])
    f, m = features, len(objectives.limits)
    return bytes_needed(Sizes(objectives.horizon, f.n_actions, 1 + 2 * m, m, f.rows, f.blocks, f.width), FIRST_ROOM)


def _world(env: Any, objectives: Objectives, meta: dict[str, Any], arrays: Arrays, options: dict[str, Any]) -> World | None:
    """The environment of an agent from a file; its actions are those of the file unless others are given."""
    if env is None:
        return None
    env = as_environment(env)
    if choice.is_problem(env) and not objectives.costs:
        options.setdefault("utility", "utility")
    if "actions" in arrays and not meta["parts"]:
        options.setdefault("actions", arrays["actions"])
    auto = meta["learner"] in choice.MINDS
    options["overrun"] = options.get("overrun") or ("cut" if auto else "error")
    world = world_of(env, objectives, **options)
    world.masked = auto or not choice.is_problem(env)
    check_world(world, meta)
    return world


def fill(agent: Any, meta: dict[str, Any], arrays: Arrays) -> None:
    """Put the arrays of a file into an agent that was set up from its JSON; the features must be the same.

    Args:
        agent: a new one, changed in place.
        meta: the JSON of the file.
        arrays: the arrays of the file, by name.

    Raises:
        InputError: the features of the agent differ from those of the file.
    """
    if isinstance(agent.mind, Regression):
        _check_features(agent.features, meta, arrays)
    state = {key[6:]: value for key, value in arrays.items() if key.startswith("state.")}
    agent.mind.restore(state)
    agent.rewards, agent.values = arrays["rewards"].tolist(), list(arrays["values"])
    agent.duals = list(arrays.get("duals", np.full_like(arrays["values"], np.nan)))  # older files have none
    agent.lengths, agent.probes, agent.starts = arrays["lengths"].tolist(), list(arrays["probes"]), meta["starts"]
    agent.seen, agent._next = arrays.get("seen", agent.seen), len(agent.rewards)
    if isinstance(agent.mind, Regression):
        agent.mind.learned = len(agent.rewards)
        agent.mind.retune()


def _check_features(features: Any, meta: dict[str, Any], arrays: Arrays) -> None:
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
