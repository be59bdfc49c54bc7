"""Least squares, two ways of keeping Λ⁻¹. Alg. 1, l. 5-9.

At step h the regression of objective j on features φ has

    Λ_h = λI + Σ_τ φ_τ φ_τᵀ,   w_j = Λ_h⁻¹ Σ_τ φ_τ (j_τ + V_j(x'_τ)),   estimate(x,a) = ⟨w_j, φ(x,a)⟩ + β ‖φ(x,a)‖_{Λ_h⁻¹}.

The sum over past episodes τ is never formed: next states are finitely many, so Σ_τ φ_τ V(x'_τ) = Σ_{x'} M[x'] V(x') with
M[x'] the sum of the features that led to x'. An episode's cost does not depend on how many went before.

- :class:`OneHotGram`: φ = e_{x,a}. Λ is diagonal, n(x,a) + λ; M is counts, kept as lists of the successors seen.
- :class:`TableGram`: any φ (S,A,d). Λ⁻¹ by rank-one updates, and with u = Λ⁻¹φ_τ each ‖φ(x,a)‖² falls by
  (φ(x,a)ᵀu)²/(1 + φ_τᵀu). Λ itself is kept exactly, and Λ⁻¹ and the norms are made anew from it every ``REFRESH`` visits.

Both know four functions, chosen by the type of the Gram: :func:`learn` from an episode, :func:`estimate` a step, the
:func:`spread` of its next values, and the :func:`norm` of one feature; and the fields ``actives`` and ``active``: the states
whose estimate may differ from that of a state never visited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from noregret.kernels.flat import flat, index
from noregret.kernels.inverse import REFRESH, add_row, from_factor, inverse_factor
from noregret.kernels.jit import Bodies, jit, overload

Array = NDArray[np.float64]


class OneHotGram(NamedTuple):
    """Counts for one-hot features; J = 1 + m objectives."""

    lam: float
    visits: Array  # (H,S,A) n(x,a)
    fit: Array  # (H,S,A,2+J) side by side: 1/(n+λ), its root ‖φ‖_{Λ⁻¹}, and the sums of what was observed
    successors: NDArray[np.uint32]  # (H,S,A) how many distinct next states were seen
    successor: NDArray[np.uint32]  # (H,S,A,S) which, in order of appearance
    times: Array  # (H,S,A,S) how often each
    known: NDArray[np.bool_]  # (H,S) whether a state was visited at step h
    actives: NDArray[np.uint32]  # (H,) how many were
    active: NDArray[np.uint32]  # (H,S) which, in order of appearance


class TableGram(NamedTuple):
    """Λ, its inverse and norms for a feature table; features are kept as (d, S·A), a row a coordinate."""

    lam: float
    phi: Array  # (d,S·A)
    Lambda: Array  # (H,d,d)
    Lambda_inv: Array  # (H,d,d)
    square: Array  # (H,S·A) φᵀΛ⁻¹φ
    norm: Array  # (H,S·A) its root
    visits: NDArray[np.int64]  # (H,)
    moment: Array  # (H,S,d) M[x']
    total: Array  # (H,J,d) Σ φ_τ j_τ
    seen: NDArray[np.int64]  # (H,) how many distinct next states
    seen_state: NDArray[np.int64]  # (H,S) which
    known: NDArray[np.bool_]  # (H,S) whether
    actives: NDArray[np.uint32]  # (H,) S: every state's estimate moves
    active: NDArray[np.uint32]  # (H,S) all states
    w: Array  # (H,J,d)
    work: Array  # (2,d) and (S·A): scratch
    line: Array  # (S·A,)


def one_hot_gram(H: int, S: int, A: int, J: int, lam: float) -> OneHotGram:
    """No data: Λ = λI."""
    gram = OneHotGram(
        lam=float(lam),
        visits=np.zeros((H, S, A)),
        fit=np.zeros((H, S, A, 2 + J)),
        successors=np.zeros((H, S, A), dtype=np.uint32),
        successor=np.zeros((H, S, A, S), dtype=np.uint32),
        times=np.zeros((H, S, A, S)),
        known=np.zeros((H, S), dtype=np.bool_),
        actives=np.zeros(H, dtype=np.uint32),
        active=np.zeros((H, S), dtype=np.uint32),
    )
    gram.fit[..., 0] = 1.0 / lam
    gram.fit[..., 1] = 1.0 / np.sqrt(lam)
    return gram


def table_gram(phi: Array, H: int, J: int, lam: float, estimates: int | None = None) -> TableGram:
    """No data: Λ = λI. J objectives are observed, ``estimates`` (by default as many) are regressed."""
    S, A, d = phi.shape
    flat = np.ascontiguousarray(phi.reshape(S * A, d).T)
    square = np.repeat((flat**2).sum(axis=0)[None] / lam, H, axis=0)
    return TableGram(
        lam=float(lam),
        phi=flat,
        Lambda=np.repeat(lam * np.eye(d)[None], H, axis=0),
        Lambda_inv=np.repeat(np.eye(d)[None] / lam, H, axis=0),
        square=square,
        norm=np.sqrt(square),
        visits=np.zeros(H, dtype=np.int64),
        moment=np.zeros((H, S, d)),
        total=np.zeros((H, J, d)),
        seen=np.zeros(H, dtype=np.int64),
        seen_state=np.zeros((H, S), dtype=np.int64),
        known=np.zeros((H, S), dtype=np.bool_),
        actives=np.full(H, S, dtype=np.uint32),
        active=np.tile(np.arange(S, dtype=np.uint32), (H, 1)),
        w=np.zeros((H, estimates or J, d)),
        work=np.zeros((2, d)),
        line=np.zeros(S * A),
    )


# --- the four functions, one body for each Gram ------------------------------------------------------------------

_learn, _estimate, _spread, _norm = Bodies("learn"), Bodies("estimate"), Bodies("spread"), Bodies("norm")


def learn(gram: Any, states: Any, actions: Any, observed: Any) -> None:
    """Take in an episode, states (H+1,), actions (H,), observed (H,J): Alg. 1, l. 5 for the next one."""
    _learn(gram)(gram, states, actions, observed)  # type: ignore[misc]


def estimate(gram: Any, h: int, V: Any, beta: Any, floor: float, cap: float, Q: Any) -> None:
    """Q_j,h(x,a) ← clip(⟨w_j,φ⟩ + β_j‖φ‖, floor, cap) from V_j,h+1, for V (H+1,J,S) and Q (H,J,S,A): Alg. 1, l. 6-9.

    ``beta`` is a number, or one for each objective (J,). There may be more objectives than the 1 + m observed ones: those from
    1 + m on are the utilities once more, with a β of their own.
    """
    estimate_from(gram, 0, h, V, beta, floor, cap, Q)


def estimate_from(gram: Any, start: int, h: int, V: Any, beta: Any, floor: float, cap: float, Q: Any) -> None:
    """:func:`estimate` for the objectives from ``start`` on."""
    _estimate(gram)(gram, start, h, V, beta, floor, cap, Q)  # type: ignore[misc]


def _each(beta: Any, j: int) -> float:
    """Entry j of β; β itself when it is a number."""
    return float(beta[j] if np.ndim(beta) else beta)


@overload(_each)
def _(beta, j):  # type: ignore[no-untyped-def]
    return (lambda beta, j: beta) if isinstance(beta, types.Number) else (lambda beta, j: beta[j])


def spread(gram: Any, h: int, V: Any, j: int) -> float:
    """How far V_j,h+1 spreads (max − min) over the next states seen at step h; 0 when none was."""
    return float(_spread(gram)(gram, h, V, j))  # type: ignore[misc]


def norm(gram: Any, h: int, s: int, a: int) -> Any:
    """‖φ(s,a)‖ in the norm of Λ_h⁻¹."""
    return _norm(gram)(gram, h, s, a)  # type: ignore[misc]


@overload(learn)
def _(gram, states, actions, observed):  # type: ignore[no-untyped-def]
    return _learn(gram)


@overload(estimate)
def _(gram, h, V, beta, floor, cap, Q):  # type: ignore[no-untyped-def]
    return estimate


@overload(estimate_from)
def _(gram, start, h, V, beta, floor, cap, Q):  # type: ignore[no-untyped-def]
    return _estimate(gram)


@overload(spread)
def _(gram, h, V, j):  # type: ignore[no-untyped-def]
    return _spread(gram)


@overload(norm)
def _(gram, h, s, a):  # type: ignore[no-untyped-def]
    return _norm(gram)


# --- one-hot ------------------------------------------------------------------------------------------------------


def _learn_one_hot(gram: Any, states: Any, actions: Any, observed: Any) -> None:
    visits, fit, known, lam = gram.visits, gram.fit, gram.known, gram.lam
    successors, successor, times = gram.successors, gram.successor, gram.times
    for h in range(len(actions)):
        s, a, s_next = states[h], actions[h], states[h + 1]
        if not known[h, s]:
            known[h, s] = True
            gram.active[h, gram.actives[h]] = s
            gram.actives[h] += 1
        visits[h, s, a] += 1.0
        fit[h, s, a, 0] = 1.0 / (visits[h, s, a] + lam)
        fit[h, s, a, 1] = np.sqrt(fit[h, s, a, 0])
        for j in range(observed.shape[1]):
            fit[h, s, a, 2 + j] += observed[h, j]
        count = successors[h, s, a]
        place = 0
        while place < count and successor[h, s, a, place] != s_next:
            place += 1
        if place == count:
            successors[h, s, a] += 1
            successor[h, s, a, place] = s_next
        times[h, s, a, place] += 1.0


def _estimate_one_hot(gram: Any, start: int, h: int, V: Any, beta: Any, floor: float, cap: float, Q: Any) -> None:
    J, S, A, width = Q.shape[1], index(Q.shape[2]), index(Q.shape[3]), index(gram.fit.shape[3])
    step, observed, active, q, v = index(h), gram.fit.shape[3] - 2, gram.active, flat(Q), flat(V)
    fit, successors, successor, times = flat(gram.fit), flat(gram.successors), flat(gram.successor), flat(gram.times)
    for one in range(start, J, 2):  # objectives two at a time: their sums stay in registers
        two = min(one + 1, J - 1)
        data_one = index(2 + (one if one < observed else one - observed + 1))
        data_two = index(2 + (two if two < observed else two - observed + 1))
        beta_one, beta_two = _each(beta, one), _each(beta, two)
        V_one, V_two = index((h + 1) * J + one) * S, index((h + 1) * J + two) * S  # where V_one,h+1 begins in v
        Q_one, Q_two = index(h * J + one) * S * A, index(h * J + two) * S * A
        for i in range(index(gram.actives[step])):
            s = index(active[step, i])
            row = (step * S + s) * A  # of (h,s,a)
            for pair in range(s * A, s * A + A):
                at = row * width
                first, second = fit[at + data_one], fit[at + data_two]
                for place in range(row * S, row * S + index(successors[row])):
                    s_next = index(successor[place])
                    first += times[place] * v[V_one + s_next]
                    second += times[place] * v[V_two + s_next]
                inverse, norm = fit[at], fit[at + index(1)]
                q[Q_one + pair] = max(min(first * inverse + beta_one * norm, cap), floor)
                q[Q_two + pair] = max(min(second * inverse + beta_two * norm, cap), floor)
                row += index(1)


def _spread_one_hot(gram: Any, h: int, V: Any, j: int) -> float:
    low, high = np.inf, -np.inf
    for i in range(gram.actives[h + 1] if h + 1 < len(gram.actives) else 0):
        value = V[h + 1, j, gram.active[h + 1, i]]
        low, high = min(low, value), max(high, value)
    return max(high - low, 0.0)


def _norm_one_hot(gram: Any, h: int, s: int, a: int) -> Any:
    return gram.fit[h, s, a, 1]


_learn.add(OneHotGram, _learn_one_hot)
_estimate.add(OneHotGram, _estimate_one_hot)
_spread.add(OneHotGram, _spread_one_hot)
_norm.add(OneHotGram, _norm_one_hot)


# --- any feature table --------------------------------------------------------------------------------------------


def _learn_table(gram: Any, states: Any, actions: Any, observed: Any) -> None:
    for h in range(len(actions)):
        learn_row(gram, h, states[h], actions[h], observed, states[h + 1])


@jit
def learn_row(gram: TableGram, h: int, s: int, a: int, observed: Any, s_next: int) -> None:
    """Take in the transition of step h: sums, then Λ, Λ⁻¹ and all norms by a rank-one update."""
    d, SA = gram.phi.shape
    row = s * (SA // gram.moment.shape[1]) + a
    phi, u = gram.work[0], gram.work[1]
    for i in range(d):
        phi[i] = gram.phi[i, row]
    for i in range(d):
        gram.moment[h, s_next, i] += phi[i]
        for j in range(observed.shape[1]):
            gram.total[h, j, i] += phi[i] * observed[h, j]
    if not gram.known[h, s_next]:
        gram.known[h, s_next] = True
        gram.seen_state[h, gram.seen[h]] = s_next
        gram.seen[h] += 1
    growth = add_row(gram.Lambda[h], gram.Lambda_inv[h], phi, u)
    gram.visits[h] += 1
    if gram.visits[h] % REFRESH == 0:
        refresh(gram, h)
        return
    line, square, norm = gram.line, gram.square[h], gram.norm[h]
    line[:] = 0.0
    for i in range(d):
        for k in range(SA):
            line[k] += gram.phi[i, k] * u[i]
    for k in range(SA):
        square[k] = max(square[k] - line[k] * line[k] / growth, 0.0)
        norm[k] = np.sqrt(square[k])


@jit
def refresh(gram: TableGram, h: int) -> None:
    """Make Λ⁻¹ and all norms of step h anew from Λ, by its Cholesky factor."""
    d, SA = gram.phi.shape
    L_inv = inverse_factor(gram.Lambda[h])
    from_factor(L_inv, gram.Lambda_inv[h])
    for row in range(SA):  # ‖φ‖² = |L⁻¹φ|²
        square = 0.0
        for i in range(d):
            part = 0.0
            for k in range(i + 1):
                part += L_inv[i, k] * gram.phi[k, row]
            square += part * part
        gram.square[h, row] = square
        gram.norm[h, row] = np.sqrt(square)


def _estimate_table(gram: Any, start: int, h: int, V: Any, beta: Any, floor: float, cap: float, Q: Any) -> None:
    d, SA = gram.phi.shape
    A, observed = Q.shape[3], gram.total.shape[1]
    target, line, phi, moment, Lambda_inv, norm = gram.work[0], gram.line, gram.phi, gram.moment, gram.Lambda_inv, gram.norm
    for j in range(start, Q.shape[1]):
        data = j if j < observed else j - observed + 1
        beta_j = _each(beta, j)
        for i in range(d):
            target[i] = gram.total[h, data, i]
        for place in range(gram.seen[h]):
            s_next = gram.seen_state[h, place]
            value = V[h + 1, j, s_next]
            for i in range(d):
                target[i] += moment[h, s_next, i] * value
        for k in range(SA):
            line[k] = beta_j * norm[h, k]
        for i in range(d):
            w = 0.0
            for k in range(d):
                w += Lambda_inv[h, i, k] * target[k]
            gram.w[h, j, i] = w
            for k in range(SA):
                line[k] += w * phi[i, k]
        for s in range(SA // A):
            for a in range(A):
                Q[h, j, s, a] = max(min(line[s * A + a], cap), floor)


def _spread_table(gram: Any, h: int, V: Any, j: int) -> float:
    low, high = np.inf, -np.inf
    for place in range(gram.seen[h]):
        value = V[h + 1, j, gram.seen_state[h, place]]
        low, high = min(low, value), max(high, value)
    return max(high - low, 0.0)


def _norm_table(gram: Any, h: int, s: int, a: int) -> Any:
    return gram.norm[h, s * (gram.norm.shape[1] // gram.moment.shape[1]) + a]


_learn.add(TableGram, _learn_table)
_estimate.add(TableGram, _estimate_table)
_spread.add(TableGram, _spread_table)
_norm.add(TableGram, _norm_table)
