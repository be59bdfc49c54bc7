"""The backward pass over a cache of states that are vectors, a tile at a time, and acting at any state. Alg. 1, l. 5-12, 14."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import States, Tables, teach
from noregret.kernels.gram.dense import DenseGram, square_norm
from noregret.kernels.gram.inverse import inverse_factor
from noregret.kernels.gram.noise import doubt, joined, logarithm
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import Array, Flags, Integers, SweepRule

if TYPE_CHECKING:
    from noregret.kernels.gram.bounded import BoundedGram, Pass


#: A variance of what is paid below this is that of the ridge and of rounding.
LEAST_VARIANCE = 1e-5


class Tiles(NamedTuple):
    """What the pass fills: Q, V and policy of a tile of T states, and what it hands from one step to the step below."""

    Q: Array  # (1,J,T,A)
    V: Array  # (2,J,T)
    policy: Array  # (1,T,A)
    available: Flags  # (1,T,A)
    bonus: Array  # (H,J) β of each step, which acting needs
    noise: Array  # (H,2,J) (c_jσ_j)² and c_jR_j of each step, which acting needs
    worth: Array  # (J,) what a step after an early end is worth
    active: Integers  # (1,T) all lanes
    actives: Integers  # (1,) how many of them are states
    product: Array  # (J·B,R·T)
    spare: Array  # (R·T,)
    target: Array  # (J,B,p) Σ_τ φ_τ (j_τ + V_j(x'_τ))
    low: Array  # (J,) least and largest V_j of the step above
    high: Array  # (J,)


def tiles(gram: DenseGram, bonus: Array, noise: Array, worth: Array) -> Tiles:
    """Scratch for a Gram.

    Args:
        gram: the data.
        bonus: (H,J), which every plan fills.
        noise: (H,2,J), too.
        worth: (J,) what a step after an early end is worth.
    """
    _, J, B, p = gram.w.shape
    A, T = gram.q.shape[2], gram.q.shape[3]
    lanes = gram.F.shape[3]
    return Tiles(
        Q=np.zeros((1, J, T, A)),
        V=np.zeros((2, J, T)),
        policy=np.zeros((1, T, A)),
        available=np.full((1, T, A), True),
        bonus=bonus,
        noise=noise,
        worth=worth,
        active=np.arange(T).reshape(1, T),
        actives=np.zeros(1, dtype=np.int64),
        product=np.zeros((J * B, lanes)),
        spare=np.zeros(lanes),
        target=np.zeros((J, B, p)),
        low=np.zeros(J),
        high=np.zeros(J),
    )


def _sweep(gram: DenseGram, h: int, tables: Tiles, rule: SweepRule, Y: Array, alpha: float) -> None:
    """Alg. 1, l. 5-12 at every state kept: w of this step, then π and V there, which make the target of the step below.

    One pass over the cache does what ``estimate`` and ``soft_max`` do one after the other for tables. Q and V of all states
    kept would not fit into the processor's cache, the features are read once, and the last visit's part of q comes along:
    ``benchmarks/continuous.py`` (d = 50 and 200) is what this inner loop of its own is for.
    """
    left_over(gram, h, tables, rule.noise)
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
def aim(gram: DenseGram | BoundedGram, h: int, tables: Tiles | Pass) -> None:
    """Begin the target of step h: Σ_τ φ_τ j_τ."""
    observed = gram.total.shape[1]
    for j in range(len(tables.target)):
        tables.target[j] = gram.total[row(gram.total, h), j if j < observed else j - observed + 1]


@jit
def regress(gram: DenseGram | BoundedGram, h: int, tables: Tiles | Pass) -> None:
    """w_j = Λ⁻¹ target_j for every objective and block."""
    _, J, B, _ = gram.w.shape
    g = row(gram.Lambda_inv, h)
    for j in range(J):
        for b in range(B):
            weigh(gram.Lambda_inv[g, b], tables.target[j, b], gram.w[h, j, b])  # Λ⁻¹ is symmetric


@jit
def left_over(gram: DenseGram | BoundedGram, h: int, tables: Tiles | Pass, c: Array) -> None:
    """Fill ``tables.noise`` with (c_jσ_j)² and c_jR_j, by what the regression of each objective alone leaves over at step h.

    With n visits and w = Λ⁻¹t, t = Σ_τ φ_τ j_τ, it is Σ_τ (j_τ − ⟨w,φ_τ⟩)² = Σ_τ j_τ² − ⟨t + λw, w⟩. Over n − d that is σ², at
    most R²/4, and 0 where it is below ``LEAST_VARIANCE``: so much is ridge and rounding. R is the range of all payments.
    """
    (_, J, B, p), g, observed = gram.w.shape, row(gram.visits, h), gram.total.shape[1]
    n = gram.visits[g]
    for j in range(J):
        data, variance, apart = (j if j < observed else j - observed + 1), 0.0, 0.0
        if c[j] > 0.0 and n > B * p:
            left = gram.power[g, data]
            for b in range(B):
                total = gram.total[g, data, b]
                for i in range(p):
                    w = 0.0
                    for k in range(p):
                        w += gram.Lambda_inv[g, b, i, k] * total[k]
                    left -= (total[i] + gram.lam * w) * w
            if left > LEAST_VARIANCE * n:
                apart = gram.extent[1, data] - gram.extent[0, data]
                variance = min(left / (n - B * p), 0.25 * apart * apart)
        tables.noise[h, 0, j], tables.noise[h, 1, j] = c[j] * c[j] * variance, c[j] * apart


@partial(jit, references=False)
def stream(gram: DenseGram, h: int, tables: Tiles, rule: SweepRule, Y: Array, alpha: float) -> None:
    """Q, π and V at the states kept, tile by tile, added to the target of step h-1; q is up to date afterwards."""
    H, J, B, p = gram.w.shape
    A, T = gram.q.shape[2], gram.q.shape[3]
    R, g, cap, floor = gram.F.shape[3] // T, h, rule.cap[h], rule.floor
    Q, V, product, spare, target = tables.Q, tables.V, tables.product, tables.spare, tables.target
    low, high, bonus, count, last = tables.low, tables.high, tables.bonus, gram.counts[g], gram.pendings[g] - 1
    noise, noisy = tables.noise, False
    for j in range(J):
        noisy = noisy or noise[h, 0, j] > 0.0
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
                norm, L = np.sqrt(q[a, t]), 0.0
                if noisy:
                    visits = 0.0
                    for k in range(A):
                        visits += 1.0 / max(q[k, t], 1e-300)
                    L = logarithm(visits, q[a, t])
                for j in range(J):
                    width = bonus[h, j] * norm
                    if noisy and noise[h, 0, j] > 0.0:
                        width = joined(width, doubt(noise[h, 0, j], noise[h, 1, j], norm, L))
                    Q[0, j, t, a] = max(min(product[j * B + b, r * T + t] + width, cap), floor)
        soft_max(tables, 0, tables, Y, alpha)  # l. 10-12
        if tile * T <= gram.end[g] < tile * T + n:
            at_the_end(tables, gram.end[g] - tile * T, H - h)
        for j in range(J):
            least, most = low[j], high[j]
            for t in range(n):
                least, most = min(least, V[0, j, t]), max(most, V[0, j, t])
            low[j], high[j] = least, most
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
def at_the_end(tables: Tiles | Pass, i: int, left: int) -> None:
    """V at the place of an early end: what the steps left are worth."""
    for j in range(len(tables.worth)):
        tables.V[0, j, i] = left * tables.worth[j]


def _spread(gram: DenseGram, h: int, tables: Tiles, j: int) -> float:
    return tables.high[j] - tables.low[j] if h + 1 < len(gram.w) else 0.0


teach(DenseGram, sweep=_sweep, spread=_spread)


@jit
def renew(gram: DenseGram, g: int, spare: Array) -> None:
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
    noise: Array  # (2,J) (c_jσ_j)² and c_jR_j
    floor: float
    cap: float
    actions: int  # A


@jit
def act(rows: Array, fit: Fit, Y: Array, alpha: float) -> tuple[Array, Array, Array]:
    """π (n,A), Q_j (J,n,A) and V_j (J,n) of a step at any n states with rows (n,R,p): Alg. 1, l. 14, at O(A·p²) each."""
    n, R, p = rows.shape
    J, B, A = fit.w.shape[0], fit.w.shape[1], fit.actions
    Q, V, policy, line = np.zeros((1, J, n, A)), np.zeros((2, J, n)), np.zeros((1, n, A)), np.empty(p)
    squares = np.empty(A)
    for s in range(n):
        visits = 0.0
        for a in range(A):
            squares[a] = square_norm(fit.inverse[a if B > 1 else 0], rows[s, a if R > 1 else 0], line)
            visits += 1.0 / max(squares[a], 1e-300)
        for a in range(A):
            r, b = (a if R > 1 else 0), (a if B > 1 else 0)
            norm = np.sqrt(squares[a])
            for j in range(J):
                width = fit.bonus[j] * norm
                if fit.noise[0, j] > 0.0:
                    width = joined(width, doubt(fit.noise[0, j], fit.noise[1, j], norm, logarithm(visits, squares[a])))
                mean = 0.0
                for i in range(p):
                    mean += rows[s, r, i] * fit.w[j, b, i]
                Q[0, j, s, a] = max(min(mean + width, fit.cap), fit.floor)
    everyone = States(np.arange(n).reshape(1, n), np.array([n]))
    soft_max(everyone, 0, Tables(Q, V, policy, np.ones((1, n, A), dtype=np.bool_), V[0]), Y, alpha)
    return policy[0], Q[0], V[0]


# --- products with a tile -----------------------------------------------------------------------------------------
# A tile of cached features is laid out coordinate by coordinate (p, lanes). A loop over lanes has no sum in it, so it is
# vectorised in the order written and gives the same bits everywhere. Two coordinates at a time: a sum is read and written once
# for two products.


@jit
def weigh(F: Array, v: Array, out: Array) -> None:
    """Set out = vᵀF for a tile F (p, lanes)."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
    for i in range(0, p - 1, 2):
        a, b = v[i], v[i + 1]
        for k in range(n):
            out[k] = out[k] + a * F[i, k] + b * F[i + 1, k]
    if p % 2 == 1:
        a = v[p - 1]
        for k in range(n):
            out[k] += a * F[p - 1, k]


@jit
def weigh_two(F: Array, v: Array, u: Array, out: Array, also: Array) -> None:
    """Set out = vᵀF and also = uᵀF for a tile F, which is read once for both."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
        also[k] = 0.0
    for i in range(0, p - 1, 2):
        a, b, c, d = v[i], v[i + 1], u[i], u[i + 1]
        for k in range(n):
            one, two = F[i, k], F[i + 1, k]
            out[k] = out[k] + a * one + b * two
            also[k] = also[k] + c * one + d * two
    if p % 2 == 1:
        a, c = v[p - 1], u[p - 1]
        for k in range(n):
            out[k] += a * F[p - 1, k]
            also[k] += c * F[p - 1, k]


@jit
def weigh_three(F: Array, vectors: tuple[Array, Array, Array], out: Array, also: Array, third: Array) -> None:
    """Set vᵀF for three vectors and a tile F: while a tile comes from memory, there is enough to compute."""
    (p, n), (v, u, z) = F.shape, vectors
    for k in range(n):
        out[k] = 0.0
        also[k] = 0.0
        third[k] = 0.0
    for i in range(0, p - 1, 2):
        a, b, c, d, e, f = v[i], v[i + 1], u[i], u[i + 1], z[i], z[i + 1]
        for k in range(n):
            one, two = F[i, k], F[i + 1, k]
            out[k] = out[k] + a * one + b * two
            also[k] = also[k] + c * one + d * two
            third[k] = third[k] + e * one + f * two
    if p % 2 == 1:
        a, c, e = v[p - 1], u[p - 1], z[p - 1]
        for k in range(n):
            one = F[p - 1, k]
            out[k] += a * one
            also[k] += c * one
            third[k] += e * one


@jit
def lower(product: Array, block: int, q: Array, R: int) -> None:
    """Set q ← q - (φᵀu)² for a tile: in all rows of a joint map, in the block of the action taken for a lifted one."""
    T = q.shape[1]
    for r in range(R):
        a = r if R > 1 else block
        for t in range(T):
            z = product[r * T + t]
            q[a, t] = max(q[a, t] - z * z, 0.0)
