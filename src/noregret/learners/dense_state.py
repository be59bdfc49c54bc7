"""The numbers of a learner of any states: what the next episode needs, and room that grows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, check_arrays, check_range
from noregret.errors import InputError
from noregret.kernels.gram.dense import DenseGram
from noregret.learners.base import Numbers, check_numbers, flatten
from noregret.problems.base import Array

#: Arrays whose second axis is the states kept.
GROWING = ("gram.F", "gram.q", "gram.slot", "gram.M", "key")


class DenseState(NamedTuple):
    """What the next episode needs."""

    gram: DenseGram
    key: NDArray[np.uint64]  # (H,N,2) by which a state is found again
    Y: Array  # (m,)
    planned_dual: Array  # (m,) of the plan in use
    planned_log_det: Array  # (H,)
    planned_alpha: Array  # (1,)
    bonus: Array  # (H,J) β of each step and objective, of the plan in use
    gain: Array  # (m,) of the dual step
    lack: Array  # (m,) last b - V_g
    memory: Array  # (2,m) of the dual step, or (0,m)
    counters: NDArray[np.int64]  # (3,) episodes seen, plans made, whether the plan stands

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"counters": (0, 2**53)}


def with_room(state: DenseState, room: int) -> tuple[DenseState, int]:
    """The state with the cache doubled where a step is full, and the states it has room for."""
    gram = state.gram
    if int(gram.counts.max()) == room:
        room *= 2
        T = gram.q.shape[3]
        tiles = -(-room // T)
        gram = gram._replace(F=longer(gram.F, tiles), q=longer(gram.q, tiles), slot=longer(gram.slot, tiles * T, fill=-1))
        state = state._replace(key=longer(state.key, room), gram=gram)
    if int(gram.slots.max()) == gram.M.shape[1]:
        state = state._replace(gram=gram._replace(M=longer(gram.M, 2 * gram.M.shape[1])))
    return state, room


def trimmed(state: DenseState) -> dict[str, Numbers]:
    """All arrays by dotted name, without unused room."""
    gram = state.gram
    T, n, slots = gram.q.shape[3], int(gram.counts.max()), int(gram.slots.max())
    tiles = -(-n // T)
    used = dict(zip(GROWING, (tiles, tiles, tiles * T, slots, n), strict=True))
    return {k: v[:, : used[k]].copy() if k in used else v.copy() for k, v in flatten(state).items()}


def final(state: DenseState) -> dict[str, tuple[int, int]]:
    """Of the features and keys, how many tiles and states are full at every step (the first one keeps none)."""
    counts = state.gram.counts
    full = int(counts[1:].min()) if len(counts) > 1 else 0
    return {"gram.F": (1, full // state.gram.q.shape[3]), "key": (1, full)}


def restored(state: DenseState, room: int, given: dict[str, Numbers]) -> tuple[DenseState, int]:
    """The state that :func:`trimmed` gave, or an error that names the entry that does not fit; ``state`` stays as it is.

    Args:
        state: of a learner with the same sizes; it is not changed.
        room: how many states a step of it has room for.
        given: the arrays by dotted name.

    Returns:
        The state with the arrays given, and how many states a step has room for now.
    """
    own = trimmed(state)
    given = {k: v for k, v in own.items() if k == "memory" and not v.size} | given  # which older versions do not have
    given = {k: np.array(v, order="C") for k, v in given.items()}  # kernels know no other order
    check_arrays(
        {k: _as_long(v, given.get(k)) if k in GROWING else v for k, v in own.items()}, given, lambda key: None, "state"
    )
    _check_kept(state, given)
    while room < given["key"].shape[1]:
        room *= 2
    T = state.gram.q.shape[3]
    length = {"gram.F": -(-room // T), "gram.q": -(-room // T), "gram.slot": -(-room // T) * T, "gram.M": room, "key": room}
    for k, n in length.items():
        given[k] = longer(given[k], n, fill=-1 if k == "gram.slot" else 0)
    if "gram.planned_inv" not in given:  # where every episode is planned they are one array
        given["gram.planned_inv"] = given["gram.Lambda_inv"]
    arrays: dict[str, Any] = {k[5:]: v for k, v in given.items() if k.startswith("gram.")}
    gram = state.gram._replace(**arrays)
    state = state._replace(gram=gram, **{k: v for k, v in given.items() if not k.startswith("gram.")})
    check_numbers(state, given)
    return state, room


def _as_long(own: NDArray[Any], given: NDArray[Any] | None) -> NDArray[Any]:
    """An array like ``own`` with as much along the second axis as ``given`` has."""
    length = given.shape[1] if given is not None and given.ndim > 1 else 0
    return np.broadcast_to(np.zeros((), own.dtype), (own.shape[0], length, *own.shape[2:]))


def _check_kept(state: DenseState, given: dict[str, Numbers]) -> None:
    """Refuse counts that disagree with what is kept, and numbers of which no norm or probability can be made."""
    T, slots = state.gram.q.shape[3], given["gram.slots"]
    n = int(given["gram.counts"].max())
    for k, least, most in (
        ("gram.q", 0.0, LARGEST),
        ("Y", 0.0, LARGEST),
        ("gram.counts", 0, n),
        ("gram.slots", 0, slots.max()),
    ):
        check_range(f"state[{k!r}]", given[k], (least, most))
    for k, length in zip(GROWING, (-(-n // T), -(-n // T), -(-n // T) * T, int(slots.max()), n), strict=True):
        if given[k].shape[1] != length:
            raise InputError(f"state[{k!r}] has {given[k].shape[1]} places a step; expected {length}, as 'gram.counts' says")
    last = given["gram.slot"].max(axis=(1, 2), initial=-1)
    if (last >= slots).any():
        h = int(np.argmax(last >= slots))
        raise InputError(f"state['gram.slot'] has {last[h]} at step {h}; expected less than {slots[h]}")
    for k in ("gram.Lambda", "gram.Lambda_inv"):
        check_range(f"state[{k!r}]", given[k], (-LARGEST, LARGEST))
        try:
            np.linalg.cholesky(given[k])
        except np.linalg.LinAlgError:
            raise InputError(f"state[{k!r}] is not positive definite; expected a Gram matrix") from None


def places(state: DenseState) -> list[dict[bytes, int]]:
    """For each step, where each state is kept, by its key."""
    return [{state.key[h, i].tobytes(): i for i in range(int(n))} for h, n in enumerate(state.gram.counts)]


def longer(array: NDArray[Any], length: int, fill: float = 0) -> NDArray[Any]:
    """The same numbers with more room along the second axis.

    Args:
        array: with at least two axes; it is not changed.
        length: of the second axis; an array that is longer keeps its own.
        fill: the number in the new places.
    """
    shape = (array.shape[0], max(length, array.shape[1]), *array.shape[2:])
    out = np.zeros(shape, array.dtype) if fill == 0 else np.full(shape, fill, array.dtype)
    out[:, : array.shape[1]] = array
    return out
