"""Which run is this: a hash of everything that decides its numbers, and of nothing else.

A run is one trial. Its numbers follow from the problem, the learner with its constants, what the learner is told, the seed and
the trial's index, the episodes, the record grid, and the code; the hash is taken of these as JSON with sorted keys. A problem
that noregret builds is identified by the text that rebuilds it, any other one by its arrays. The constants are those in force:
whether a preset gave one or the user did changes nothing. Threads, block sizes, machines, paths and times are left out too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, get_type_hints, overload

import numpy as np

from noregret.errors import InputError
from noregret.store.records import check_entries

#: Hexadecimal digits of the hash that name a run's folder.
DIGITS = 16


@dataclass(frozen=True)
class RunKey:
    """Everything that decides the numbers of one trial, and so its name; and beside it what was asked for.

    Keys are made by :func:`noregret.runs.keys.make_key`, which finds the constants in force. Two ways to ask for the same
    constants give equal keys, each with its own ``preset``, ``slater_gap`` and ``params`` as a label.

    Attributes:
        problem: the text that loads the problem. Where ``problem_hash`` is given, only a label.
        learner: the learner's name.
        episodes: how many episodes the trial has.
        seed: the number that all randomness is drawn from.
        trial: the number of the trial, from 0; each has its own random streams.
        record_every: every so many episodes a point of the curves is recorded.
        constants: the learner's constants in force, by name.
        told: what the run is given beside constants, by name; a hash stands for an array.
        starts: the first states; None: the problem draws them.
        problem_hash: a hash of a problem from a file or from another package.
        features_hash: a hash of features φ that were handed over.
        code: a hash of the code that the numbers come from.
        preset: asked for: the preset.
        slater_gap: asked for: the Slater gap that the learner is told.
        params: asked for: the parameters that override the preset's.

    Example:
        >>> key = RunKey("job-scheduling", "uniform", episodes=1000, seed=3)
        >>> key.id
        '06f14c6bea8612ed'
        >>> key == RunKey("job-scheduling", "uniform", episodes=1000, seed=3, preset="theory")
        True
    """

    problem: str
    learner: str
    episodes: int
    seed: int = 0
    trial: int = 0
    record_every: int = 100
    constants: Mapping[str, object] = field(default_factory=dict)
    told: Mapping[str, object] = field(default_factory=dict)
    starts: str | int | list[int] | None = None
    problem_hash: str | None = None
    features_hash: str | None = None
    code: str | None = None
    preset: str = field(default="practical", compare=False)
    slater_gap: float | str | None = field(default=None, compare=False)
    params: Mapping[str, object] = field(default_factory=dict, compare=False)

    def canonical(self) -> str:
        """The text that the run's id is a hash of."""
        entries = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        if self.problem_hash is not None:
            entries["problem"] = None
        return json.dumps(_same(encode(entries)), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

    @cached_property
    def id(self) -> str:
        """The name of the run: the first digits of a hash."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:DIGITS]

    def to_json(self) -> dict[str, object]:
        """Plain entries for a JSON file."""
        entries: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        return encode(entries)

    def options(self) -> str:
        """What a table says of the learner beside its name: ``paper, γ=oracle, starts=drawn, beta=0.1``.

        The record grid is named where it is not the usual one of as many episodes.
        """
        said = [] if self.slater_gap is None else [f"γ={self.slater_gap}"]
        said += [] if self.starts is None else [f"starts={self.starts}"]
        said += [] if self.record_every == usual_grid(self.episodes) else [f"record_every={self.record_every}"]
        return ", ".join([self.preset, *said, *(f"{name}={value}" for name, value in sorted(self.params.items()))])

    def repeat(self) -> str:
        """A line of Python that plays the run again; the run is the last trial of the result."""
        options: dict[str, object] = {"episodes": self.episodes, "trials": self.trial + 1, "seed": self.seed}
        options |= {"record_every": self.record_every, "preset": self.preset}
        options |= {} if self.slater_gap is None else {"slater_gap": self.slater_gap}
        options |= {} if self.starts is None else {"starts": self.starts}
        options |= {} if self.features_hash is None else {"features": "<the array>"}
        words = [f"{name}={_literal(value)}" for name, value in (options | dict(self.params)).items()]
        return f"nr.run(nr.problems.load({self.problem!r}), {self.learner!r}, {', '.join(words)})"

    @classmethod
    def from_json(cls, entries: Mapping[str, object]) -> RunKey:
        """The key that :meth:`to_json` gave as plain entries.

        Raises:
            InputError: an entry is unknown, missing, or of another kind.
        """
        kinds = get_type_hints(cls)
        for name in entries:
            if name not in kinds:
                raise InputError(f"entry {name!r} of the run is unknown; was it written by a newer version?")
        decoded = decode(dict(entries))
        check_entries(decoded, {each.name: kinds[each.name] for each in fields(cls)})
        key = cls(**decoded)
        if key.episodes < 1 or key.record_every < 1:
            raise InputError(f"episodes is {key.episodes} and record_every {key.record_every}; expected at least 1")
        return key


def usual_grid(episodes: int) -> int:
    """The distance of recorded episodes where none is given: a hundredth of all."""
    return max(1, episodes // 100)


def _literal(value: object) -> str:
    """Python's text of a value, also of infinity."""
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def content_hash(arrays: Mapping[str, object]) -> str:
    """A hash of named arrays (and texts, None, and objects made of these): of their types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(f"{name}|".encode())
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            digest.update(f"{value.dtype.str}{value.shape}|".encode())
            digest.update(np.ascontiguousarray(value).data)
        elif value is None or isinstance(value, str | int | float):
            digest.update(repr(value).encode())
        elif isinstance(value, tuple) and all(isinstance(v, str) for v in value):
            digest.update(repr(value).encode())
        elif getattr(value, "__dict__", None) and not callable(value):
            digest.update(f"{type(value).__name__}{content_hash(vars(value))}".encode())
        else:
            raise InputError(f"{name} is a {type(value).__name__}; expected an array of numbers, text or None")
    return digest.hexdigest()


# --- values that JSON does not have -------------------------------------------------------------------------------


@overload
def encode(value: Mapping[str, object]) -> dict[str, object]: ...
@overload
def encode(value: object) -> object: ...
def encode(value: object) -> object:
    """Plain JSON values: NumPy's numbers as Python's, numbers that are not finite as ``{"number": "inf"}``."""
    if type(value) in (str, int, bool):  # most values, and asking whether one is a Mapping is slow
        return value
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"{value!r} is a {type(value).__name__}; a stored run takes numbers, text, true/false and lists of them")


@overload
def decode(value: dict[str, object]) -> dict[str, Any]: ...
@overload
def decode(value: object) -> object: ...
def decode(value: object) -> object:
    """The inverse of :func:`encode`, up to lists for tuples."""
    if isinstance(value, dict):
        if value.keys() == {"number"}:
            return float(value["number"])
        return {key: decode(item) for key, item in value.items()}
    return [decode(item) for item in value] if isinstance(value, list) else value


def _same(value: object) -> object:
    """1.0 and 1 are the same parameter."""
    if isinstance(value, dict):
        return {key: _same(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_same(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
