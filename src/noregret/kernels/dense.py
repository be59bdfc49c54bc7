r"""Least squares when states are vectors: every next state seen is kept, and its norms ride along. Alg. 1, l. 5-12.

At step h the regression needs V_{j,h+1} at every next state seen so far. So the cache of step h holds the distinct states x
visited there, each with

- F, its feature rows (R rows of p numbers, see :mod:`noregret.features.base`),
- q(x,a) = φ(x,a)ᵀ Λ_h⁻¹ φ(x,a) for every action,
- M, the sum of the features φ_{h-1}(x_τ,a_τ) of the visits that led to x, one vector for each block that occurs.

Then Σ_τ φ_τ V(x'_τ) = Σ_x M[x] V(x), and one backward pass streams the cache of a step once: for a tile of states it takes
the products with the last visits' vectors u and lowers q by them, the products with all w_j, bonus, truncation, soft-max, V_j,
and adds M V_j to the target of the step below. A tile is stored coordinate by coordinate, (p, R·T), so the products run along
the states.

With u = Λ⁻¹φ_τ and c = 1 + φ_τᵀu a visit changes Λ⁻¹ by -uuᵀ/c and q(x,a) by -(φ(x,a)ᵀu)²/c; the pending vectors are u/√c.
Λ is kept exactly; Λ⁻¹ is made anew from it when the number of visits is a power of two or a multiple of ``REFRESH``, and then
so is q. (Early visits change Λ⁻¹ the most, from 1/λ down; there differences of large numbers would leave their error.)

Memory: 2·H·B·p² for Λ and Λ⁻¹, and for each state kept R·p + A + about p numbers; see :func:`bytes_needed`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.inverse import REFRESH, from_factor, inverse_factor
from noregret.kernels.jit import jit
from noregret.kernels.softmax import soft_max
from noregret.kernels.tiles import lower, weigh, weigh_three, weigh_two

Array = NDArray[np.float64]

#: Products of a tile run over about this many numbers at a time.
LANES = 64


class DenseGram(NamedTuple):
    """Λ and the cache. J objectives are estimated, 1 + m of them observed (see :func:`backward`).

    There are B blocks of width p, R rows a state, tiles of T states, room for N states.
    """

    lam: float
    Lambda: Array  # (H,B,p,p)
    Lambda_inv: Array  # (H,B,p,p)
    planned_inv: Array  # (H,B,p,p) Λ⁻¹ as it was at the last plan; the same array where every episode is planned
    log_det: Array  # (H,) log det Λ_h - log det λI
    visits: NDArray[np.int64]  # (H,)
    total: Array  # (H,1+m,B,p) Σ φ_τ j_τ
    w: Array  # (H,J,B,p)
    counts: NDArray[np.int64]  # (H,) states kept
    F: NDArray[Any]  # (H,N/T,p,R·T) their features, float64 or float32
    q: Array  # (H,N/T,A,T)
    slot: NDArray[np.int32]  # (H,N,B) where M of a state and block is, or -1
    slots: NDArray[np.int64]  # (H,) how many vectors M there are
    M: NDArray[Any]  # (H,N',p)
    pending: Array  # (H,P,p) u/√c of the visits since the last plan
    pending_block: NDArray[np.int64]  # (H,P)
    pendings: NDArray[np.int64]  # (H,) how many
    stale: NDArray[np.bool_]  # (H,) whether q must be made anew


def tile_size(rows: int) -> int:
    """T, states of a tile: a multiple of 8 with about ``LANES`` rows."""
    return max(8, LANES // rows // 8 * 8)


def dense_gram(
    H: int,
    A: int,
    J: int,
    m: int,
    rows: int,
    blocks: int,
    width: int,
    lam: float,
    capacity: int,
    pending: int,
    lazy: bool,
    dtype: Any,
) -> DenseGram:
    """No data: Λ = λI, nothing kept, room for ``capacity`` states a step."""
    T = tile_size(rows)
    tiles = -(-capacity // T)
    eye = np.broadcast_to(np.eye(width), (H, blocks, width, width))
    Lambda_inv = np.array(eye / lam)
    return DenseGram(
        lam=float(lam),
        Lambda=np.array(lam * eye),
        Lambda_inv=Lambda_inv,
        planned_inv=Lambda_inv.copy() if lazy else Lambda_inv,
        log_det=np.zeros(H),
        visits=np.zeros(H, dtype=np.int64),
        total=np.zeros((H, 1 + m, blocks, width)),
        w=np.zeros((H, J, blocks, width)),
        counts=np.zeros(H, dtype=np.int64),
        F=np.zeros((H, tiles, width, rows * T), dtype=dtype),
        q=np.zeros((H, tiles, A, T)),
        slot=np.full((H, tiles * T, blocks), -1, dtype=np.int32),
        slots=np.zeros(H, dtype=np.int64),
        M=np.zeros((H, tiles * T, width), dtype=dtype),
        pending=np.zeros((H, pending, width)),
        pending_block=np.zeros((H, pending), dtype=np.int64),
        pendings=np.zeros(H, dtype=np.int64),
        stale=np.zeros(H, dtype=np.bool_),
    )


def bytes_needed(H: int, A: int, J: int, rows: int, blocks: int, width: int, states: int, itemsize: int = 8) -> int:
    """Memory of a Gram that keeps ``states`` states at each step, in bytes: O(d²H + dAT), T = H·states."""
    square = 3 * 8 * H * blocks * width * width
    one = itemsize * (rows + 1) * width + 8 * A + 4 * blocks + KEY_BYTES
    return square + 2 * 8 * H * J * blocks * width + H * states * one


#: What finding a state again costs, beside the cache: a 16-byte key here and an entry of a Python dictionary.
KEY_BYTES = 16 + 200


# --- one episode in -----------------------------------------------------------------------------------------------


@jit
def learn(gram: DenseGram, length: int, rows: Any, actions: Any, observed: Any, index: Any, A: int) -> None:
    """Take in an episode of ``length`` steps: features rows (L,R,p), actions (L,), observed (L,J), index (L,).

    index[h] is the place of x_h in the cache of step h (the caller has looked it up; a place equal to the count is a new
    state), for h ≥ 1; step 0 keeps nothing, as no target leads there. The visits' Λ and sums move by l. 5 of the next episode.
    """
    R, B = rows.shape[1], gram.Lambda.shape[1]
    for h in range(length):
        if h > 0:
            if index[h] == gram.counts[h]:
                keep(gram, h, rows[h], A)
            lead(gram, h, index[h], actions[h - 1] if B > 1 else 0, rows[h - 1, actions[h - 1] if R > 1 else 0])
    for h in range(length):
        visit(gram, h, rows[h, actions[h] if R > 1 else 0], actions[h] if B > 1 else 0, observed[h])


@jit
def keep(gram: DenseGram, h: int, rows: Any, A: int) -> None:
    """Append a state to the cache of step h, with its q under the Λ⁻¹ of the last plan (pending visits come later)."""
    R, p = rows.shape
    B = gram.Lambda.shape[1]
    T = gram.F.shape[3] // R
    tile, lane = gram.counts[h] // T, gram.counts[h] % T
    line = np.empty(p)
    for r in range(R):
        for i in range(p):
            gram.F[h, tile, i, r * T + lane] = rows[r, i]
    for a in range(A):
        r, b = (a if R > 1 else 0), (a if B > 1 else 0)
        gram.q[h, tile, a, lane] = square_norm(gram.planned_inv[h, b], rows[r], line)
    gram.counts[h] += 1


@jit
def lead(gram: DenseGram, h: int, i: int, block: int, phi: Any) -> None:
    """M[x_i] += φ: one more visit at step h-1 that led to the i-th state of step h."""
    if gram.slot[h, i, block] < 0:
        gram.slot[h, i, block] = gram.slots[h]
        gram.slots[h] += 1
    M = gram.M[h, gram.slot[h, i, block]]
    for k in range(len(phi)):
        M[k] += phi[k]


@jit
def visit(gram: DenseGram, h: int, phi: Any, block: int, observed: Any) -> None:
    """Λ, Λ⁻¹, sums and log det after φ was seen at step h; what q has to lose is left pending."""
    p = len(phi)
    Lambda, Lambda_inv = gram.Lambda[h, block], gram.Lambda_inv[h, block]
    for j in range(len(observed)):
        total = gram.total[h, j, block]
        for i in range(p):
            total[i] += phi[i] * observed[j]
    u = np.zeros(p)
    for i in range(p):
        f = phi[i]
        if f != 0.0:
            for k in range(p):
                Lambda[i, k] += f * phi[k]
                u[k] += f * Lambda_inv[i, k]
    growth = 1.0
    for i in range(p):
        growth += phi[i] * u[i]
    gram.log_det[h] += np.log(growth)
    gram.visits[h] += 1
    n = gram.visits[h]
    if n % REFRESH == 0 or (n & (n - 1)) == 0:
        factor = inverse_factor(Lambda)
        from_factor(factor, Lambda_inv)
        gram.stale[h] = True
        return
    root = np.sqrt(growth)
    for i in range(p):
        u[i] /= root
    for i in range(p):
        for k in range(p):
            Lambda_inv[i, k] -= u[i] * u[k]
    if gram.pendings[h] == gram.pending.shape[1]:
        gram.stale[h] = True
        return
    for i in range(p):
        gram.pending[h, gram.pendings[h], i] = u[i]
    gram.pending_block[h, gram.pendings[h]] = block
    gram.pendings[h] += 1


@jit
def square_norm(Lambda_inv: Any, phi: Any, line: Any) -> float:
    """φᵀ Λ⁻¹ φ, at least 0; ``line`` is scratch."""
    p = len(phi)
    line[:] = 0.0
    for i in range(p):
        f = phi[i]
        if f != 0.0:
            for k in range(p):
                line[k] += f * Lambda_inv[i, k]
    total = 0.0
    for k in range(p):
        total += line[k] * phi[k]
    return max(total, 0.0)


# --- the backward pass --------------------------------------------------------------------------------------------


@jit
def backward(gram: DenseGram, beta: Any, span_floor: float, alpha: float, floor: float, cap: Any, Y: Any, bonus: Any) -> None:
    """Alg. 1, l. 4-12 at every state kept: w (H,J,B,p) and the ``bonus`` β of each step (H,J), and q up to date.

    As in :mod:`noregret.learners.primal_dual_lsvi`: objectives from 1 + m on are the utilities once more, and their ``beta``
    (J,) is multiplied by the cap; that of the others by how far V_{j,h+1} spreads over the next states seen, but at least by
    ``span_floor``, or where that is negative by 1.
    """
    H, J, B, p = gram.w.shape
    A, T = gram.q.shape[2], gram.q.shape[3]
    R = gram.F.shape[3] // T
    active = np.arange(T).reshape(1, T)
    available = np.ones((1, T, A), dtype=np.bool_)
    Q, V, policy = np.zeros((1, J, T, A)), np.zeros((2, J, T)), np.zeros((1, T, A))
    product, spare = np.zeros((J * B, R * T)), np.zeros(R * T)
    observed = gram.total.shape[1]
    target, low, high = np.zeros((J, B, p)), np.zeros(J), np.zeros(J)
    for j in range(J):
        target[j] = gram.total[H - 1, j if j < observed else j - observed + 1]
    for h in range(H - 1, -1, -1):  # l. 4
        for j in range(J):
            scale = 1.0
            if j >= observed:
                scale = cap[h]
            elif span_floor >= 0.0:
                scale = max(high[j] - low[j], span_floor)
            bonus[h, j] = beta[j] * scale
        for j in range(J):  # l. 6-7
            for b in range(B):
                solve(gram.Lambda_inv[h, b], target[j, b], gram.w[h, j, b])
        if h == 0:
            break
        if gram.stale[h]:
            renew(gram, h, spare)
        for j in range(J):
            target[j] = gram.total[h - 1, j if j < observed else j - observed + 1]
        low[:] = np.inf if gram.counts[h] > 0 else 0.0
        high[:] = -np.inf if gram.counts[h] > 0 else 0.0
        for tile in range((gram.counts[h] + T - 1) // T):
            n = min(T, gram.counts[h] - tile * T)
            F, q = gram.F[h, tile], gram.q[h, tile]
            last = gram.pendings[h] - 1
            for k in range(last):
                weigh(F, gram.pending[h, k], spare)
                lower(spare, gram.pending_block[h, k], q, R)
            for j in range(0, J, 2):
                for b in range(B):
                    one, two = j * B + b, (j + 1) * B + b
                    if j + 1 == J:
                        weigh(F, gram.w[h, j, b], product[one])
                    elif one == 0 and last >= 0:  # the first pass over the tile takes the last visit along
                        weigh_three(
                            F, gram.w[h, j, b], gram.w[h, j + 1, b], gram.pending[h, last], product[one], product[two], spare
                        )
                        lower(spare, gram.pending_block[h, last], q, R)
                    else:
                        weigh_two(F, gram.w[h, j, b], gram.w[h, j + 1, b], product[one], product[two])
            for a in range(A):  # l. 8-9
                r, b = (a if R > 1 else 0), (a if B > 1 else 0)
                for t in range(n):
                    norm = np.sqrt(q[a, t])
                    for j in range(J):
                        Q[0, j, t, a] = max(min(product[j * B + b, r * T + t] + bonus[h, j] * norm, cap[h]), floor)
            soft_max(Q, 0, active, n, Y, alpha, available, policy, V)  # l. 10-12
            for j in range(J):
                for t in range(n):
                    low[j], high[j] = min(low[j], V[0, j, t]), max(high[j], V[0, j, t])
            for t in range(n):
                for b in range(B):
                    place = gram.slot[h, tile * T + t, b]
                    if place >= 0:
                        M = gram.M[h, place]
                        for j in range(J):
                            value, sums = V[0, j, t], target[j, b]
                            for i in range(p):
                                sums[i] += value * M[i]
        gram.pendings[h] = 0
    gram.pendings[0] = 0
    gram.stale[0] = False


@jit
def solve(Lambda_inv: Any, target: Any, out: Any) -> None:
    """Set out = Λ⁻¹ target, for a symmetric Λ⁻¹."""
    out[:] = 0.0
    for i in range(len(target)):
        f = target[i]
        for k in range(len(target)):
            out[k] += f * Lambda_inv[i, k]


@jit
def renew(gram: DenseGram, h: int, spare: Any) -> None:
    """Set q = |L⁻¹φ|² of everything kept at step h, from the factor of Λ."""
    B, p = gram.Lambda.shape[1], gram.Lambda.shape[2]
    T = gram.q.shape[3]
    R = gram.F.shape[3] // T
    for b in range(B):
        factor = inverse_factor(gram.Lambda[h, b])
        for tile in range((gram.counts[h] + T - 1) // T):
            F, q = gram.F[h, tile], gram.q[h, tile]
            for r in range(R):
                q[r if R > 1 else b, :] = 0.0
            for i in range(p):
                weigh(F[: i + 1], factor[i], spare)
                for r in range(R):
                    a = r if R > 1 else b
                    for t in range(T):
                        q[a, t] += spare[r * T + t] * spare[r * T + t]
    gram.stale[h] = False
    gram.pendings[h] = 0


# --- acting -------------------------------------------------------------------------------------------------------


@jit
def act(
    rows: Any, inverse: Any, w: Any, beta: Any, alpha: float, floor: float, cap: float, Y: Any, policy: Any, Q: Any, V: Any
) -> None:
    """Q_j (1,J,n,A), π (1,n,A) and V_j (2,J,n) of a step at any n states with rows (n,R,p): Alg. 1, l. 14, at O(A·p²) each."""
    n, R, p = rows.shape
    J, B = w.shape[0], w.shape[1]
    A = policy.shape[2]
    line = np.empty(p)
    for s in range(n):
        for a in range(A):
            r, b = (a if R > 1 else 0), (a if B > 1 else 0)
            norm = np.sqrt(square_norm(inverse[b], rows[s, r], line))
            for j in range(J):
                mean = 0.0
                for i in range(p):
                    mean += rows[s, r, i] * w[j, b, i]
                Q[0, j, s, a] = max(min(mean + beta[j] * norm, cap), floor)
    active = np.arange(n).reshape(1, n)
    soft_max(Q, 0, active, n, Y, alpha, np.ones((1, n, A), dtype=np.bool_), policy, V)


@jit
def near(F: Any, count: int, rows: Any, T: int, tolerance: float) -> int:
    """The first of ``count`` kept states whose every row is within ``tolerance`` of ``rows`` (R,p), or -1."""
    R, p = rows.shape
    for s in range(count):
        tile, lane = s // T, s % T
        close = True
        for r in range(R):
            total = 0.0
            for i in range(p):
                gap = F[tile, i, r * T + lane] - rows[r, i]
                total += gap * gap
                if total > tolerance * tolerance:
                    close = False
                    break
            if not close:
                break
        if close:
            return s
    return -1
