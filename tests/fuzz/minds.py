"""Agents of every kind whose files are forged: arrays, JSON and episodes in flight, with a seal that fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

import noregret as nr
from noregret.agent import files
from tests.agent.toys import BOX, MASKS, Toy
from tests.fuzz.damage import ODD, Rng, pick, spoiled_arrays, spoiled_value
from tests.fuzz.reader import ALL, Reader

H = 5
#: Numbers that an index, a count, a size or a probability must not be.
NUMBERS = [-(2**62), -(2**31), -2, -1, 0, 1, 2, 3, 7, 100, 2**15, 2**30, 2**31, 2**40, 2**62, 0.5, 1e-300, 1e30, 1e300, np.nan,
           np.inf, -np.inf]  # fmt: skip


def kinds() -> dict[str, nr.Agent]:
    """An agent for each way in which what was learned is kept."""
    numbered, given = Toy(spaces.Discrete(6), spaces.Discrete(3), MASKS), {"reward_range": (-9, 9), "utility_range": (0, 1)}
    regressions: dict[str, Any] = {"learner": "primal-dual-lsvi", **given}
    base: dict[str, Any] = {"limit": 2.0, "horizon": H}
    return {
        "vectors": nr.Agent(Toy(BOX, spaces.Discrete(3), MASKS, ends=0.1), states=9, **base).learn(40, progress_bar=False),
        "free vectors": nr.Agent(Toy(BOX, spaces.Discrete(3)), states=9, **base).learn(5, progress_bar=False),
        "numbers": nr.Agent(numbered, **base).learn(60, progress_bar=False),
        "new": nr.Agent(numbered, **base),
        "points": nr.Agent(Toy(BOX, spaces.Box(-1, 1, (1,))), actions=3, states=9, **base).learn(4, progress_bar=False),
        "shared": nr.Agent(numbered, **base, **regressions).learn(4, progress_bar=False),
        "steps": nr.Agent(numbered, **base, **regressions, share="nothing", episodes=60).learn(4, progress_bar=False),
        "lazy": nr.Agent(numbered, **base, **regressions, share="nothing", replan="doubling").learn(4, progress_bar=False),
    }


def forged(rng: Rng, array: Any) -> Any:
    """One array with another content, shape or type."""
    array = np.array(array)
    match int(rng.integers(12)):
        case 0:
            return array[:1] if array.ndim else array[None]
        case 1 if array.ndim and len(array):
            return np.concatenate([array] * int(pick(rng, [2, 3, 1000])))[: max(200_000, 2 * len(array))]
        case 2 if array.ndim:
            return array[::-1]
        case 3 if array.ndim:
            return rng.permutation(array)
        case 4 if array.ndim:
            rows, wide = int(pick(rng, [0, 1, 5, 200_000])), max(int(np.prod(array.shape[1:])), 1)
            return np.zeros((min(rows, (1 << 21) // wide), *array.shape[1:]), array.dtype)
        case 5 if array.size:
            return np.full_like(array, _fits(array, pick(rng, NUMBERS)))
        case 6 if array.ndim > 1:
            return np.swapaxes(array, 0, 1)
        case 7:
            return array.astype(pick(rng, [np.float32, np.int8, np.int64, np.float64, np.uint64, np.bool_]))
        case _ if array.size:
            for _ in range(int(rng.integers(1, 4))):
                array.reshape(-1)[int(rng.integers(array.size))] = _fits(array, pick(rng, NUMBERS))
    return array


def _fits(array: Any, number: Any) -> Any:
    if array.dtype.kind == "f":
        return number
    if array.dtype.kind == "b":
        return bool(number)
    low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
    return 0 if number != number else int(min(max(number, low), high))


class Mind(Reader):
    """An agent of any kind that is loaded, asked, told and saved again."""

    share = ALL

    def prepare(self, folder: Path) -> None:
        self.path, self.good = folder / "agent.npz", {}
        for kind, agent in kinds().items():
            for name, steps in (("a", 3), ("b", 1)):
                for h in range(steps):
                    agent.act(0 if agent.setup.observations.n_states or agent.features else [0.1, 0.2], name, step=h)
            agent.tell(0.5, 0.5, episode="a", step=1)
            agent.save(self.path)
            with np.load(self.path) as file:
                self.good[kind] = dict(file)

    def spoil(self, rng: Rng) -> None:
        arrays, kind = dict(self.good[pick(rng, sorted(self.good))]), rng.random()
        if kind < 0.25:
            arrays["meta"] = _letters(self._meta(rng, json.loads(arrays["meta"].tobytes())))
        elif kind < 0.3:
            arrays["flight.text"] = _letters(spoiled_value(rng, json.loads(arrays["flight.text"].tobytes())))
        elif kind < 0.35:
            arrays = spoiled_arrays(rng, arrays)
        else:
            names = [name for name in sorted(arrays) if name not in ("meta", "seal", "flight.text")]
            names = [name for name in names if name.startswith("state.") or rng.random() < 0.3]
            for _ in range(int(rng.integers(1, 3))):
                name = pick(rng, names)
                other = pick(rng, names) if rng.random() < 0.1 else name
                arrays[name] = forged(rng, arrays[other])
        arrays = resealed(arrays)
        with open(self.path, "wb") as file:
            np.savez(file, **{name or "_": value for name, value in arrays.items()})

    @staticmethod
    def _meta(rng: Rng, meta: dict[str, Any]) -> Any:
        sizes = [("world", [0, 10**6]), ("world", [10**12, 0]), ("world", [3, 3]), ("n_actions", 10**6), ("n_actions", 1),
                 ("starts", [2**61, 0]), ("parts", [1000] * 5), ("learner", "soft-cells"), ("learner", "primal-dual-lsvi"),
                 ("features", "auto"), ("features", "other"), ("one_hot", [10**9, 3]), ("one_hot", [6, 3]),
                 ("episodes", 10**18), ("seed", 2**70), ("bound", 1e-300)]  # fmt: skip
        kind = rng.random()
        if kind < 0.35:
            name, value = sizes[int(rng.integers(len(sizes)))]
            return meta | {name: value}
        if kind < 0.6:
            key = pick(rng, sorted(meta["objectives"]))
            odd = pick(rng, [10**7, 1, 3, 6, -1, [], [[0, 1]], [0, 1e-300], [0, 1e300], [1.0, 2.0], True, None, *ODD])
            return meta | {"objectives": meta["objectives"] | {key: odd}}
        if kind < 0.75:
            name = pick(
                rng, ["states", "transitions", "margin", "preset", "share", "replan", "merge_tol", "beta", "K", "states"]
            )
            return meta | {"options": meta["options"] | {name: pick(rng, [*ODD, 2, 10**9, 0.9999, 1e-9, "all", "nothing"])}}
        return spoiled_value(rng, meta)

    def read(self) -> None:
        agent = nr.Agent.load(self.path, features=None)
        seen = agent.setup.observations
        x: Any = seen.first if agent.features is not None or seen.n_states else [0.3] * seen.dimension
        steps = agent.objectives.horizon
        assert steps <= 10**6, "a horizon that no small file can have"
        for step in {0, 1 % steps, steps - 1}:
            chances = agent.probabilities(x, step)
            assert abs(chances.sum() - 1.0) < 1e-6 and (chances >= 0.0).all(), f"probabilities are {chances}"
        agent.summary()
        for name in ("new", "again"):
            for h in range(min(steps, 6)):
                agent.act(x, name, step=h)
            n = len(agent.flights[name].steps)
            agent.tell([0.25] * n, np.full((n, len(agent.objectives.limits)), 0.5), x, terminated=True, episode=name)
        chances = agent.probabilities(x, 0)
        assert abs(chances.sum() - 1.0) < 1e-6 and (chances >= 0.0).all(), f"probabilities are {chances} after learning"
        for name in agent.in_flight:
            h = len(agent.flights[name].steps)
            if h < steps and agent.flights[name].last is None:
                agent.act(x, name, step=h)
        agent.save(self.path)


def resealed(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays with a seal that fits, where there can be one: not with texts and the like."""
    try:
        return files.sealed(arrays)
    except nr.NoRegretError:
        return arrays


def _letters(value: Any) -> Any:
    try:
        return np.frombuffer(json.dumps(value).encode("utf-8", "replace"), dtype=np.uint8)
    except (RecursionError, ValueError):
        return np.frombuffer(b"[" * 10_000, dtype=np.uint8)
