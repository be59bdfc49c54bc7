"""The numbers of a learner of any states: what the next episode needs, its plan, and room that grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.kernels import dense
from noregret.learners.base import Numbers, flatten
from noregret.problems.base import Array

#: Arrays whose second axis is the states kept.
GROWING = ("gram.F", "gram.q", "gram.slot", "gram.M", "key")


class DenseState(NamedTuple):
    """What the next episode needs."""

    gram: dense.DenseGram
    key: NDArray[np.uint64]  # (H,N,2) by which a state is found again
    Y: Array  # (m,)
    planned_dual: Array  # (m,) of the plan in use
    planned_log_det: Array  # (H,)
    planned_alpha: Array  # (1,)
    bonus: Array  # (H,J) β of each step and objective, of the plan in use
    gain: Array  # (m,) of the dual step
    lack: Array  # (m,) last b - V_g
    counters: NDArray[np.int64]  # (3,) episodes seen, plans made, whether the plan stands


@dataclass(frozen=True)
class ContinuousPlan:
    """A policy on all states: l. 14 with w, Λ⁻¹ and Y held fixed."""

    features: Any
    w: Array  # (H,J,B,p)
    inverse: Array  # (H,B,p,p)
    Y: Array
    bonus: Array  # (H,J)
    alpha: float
    floor: float
    cap: Array

    def probabilities(self, step: int, states: ArrayLike) -> Array:
        """π_step(·|x) for each of n states, (n,A)."""
        return self.at(step, self.features.encode(states))[0]

    def values(self, step: int, states: ArrayLike) -> tuple[Array, Array]:
        """Q_j (J,n,A) and V_j (J,n) at n states, the reward first."""
        return self.at(step, self.features.encode(states))[1:]

    def chances(self, step: int, rows: Array) -> Array:
        """π_step (n,A) at states whose features are encoded already."""
        return self.at(step, rows)[0]

    def at(self, step: int, rows: Array) -> tuple[Array, Array, Array]:
        """π (n,A), Q (J,n,A) and V (J,n) of states whose features are encoded already, (n,R,p)."""
        n, A, J = len(rows), self.features.n_actions, self.w.shape[1]
        policy, Q, V = np.zeros((1, n, A)), np.zeros((1, J, n, A)), np.zeros((2, J, n))
        dense.act(
            rows,
            self.inverse[step],
            self.w[step],
            self.bonus[step],
            self.alpha,
            self.floor,
            self.cap[step],
            self.Y,
            policy,
            Q,
            V,
        )
        return policy[0], Q[0], V[0]


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


def trimmed(state: DenseState, lazy: bool) -> dict[str, Numbers]:
    """All arrays by dotted name, without unused room; ``planned_inv`` only where it is an array of its own."""
    gram = state.gram
    T, n, slots = gram.q.shape[3], int(gram.counts.max()), int(gram.slots.max())
    tiles = -(-n // T)
    used = dict(zip(GROWING, (tiles, tiles, tiles * T, slots, n), strict=True))
    found = {k: v[:, : used[k]].copy() if k in used else v.copy() for k, v in flatten(state).items()}
    if not lazy:
        del found["gram.planned_inv"]
    return found


def final(state: DenseState) -> dict[str, tuple[int, int]]:
    """Of the features and keys, how many tiles and states are full at every step (the first one keeps none)."""
    counts = state.gram.counts
    full = int(counts[1:].min()) if len(counts) > 1 else 0
    return {"gram.F": (1, full // state.gram.q.shape[3]), "key": (1, full)}


def restored(state: DenseState, lazy: bool, room: int, given: dict[str, Numbers], name: str) -> tuple[DenseState, int]:
    """The state that :func:`trimmed` gave, or an error that names the entry that does not fit; ``state`` stays as it is."""
    own = trimmed(state, lazy)
    if own.keys() != given.keys():
        odd = sorted(own.keys() ^ given.keys())[0]
        raise InputError(f"state of {name!r} disagrees on entry {odd!r}; expected {sorted(own)}")
    given = {k: np.array(v) for k, v in given.items()}
    for k, v in own.items():
        shapes = [tuple(n for i, n in enumerate(x.shape) if not (i == 1 and k in GROWING)) for x in (v, given[k])]
        if shapes[0] != shapes[1] or v.dtype != given[k].dtype:
            raise InputError(
                f"state[{k!r}] has shape {given[k].shape} and type {given[k].dtype}; expected {v.shape}, {v.dtype}"
            )
    while room < given["key"].shape[1]:
        room *= 2
    T = state.gram.q.shape[3]
    length = {"gram.F": -(-room // T), "gram.q": -(-room // T), "gram.slot": -(-room // T) * T, "gram.M": room, "key": room}
    for k, n in length.items():
        given[k] = longer(given[k], n, fill=-1 if k == "gram.slot" else 0)
    if not lazy:
        given["gram.planned_inv"] = given["gram.Lambda_inv"]
    arrays: dict[str, Any] = {k[5:]: v for k, v in given.items() if k.startswith("gram.")}
    gram = state.gram._replace(**arrays)
    return state._replace(gram=gram, **{k: v for k, v in given.items() if not k.startswith("gram.")}), room


def places(state: DenseState) -> list[dict[bytes, int]]:
    """For each step, where each state is kept, by its key."""
    return [{state.key[h, i].tobytes(): i for i in range(int(n))} for h, n in enumerate(state.gram.counts)]


def check_observed(rewards: Array, utilities: Array, L: int, m: int) -> Array:
    """(L,1+m): rewards and utilities side by side, each finite and in [0,1]."""
    observed = np.empty((L, 1 + m))
    for name, value, shape in (("rewards", rewards, (L,)), ("utilities", utilities, (m, L))):
        if value.shape != shape:
            raise InputError(f"{name} has shape {value.shape}; expected {shape}")
        good = (value >= -1e-6) & (value <= 1 + 1e-6)
        if not good.all():
            index = tuple(int(i) for i in np.argwhere(~good)[0])
            raise InputError(f"{name}{list(index)} is {value[index]}; expected a value in [0, 1]")
    observed[:, 0], observed[:, 1:] = rewards, utilities.T
    return observed


def longer(array: NDArray[Any], length: int, fill: float = 0) -> NDArray[Any]:
    """The same numbers with more room along the second axis."""
    shape = (array.shape[0], max(length, array.shape[1]), *array.shape[2:])
    out = np.zeros(shape, array.dtype) if fill == 0 else np.full(shape, fill, array.dtype)
    out[:, : array.shape[1]] = array
    return out
