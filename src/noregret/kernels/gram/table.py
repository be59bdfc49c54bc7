"""Any feature table φ (S,A,d): Λ⁻¹ by rank-one updates, and all norms with it.

With u = Λ⁻¹φ_τ each ‖φ(x,a)‖² falls by (φ(x,a)ᵀu)²/(1 + φ_τᵀu). Λ itself is kept exactly, and Λ⁻¹ and the norms are made anew
from it every ``REFRESH`` visits. An episode's cost does not depend on how many went before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.flat import row
from noregret.kernels.gram.base import each, sweep_tables, teach
from noregret.kernels.inverse import REFRESH, add_row, from_factor, inverse_factor
from noregret.kernels.jit import jit

Array = NDArray[np.float64]


class TableGram(NamedTuple):
    """Λ, its inverse and norms for a feature table; G = H steps, or 1 when all share what they learn.

    Features are kept as (d, S·A), a row a coordinate.
    """

    lam: float
    phi: Array  # (d,S·A)
    Lambda: Array  # (G,d,d)
    Lambda_inv: Array  # (G,d,d)
    square: Array  # (G,S·A) φᵀΛ⁻¹φ
    norm: Array  # (G,S·A) its root
    visits: NDArray[np.int64]  # (G,)
    moment: Array  # (G,S,d) M[x']
    total: Array  # (G,J,d) Σ φ_τ j_τ
    seen: NDArray[np.int64]  # (G,) how many distinct next states
    seen_state: NDArray[np.int64]  # (G,S) which
    known: NDArray[np.bool_]  # (G,S) whether
    actives: NDArray[np.uint32]  # (G,) S: every state's estimate moves
    active: NDArray[np.uint32]  # (G,S) all states
    w: Array  # (H,J,d)
    work: Array  # (2,d) and (S·A): scratch
    line: Array  # (S·A,)

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        S = self.known.shape[1]
        return {"active": (0, S - 1), "actives": (0, S), "seen_state": (0, S - 1), "seen": (0, S)}


def table_gram(phi: Array, H: int, J: int, lam: float, estimates: int | None = None, shared: bool = False) -> TableGram:
    """Make a Gram without data, Λ = λI.

    Args:
        phi: features (S,A,d).
        H: steps.
        J: objectives that are observed.
        lam: λ.
        estimates: objectives that are regressed, by default as many.
        shared: whether all steps have one regression.
    """
    S, A, d = phi.shape
    G = 1 if shared else H
    flat = np.ascontiguousarray(phi.reshape(S * A, d).T)
    square = np.repeat((flat**2).sum(axis=0)[None] / lam, G, axis=0)
    return TableGram(
        lam=float(lam),
        phi=flat,
        Lambda=np.repeat(lam * np.eye(d)[None], G, axis=0),
        Lambda_inv=np.repeat(np.eye(d)[None] / lam, G, axis=0),
        square=square,
        norm=np.sqrt(square),
        visits=np.zeros(G, dtype=np.int64),
        moment=np.zeros((G, S, d)),
        total=np.zeros((G, J, d)),
        seen=np.zeros(G, dtype=np.int64),
        seen_state=np.zeros((G, S), dtype=np.int64),
        known=np.zeros((G, S), dtype=np.bool_),
        actives=np.full(G, S, dtype=np.uint32),
        active=np.tile(np.arange(S, dtype=np.uint32), (G, 1)),
        w=np.zeros((H, estimates or J, d)),
        work=np.zeros((2, d)),
        line=np.zeros(S * A),
    )


def _learn(gram: Any, states: Any, actions: Any, observed: Any) -> None:
    for h in range(len(actions)):
        learn_row(gram, h, states[h], actions[h], observed, states[h + 1])


@jit
def learn_row(gram: TableGram, h: int, s: int, a: int, observed: Any, s_next: int) -> None:
    """Take in the transition of step h: sums, then Λ, Λ⁻¹ and all norms by a rank-one update."""
    d, SA = gram.phi.shape
    at, g = s * (SA // gram.moment.shape[1]) + a, row(gram.visits, h)
    phi, u, total = gram.work[0], gram.work[1], gram.total[row(gram.total, h)]
    for i in range(d):
        phi[i] = gram.phi[i, at]
    for i in range(d):
        gram.moment[g, s_next, i] += phi[i]
        for j in range(observed.shape[1]):
            total[j, i] += phi[i] * observed[h, j]
    if not gram.known[g, s_next]:
        gram.known[g, s_next] = True
        gram.seen_state[g, gram.seen[g]] = s_next
        gram.seen[g] += 1
    growth = add_row(gram.Lambda[g], gram.Lambda_inv[g], phi, u)
    gram.visits[g] += 1
    if gram.visits[g] % REFRESH == 0:
        refresh(gram, g)
        return
    line, square, norm = gram.line, gram.square[g], gram.norm[g]
    line[:] = 0.0
    for i in range(d):
        for k in range(SA):
            line[k] += gram.phi[i, k] * u[i]
    for k in range(SA):
        square[k] = max(square[k] - line[k] * line[k] / growth, 0.0)
        norm[k] = np.sqrt(square[k])


@jit
def refresh(gram: TableGram, g: int) -> None:
    """Make Λ⁻¹ and all norms of a regression anew from Λ, by its Cholesky factor."""
    d, SA = gram.phi.shape
    L_inv = inverse_factor(gram.Lambda[g])
    from_factor(L_inv, gram.Lambda_inv[g])
    for at in range(SA):  # ‖φ‖² = |L⁻¹φ|²
        square = 0.0
        for i in range(d):
            part = 0.0
            for k in range(i + 1):
                part += L_inv[i, k] * gram.phi[k, at]
            square += part * part
        gram.square[g, at] = square
        gram.norm[g, at] = np.sqrt(square)


def _estimate(gram: Any, start: int, h: int, tables: Any, beta: Any, bounds: Any) -> None:
    Q, V, floor, cap = tables.Q, tables.V, bounds[0], bounds[1]
    d, SA = gram.phi.shape
    A, observed, g, sums = Q.shape[3], gram.total.shape[1], row(gram.visits, h), row(gram.total, h)
    target, line, phi, moment, Lambda_inv, norm = gram.work[0], gram.line, gram.phi, gram.moment, gram.Lambda_inv, gram.norm
    for j in range(start, Q.shape[1]):
        data = j if j < observed else j - observed + 1
        beta_j = each(beta, j)
        for i in range(d):
            target[i] = gram.total[sums, data, i]
        for place in range(gram.seen[g]):
            s_next = gram.seen_state[g, place]
            value = V[h + 1, j, s_next]
            for i in range(d):
                target[i] += moment[g, s_next, i] * value
        for k in range(SA):
            line[k] = beta_j * norm[g, k]
        for i in range(d):
            w = 0.0
            for k in range(d):
                w += Lambda_inv[g, i, k] * target[k]
            gram.w[h, j, i] = w
            for k in range(SA):
                line[k] += w * phi[i, k]
        for s in range(SA // A):
            for a in range(A):
                Q[h, j, s, a] = max(min(line[s * A + a], cap), floor)


def _spread(gram: Any, h: int, tables: Any, j: int) -> float:
    low, high, g = np.inf, -np.inf, row(gram.seen, h)
    for place in range(gram.seen[g]):
        value = tables.V[h + 1, j, gram.seen_state[g, place]]
        low, high = min(low, value), max(high, value)
    return max(high - low, 0.0)


def _norm(gram: Any, h: int, s: int, a: int) -> Any:
    return gram.norm[row(gram.norm, h), s * (gram.norm.shape[1] // gram.moment.shape[1]) + a]


def _clear(gram: Any) -> None:
    no_rows(gram)
    gram.visits[:] = 0
    gram.moment[:] = 0.0
    gram.total[:] = 0.0
    gram.seen[:] = 0
    gram.seen_state[:] = 0
    gram.known[:] = False


@jit
def no_rows(gram: TableGram) -> None:
    """Λ = λI everywhere, its inverse, and ‖φ‖² and ‖φ‖ of every pair."""
    d, SA = gram.phi.shape
    for g in range(len(gram.Lambda)):
        for i in range(d):
            for k in range(d):
                gram.Lambda[g, i, k] = gram.lam if i == k else 0.0
                gram.Lambda_inv[g, i, k] = 1.0 / gram.lam if i == k else 0.0
        for at in range(SA):
            total = 0.0
            for i in range(d):
                total += gram.phi[i, at] * gram.phi[i, at] / gram.lam
            gram.square[g, at] = total
            gram.norm[g, at] = np.sqrt(total)


teach(TableGram, learn=_learn, sweep=sweep_tables, estimate=_estimate, spread=_spread, norm=_norm, clear=_clear)
