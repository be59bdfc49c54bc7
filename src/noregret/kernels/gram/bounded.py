r"""Least squares when states are vectors and at most N next states are kept: two matrix products a step. Alg. 1, l. 5-12.

What is kept of a state is what :mod:`noregret.kernels.gram.dense` keeps: its features F and M, the sum of the features that led
to it, here one vector for every block. The pass takes F·w for all objectives and blocks at once, (N·R×p)(p×J·B), then bonus,
truncation, soft-max and V_j, and adds V·M, (J×N)(N×B·p), to the target of the step below. Λ⁻¹ and the norms are made anew from
Λ for each plan, so that nothing drifts and taking in an episode costs no more than its Λ.

Steps that share what they learn have one Λ and one cache, of all next states seen, the one after the last step among them.

A next state within ``tolerance`` of one that is kept shares its place. When all N places are taken the tolerance grows by half
and the places are merged again (:func:`coarsen`): M is added up, and what one place stands for lies within three tolerances. So
neither memory nor the time of an episode grows for ever. (Twice the tolerance would leave a twentieth of the places in R^4.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import teach
from noregret.kernels.gram.dense import Sizes, record
from noregret.kernels.gram.noise import doubt, joined, logarithm
from noregret.kernels.gram.stream import aim, at_the_end, left_over, regress
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import COUNTS, Array, Flags, Integers, SweepRule

#: The tolerance that follows 0, features having norms of at most 1.
FIRST_TOLERANCE = 0.01
#: Merging ends when at most this share of the places is taken.
FREE_AGAIN = 0.6
#: How much the tolerance grows when all places are taken.
COARSER = 1.5


class BoundedGram(NamedTuple):
    """Λ and the cache, of G = H steps, or of 1 when all share what they learn; there is room for N states."""

    lam: float
    Lambda: Array  # (G,B,p,p)
    Lambda_inv: Array  # (G,B,p,p) as it was at the last plan
    log_det: Array  # (G,) log det Λ
    visits: Integers  # (G,)
    total: Array  # (G,1+m,B,p) Σ φ_τ j_τ
    power: Array  # (G,1+m) Σ j_τ²
    extent: Array  # (2,1+m) the least and the largest j_τ
    w: Array  # (H,J,B,p)
    counts: Integers  # (G,) states kept
    end: Integers  # (G,) the place that stands for an early end, or -1
    F: Array  # (G,N·R,p) their features
    M: Array  # (G,N,B·p)
    tolerance: Array  # (2,) within which states share a place, and how far a state may lie from the one in its place

    @property
    def planned_inv(self) -> Array:
        """Λ⁻¹ of the last plan."""
        return self.Lambda_inv

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        room = self.M.shape[1]
        return {"counts": (0, room), "end": (-1, room - 1), "visits": COUNTS}

    def lengths(self, states: int, slots: int) -> dict[str, int]:
        """The second axis of the arrays that grow, where so many states are kept a step."""
        return {"gram.F": states * (self.F.shape[1] // self.M.shape[1]), "gram.M": states}


class Pass(NamedTuple):
    """What the pass fills, for n states: Q, V and policy, and what it hands from one step to the step below."""

    Q: Array  # (1,J,n,A)
    V: Array  # (2,J,n)
    policy: Array  # (1,n,A)
    available: Flags  # (1,n,A)
    bonus: Array  # (H,J) β of each step, which acting needs
    noise: Array  # (H,2,J) (c_jσ_j)² and c_jR_j of each step, which acting needs
    worth: Array  # (J,) what a step after an early end is worth
    active: Integers  # (1,n) all places
    actives: Integers  # (1,) how many of them are states
    norm: Array  # (G,n,A) ‖φ‖ in the norm of Λ⁻¹
    weights: Array  # (p,J·B)
    product: Array  # (n·R,J·B)
    led: Array  # (J,B·p)
    target: Array  # (J,B,p) Σ_τ φ_τ (j_τ + V_j(x'_τ))
    low: Array  # (J,) least and largest V_j of the step above
    high: Array  # (J,)


def bounded_gram(size: Sizes, lam: float, room: int, tolerance: float, *, shared: bool) -> BoundedGram:
    """Make a Gram without data: Λ = λI, and no state is kept.

    Args:
        size: of features and objectives.
        lam: λ.
        room: for how many states a step there is room at first.
        tolerance: next states whose features differ by no more share a place.
        shared: whether all steps have one regression.
    """
    G, B, p = 1 if shared else size.H, size.blocks, size.width
    eye = np.broadcast_to(np.eye(p), (G, B, p, p))
    return BoundedGram(
        lam=float(lam),
        Lambda=np.array(lam * eye),
        Lambda_inv=np.array(eye / lam),
        log_det=np.full(G, B * p * np.log(lam)),
        visits=np.zeros(G, dtype=np.int64),
        total=np.zeros((G, 1 + size.m, B, p)),
        power=np.zeros((G, 1 + size.m)),
        extent=np.zeros((2, 1 + size.m)),
        w=np.zeros((size.H, size.J, B, p)),
        counts=np.zeros(G, dtype=np.int64),
        end=np.full(G, -1),
        F=np.zeros((G, room * size.rows, p)),
        M=np.zeros((G, room, B * p)),
        tolerance=np.array([tolerance, tolerance]),
    )


def bounded_bytes(size: Sizes, states: int, *, shared: bool) -> int:
    """Memory that a Gram with so many states a step needs at most, with what a plan fills, in bytes."""
    G, B, p, R = 1 if shared else size.H, size.blocks, size.width, size.rows
    square = 4 * G * B * p * p + 2 * size.H * size.J * B * p
    state = 2 * G * (R * p + B * p) + G * size.A + size.J * (2 * size.A + 2 + B * R) + 2 * size.A + 2
    return 8 * (square + states * state)


# --- one episode in -----------------------------------------------------------------------------------------------


@jit
def place(gram: BoundedGram, rows: Array, actions: Integers, begin: int, ended: bool) -> int:
    """Find or make a place for the state after each step from ``begin`` on, and add what led to it.

    Args:
        gram: the data.
        rows: (L+1,R,p) the features of the states visited; those after the last step are not read where the episode ended.
        actions: (L,) the actions taken.
        begin: the first step whose next state is not placed yet.
        ended: whether the last next state is an early end.

    Returns:
        The first step whose next state found no room; else L.
    """
    L, R, p = len(actions), rows.shape[1], rows.shape[2]
    B = gram.Lambda.shape[1]
    for h in range(begin, L):
        if h + 1 == len(rows):  # nothing was learned of what follows
            break
        g = row(gram.counts, h + 1)
        last = ended and h + 1 == L
        i = gram.end[g] if last else near(gram, g, rows[h + 1])
        if i < 0:
            i = gram.counts[g]
            if i == gram.M.shape[1]:
                return h
            gram.counts[g] += 1
            if last:
                gram.end[g] = i
            for r in range(R):
                for k in range(p):
                    gram.F[g, i * R + r, k] = 0.0 if last else rows[h + 1, r, k]
        a = actions[h]
        b, r = (a if B > 1 else 0), (a if R > 1 else 0)
        for k in range(p):
            gram.M[g, i, b * p + k] += rows[h, r, k]
    return L


@jit
def near(gram: BoundedGram, g: int, rows: Array) -> int:
    """The first state kept whose every row is within the tolerance of ``rows`` (R,p), or -1."""
    R, p = rows.shape
    F, end, allowed = gram.F[g], gram.end[g], gram.tolerance[0] * gram.tolerance[0]
    for s in range(gram.counts[g]):
        close = s != end
        for r in range(R):
            total, k = 0.0, 0
            while close and k < p:
                gap = F[s * R + r, k] - rows[r, k]
                total += gap * gap
                close = total <= allowed
                k += 1
        if close:
            return s
    return -1


def _learn(gram: BoundedGram, states: Array, actions: Integers, observed: Array) -> None:
    """Add an episode to Λ and the sums; ``states`` are the features (L,R,p). Next states are placed by :func:`place`."""
    R, p, B = states.shape[1], states.shape[2], gram.Lambda.shape[1]
    for h in range(len(actions)):
        a, g = actions[h], row(gram.visits, h)
        phi, b = states[h, a if R > 1 else 0], (a if B > 1 else 0)
        for j in range(observed.shape[1]):
            record(gram, g, j, observed[h, j])
        gram.visits[g] += 1
        for j in range(observed.shape[1]):
            for i in range(p):
                gram.total[g, j, b, i] += phi[i] * observed[h, j]
        Lambda = gram.Lambda[g, b]
        for i in range(p):
            f = phi[i]
            if f != 0.0:
                for k in range(p):
                    Lambda[i, k] += f * phi[k]


@jit
def coarsen(gram: BoundedGram, g: int) -> None:
    """Merge the places of a cache again: each goes to the first one before it that is within the tolerance, or stays."""
    R, p = gram.F.shape[1] // gram.M.shape[1], gram.F.shape[2]
    n, end, one = gram.counts[g], gram.end[g], np.empty((R, p))
    gram.counts[g], gram.end[g] = 0, -1
    for s in range(n):
        one[:] = gram.F[g, s * R : (s + 1) * R]
        i = -1 if s == end else near(gram, g, one)
        if i < 0:
            i = gram.counts[g]
            gram.counts[g] += 1
            if s == end:
                gram.end[g] = i
            gram.F[g, i * R : (i + 1) * R] = one
            if i < s:
                gram.M[g, i] = gram.M[g, s]
        else:
            gram.M[g, i] += gram.M[g, s]
    gram.F[g, gram.counts[g] * R :] = 0.0
    gram.M[g, gram.counts[g] :] = 0.0


def make_room(gram: BoundedGram) -> None:
    """Widen the tolerance until merging leaves room in every cache; a state and its stand-in part by all tolerances so far."""
    enough = FREE_AGAIN * gram.M.shape[1]
    while gram.counts.max() > enough:
        gram.tolerance[0] = COARSER * gram.tolerance[0] or FIRST_TOLERANCE
        gram.tolerance[1] += gram.tolerance[0]
        for g in range(len(gram.counts)):
            coarsen(gram, g)


# --- planning -----------------------------------------------------------------------------------------------------


def log_dets(gram: BoundedGram) -> Array:
    """The log det Λ of each step, or of all."""
    diagonal = np.diagonal(np.linalg.cholesky(gram.Lambda), axis1=-2, axis2=-1)
    return np.asarray(2.0 * np.log(diagonal).sum(axis=(1, 2)))


def prepare(gram: BoundedGram, bonus: Array, noise: Array, worth: Array) -> Pass:
    """Make Λ⁻¹ anew, and what a pass fills, with the norms of all states kept.

    Args:
        gram: the data.
        bonus: (H,J), which the pass fills.
        noise: (H,2,J), too.
        worth: (J,) what a step after an early end is worth.
    """
    (_, J, B, p), G, n = gram.w.shape, len(gram.counts), int(gram.counts.max())
    R = gram.F.shape[1] // gram.M.shape[1]
    A = max(B, R)
    half = np.linalg.inv(np.linalg.cholesky(gram.Lambda))  # L⁻¹ of Λ = LLᵀ
    gram.Lambda_inv[:] = np.swapaxes(half, 2, 3) @ half
    norm = np.zeros((G, n, A))
    for g in range(G):
        for b in range(B):
            squares = ((gram.F[g, : n * R] @ half[g, b].T) ** 2).sum(axis=1).reshape(n, R)
            norm[g, :, b if B > 1 else slice(None)] = squares[:, 0] if B > 1 else squares
    return Pass(
        Q=np.zeros((1, J, n, A)),
        V=np.zeros((2, J, n)),
        policy=np.zeros((1, n, A)),
        available=np.full((1, n, A), True),
        bonus=bonus,
        noise=noise,
        worth=worth,
        active=np.arange(n).reshape(1, n),
        actives=np.zeros(1, dtype=np.int64),
        norm=np.sqrt(norm),
        weights=np.zeros((p, J * B)),
        product=np.zeros((n * R, J * B)),
        led=np.zeros((J, B * p)),
        target=np.zeros((J, B, p)),
        low=np.zeros(J),
        high=np.zeros(J),
    )


def _sweep(gram: BoundedGram, h: int, tables: Pass, rule: SweepRule, Y: Array, alpha: float) -> None:
    """Alg. 1, l. 5-12 at every state kept: w of this step, then π and V there, which make the target of the step below."""
    left_over(gram, h, tables, rule.noise)
    if h == len(gram.w) - 1:
        aim(gram, h, tables)
    regress(gram, h, tables)  # l. 6-7
    if h > 0:
        aim(gram, h - 1, tables)
        multiply(gram, h, tables, rule, Y, alpha)  # l. 8-12


@jit
def multiply(gram: BoundedGram, h: int, tables: Pass, rule: SweepRule, Y: Array, alpha: float) -> None:
    """Q, π and V at the states kept, added to the target of step h-1.

    Args:
        gram: the data, with w of this step.
        h: the step.
        tables: what is filled.
        rule: has the truncation, ``floor`` and ``cap`` (H,).
        Y: prices (m,).
        alpha: inverse temperature.
    """
    H, J, B, p = gram.w.shape
    Q, V, product, weights, low, high = tables.Q, tables.V, tables.product, tables.weights, tables.low, tables.high
    g, cap, floor = row(gram.counts, h), rule.cap[h], rule.floor
    n, A, count = Q.shape[2], Q.shape[3], gram.counts[g]
    low[:] = np.inf if count > 0 else 0.0
    high[:] = -np.inf if count > 0 else 0.0
    if count == 0:
        return
    R = len(product) // n
    for j in range(J):
        for b in range(B):
            for i in range(p):
                weights[i, j * B + b] = gram.w[h, j, b, i]
    np.dot(gram.F[g, : n * R], weights, product)
    variance, apart = tables.noise[h, 0], tables.noise[h, 1]
    noisy = variance.max() > 0.0
    for s in range(count):  # l. 8-9
        visits = 0.0
        for a in range(A if noisy else 0):
            visits += 1.0 / max(tables.norm[g, s, a] * tables.norm[g, s, a], 1e-300)
        for j in range(J):
            for a in range(A):
                mean = product[s * R + (a if R > 1 else 0), j * B + (a if B > 1 else 0)]
                norm = tables.norm[g, s, a]
                width = tables.bonus[h, j] * norm
                if noisy and variance[j] > 0.0:
                    width = joined(width, doubt(variance[j], apart[j], norm, logarithm(visits, norm * norm)))
                Q[0, j, s, a] = max(min(mean + width, cap), floor)
    tables.actives[0] = count
    soft_max(tables, 0, tables, Y, alpha)  # l. 10-12
    if gram.end[g] >= 0:
        at_the_end(tables, gram.end[g], H - h)
    for j in range(J):
        for s in range(count):
            low[j], high[j] = min(low[j], V[0, j, s]), max(high[j], V[0, j, s])
    np.dot(V[0], gram.M[g, :n], tables.led)
    for j in range(J):
        for b in range(B):
            for i in range(p):
                tables.target[j, b, i] += tables.led[j, b * p + i]


def _spread(gram: BoundedGram, h: int, tables: Pass, j: int) -> float:
    return tables.high[j] - tables.low[j] if h + 1 < len(gram.w) else 0.0


teach(BoundedGram, learn=_learn, sweep=_sweep, spread=_spread)
