"""Validation of a problem's arrays: each function returns a fresh, repaired array or names the first offending entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.problems.base import TabularCMDP

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Sense = Literal[">=", "<="]
Share = Literal["nothing", "transitions", "all"]

#: Values outside [0,1], and rows off a sum of one, by at most this much are repaired; by more, refused.
TOLERANCE = 1e-6

#: Rows off a sum of one by at most this much are left as they are, so that a problem built from a problem is the same.
ROUNDING = 1e-12


def first(bad: Mask) -> tuple[int, ...]:
    """Give the index of the first entry that is True."""
    return tuple(int(i) for i in np.argwhere(bad)[0])


def refuse(name: str, bad: Mask, values: NDArray[np.generic], expected: str, said: str = "is {}") -> None:
    """Raise an error that names the first bad entry of an array, if there is one.

    Args:
        name: of the array.
        bad: which entries are wrong.
        values: what the message shows of each entry.
        expected: what an entry should be.
        said: the words between the entry's name and ``expected``, with the value in place of {}.

    Raises:
        InputError: an entry is bad.

    >>> x = np.array([1.0, -2.0])
    >>> refuse("x", x < 0, x, "a number, at least 0")
    Traceback (most recent call last):
    noregret.errors.InputError: x[1] is -2.0; expected a number, at least 0
    """
    if bad.any():
        index = first(bad)
        raise InputError(f"{name}{list(index) if index else ''} {said.format(values[index])}; expected {expected}")


def floats(name: str, value: ArrayLike) -> Array:
    """Copy finite numbers of any shape into a new array; ``name`` is for the error message."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers")
        array, given = np.array(value, dtype=np.float64, order="C"), np.asarray(value)
        if given.dtype.kind in "SU":
            raise TypeError(f"{given.flat[0].item() if given.size else ''!r:.60} is text")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    refuse(name, ~np.isfinite(array), array, "a finite number")
    return array


def kernel(P: ArrayLike) -> Array:
    """Copy transition probabilities (H,S,A,S); only their shape is checked."""
    array = floats("P", P)
    if array.ndim != 4 or array.shape[1] != array.shape[3] or 0 in array.shape:
        raise InputError(f"P has shape {array.shape}; expected (H,S,A,S) with H, S, A at least 1")
    return array


def action_mask(available: ArrayLike | None, shape: tuple[int, int, int]) -> Mask:
    """Check a mask of available actions, (H,S,A) or (S,A), and return it as (H,S,A); None means all."""
    if available is None:
        return np.ones(shape, dtype=np.bool_)
    try:
        mask = np.asarray(available)
    except ValueError as error:
        raise InputError(f"available is not an array of booleans: {error}") from None
    if mask.dtype != np.bool_:
        raise InputError(f"available has dtype {mask.dtype}; expected booleans")
    if mask.shape not in (shape, shape[1:]):
        raise InputError(f"available has shape {mask.shape}; expected {shape} or {shape[1:]}")
    mask = np.array(np.broadcast_to(mask, shape), order="C")
    refuse("available", np.asarray(~mask.any(axis=2)), mask, "at least one", "has no available action")
    return mask


def transitions(P: Array, mask: Mask) -> Array:
    """Check and repair probabilities in place; an action that is not available becomes a harmless self-loop."""
    P[~mask] = 0.0  # what an unavailable action would do is never looked at
    refuse("P", P < 0, P, "a probability, at least 0")
    sums = P.sum(axis=3)
    refuse("P", mask & (np.abs(sums - 1.0) > TOLERANCE), sums, "1", "sums to {:.9g}")
    off = mask & (np.abs(sums - 1.0) > ROUNDING)
    P[off] /= sums[off][:, None]
    h, s, a = np.nonzero(~mask)
    P[h, s, a, s] = 1.0
    return P


def values(name: str, value: ArrayLike, P: Array, mask: Mask) -> tuple[Array, Array | None]:
    """Check rewards or one utility: numbers in [0,1] by (H,S,A), or by (H,S,A,S) with the next state.

    Args:
        name: for the error message.
        value: the table.
        P: (H,S,A,S) transition probabilities. An entry of probability 0 may hold anything.
        mask: (H,S,A) available actions. The entries of others may hold anything.

    Returns:
        The means (H,S,A), and the table by next state or None.
    """
    array = floats(name, value)
    H, S, A, _ = P.shape
    if array.shape not in ((H, S, A), (H, S, A, S)):
        raise InputError(f"{name} has shape {array.shape}; expected {(H, S, A)}, or {(H, S, A, S)} by next state")
    array[~mask] = 0.0
    possible = P > 0.0 if array.ndim == 4 else mask
    outside = (array < -TOLERANCE) | (array > 1.0 + TOLERANCE)
    refuse(name, outside & possible, array, "a value in [0, 1]", "is {:.9g}")
    array = np.clip(array, 0.0, 1.0)
    if array.ndim == 3:
        return array, None
    array = np.where(possible, array, 0.0)
    return np.clip(np.einsum("hsax,hsax->hsa", P, array), 0.0, 1.0), array


def utilities(g: ArrayLike, P: Array, mask: Mask, senses: Sequence[Sense]) -> tuple[Array, Array | None]:
    """Check the utilities (m,H,S,A), (H,S,A) or (m,H,S,A,S) as :func:`values` does, one by one.

    Args:
        g: the tables.
        P: (H,S,A,S) transition probabilities.
        mask: (H,S,A) available actions.
        senses: how the constraints were stated, for the error message.

    Returns:
        The means (m,H,S,A), and the tables by next state or None.
    """
    array = floats("g", g)
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
    for i, row in enumerate(array):
        try:
            parts.append(values("g", row, P, mask))
        except InputError as error:  # put the constraint's index in front of the entry's, and say what a cost became
            text = str(error) if alone else str(error).replace("g[", f"g[{i}, ", 1)
            cost = i < len(senses) and senses[i] == "<="
            raise InputError(f"{text} (g is 1 - cost)" if cost else text) from None
    means = np.stack([mean for mean, _ in parts])
    nexts = [by for _, by in parts if by is not None]
    return means, np.stack(nexts) if nexts else None


def distribution(mu: ArrayLike, S: int) -> Array:
    """Check a start distribution (S,); a state becomes the distribution of this state alone."""
    try:
        state = np.asarray(mu)
    except ValueError as error:
        raise InputError(f"mu is not an array of numbers: {error}") from None
    if state.ndim == 0:
        if not np.issubdtype(state.dtype, np.integer) or not 0 <= int(state) < S:
            raise InputError(f"mu is {mu!r}; expected a state 0..{S - 1} or a distribution over {S} states")
        return np.asarray(np.eye(S)[int(state)])
    start = floats("mu", mu)
    if start.shape != (S,):
        raise InputError(f"mu has shape {start.shape}; expected ({S},)")
    refuse("mu", start < 0, start, "a probability, at least 0")
    if abs(start.sum() - 1.0) > TOLERANCE:
        raise InputError(f"mu sums to {start.sum():.9g}; expected 1")
    return start if abs(start.sum() - 1.0) <= ROUNDING else np.asarray(start / start.sum())


def check_features(features: ArrayLike, S: int, A: int) -> Array:
    """Check a feature table φ (S,A,d) with ‖φ(x,a)‖ at most 1, as the linear-MDP assumption needs.

    Args:
        features: the table.
        S: states.
        A: actions.
    """
    phi = floats("features", features)
    if phi.ndim != 3 or phi.shape[:2] != (S, A) or phi.shape[2] == 0:
        raise InputError(f"features has shape {phi.shape}; expected ({S}, {A}, d)")
    norms = np.linalg.norm(phi, axis=2)
    expected = f"at most 1 (divide all features by {norms.max(initial=0.0):.6g})"
    refuse("features", norms > 1.0 + TOLERANCE, norms, expected, "has norm {:.6g}")
    return phi


def constraint_names(words: Sequence[str], m: int, word: str = "utility") -> tuple[str, ...]:
    """Check the names of m constraints, or make some up where none are given.

    Args:
        words: one name for each constraint, or nothing.
        m: the number of constraints.
        word: what a constraint is about.

    >>> constraint_names((), 2, "cost")
    ('cost 0', 'cost 1')
    """
    names = tuple(words) or ((word,) if m == 1 else tuple(f"{word} {i}" for i in range(m)))
    if len(names) != m:
        raise InputError(f"constraint_names has {len(names)} entries; expected {m}, one for each {word}")
    return names


def step_limit(
    limit: float | None, actions: ArrayLike | None, problem: TabularCMDP
) -> tuple[float | None, NDArray[np.int64] | None]:
    """Check a limit on the cost 1 - g of every step and the action known to be safe in each state, or that both are None.

    Args:
        limit: what the expected cost of the action drawn may be at most, at each step and in each state.
        actions: (S,) or (H,S) actions that cost less than ``limit``.
        problem: has g, b and ``available``, checked already.

    Returns:
        The limit, and the actions (H,S).
    """
    if limit is None and actions is None:
        return None, None
    if limit is None or actions is None:
        limited, other = ("step_limit", "safe_actions") if actions is None else ("safe_actions", "step_limit")
        raise InputError(f"{limited} is given without {other}; expected both, or neither")
    top = floats("step_limit", limit)
    if top.shape != () or not 0.0 < top <= 1.0:
        raise InputError(f"step_limit is {limit!r}; expected a number above 0 and at most 1")
    (m, H, S, A), tau = problem.g.shape, float(top)
    if m != 1:
        raise InputError(f"step_limit is {tau:g}, and there are {m} utilities; expected one: the cost of a step is 1 - g")
    if problem.b[0] > H * (1.0 - tau) + ROUNDING * H:
        raise InputError(f"b is {problem.b[0]:.9g}; with step_limit expected at most H(1 - step_limit) = {H * (1.0 - tau):.9g}")
    safe = np.asarray(actions)
    if safe.shape not in ((S,), (H, S)) or not np.issubdtype(safe.dtype, np.integer):
        raise InputError(f"safe_actions has shape {safe.shape} and type {safe.dtype}; expected integers ({S},) or ({H}, {S})")
    safe = np.array(np.broadcast_to(safe, (H, S)), dtype=np.int64, order="C")
    refuse("safe_actions", (safe < 0) | (safe >= A), safe, f"0..{A - 1}")
    at = safe[..., None]
    there = np.take_along_axis(problem.available, at, axis=2)[..., 0]
    refuse("safe_actions", np.asarray(~there), safe, "an action that is available there")
    costs = 1.0 - np.take_along_axis(problem.g[0], at, axis=2)[..., 0]
    refuse("safe_actions", costs >= tau, costs, f"less than the limit {tau:g}", "costs {:.9g}")
    return tau, safe


def same_steps(problem: TabularCMDP) -> None:
    """Refuse a declaration ``share`` that the arrays of a problem contradict: the message names the first step and pair.

    A pair of state and action is looked at where it is available, and compared with the first step at which it is.
    """
    if problem.share not in ("nothing", "transitions", "all"):
        raise InputError(f"share is {problem.share!r}; expected 'nothing', 'transitions' or 'all'")
    mask, (S, A) = problem.available, problem.available.shape[1:]
    first_step = mask.argmax(axis=0), np.arange(S)[:, None], np.arange(A)
    tables = {"transitions": ("P",), "all": ("P", "r", "r_next", "g", "g_next")}.get(problem.share, ())
    for name in tables:
        table = getattr(problem, name)
        for i, entries in enumerate([] if table is None else table if name[0] == "g" else [table]):
            apart = np.abs(entries - entries[first_step]) > ROUNDING
            apart = (apart.any(axis=3) if apart.ndim == 4 else apart) & mask
            if apart.any():
                h, x, a = first(apart)
                began, what = int(first_step[0][x, a]), f"g[{i}]" if name[0] == "g" else name[0]
                raise InputError(
                    f"share is {problem.share!r}; {what} of state {x} and action {a} differs between steps {began} and {h}: "
                    f"expected the same at every step, or another share"
                )


def read_only(thing: object) -> None:
    """Forbid writing to the arrays that are attributes of an object."""
    for array in vars(thing).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
