"""What a stored run must hold, checked when it is read: a seal says that a file is whole, not that it is one of ours."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, TypedDict, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, check_arrays, is_plain
from noregret.errors import InputError
from noregret.results import record_grid

Words = dict[str, str | float | None]


class Ends(TypedDict):
    """The last point of each curve that every run has."""

    regret: float
    hard_regret: float
    signed_violations: list[float]
    hard_violations: list[float]
    dual: list[float]


class LastPoints(Ends, total=False):
    """The last point of each curve. Where the problem limits every step, unsafe steps were counted too."""

    unsafe_steps: float


class Sealed(TypedDict):
    """The checksum of a file."""

    sha256: str


class Finished(TypedDict):
    """Entries of the record of a finished run; there may be more."""

    constants: dict[str, Any]
    explain: dict[str, str]
    constraints: list[str]
    thresholds: list[float]
    horizon: int
    optimal_value: float
    tightened_value: float
    optimal_dual: list[float]
    slater_gap: float
    started: str
    finished: str
    sittings: int
    seconds: float
    kernel_seconds: float
    versions: Words
    machine: Words
    notes: dict[str, float]
    curves: Sealed
    last: LastPoints


class RunRecord(Finished, total=False):
    """The record of a run, finished or failed, as it is read from its file."""

    run: dict[str, object]
    uniform_loss: float | None
    error: str
    traceback: str
    evaluated: str


def check_entries(entries: object, kinds: Mapping[str, object], what: str = "entry") -> None:
    """Refuse entries that are missing or of another kind than they must be, with the first one named.

    Args:
        entries: what was read.
        kinds: the kind of each entry that must be there, as :func:`is_kind` takes it.
        what: what messages call an entry.
    """
    for name, kind in kinds.items():
        if not isinstance(entries, Mapping) or name not in entries:
            raise InputError(f"{what} {name!r} is missing")
        if not is_kind(entries[name], kind):
            raise InputError(f"{what} {name!r} is {repr(entries[name])[:60]}; expected {getattr(kind, '__name__', kind)}")


def _required(record: type) -> dict[str, Any]:
    """The kinds of the entries that such a record must have, by name."""
    return {name: kind for name, kind in get_type_hints(record).items() if name in vars(record)["__required_keys__"]}


def check_record(record: RunRecord) -> None:
    """Refuse a record that is not that of a finished run."""
    entries: Mapping[str, object] = record
    kinds = _required(RunRecord)
    parts = {name: kinds.pop(name) for name in ("last", "curves")}
    check_entries(entries, kinds | dict.fromkeys(parts, dict))
    for name, part in parts.items():
        check_entries(entries[name], _required(part), f"entry of {name}")
    m, last = len(record["constraints"]), record["last"]
    lists = {"thresholds": record["thresholds"], "optimal_dual": record["optimal_dual"], "dual": last["dual"]}
    lists |= {"signed_violations": last["signed_violations"], "hard_violations": last["hard_violations"]}
    for name, values in lists.items():
        if len(values) != m or not m:
            raise InputError(f"entry {name!r} has {len(values)} numbers; expected {m}, one for each constraint")


def check_curves(curves: Mapping[str, NDArray[np.generic]], m: int, episodes: int, every: int) -> None:
    """Refuse curves that are not those of such a run.

    Args:
        curves: what was read, by name.
        m: the number of constraints.
        episodes: how many were played.
        every: the distance of two recorded episodes.
    """
    n = -(-episodes // every)
    points = curves["episodes"].size if "episodes" in curves else 0
    if points != n:
        raise InputError(f"curves have {points} points; expected {n}")
    expected: dict[str, NDArray[np.generic]] = {
        "episodes": record_grid(n, every, episodes),
        "regret": np.zeros(n),
        "hard_regret": np.zeros(n),
    }
    expected |= {name: np.zeros((n, m)) for name in ("signed_violations", "hard_violations", "dual")}
    if "unsafe_steps" in curves:  # of a problem with a limit on every step
        expected["unsafe_steps"] = np.zeros(n)
    if (kept := curves.get("kept")) is not None and kept.ndim == 4:  # the policies that were played, (4,H,S,A)
        expected["kept"] = np.broadcast_to(0.0, (4, *kept.shape[1:]))
    check_arrays(expected, curves, lambda name: (-LARGEST, LARGEST), "curves")
    if not np.array_equal(expected["episodes"], curves["episodes"]):
        raise InputError("curves are not recorded where the run says")


def is_kind(value: object, kind: Any) -> bool:
    """Whether a value read from JSON is of a kind: a type, ``A | B``, ``list[A]`` or ``dict[str, A]``. Texts must be plain."""
    origin = get_origin(kind)
    if kind in (object, Any):
        return is_plain(str(value))
    if origin in (types.UnionType, Union):
        return any(is_kind(value, part) for part in get_args(kind))
    if origin is list:
        return isinstance(value, list) and all(is_kind(item, get_args(kind)[0]) for item in value)
    if origin is not None:
        return isinstance(value, Mapping) and all(is_plain(k) and is_kind(v, get_args(kind)[1]) for k, v in value.items())
    if kind in (int, float):
        number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
        return number and abs(value) < 2**63 if isinstance(value, int) else number
    return isinstance(value, kind) and (not isinstance(value, str) or is_plain(value)) if kind else value is None
