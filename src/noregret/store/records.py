"""What a stored run must hold, checked when it is read: a seal says that a file is whole, not that it is one of ours."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, check_arrays, is_plain
from noregret.errors import InputError
from noregret.results import record_grid

Words = dict[str, str | float | None]

#: Entries of the record of a finished run, and their kinds; there may be more.
FINISHED: dict[str, Any] = {
    "constants": dict[str, Any], "explain": dict[str, str], "constraints": list[str], "thresholds": list[float],
    "horizon": int, "optimal_value": float, "tightened_value": float, "optimal_dual": list[float], "slater_gap": float,
    "slater_gap_used": float | None, "started": str, "finished": str, "sittings": int, "seconds": float,
    "kernel_seconds": float, "versions": Words, "machine": Words, "notes": dict[str, float],
}  # fmt: skip
LAST: dict[str, Any] = {
    "regret": float, "hard_regret": float, "signed_violations": list[float], "hard_violations": list[float],
    "dual": list[float],
}  # fmt: skip


def check_entries(entries: Any, kinds: Mapping[str, Any], what: str = "entry") -> None:
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


def check_record(record: Mapping[str, Any]) -> None:
    """Refuse a record that is not that of a finished run."""
    check_entries(record, FINISHED | {"curves": dict, "last": dict})
    check_entries(record["last"], LAST, "entry of last")
    check_entries(record["curves"], {"sha256": str}, "entry of curves")
    m = len(record["constraints"])
    lists = {name: record[name] for name in ("thresholds", "optimal_dual")} | {
        name: record["last"][name] for name in ("signed_violations", "hard_violations", "dual")
    }
    for name, values in lists.items():
        if len(values) != m or not m:
            raise InputError(f"entry {name!r} has {len(values)} numbers; expected {m}, one for each constraint")


def check_curves(curves: Mapping[str, NDArray[Any]], m: int, episodes: int, every: int) -> None:
    """Refuse curves that are not those of such a run.

    Args:
        curves: what was read, by name.
        m: the number of constraints.
        episodes: how many were played.
        every: the distance of two recorded episodes.
    """
    n = -(-episodes // every)
    found = curves["episodes"].size if "episodes" in curves else 0
    if found != n:
        raise InputError(f"curves have {found} points; expected {n}")
    own: dict[str, NDArray[Any]] = {
        "episodes": record_grid(n, every, episodes),
        "regret": np.zeros(n),
        "hard_regret": np.zeros(n),
    }
    own |= {name: np.zeros((n, m)) for name in ("signed_violations", "hard_violations", "dual")}
    if "unsafe_steps" in curves:  # of a problem with a limit on every step
        own["unsafe_steps"] = np.zeros(n)
    if (kept := curves.get("kept")) is not None and kept.ndim == 4:  # the policies that were played, (4,H,S,A)
        own["kept"] = np.broadcast_to(0.0, (4, *kept.shape[1:]))
    check_arrays(own, curves, lambda name: (-LARGEST, LARGEST), "curves")
    if not np.array_equal(own["episodes"], curves["episodes"]):
        raise InputError("curves are not recorded where the run says")


def is_kind(value: Any, kind: Any) -> bool:
    """Whether a value read from JSON is of a kind: a type, ``A | B``, ``list[A]`` or ``dict[str, A]``. Texts must be plain."""
    origin = get_origin(kind)
    if kind is Any:
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
