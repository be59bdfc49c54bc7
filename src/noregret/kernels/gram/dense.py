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

An early end is a next state too, the place ``end`` of the cache. It has no features, and V there is what the steps left are
worth. So it has its part in targets and in the spread of V.

:mod:`noregret.kernels.gram.bounded` is for steps that share what they learn, and for a bounded number of states.

Memory: 2·H·B·p² for Λ and Λ⁻¹, and for each state kept R·p + A + about p numbers; see :func:`bytes_needed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import teach
from noregret.kernels.gram.inverse import REFRESH, from_factor, inverse_factor
from noregret.kernels.types import COUNTS, Array, Flags, Integers

if TYPE_CHECKING:
    from noregret.kernels.gram.bounded import BoundedGram

#: Products of a tile run over about this many numbers at a time.
LANES = 64


class Sizes(NamedTuple):
    """How large a Gram is."""

    H: int
    A: int
    J: int  # objectives that are estimated
    m: int  # utilities
    rows: int  # R, feature rows a state
    blocks: int  # B
    width: int  # p


class DenseGram(NamedTuple):
    """Λ and the cache of each step.

    J objectives are estimated, 1 + m of them observed: those from 1 + m on are the utilities once more. There are B blocks of
    width p, R rows a state, tiles of T states, room for N states.
    """

    lam: float
    Lambda: Array  # (G,B,p,p)
    Lambda_inv: Array  # (G,B,p,p)
    planned_inv: Array  # (G,B,p,p) Λ⁻¹ as it was at the last plan; the same array where every episode is planned
    log_det: Array  # (G,) log det Λ_h - log det λI
    visits: Integers  # (G,)
    total: Array  # (G,1+m,B,p) Σ φ_τ j_τ
    power: Array  # (G,1+m) Σ j_τ²
    extent: Array  # (2,1+m) the least and the largest j_τ
    w: Array  # (H,J,B,p)
    counts: Integers  # (G,) states kept
    end: Integers  # (G,) the place that stands for an early end, or -1
    F: Array  # (G,N/T,p,R·T) their features
    q: Array  # (G,N/T,A,T)
    slot: NDArray[np.int32]  # (G,N,B) where M of a state and block is, or -1
    slots: Integers  # (G,) how many vectors M there are
    M: Array  # (G,N',p)
    pending: Array  # (G,P,p) u/√c of the visits since the last plan
    pending_block: Integers  # (G,P)
    pendings: Integers  # (G,) how many
    stale: Flags  # (G,) whether q must be made anew

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        most = {"slot": self.M.shape[1] - 1, "slots": self.M.shape[1], "counts": self.F.shape[1] * self.q.shape[3]}
        most |= {"pendings": self.pending.shape[1], "pending_block": self.Lambda.shape[1] - 1, "visits": COUNTS[1]}
        most["end"] = most["counts"] - 1
        return {key: (-1 if key in ("slot", "end") else 0, value) for key, value in most.items()}

    def lengths(self, states: int, slots: int) -> dict[str, int]:
        """The second axis of the arrays that grow, where so many states and vectors M are kept a step."""
        tiles = -(-states // self.q.shape[3])
        return {"gram.F": tiles, "gram.q": tiles, "gram.slot": tiles * self.q.shape[3], "gram.M": slots, "key": states}


class Visited(NamedTuple):
    """The states of an episode: their features, and where each is kept.

    ``place[h]`` is the place of x_h in the cache of step h, for h ≥ 1; a place equal to the count is a new state. Step 0 keeps
    nothing, as no target leads there.
    """

    rows: Array  # (L,R,p); (L+1,R,p) with an early end, whose row is 0
    place: Integers  # (L,) or (L+1,)


def tile_size(rows: int) -> int:
    """T, states of a tile: a multiple of 8 with about ``LANES`` rows."""
    return max(8, LANES // rows // 8 * 8)


def dense_gram(size: Sizes, lam: float, capacity: int, *, pending: int | None = None) -> DenseGram:
    """Make a Gram without data: Λ = λI, and no state is kept.

    Args:
        size: of features and objectives.
        lam: λ.
        capacity: room for this many states a step.
        pending: how many visits may wait for the next plan, where not every episode is planned; None where every one is.
    """
    T, G = tile_size(size.rows), size.H
    tiles, width, blocks = -(-capacity // T), size.width, size.blocks
    P = 1 if pending is None else pending
    eye = np.broadcast_to(np.eye(width), (G, blocks, width, width))
    Lambda_inv = np.array(eye / lam)
    return DenseGram(
        lam=float(lam),
        Lambda=np.array(lam * eye),
        Lambda_inv=Lambda_inv,
        planned_inv=Lambda_inv if pending is None else Lambda_inv.copy(),
        log_det=np.zeros(G),
        visits=np.zeros(G, dtype=np.int64),
        total=np.zeros((G, 1 + size.m, blocks, width)),
        power=np.zeros((G, 1 + size.m)),
        extent=np.zeros((2, 1 + size.m)),
        w=np.zeros((size.H, size.J, blocks, width)),
        counts=np.zeros(G, dtype=np.int64),
        end=np.full(G, -1),
        F=np.zeros((G, tiles, width, size.rows * T)),
        q=np.zeros((G, tiles, size.A, T)),
        slot=np.full((G, tiles * T, blocks), -1, dtype=np.int32),
        slots=np.zeros(G, dtype=np.int64),
        M=np.zeros((G, tiles * T, width)),
        pending=np.zeros((G, P, width)),
        pending_block=np.zeros((G, P), dtype=np.int64),
        pendings=np.zeros(G, dtype=np.int64),
        stale=np.zeros(G, dtype=np.bool_),
    )


def bytes_needed(size: Sizes, states: int) -> int:
    """Memory of a Gram that keeps ``states`` states at each step, in bytes: O(d²H + dAT), T = H·states."""
    square = 3 * 8 * size.H * size.blocks * size.width * size.width
    state = 8 * (size.rows + 1) * size.width + 8 * size.A + 4 * size.blocks + KEY_BYTES
    return square + 2 * 8 * size.H * size.J * size.blocks * size.width + size.H * states * state


#: What finding a state again costs, beside the cache: a 16-byte key here and an entry of a Python dictionary.
KEY_BYTES = 16 + 200


# --- one episode in -----------------------------------------------------------------------------------------------


def _learn(gram: DenseGram, states: Visited, actions: Integers, observed: Array) -> None:
    """Take in an episode: ``states`` are :class:`Visited`. The visits' Λ and sums move by l. 5 of the next episode."""
    rows, R, B = states.rows, states.rows.shape[1], gram.Lambda.shape[1]
    for h in range(1, len(rows)):
        place = states.place[h]
        if place == gram.counts[h]:
            keep(gram, h, rows[h])
        lead(gram, h, place, actions[h - 1] if B > 1 else 0, rows[h - 1, actions[h - 1] if R > 1 else 0])
    for h in range(len(actions)):
        visit(gram, h, rows[h, actions[h] if R > 1 else 0], actions[h] if B > 1 else 0, observed[h])


@jit
def keep(gram: DenseGram, g: int, rows: Array) -> None:
    """Append a state to a cache, with its q under the Λ⁻¹ of the last plan (pending visits come later)."""
    R, p = rows.shape
    A, B = gram.q.shape[2], gram.Lambda.shape[1]
    T = gram.F.shape[3] // R
    tile, lane = gram.counts[g] // T, gram.counts[g] % T
    line = np.empty(p)
    for r in range(R):
        for i in range(p):
            gram.F[g, tile, i, r * T + lane] = rows[r, i]
    for a in range(A):
        r, b = (a if R > 1 else 0), (a if B > 1 else 0)
        gram.q[g, tile, a, lane] = square_norm(gram.planned_inv[g, b], rows[r], line)
    gram.counts[g] += 1


@jit
def lead(gram: DenseGram, g: int, i: int, block: int, phi: Array) -> None:
    """M[x_i] += φ: one more visit at the step before that led to the i-th state of a cache."""
    if gram.slot[g, i, block] < 0:
        gram.slot[g, i, block] = gram.slots[g]
        gram.slots[g] += 1
    M = gram.M[g, gram.slot[g, i, block]]
    for k in range(len(phi)):
        M[k] += phi[k]


@jit
def record(gram: DenseGram | BoundedGram, g: int, j: int, value: float) -> None:
    """Note what was paid, for the noise that the regression leaves over."""
    first = g == 0 and gram.visits[0] == 0
    gram.power[g, j] += value * value
    gram.extent[0, j] = value if first else min(gram.extent[0, j], value)
    gram.extent[1, j] = value if first else max(gram.extent[1, j], value)


@jit
def visit(gram: DenseGram, h: int, phi: Array, block: int, observed: Array) -> None:
    """Λ, Λ⁻¹, sums and log det after φ was seen at step h; what q has to lose is left pending."""
    p, g = len(phi), h
    Lambda, Lambda_inv = gram.Lambda[g, block], gram.Lambda_inv[g, block]
    for j in range(len(observed)):
        record(gram, g, j, observed[j])
        total = gram.total[g, j, block]
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
    gram.log_det[g] += np.log(growth)
    gram.visits[g] += 1
    n = gram.visits[g]
    if n % REFRESH == 0 or (n & (n - 1)) == 0:
        factor = inverse_factor(Lambda)
        from_factor(factor, Lambda_inv)
        gram.stale[g] = True
        return
    root = np.sqrt(growth)
    for i in range(p):
        u[i] /= root
    for i in range(p):
        for k in range(p):
            Lambda_inv[i, k] -= u[i] * u[k]
    if gram.pendings[g] == gram.pending.shape[1]:
        gram.stale[g] = True
        return
    for i in range(p):
        gram.pending[g, gram.pendings[g], i] = u[i]
    gram.pending_block[g, gram.pendings[g]] = block
    gram.pendings[g] += 1


@jit
def square_norm(Lambda_inv: Array, phi: Array, line: Array) -> float:
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


@jit
def near(gram: DenseGram, g: int, rows: Array, tolerance: float) -> int:
    """The first state kept whose every row is within ``tolerance`` of ``rows`` (R,p), or -1."""
    R, p = rows.shape
    F, T = gram.F[g], gram.q.shape[3]
    for s in range(gram.counts[g]):
        tile, lane = s // T, s % T
        close = s != gram.end[g]
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


teach(DenseGram, learn=_learn)
