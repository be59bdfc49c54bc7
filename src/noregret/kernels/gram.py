"""Least squares, two ways of keeping Λ⁻¹. Alg. 1, l. 5-9.

At step h the regression of objective j on features φ has

    Λ_h = λI + Σ_τ φ_τ φ_τᵀ,   w_j = Λ_h⁻¹ Σ_τ φ_τ (j_τ + V_j(x'_τ)),   estimate(x,a) = ⟨w_j, φ(x,a)⟩ + β ‖φ(x,a)‖_{Λ_h⁻¹}.

The sum over past episodes τ is never formed: next states are finitely many, so Σ_τ φ_τ V(x'_τ) = Σ_{x'} M[x'] V(x') with
M[x'] the sum of the features that led to x'. An episode's cost does not depend on how many went before.

- :class:`OneHotGram`: φ = e_{x,a}. Λ is diagonal, n(x,a) + λ; M is counts, kept as lists of the successors seen.
- :class:`TableGram`: any φ (S,A,d). Λ⁻¹ by rank-one updates, and with u = Λ⁻¹φ_τ each ‖φ(x,a)‖² falls by
  (φ(x,a)ᵀu)²/(1 + φ_τᵀu). Λ itself is kept exactly, and Λ⁻¹ and the norms are made anew from it every ``REFRESH`` visits.

Both know two functions, chosen by the type of the Gram: :func:`learn` from one transition and :func:`estimate` a step; and the
fields ``actives`` and ``active``: the states whose estimate may differ from that of a state never visited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.jit import Bodies, jit, overload

Array = NDArray[np.float64]

#: Visits of a step between two exact inversions of Λ.
REFRESH = 1000


class OneHotGram(NamedTuple):
    """Counts for one-hot features; J = 1 + m objectives."""

    lam: float
    visits: Array  # (H,S,A) n(x,a)
    inverse: Array  # (H,S,A) 1/(n+λ)
    norm: Array  # (H,S,A) ‖φ‖_{Λ⁻¹} = 1/√(n+λ)
    total: Array  # (H,S,A,J) sums of what was observed
    successors: NDArray[np.int32]  # (H,S,A) how many distinct next states were seen
    successor: NDArray[np.int32]  # (H,S,A,S) which, in order of appearance
    times: Array  # (H,S,A,S) how often each
    actives: NDArray[np.int64]  # (H,) how many states were visited at step h
    active: NDArray[np.int64]  # (H,S) which


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
    actives: NDArray[np.int64]  # (H,) S: every state's estimate moves
    active: NDArray[np.int64]  # (H,S) all states
    w: Array  # (H,J,d)
    work: Array  # (2,d) and (S·A): scratch
    line: Array  # (S·A,)


def one_hot_gram(H: int, S: int, A: int, J: int, lam: float) -> OneHotGram:
    """No data: Λ = λI."""
    return OneHotGram(
        lam=float(lam),
        visits=np.zeros((H, S, A)),
        inverse=np.full((H, S, A), 1.0 / lam),
        norm=np.full((H, S, A), 1.0 / np.sqrt(lam)),
        total=np.zeros((H, S, A, J)),
        successors=np.zeros((H, S, A), dtype=np.int32),
        successor=np.zeros((H, S, A, S), dtype=np.int32),
        times=np.zeros((H, S, A, S)),
        actives=np.zeros(H, dtype=np.int64),
        active=np.zeros((H, S), dtype=np.int64),
    )


def table_gram(phi: Array, H: int, J: int, lam: float) -> TableGram:
    """No data: Λ = λI."""
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
        actives=np.full(H, S),
        active=np.tile(np.arange(S), (H, 1)),
        w=np.zeros((H, J, d)),
        work=np.zeros((2, d)),
        line=np.zeros(S * A),
    )


# --- the three functions, one body for each Gram ------------------------------------------------------------------

_learn, _estimate = Bodies("learn"), Bodies("estimate")


def learn(gram: Any, h: int, s: int, a: int, observed: Any, s_next: int) -> None:
    """Take in the transition of step h, with ``observed`` (H,J): Alg. 1, l. 5 for the next episode."""
    _learn(gram)(gram, h, s, a, observed, s_next)  # type: ignore[misc]


def estimate(gram: Any, h: int, V: Any, beta: float, Q: Any) -> None:
    """Q_j,h(x,a) ← ⟨w_j,φ⟩ + β‖φ‖ for the active states, from V_j,h+1; V (H+1,J,S), Q (H,J,S,A): Alg. 1, l. 6-9."""
    _estimate(gram)(gram, h, V, beta, Q)  # type: ignore[misc]


@overload(learn)
def _(gram, h, s, a, observed, s_next):  # type: ignore[no-untyped-def]
    return _learn(gram)


@overload(estimate)
def _(gram, h, V, beta, Q):  # type: ignore[no-untyped-def]
    return _estimate(gram)


# --- one-hot ------------------------------------------------------------------------------------------------------


def _learn_one_hot(gram: Any, h: int, s: int, a: int, observed: Any, s_next: int) -> None:
    fresh = True
    for b in range(gram.visits.shape[2]):
        fresh = fresh and gram.visits[h, s, b] == 0.0
    if fresh:
        gram.active[h, gram.actives[h]] = s
        gram.actives[h] += 1
    gram.visits[h, s, a] += 1.0
    gram.inverse[h, s, a] = 1.0 / (gram.visits[h, s, a] + gram.lam)
    gram.norm[h, s, a] = np.sqrt(gram.inverse[h, s, a])
    for j in range(observed.shape[1]):
        gram.total[h, s, a, j] += observed[h, j]
    count = gram.successors[h, s, a]
    place = 0
    while place < count and gram.successor[h, s, a, place] != s_next:
        place += 1
    if place == count:
        gram.successors[h, s, a] += 1
        gram.successor[h, s, a, place] = s_next
    gram.times[h, s, a, place] += 1.0


def _estimate_one_hot(gram: Any, h: int, V: Any, beta: float, Q: Any) -> None:
    _, J, _, A = Q.shape
    actives, active, norm, inverse, total = gram.actives, gram.active, gram.norm, gram.inverse, gram.total
    successors, successor, times = gram.successors, gram.successor, gram.times
    for i in range(actives[h]):
        s = active[h, i]
        for a in range(A):
            count = successors[h, s, a]
            bonus = beta * norm[h, s, a]
            for j in range(J):
                target = total[h, s, a, j]
                for place in range(count):
                    target += times[h, s, a, place] * V[h + 1, j, successor[h, s, a, place]]
                Q[h, j, s, a] = target * inverse[h, s, a] + bonus


_learn.add(OneHotGram, _learn_one_hot)
_estimate.add(OneHotGram, _estimate_one_hot)


# --- any feature table --------------------------------------------------------------------------------------------


def _learn_table(gram: Any, h: int, s: int, a: int, observed: Any, s_next: int) -> None:
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
    Lambda, Lambda_inv = gram.Lambda[h], gram.Lambda_inv[h]
    for i in range(d):
        u[i] = 0.0
        for j in range(d):
            Lambda[i, j] += phi[i] * phi[j]
            u[i] += Lambda_inv[i, j] * phi[j]
    gram.visits[h] += 1
    if gram.visits[h] % REFRESH == 0:
        refresh(gram, h)
        return
    growth = 1.0
    for i in range(d):
        growth += phi[i] * u[i]
    for i in range(d):
        for j in range(d):
            Lambda_inv[i, j] -= u[i] * u[j] / growth
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
    L_inv = np.zeros((d, d))
    L = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            total = gram.Lambda[h, i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = np.sqrt(total) if i == j else total / L[j, j]
    for j in range(d):
        L_inv[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total -= L[i, k] * L_inv[k, j]
            L_inv[i, j] = total / L[i, i]
    for i in range(d):
        for j in range(d):
            total = 0.0
            for k in range(max(i, j), d):
                total += L_inv[k, i] * L_inv[k, j]
            gram.Lambda_inv[h, i, j] = total
    for row in range(SA):  # ‖φ‖² = |L⁻¹φ|²
        square = 0.0
        for i in range(d):
            part = 0.0
            for k in range(i + 1):
                part += L_inv[i, k] * gram.phi[k, row]
            square += part * part
        gram.square[h, row] = square
        gram.norm[h, row] = np.sqrt(square)


def _estimate_table(gram: Any, h: int, V: Any, beta: float, Q: Any) -> None:
    d, SA = gram.phi.shape
    A = Q.shape[3]
    target, line, phi, moment, Lambda_inv, norm = gram.work[0], gram.line, gram.phi, gram.moment, gram.Lambda_inv, gram.norm
    for j in range(Q.shape[1]):
        for i in range(d):
            target[i] = gram.total[h, j, i]
        for place in range(gram.seen[h]):
            s_next = gram.seen_state[h, place]
            value = V[h + 1, j, s_next]
            for i in range(d):
                target[i] += moment[h, s_next, i] * value
        for k in range(SA):
            line[k] = beta * norm[h, k]
        for i in range(d):
            w = 0.0
            for k in range(d):
                w += Lambda_inv[h, i, k] * target[k]
            gram.w[h, j, i] = w
            for k in range(SA):
                line[k] += w * phi[i, k]
        for s in range(SA // A):
            for a in range(A):
                Q[h, j, s, a] = line[s * A + a]


_learn.add(TableGram, _learn_table)
_estimate.add(TableGram, _estimate_table)
