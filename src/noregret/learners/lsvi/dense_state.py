"""The numbers of a learner of any states: what the next episode needs, and room that grows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, check_arrays, check_range
from noregret.errors import InputError
from noregret.kernels.gram.bounded import BoundedGram, make_room, place
from noregret.kernels.gram.dense import DenseGram
from noregret.kernels.types import COUNTS, STREAMS
from noregret.learners.arrays import Numbers, check_numbers, flatten
from noregret.problems.base import Array


class DenseState(NamedTuple):
    """What the next episode needs."""

    gram: Any  # a DenseGram or a BoundedGram
    key: NDArray[np.uint64]  # (H,N,2) by which a state is found again; (0,0,2) where it is found by its features
    Y: Array  # (m,)
    planned_dual: Array  # (m,) of the plan in use
    planned_log_det: Array  # (H,)
    planned_alpha: Array  # (1,)
    bonus: Array  # (H,J) β of each step and objective, of the plan in use
    noise: Array  # (H,2,J) (c_jσ_j)² and c_jR_j of each, of the plan in use
    gain: Array  # (m,) of the dual step
    lack: Array  # (m,) last b - V_g
    memory: Array | None  # (2,m) of the dual step, where it has one
    counters: NDArray[np.int64]  # (3,) episodes seen, plans made, whether the plan stands

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count or are hashes, and the least and largest number each may hold."""
        return {"counters": COUNTS, "key": STREAMS}


def with_room(state: DenseState, room: int) -> tuple[DenseState, int]:
    """The state with the cache doubled where a step is full, and the states it has room for."""
    gram, slots = state.gram, state.gram.M.shape[1]
    full = int(gram.counts.max()) == room
    if int(gram.slots.max()) == slots:
        slots *= 2
    elif not full:
        return state, room
    room *= 1 + full
    return _longer(state, gram.lengths(room, slots)), room


def settle(state: DenseState, most: int, rows: Array, actions: NDArray[np.int64], ended: bool) -> DenseState:
    """Give every next state of an episode a place in a :class:`BoundedGram`: room doubles up to ``most``, then places merge.

    Args:
        state: changed in place, unless room was made.
        most: how many states a step may be kept.
        rows: (L+1,R,p) the features of the states visited.
        actions: (L,) the actions taken.
        ended: whether the last next state is an early end.

    Returns:
        The state with all of them placed.
    """
    done = 0
    while (done := place(state.gram, rows, actions, done, ended)) < len(actions):
        room = state.gram.M.shape[1]
        if room < most:
            state = _longer(state, state.gram.lengths(min(2 * room, most), 0))
        else:
            make_room(state.gram)
    return state


def _longer(state: DenseState, lengths: dict[str, int]) -> DenseState:
    """The same state with more room, by the name of each array that grows."""
    grown = {
        k[5:]: longer(getattr(state.gram, k[5:]), n, fill=-1 if k == "gram.slot" else 0)
        for k, n in lengths.items()
        if k != "key"
    }
    key = longer(state.key, lengths["key"]) if "key" in lengths else state.key
    return state._replace(key=key, gram=state.gram._replace(**grown))


def _used(gram: DenseGram | BoundedGram, given: dict[str, Numbers] | None = None) -> dict[str, int]:
    """How much of each array that grows is in use, by the counts of a Gram or of arrays given in their place."""
    counts, slots = (
        (gram.counts, getattr(gram, "slots", None)) if given is None else (given["gram.counts"], given.get("gram.slots"))
    )
    return gram.lengths(int(counts.max()), 0 if slots is None else int(slots.max()))


def trimmed(state: DenseState) -> dict[str, Numbers]:
    """All arrays by dotted name, without unused room."""
    used = _used(state.gram)
    return {k: v[:, : used[k]].copy() if k in used else v.copy() for k, v in flatten(state).items()}


def final(state: DenseState) -> dict[str, tuple[int, int]]:
    """Of the features and keys, how many tiles and states are full at every step (the first one keeps none)."""
    if isinstance(state.gram, BoundedGram):
        return {}
    counts = state.gram.counts
    full = int(counts[1:].min()) if len(counts) > 1 else 0
    return {"gram.F": (1, full // state.gram.q.shape[3]), "key": (1, full)}


def restored(state: DenseState, room: int, given: dict[str, Numbers], most: float = np.inf) -> tuple[DenseState, int]:
    """The state that :func:`trimmed` gave, or an error that names the entry that does not fit; ``state`` stays as it is.

    Args:
        state: of a learner with the same sizes; it is not changed.
        room: how many states a step of it has room for.
        given: the arrays by dotted name.
        most: how many states a step there may be room for.

    Returns:
        The state with the arrays given, and how many states a step has room for now.
    """
    own, grow = trimmed(state), state.gram.lengths(0, 0)
    given = {k: np.array(v, order="C") for k, v in given.items()}  # kernels know no other order
    check_arrays({k: _as_long(v, given.get(k)) if k in grow else v for k, v in own.items()}, given, lambda key: None, "state")
    _check_kept(state, given)
    while room < min(int(given["gram.counts"].max()), most):
        room = int(min(2 * room, most))
    for k, n in state.gram.lengths(room, room).items():
        given[k] = longer(given[k], n, fill=-1 if k == "gram.slot" else 0)
    if isinstance(state.gram, DenseGram) and "gram.planned_inv" not in given:  # one array where every episode is planned
        given["gram.planned_inv"] = given["gram.Lambda_inv"]
    arrays: dict[str, Any] = {k[5:]: v for k, v in given.items() if k.startswith("gram.")}
    gram = state.gram._replace(**arrays)
    state = state._replace(gram=gram, **{k: v for k, v in given.items() if not k.startswith("gram.")})
    check_numbers(state, given, own)
    return state, room


def _as_long(own: Numbers, given: Numbers | None) -> Numbers:
    """An array like ``own`` with as much along the second axis as ``given`` has."""
    length = given.shape[1] if given is not None and given.ndim > 1 else 0
    return np.broadcast_to(np.zeros((), own.dtype), (own.shape[0], length, *own.shape[2:]))


def _check_kept(state: DenseState, given: dict[str, Numbers]) -> None:
    """Refuse counts that disagree with what is kept, and numbers of which no norm or probability can be made."""
    counts = given["gram.counts"]
    for k in ("gram.q", "gram.counts", "gram.slots", "gram.tolerance", "Y"):
        if k in given:
            check_range(f"state[{k!r}]", given[k], (0.0, LARGEST))
    for k, length in _used(state.gram, given).items():
        if given[k].shape[1] != length:
            raise InputError(f"state[{k!r}] has {given[k].shape[1]} places a step; expected {length}, as 'gram.counts' says")
    last, most = given["gram.end"], counts
    if "gram.slot" in given:
        last, most = np.stack([last, given["gram.slot"].max(axis=(1, 2), initial=-1)]), np.stack([counts, given["gram.slots"]])
    if (last >= most).any():
        i = tuple(int(i) for i in np.argwhere(last >= most)[0])
        name = "gram.slot" if len(i) > 1 and i[0] else "gram.end"
        raise InputError(f"state[{name!r}] has {last[i]} at step {i[-1]}; expected less than {most[i]}")
    for k in ("gram.Lambda", "gram.Lambda_inv"):
        check_range(f"state[{k!r}]", given[k], (-LARGEST, LARGEST))
        try:
            np.linalg.cholesky(given[k])
        except np.linalg.LinAlgError:
            raise InputError(f"state[{k!r}] is not positive definite; expected a Gram matrix") from None


def places(state: DenseState) -> list[dict[bytes, int]]:
    """For each step, where each state is kept, by its key."""
    return [{state.key[h, i].tobytes(): i for i in range(int(n))} for h, n in enumerate(state.gram.counts)]


def longer(array: Numbers, length: int, fill: float = 0) -> Numbers:
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
