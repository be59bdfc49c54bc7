"""The backward pass over a cache of states that are vectors, a tile at a time, and acting at any state. Alg. 1, l. 5-12, 14."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.flat import row
from noregret.kernels.gram.base import States, Tables, teach
from noregret.kernels.gram.dense import DenseGram, square_norm
from noregret.kernels.inverse import inverse_factor
from noregret.kernels.jit import jit
from noregret.kernels.softmax import soft_max

Array = NDArray[np.float64]


class Tiles(NamedTuple):
    """What the pass fills: Q, V and policy of a tile of T states, and what it hands from one step to the step below."""

    Q: Array  # (1,J,T,A)
    V: Array  # (2,J,T)
    policy: Array  # (1,T,A)
    available: NDArray[np.bool_]  # (1,T,A)
    bonus: Array  # (H,J) β of each step, which acting needs
    worth: Array  # (J,) what a step after an early end is worth
    active: NDArray[np.int64]  # (1,T) all lanes
    actives: NDArray[np.int64]  # (1,) how many of them are states
    product: Array  # (J·B,R·T)
    spare: Array  # (R·T,)
    target: Array  # (J,B,p) Σ_τ φ_τ (j_τ + V_j(x'_τ))
    low: Array  # (J,) least and largest V_j of the step above
    high: Array  # (J,)


def tiles(gram: DenseGram, bonus: Array, worth: Array) -> Tiles:
    """Scratch for a Gram; ``bonus`` (H,J) is filled by every plan, ``worth`` (J,) is that of a step after an early end."""
    _, J, B, p = gram.w.shape
    A, T = gram.q.shape[2], gram.q.shape[3]
    lanes = gram.F.shape[3]
    return Tiles(
        Q=np.zeros((1, J, T, A)), V=np.zeros((2, J, T)), policy=np.zeros((1, T, A)), available=np.full((1, T, A), True),
        bonus=bonus, worth=worth, active=np.arange(T).reshape(1, T), actives=np.zeros(1, dtype=np.int64),
        product=np.zeros((J * B, lanes)), spare=np.zeros(lanes), target=np.zeros((J, B, p)), low=np.zeros(J), high=np.zeros(J),
    )  # fmt: skip


def _sweep(gram: Any, h: int, tables: Any, rule: Any, Y: Any, alpha: float) -> None:
    """Alg. 1, l. 5-12 at every state kept: w of this step, then π and V there, which make the target of the step below.

    One pass over the cache does what ``estimate`` and ``soft_max`` do one after the other for tables. Q and V of all states
    kept would not fit into the processor's cache, the features are read once, and the last visit's part of q comes along:
    ``benchmarks/continuous.py`` (d = 50 and 200) is what this inner loop of its own is for.
    """
    if h == len(gram.w) - 1:
        aim(gram, h, tables)
    regress(gram, h, tables)  # l. 6-7
    if h > 0:
        if gram.stale[h]:
            renew(gram, h, tables.spare)
        aim(gram, h - 1, tables)
        stream(gram, h, tables, rule, Y, alpha)  # l. 8-12
    else:
        gram.stale[h] = False
    gram.pendings[h] = 0


@jit
def aim(gram: DenseGram, h: int, tables: Tiles) -> None:
    """Begin the target of step h: Σ_τ φ_τ j_τ."""
    observed = gram.total.shape[1]
    for j in range(len(tables.target)):
        tables.target[j] = gram.total[row(gram.total, h), j if j < observed else j - observed + 1]


@jit
def regress(gram: DenseGram, h: int, tables: Tiles) -> None:
    """w_j = Λ⁻¹ target_j for every objective and block."""
    _, J, B, _ = gram.w.shape
    g = row(gram.Lambda_inv, h)
    for j in range(J):
        for b in range(B):
            solve(gram.Lambda_inv[g, b], tables.target[j, b], gram.w[h, j, b])


@jit
def stream(gram: DenseGram, h: int, tables: Tiles, rule: Any, Y: Any, alpha: float) -> None:
    """Q, π and V at the states kept, tile by tile, added to the target of step h-1; q is up to date afterwards."""
    H, J, B, p = gram.w.shape
    A, T = gram.q.shape[2], gram.q.shape[3]
    R, g, cap, floor = gram.F.shape[3] // T, h, rule.cap[h], rule.floor
    Q, V, product, spare, target = tables.Q, tables.V, tables.product, tables.spare, tables.target
    low, high, bonus, count, last = tables.low, tables.high, tables.bonus, gram.counts[g], gram.pendings[g] - 1
    low[:] = np.inf if count > 0 else 0.0
    high[:] = -np.inf if count > 0 else 0.0
    for tile in range((count + T - 1) // T):
        n = tables.actives[0] = min(T, count - tile * T)
        F, q = gram.F[g, tile], gram.q[g, tile]
        for k in range(last):
            weigh(F, gram.pending[g, k], spare)
            lower(spare, gram.pending_block[g, k], q, R)
        for j in range(0, J, 2):
            for b in range(B):
                one, two = j * B + b, (j + 1) * B + b
                if j + 1 == J:
                    weigh(F, gram.w[h, j, b], product[one])
                elif one == 0 and last >= 0:  # the first pass over the tile takes the last visit along
                    also = (gram.w[h, j, b], gram.w[h, j + 1, b], gram.pending[g, last])
                    weigh_three(F, also, product[one], product[two], spare)
                    lower(spare, gram.pending_block[g, last], q, R)
                else:
                    weigh_two(F, gram.w[h, j, b], gram.w[h, j + 1, b], product[one], product[two])
        for a in range(A):  # l. 8-9
            r, b = (a if R > 1 else 0), (a if B > 1 else 0)
            for t in range(n):
                norm = np.sqrt(q[a, t])
                for j in range(J):
                    Q[0, j, t, a] = max(min(product[j * B + b, r * T + t] + bonus[h, j] * norm, cap), floor)
        soft_max(tables, 0, tables, Y, alpha)  # l. 10-12
        if tile * T <= gram.end[g] < tile * T + n:
            at_the_end(tables, gram.end[g] - tile * T, H - h)
        for j in range(J):
            for t in range(n):
                low[j], high[j] = min(low[j], V[0, j, t]), max(high[j], V[0, j, t])
        for t in range(n):
            for b in range(B):
                place = gram.slot[g, tile * T + t, b]
                if place >= 0:
                    M = gram.M[g, place]
                    for j in range(J):
                        value, sums = V[0, j, t], target[j, b]
                        for i in range(p):
                            sums[i] += value * M[i]


@jit
def at_the_end(tables: Any, i: int, left: int) -> None:
    """V at the place of an early end: what the steps left are worth."""
    for j in range(len(tables.worth)):
        tables.V[0, j, i] = left * tables.worth[j]


def _spread(gram: Any, h: int, tables: Any, j: int) -> float:
    return tables.high[j] - tables.low[j] if h + 1 < len(gram.w) else 0.0


teach(DenseGram, sweep=_sweep, spread=_spread)


@jit
def solve(Lambda_inv: Any, target: Any, out: Any) -> None:
    """Set out = Λ⁻¹ target, for a symmetric Λ⁻¹."""
    out[:] = 0.0
    for i in range(len(target)):
        f = target[i]
        for k in range(len(target)):
            out[k] += f * Lambda_inv[i, k]


@jit
def renew(gram: DenseGram, g: int, spare: Any) -> None:
    """Set q = |L⁻¹φ|² of everything kept in a cache, from the factor of Λ."""
    B, p = gram.Lambda.shape[1], gram.Lambda.shape[2]
    T = gram.q.shape[3]
    R = gram.F.shape[3] // T
    for b in range(B):
        factor = inverse_factor(gram.Lambda[g, b])
        for tile in range((gram.counts[g] + T - 1) // T):
            F, q = gram.F[g, tile], gram.q[g, tile]
            for r in range(R):
                q[r if R > 1 else b, :] = 0.0
            for i in range(p):
                weigh(F[: i + 1], factor[i], spare)
                for r in range(R):
                    a = r if R > 1 else b
                    for t in range(T):
                        q[a, t] += spare[r * T + t] * spare[r * T + t]
    gram.stale[g] = False
    gram.pendings[g] = 0


# --- acting -------------------------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """The regression of one step, as a plan left it."""

    inverse: Array  # (B,p,p)
    w: Array  # (J,B,p)
    bonus: Array  # (J,) β
    floor: float
    cap: float
    actions: int  # A


@jit
def act(rows: Any, fit: Fit, Y: Any, alpha: float) -> Any:
    """π (n,A), Q_j (J,n,A) and V_j (J,n) of a step at any n states with rows (n,R,p): Alg. 1, l. 14, at O(A·p²) each."""
    n, R, p = rows.shape
    J, B, A = fit.w.shape[0], fit.w.shape[1], fit.actions
    Q, V, policy, line = np.zeros((1, J, n, A)), np.zeros((2, J, n)), np.zeros((1, n, A)), np.empty(p)
    for s in range(n):
        for a in range(A):
            r, b = (a if R > 1 else 0), (a if B > 1 else 0)
            norm = np.sqrt(square_norm(fit.inverse[b], rows[s, r], line))
            for j in range(J):
                mean = 0.0
                for i in range(p):
                    mean += rows[s, r, i] * fit.w[j, b, i]
                Q[0, j, s, a] = max(min(mean + fit.bonus[j] * norm, fit.cap), fit.floor)
    everyone = States(np.arange(n).reshape(1, n), np.array([n]))
    soft_max(everyone, 0, Tables(Q, V, policy, np.ones((1, n, A), dtype=np.bool_), V[0]), Y, alpha)
    return policy[0], Q[0], V[0]


# --- products with a tile -----------------------------------------------------------------------------------------
# A tile of cached features is laid out coordinate by coordinate (p, lanes). A loop over lanes has no sum in it, so it is
# vectorised in the order written and gives the same bits everywhere.


@jit
def weigh(F: Any, v: Any, out: Any) -> None:
    """Set out = vᵀF for a tile F (p, lanes)."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
    for i in range(p):
        a = v[i]
        for k in range(n):
            out[k] += a * F[i, k]


@jit
def weigh_two(F: Any, v: Any, u: Any, out: Any, also: Any) -> None:
    """Set out = vᵀF and also = uᵀF for a tile F, which is read once for both."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
        also[k] = 0.0
    for i in range(p):
        a, b = v[i], u[i]
        for k in range(n):
            f = F[i, k]
            out[k] += a * f
            also[k] += b * f


@jit
def weigh_three(F: Any, vectors: Any, out: Any, also: Any, third: Any) -> None:
    """Set vᵀF for three vectors and a tile F: while a tile comes from memory, there is enough to compute."""
    (p, n), (v, u, z) = F.shape, vectors
    for k in range(n):
        out[k] = 0.0
        also[k] = 0.0
        third[k] = 0.0
    for i in range(p):
        a, b, c = v[i], u[i], z[i]
        for k in range(n):
            f = F[i, k]
            out[k] += a * f
            also[k] += b * f
            third[k] += c * f


@jit
def lower(product: Any, block: int, q: Any, R: int) -> None:
    """Set q ← q - (φᵀu)² for a tile: in all rows of a joint map, in the block of the action taken for a lifted one."""
    T = q.shape[1]
    for r in range(R):
        a = r if R > 1 else block
        for t in range(T):
            z = product[r * T + t]
            q[a, t] = max(q[a, t] - z * z, 0.0)
