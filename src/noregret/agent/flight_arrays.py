"""Episodes in flight as plain arrays, and back: every number is checked, as the arrays may come from a stranger.

``text`` is JSON: the number of the next episode, and of each episode its name, number, length and end, and notes of steps. All
other arrays are stacks over the steps of all episodes, one after the other: ``observations`` (then those after the ends),
``actions``, ``taken`` (-1: the action), ``told``, ``masked``; and of the steps for which these are true, ``rewards``,
``values`` and ``masks``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from noregret._system.checks import integer
from noregret.agent.flight import Flight, FlightStep, Name, name_of
from noregret.errors import InputError, shown
from noregret.learners.arrays import Numbers

Arrays = Mapping[str, Numbers]
#: The shape of an observation, and the kinds of type that it may have.
Like = tuple[tuple[int, ...], str]


def pack(flights: Mapping[Name, Flight], following: int, m: int) -> dict[str, Numbers]:
    """Give all episodes in flight as arrays by name.

    Args:
        flights: by name.
        following: the number of the next episode that begins.
        m: the number of constraints.

    Raises:
        InputError: observations have different shapes, so that they are no stack.
    """
    steps = [step for flight in flights.values() for step in flight.steps]
    seen = [step.observation for step in steps] + [flight.last for flight in flights.values() if flight.last is not None]
    if len({(array.shape, array.dtype) for array in map(np.asarray, seen)}) > 1:
        raise InputError("observations of episodes in flight have several shapes or types; expected one, to save them")
    told, masks = [step for step in steps if step.reward is not None], [step.mask for step in steps if step.mask is not None]
    said = {
        "next": following,
        "names": list(flights),
        "numbers": [flight.number for flight in flights.values()],
        "lengths": [len(flight.steps) for flight in flights.values()],
        "ended": [None if flight.last is None else flight.terminated for flight in flights.values()],
        "notes": {str(i): step.note for i, step in enumerate(steps) if step.note},
    }
    return {
        "text": np.frombuffer(json.dumps(said).encode(), dtype=np.uint8),
        "observations": np.array(seen) if seen else np.zeros(0),
        "actions": np.array([step.action for step in steps], dtype=np.int64),
        "taken": np.array([-1 if step.taken is None else step.taken for step in steps], dtype=np.int64),
        "told": np.array([step.reward is not None for step in steps], dtype=np.bool_),
        "rewards": np.array([step.reward for step in told], dtype=np.float64),
        "values": np.array([step.values for step in told], dtype=np.float64).reshape(-1, m),
        "masked": np.array([step.mask is not None for step in steps], dtype=np.bool_),
        "masks": np.array(masks, dtype=np.bool_) if masks else np.zeros((0, 0), dtype=np.bool_),
    }


def unpack(arrays: Arrays, sizes: tuple[int, int, int], like: Like | None) -> tuple[dict[Name, Flight], int]:
    """Make the episodes in flight that :func:`pack` described, and the number of the next one.

    Args:
        arrays: by name.
        sizes: the horizon, the number of actions, the number of constraints.
        like: what an observation is like; None where that is not known.

    Raises:
        InputError: an array is missing, of another shape or type, or says what cannot be.
    """
    try:
        return _unpack(arrays, sizes, like)
    except InputError:
        raise
    except Exception as error:  # JSON, shapes and types of a stranger
        said = f"{type(error).__name__}: {shown(error)}"
        raise InputError(f"episodes in flight cannot be read ({said}); expected what arrays() gave") from None


def _unpack(arrays: Arrays, sizes: tuple[int, int, int], like: Like | None) -> tuple[dict[Name, Flight], int]:
    H, A, m = sizes
    said = json.loads(arrays["text"].tobytes().decode())
    following = integer("next", said["next"], 0, 1 << 62)
    names, ended = [name_of(name) for name in said["names"]], list(said["ended"])
    lengths = [integer("length", length, 1, H) for length in said["lengths"]]
    counted = [integer("number", number, 0, following - 1) for number in said["numbers"]]
    same = len(names) == len(set(names)) == len(lengths) == len(ended) == len(counted) == len(set(counted))
    _must(same and all(end is None or isinstance(end, bool) for end in ended), "names or numbers")
    n, told, masked = sum(lengths), arrays["told"], arrays["masked"]
    _must(told.dtype == masked.dtype == np.bool_ and told.shape == masked.shape == (n,), "told or masked")
    reports, shut = int(told.sum()), int(masked.sum())
    for key, kind, shape in (
        ("actions", np.int64, (n,)), ("taken", np.int64, (n,)), ("rewards", np.float64, (reports,)),
        ("values", np.float64, (reports, m)), ("masks", np.bool_, (shut, A if shut else 0)),
    ):  # fmt: skip
        _must(arrays[key].shape == shape and arrays[key].dtype == kind, key)
    seen, actions, taken, masks = (arrays[key] for key in ("observations", "actions", "taken", "masks"))
    _must(len(seen) == n + sum(end is not None for end in ended) and seen.dtype.kind in "biuf", "observations")
    _must(like is None or not n or (seen.shape[1:] == like[0] and seen.dtype.kind in like[1]), "observations")
    _must(all(np.isfinite(arrays[key]).all() for key in ("observations", "rewards", "values")), "numbers")
    _must(bool(((actions >= 0) & (actions < A) & (taken >= -1) & (taken < A)).all()), "actions")
    earned, could = iter(zip(arrays["rewards"].tolist(), arrays["values"], strict=True)), iter(masks)
    notes, steps = dict(said["notes"]), list[FlightStep]()
    for i in range(n):
        reward, values = next(earned) if told[i] else (None, None)
        mask = next(could).copy() if masked[i] else None
        made = FlightStep(seen[i], mask, int(actions[i]), dict(notes.get(str(i), {})), None, reward, values)
        made.taken = None if taken[i] < 0 else int(taken[i])
        _must(mask is None or bool(mask[made.action] and mask[made.done]), "masks")
        steps.append(made)
    found, begin, ends = dict[Name, Flight](), 0, iter(seen[n:])
    for name, number, length, end in zip(names, counted, lengths, ended, strict=True):
        last = None if end is None else next(ends)
        found[name] = Flight(number, steps[begin : begin + length], last, bool(end))
        begin += length
    return found, following


def _must(good: bool, what: str) -> None:
    if not good:
        raise InputError(f"episodes in flight have {what} that cannot be; expected what arrays() gave")
