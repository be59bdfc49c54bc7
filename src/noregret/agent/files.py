"""Agents on disk: one .npz of plain arrays, one of them JSON text; no pickle."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.files import write_whole
from noregret.errors import FileError, InputError
from noregret.features import OneHot, Transformer
from noregret.features.base import show
from noregret.gym.world import World, is_discrete
from noregret.store.identity import decode, encode

#: Of the file's layout; read() refuses others.
FORMAT = 2
#: What a file holds besides the learner's state.
META = {"learner", "options", "episodes", "seed", "objectives", "features", "one_hot", "bound", "n_actions", "starts"}
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
    write_whole(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """What :func:`write` wrote: the JSON and the arrays."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        meta = decode(json.loads(arrays.pop("meta").tobytes().decode()))
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds on flipped bits
        raise FileError(f"{path}: not an agent that noregret saved: {' '.join(str(error).split())}") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = meta.get("format") if isinstance(meta, dict) else None
        raise FileError(f"{path}: has format {found!r}; expected {FORMAT}")
    missing = [*sorted(META - meta.keys()), *sorted(ARRAYS - arrays.keys())]
    if missing:
        raise FileError(f"{path}: entry {missing[0]!r} is missing")
    return meta, arrays


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
    """Put the arrays of a file into an agent that was set up from its JSON; the features must be the same."""
    probes, rows = arrays["probes"], arrays["probe_rows"]
    if agent.features.n_actions != meta["n_actions"]:
        raise InputError(f"features are for {agent.features.n_actions} actions; expected {meta['n_actions']}")
    if len(probes):
        found = agent.features.encode(probes)
        if found.shape != rows.shape:
            raise InputError(f"features have shape {found.shape[1:]}; expected {rows.shape[1:]} ({meta['features']})")
        off = np.abs(found - rows).max(axis=(1, 2))
        if off.max() > 1e-9:
            i = int(off.argmax())
            raise InputError(
                f"features differ from those the agent learned with: by {off[i]:.3g} at observation {show(probes[i])}; "
                f"expected {meta['features']}"
            )
    state = {key[6:]: value for key, value in arrays.items() if key.startswith("state.")}
    agent.learner.restore(state)
    agent.rewards, agent.values = arrays["rewards"].tolist(), list(arrays["values"])
    agent.duals = list(arrays.get("duals", np.full_like(arrays["values"], np.nan)))  # older files have none
    agent.lengths, agent.probes, agent.starts = arrays["lengths"].tolist(), list(probes), tuple(meta["starts"])
