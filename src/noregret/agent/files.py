"""Agents on disk: one .npz of plain arrays, one of them JSON text; no pickle."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, check_arrays, check_range, is_plain, load_npz, most_bytes, said, save_npz
from noregret.errors import FileError, InputError
from noregret.features import OneHot, Transformer
from noregret.features.base import show
from noregret.gym.world import World, is_discrete
from noregret.kernels.gram.dense import Sizes, bytes_needed
from noregret.learners.continuous import FIRST_ROOM
from noregret.problems.checks import integer
from noregret.store.identity import decode, encode

#: Of the file's layout; read() refuses others.
FORMAT = 2
#: What a file holds besides the learner's state: the JSON entries with their kinds, and the arrays with their types.
META: dict[str, Any] = {
    "learner": str, "options": dict, "episodes": int | None, "seed": int, "objectives": dict, "features": str,
    "one_hot": list | None, "bound": float | int | None, "n_actions": int, "starts": list,
}  # fmt: skip
ARRAYS = {"rewards", "values", "lengths", "probes", "probe_rows"}

Arrays = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], agent: Any) -> None:
    """Write an agent."""
    f = agent.features
    meta = {
        "format": FORMAT,
        "learner": agent.learner_name,
        "options": agent.options,
        "episodes": agent.total,
        "seed": agent.seed,
        "objectives": agent.objectives.plain(),
        "features": f.describe(),
        "one_hot": [f.width, f.n_actions] if isinstance(f, OneHot) else None,
        "bound": f.bound if isinstance(f, Transformer) else None,
        "n_actions": f.n_actions,
        "starts": agent.starts,
    }
    text = json.dumps(encode(meta))
    m = agent.spec.n_constraints
    probes = np.array(agent.probes) if agent.probes else np.zeros((0,))
    arrays: Arrays = {
        "meta": np.frombuffer(text.encode(), dtype=np.uint8),
        "rewards": np.array(agent.rewards, dtype=np.float64),
        "values": np.array(agent.values, dtype=np.float64).reshape(-1, m),
        "duals": np.array(agent.duals, dtype=np.float64).reshape(-1, m),
        "lengths": np.array(agent.lengths, dtype=np.int64),
        "probes": probes,
        "probe_rows": f.encode(probes) if len(probes) else np.zeros((0,)),
    }
    arrays |= {f"state.{key}": value for key, value in agent.learner.state().items()}
    save_npz(path, arrays)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """What :func:`write` wrote: the JSON and the arrays, each of the kind it should be."""
    arrays = load_npz(path, "an agent that noregret saved")
    with explained(path):
        meta = decode(json.loads(arrays.pop("meta").tobytes().decode()))
        found = meta.get("format")
    if found != FORMAT:
        raise FileError(f"{path}: has format {found!r}; expected {FORMAT}")
    missing = [*sorted(META.keys() - meta.keys()), *sorted(ARRAYS - arrays.keys())]
    if missing:
        raise FileError(f"{path}: entry {missing[0]!r} is missing")
    for name, kind in META.items():
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


def check_room(path: str | os.PathLike[str], horizon: int, features: Any, arrays: Arrays) -> None:
    """Refuse a file that asks for far more memory than it holds numbers for.

    Args:
        path: of the file.
        horizon: steps of an episode.
        features: the feature map of the agent.
        arrays: what was read from the file.

    Raises:
        FileError: the agent would need too much memory.
    """
    m = arrays["values"].shape[1]
    size = Sizes(horizon, features.n_actions, 1 + 2 * m, m, features.rows, features.blocks, features.width)
    if (need := bytes_needed(size, FIRST_ROOM)) > (most := 8 * most_bytes(os.path.getsize(path))):
        raise FileError(f"{path}: needs {need:,} bytes; expected at most {most:,} (NOREGRET_MOST_BYTES sets a limit)")


def check_world(world: World, meta: dict[str, Any]) -> None:
    """Refuse an environment that cannot be the one the agent was made for."""
    if world.n_actions != meta["n_actions"]:
        raise InputError(f"env has {world.n_actions} actions; expected {meta['n_actions']}, as the agent learned with")
    if list(world.starts) != list(meta["starts"]):
        raise InputError(f"env counts states and actions from {list(world.starts)}; expected {list(meta['starts'])}, as before")
    space = world.env.observation_space
    if meta["one_hot"] and is_discrete(space) and int(space.n) != meta["one_hot"][0]:
        raise InputError(f"env has {int(space.n)} states; expected {meta['one_hot'][0]}, as the agent learned with")


def fill(agent: Any, meta: dict[str, Any], arrays: Arrays) -> None:
    """Put the arrays of a file into an agent that was set up from its JSON; the features must be the same.

    Args:
        agent: a new one, changed in place.
        meta: the JSON of the file.
        arrays: the arrays of the file, by name.

    Raises:
        InputError: the features of the agent differ from those of the file.
    """
    probes, rows = arrays["probes"], arrays["probe_rows"]
    if agent.features.n_actions != meta["n_actions"]:
        raise InputError(f"features are for {agent.features.n_actions} actions; expected {meta['n_actions']}")
    if len(probes):
        found = agent.features.encode(probes)
        if found.shape != rows.shape:
            raise InputError(f"features have shape {found.shape[1:]}; expected {rows.shape[1:]} ({meta['features']})")
        off = np.abs(found - rows).max(axis=(1, 2))
        if not off.max() <= 1e-9:
            i = int(off.argmax())
            raise InputError(
                f"features differ from those the agent learned with: by {off[i]:.3g} at observation {show(probes[i])}; "
                f"expected {meta['features']}"
            )
    state = {key[6:]: value for key, value in arrays.items() if key.startswith("state.")}
    agent.learner.restore(state)
    agent.rewards, agent.values = arrays["rewards"].tolist(), list(arrays["values"])
    agent.duals = list(arrays.get("duals", np.full_like(arrays["values"], np.nan)))  # older files have none
    agent.lengths, agent.probes, agent.starts = arrays["lengths"].tolist(), list(probes), meta["starts"]
