r"""The world: a finite-horizon constrained Markov decision process on finitely many states.

An episode has H steps. At step h in state x the agent takes an action a that is available there, receives a
reward and m utilities, and moves to x' ~ P_h(.|x,a). It wants

.. math::  \max_\pi V_r^\pi \quad\text{subject to}\quad V_{g_i}^\pi \ge b_i,\; i = 1..m,

with values taken from the start state (or distribution) mu. Rewards and utilities lie in [0,1]. *Thresholds* b are what the
utilities are held to. A *limit* is what a user states about a cost c in [0,1], V_c <= limit: it is the utility g = 1 - c with
threshold H - limit; :class:`Constraint` does that and nothing else does. Steps, states, actions and constraints count from 0.

A learner is given :attr:`TabularCMDP.spec`: horizon, sizes, thresholds, start, features and masks; never P, r or g.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Noise = Literal["bernoulli"]
Sense = Literal[">=", "<="]

#: Values outside [0,1], and rows off a sum of one, by at most this much are repaired; by more, refused.
TOLERANCE = 1e-6

#: Rows off a sum of one by at most this much are left as they are, so that a problem built from a problem is the same.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Constraint:
    """One long-run constraint: the expected total of ``values`` is at least (or at most) ``limit``.

    ``values`` has shape (H,S,A), or (H,S,A,S) when it depends on the next state, with entries in [0,1].
    """

    values: Any
    limit: float
    sense: Sense = ">="
    name: str = "utility"

    def __post_init__(self) -> None:
        if self.sense not in (">=", "<="):
            raise InputError(f"sense of constraint {self.name!r} is {self.sense!r}; expected '>=' or '<='")
        if isinstance(self.limit, bool) or not isinstance(self.limit, int | float | np.number) or not np.isfinite(self.limit):
            raise InputError(f"limit of constraint {self.name!r} is {self.limit!r}; expected a finite number")

    def utility(self) -> Array:
        """g: the values themselves, or 1 - cost for a limit from above."""
        values = _floats(f"constraint {self.name!r}", self.values)
        return values if self.sense == ">=" else 1.0 - values

    def threshold(self, horizon: int) -> float:
        """b: the limit itself, or H - limit for a limit from above."""
        return to_threshold(self.limit, self.sense, horizon)


def to_threshold(limit: float, sense: Sense, horizon: int) -> float:
    """Turn a limit on V into the threshold b of its utility, or back (the map is its own inverse)."""
    return float(limit) if sense == ">=" else float(horizon - limit)


@dataclass(frozen=True)
class Spec:
    """What a learner may see of a problem.

    ``start`` is the distribution of the first state (the paper's x_1 is known to the agent). ``features`` is the
    table φ (S,A,d), or None for one-hot. ``available`` (H,S,A) says which actions exist.
    """

    horizon: int
    n_states: int
    n_actions: int
    thresholds: Array
    start: Array
    available: Mask
    features: Array | None = None
    constraint_names: tuple[str, ...] = ()

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return len(self.thresholds)

    @property
    def dimension(self) -> int:
        """d, the dimension of φ (S·A for one-hot features)."""
        return self.n_states * self.n_actions if self.features is None else int(self.features.shape[2])

    def __repr__(self) -> str:
        """A one-line summary."""
        d = "" if self.features is None else f" d={self.dimension}"
        b = np.round(self.thresholds, 6).tolist()
        return f"<Spec: H={self.horizon} S={self.n_states} A={self.n_actions}{d} m={self.n_constraints} b={b}>"


class TabularCMDP:
    """A constrained Markov decision process on finite states, validated and read-only.

    Args:
        P: (H,S,A,S) transition probabilities.
        r: (H,S,A) rewards, or (H,S,A,S) when they depend on the next state.
        g: (m,H,S,A) utilities, or (H,S,A) for one, or (m,H,S,A,S) when they depend on the next state.
        b: (m,) thresholds, or a number for one utility.
        mu: (S,) start distribution, or the start state.
        features: φ (S,A,d) with norms at most 1; None for one-hot.
        available: (H,S,A) or (S,A) action mask; None when every action is available everywhere.
        noise: None, or "bernoulli": the agent sees 0 or 1 with the given means; the oracle uses the means.
        name: how the problem is called in tables.
        constraint_names: one name per constraint.
        senses: how each constraint was stated; a "<=" one was turned into a utility by :class:`Constraint`.

    After construction ``r`` (H,S,A) and ``g`` (m,H,S,A) are means; ``r_next`` and ``g_next`` keep the tables by next
    state, or None.
    """

    kind = "finitely many states"
    P: Array
    r: Array
    g: Array
    b: Array
    mu: Array
    features: Array | None
    available: Mask
    noise: Noise | None
    name: str
    constraint_names: tuple[str, ...]
    senses: tuple[Sense, ...]
    r_next: Array | None
    g_next: Array | None

    def __init__(
        self,
        P: ArrayLike,
        r: ArrayLike,
        g: ArrayLike,
        b: ArrayLike,
        mu: ArrayLike,
        *,
        features: ArrayLike | None = None,
        available: ArrayLike | None = None,
        noise: Noise | None = None,
        name: str = "cmdp",
        constraint_names: Sequence[str] = (),
        senses: Sequence[Sense] = (),
    ) -> None:
        P_ = _kernel(P)
        H, S, A, _ = P_.shape
        mask = _mask(available, H, S, A)
        P_ = _transitions(P_, mask)
        r_, r_next = _values("r", r, P_, mask)
        g_, g_next = _utilities(g, P_, mask, senses)
        m = g_.shape[0]
        b_ = np.atleast_1d(_floats("b", b))
        if b_.shape != (m,):
            raise InputError(f"b has shape {b_.shape}; expected ({m},), one threshold for each utility")
        if noise not in (None, "bernoulli"):
            raise InputError(f"noise is {noise!r}; expected None or 'bernoulli'")
        names = tuple(constraint_names) or (("utility",) if m == 1 else tuple(f"utility {i}" for i in range(m)))
        senses_ = tuple(senses) or (">=",) * m
        for what, given in (("constraint_names", names), ("senses", senses_)):
            if len(given) != m:
                raise InputError(f"{what} has {len(given)} entries; expected {m}, one for each utility")
        bad = [s for s in senses_ if s not in (">=", "<=")]
        if bad:
            raise InputError(f"senses contains {bad[0]!r}; expected '>=' or '<='")
        self.P, self.r, self.g, self.b, self.mu, self.available = P_, r_, g_, b_, _start(mu, S), mask
        self.r_next, self.g_next = r_next, g_next
        self.features = None if features is None else check_features(features, S, A)
        self.noise, self.name, self.constraint_names, self.senses = noise, name, names, senses_
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    @classmethod
    def with_constraints(
        cls, P: ArrayLike, r: ArrayLike, constraints: Sequence[Constraint], mu: ArrayLike, **options: Any
    ) -> TabularCMDP:
        """Build a problem from :class:`Constraint` objects of either sense."""
        if not constraints:
            raise InputError("constraints is empty; expected at least one Constraint")
        for i, c in enumerate(constraints):
            if not isinstance(c, Constraint):
                raise InputError(f"constraints[{i}] is a {type(c).__name__}; expected a Constraint")
        P = _kernel(P)
        H, S = P.shape[:2]
        tables = [c.utility() for c in constraints]
        if len({t.ndim for t in tables}) > 1:  # some depend on the next state: then all are given by next state
            tables = [np.repeat(t[..., None], S, axis=-1) if t.ndim == 3 else t for t in tables]
        shapes = {t.shape for t in tables}
        if len(shapes) > 1:
            raise InputError(f"constraints have values of shapes {sorted(shapes)}; expected one shape")
        return cls(
            P, r, np.stack(tables), [c.threshold(H) for c in constraints], mu,
            constraint_names=[c.name for c in constraints], senses=[c.sense for c in constraints], **options,
        )  # fmt: skip

    @property
    def horizon(self) -> int:
        """H, the number of steps of an episode."""
        return int(self.P.shape[0])

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return int(self.P.shape[1])

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return int(self.P.shape[2])

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return int(self.g.shape[0])

    @property
    def spec(self) -> Spec:
        """What a learner may see."""
        return Spec(
            horizon=self.horizon, n_states=self.n_states, n_actions=self.n_actions, thresholds=self.b, start=self.mu,
            available=self.available, features=self.features, constraint_names=self.constraint_names,
        )  # fmt: skip

    def limits(self) -> Array:
        """The thresholds as they were stated: limits on costs for constraints of sense "<="."""
        return np.array([to_threshold(b, s, self.horizon) for b, s in zip(self.b, self.senses, strict=True)])

    def replace(self, **changes: Any) -> TabularCMDP:
        """The same problem with some constructor arguments changed."""
        given: dict[str, Any] = {
            "P": self.P, "r": self.r if self.r_next is None else self.r_next,
            "g": self.g if self.g_next is None else self.g_next, "b": self.b, "mu": self.mu, "features": self.features,
            "available": self.available, "noise": self.noise, "name": self.name,
            "constraint_names": self.constraint_names, "senses": self.senses,
        }  # fmt: skip
        return TabularCMDP(**(given | changes))

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<TabularCMDP {self.name!r}:{repr(self.spec).removeprefix('<Spec:')}"


# --- validation: each function returns a fresh, repaired array or names the first offending entry -----------------


def _floats(name: str, value: ArrayLike) -> Array:
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers")
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        index = _first(~np.isfinite(array))
        raise InputError(f"{_entry(name, index)} is {array[index]}; expected a finite number")
    return array


def _kernel(P: ArrayLike) -> Array:
    array = _floats("P", P)
    if array.ndim != 4 or array.shape[1] != array.shape[3] or 0 in array.shape:
        raise InputError(f"P has shape {array.shape}; expected (H,S,A,S) with H, S, A at least 1")
    return array


def _first(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _entry(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _mask(available: ArrayLike | None, H: int, S: int, A: int) -> Mask:
    if available is None:
        return np.ones((H, S, A), dtype=np.bool_)
    try:
        mask = np.asarray(available)
    except ValueError as error:
        raise InputError(f"available is not an array of booleans: {error}") from None
    if mask.dtype != np.bool_:
        raise InputError(f"available has dtype {mask.dtype}; expected booleans")
    if mask.shape not in ((H, S, A), (S, A)):
        raise InputError(f"available has shape {mask.shape}; expected {(H, S, A)} or {(S, A)}")
    mask = np.array(np.broadcast_to(mask, (H, S, A)), order="C")
    if not mask.any(axis=2).all():
        h, s = _first(np.asarray(~mask.any(axis=2)))
        raise InputError(f"available[{h}, {s}] has no available action; expected at least one")
    return mask


def _transitions(P: Array, mask: Mask) -> Array:
    P[~mask] = 0.0  # what an unavailable action would do is never looked at ...
    if (P < 0).any():
        index = _first(P < 0)
        raise InputError(f"{_entry('P', index)} is {P[index]}; expected a probability, at least 0")
    sums = P.sum(axis=3)
    wrong = mask & (np.abs(sums - 1.0) > TOLERANCE)
    if wrong.any():
        index = _first(wrong)
        raise InputError(f"{_entry('P', index)} sums to {sums[index]:.9g}; expected 1")
    off = mask & (np.abs(sums - 1.0) > ROUNDING)
    P[off] /= sums[off][:, None]
    h, s, a = np.nonzero(~mask)
    P[h, s, a, s] = 1.0  # ... and its row is a harmless self-loop
    return P


def _unit(name: str, value: Array, relevant: NDArray[np.bool_] | None = None) -> Array:
    outside = (value < -TOLERANCE) | (value > 1.0 + TOLERANCE)
    if relevant is not None:
        outside &= relevant
    if outside.any():
        index = _first(outside)
        raise InputError(f"{_entry(name, index)} is {value[index]:.9g}; expected a value in [0, 1]")
    return np.clip(value, 0.0, 1.0)


def _values(name: str, value: ArrayLike, P: Array, mask: Mask) -> tuple[Array, Array | None]:
    array = _floats(name, value)
    H, S, A, _ = P.shape
    if array.shape == (H, S, A):
        array[~mask] = 0.0
        return _unit(name, array), None
    if array.shape == (H, S, A, S):
        array[~mask] = 0.0
        array = np.where(P > 0.0, _unit(name, array, P > 0.0), 0.0)
        return np.clip(np.einsum("hsax,hsax->hsa", P, array), 0.0, 1.0), array
    raise InputError(f"{name} has shape {array.shape}; expected {(H, S, A)}, or {(H, S, A, S)} by next state")


def _utilities(g: ArrayLike, P: Array, mask: Mask, senses: Sequence[Sense]) -> tuple[Array, Array | None]:
    array = _floats("g", g)
    H, S, A, _ = P.shape
    single, by_next = (H, S, A), (H, S, A, S)
    alone = array.shape == single
    if alone:
        array = array[None]
    if array.ndim not in (4, 5) or array.shape[1:] not in (single, by_next) or array.shape[0] == 0:
        raise InputError(
            f"g has shape {array.shape}; expected (m, H, S, A), (H, S, A) for one utility, or (m, H, S, A, S) "
            f"with (H, S, A) = {single}"
        )
    parts = []
    for i, one in enumerate(array):
        try:
            parts.append(_values("g", one, P, mask))
        except InputError as error:  # put the constraint's index in front of the entry's, and say what a cost became
            text = str(error) if alone else str(error).replace("g[", f"g[{i}, ", 1)
            cost = i < len(senses) and senses[i] == "<="
            raise InputError(f"{text} (g is 1 - cost)" if cost else text) from None
    means = np.stack([mean for mean, _ in parts])
    nexts = [by for _, by in parts if by is not None]
    return means, np.stack(nexts) if nexts else None


def _start(mu: ArrayLike, S: int) -> Array:
    try:
        state = np.asarray(mu)
    except ValueError as error:
        raise InputError(f"mu is not an array of numbers: {error}") from None
    if state.ndim == 0:
        if not np.issubdtype(state.dtype, np.integer) or not 0 <= int(state) < S:
            raise InputError(f"mu is {mu!r}; expected a state 0..{S - 1} or a distribution over {S} states")
        return np.asarray(np.eye(S)[int(state)])
    start = _floats("mu", mu)
    if start.shape != (S,):
        raise InputError(f"mu has shape {start.shape}; expected ({S},)")
    if (start < 0).any():
        index = _first(start < 0)
        raise InputError(f"{_entry('mu', index)} is {start[index]}; expected a probability, at least 0")
    if abs(start.sum() - 1.0) > TOLERANCE:
        raise InputError(f"mu sums to {start.sum():.9g}; expected 1")
    return start if abs(start.sum() - 1.0) <= ROUNDING else np.asarray(start / start.sum())


def check_features(features: ArrayLike, S: int, A: int) -> Array:
    """Validate a feature table φ (S,A,d) with ‖φ(x,a)‖ at most 1, as the linear-MDP assumption needs."""
    phi = _floats("features", features)
    if phi.ndim != 3 or phi.shape[:2] != (S, A) or phi.shape[2] == 0:
        raise InputError(f"features has shape {phi.shape}; expected ({S}, {A}, d)")
    norms = np.linalg.norm(phi, axis=2)
    if (norms > 1.0 + TOLERANCE).any():
        index = _first(norms > 1.0 + TOLERANCE)
        raise InputError(
            f"{_entry('features', index)} has norm {norms[index]:.6g}; expected at most 1 "
            f"(divide all features by {norms.max():.6g})"
        )
    return phi
