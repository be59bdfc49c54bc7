"""Any feature table φ (S,A,d): Λ⁻¹ by rank-one updates, and all norms with it.

With u = Λ⁻¹φ_τ each ‖φ(x,a)‖² falls by (φ(x,a)ᵀu)²/(1 + φ_τᵀu). Λ itself is kept exactly, and Λ⁻¹ and the norms are made anew
from it every ``REFRESH`` visits. An episode's cost does not depend on how many went before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import flat, row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import doubts, each, estimate_from, faded, of_late, of_noise, teach
from noregret.kernels.gram.inverse import REFRESH, add_row, from_factor, inverse_factor
from noregret.kernels.gram.noise import Noise, doubt, logarithm, no_noise, notice, varies, with_doubt
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import COUNTS, Array, Bonus, Bounds, Flags, Integers, Places, PlanTables, SweepRule, ValueTables


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
    visits: Integers  # (G,)
    moment: Array  # (G,S,d) M[x']
    total: Array  # (G,J,d) Σ φ_τ j_τ
    seen: Integers  # (G,) how many distinct next states
    seen_state: Integers  # (G,S) which
    known: Flags  # (G,S) whether
    actives: Places  # (G,) S: every state's estimate moves
    active: Places  # (G,S) all states
    w: Array  # (H,J,d)
    work: Array  # (2,d) and (S·A): scratch
    line: Array  # (S·A,)
    noise: Noise | None  # of what was observed
    power: Array | None  # (G,J,d) Σ φ_τ q_τ, of which its variance is made; None where nobody looks at noise

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        S = self.known.shape[1]
        return {"active": (0, S - 1), "actives": (0, S), "seen_state": (0, S - 1), "seen": (0, S), "visits": COUNTS}


def table_gram(
    phi: Array, H: int, J: int, lam: float, estimates: int | None = None, shared: bool = False, noise: bool = False
) -> TableGram:
    """Make a Gram without data, Λ = λI.

    Args:
        phi: features (S,A,d).
        H: steps.
        J: objectives that are observed.
        lam: λ.
        estimates: objectives that are regressed, by default as many.
        shared: whether all steps have one regression.
        noise: whether noise is looked at.
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
        noise=no_noise(G, S, A, J) if noise else None,
        power=np.zeros((G, J, d)) if noise else None,
    )


def _learn(gram: TableGram, states: Integers, actions: Integers, observed: Array) -> None:
    for h in range(len(actions)):
        learn_row(gram, h, states[h], actions[h], observed, states[h + 1])


@jit
def learn_row(gram: TableGram, h: int, s: int, a: int, observed: Array, s_next: int) -> None:
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
    noisy = take_noise(gram.noise, gram.power, g, (s, a), observed, h, phi)
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
    if noisy:
        move_variance(gram.noise, g, (s, a), line, growth)


@jit
def take_noise(
    noise: Noise | None, power: Array | None, g: int, pair: tuple[int, int], observed: Array, h: int, phi: Array
) -> bool:
    """Take in what a pair with features ``phi`` paid, ``observed[h]``; whether any pair was seen to pay different numbers."""
    noisy = False
    if noise is not None and power is not None:
        noisy = notice(noise, g, pair, observed, h, False)
        if noisy:
            noise.stale[g] = True  # every norm moves
            for j in range(len(noise.apart)):
                for i in range(len(phi)):
                    power[g, j, i] += phi[i] * noise.news[j]
    return noisy


@jit
def move_variance(noise: Noise | None, g: int, pair: tuple[int, int], line: Array, growth: float) -> None:
    """Move the variance of every pair by a rank-one update.

    Args:
        noise: changed in place; this is for Grams that look at noise.
        g: the row of the step.
        pair: the state and the action that paid.
        line: (S·A,) φᵀΛ⁻¹φ_τ.
        growth: 1 + φ_τᵀΛ⁻¹φ_τ.
    """
    if noise is not None:
        J = len(noise.apart)
        for j in range(J):
            variance = flat(noise.variance)[(g * J + j) * len(line) :]
            gain = (noise.news[j] - noise.variance[g, j, pair[0], pair[1]]) / growth
            for k in range(len(line)):
                variance[k] += gain * line[k]


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
    if varies(gram.noise):
        refresh_variance(gram, gram.noise, gram.power, g)


@jit
def refresh_variance(gram: TableGram, noise: Noise | None, power: Array | None, g: int) -> None:
    """Make the variance of every pair anew from Λ⁻¹ and the sums of squares."""
    if noise is not None and power is not None:
        (d, SA), A = gram.phi.shape, noise.tried.shape[2]
        for j in range(len(noise.apart)):
            for at in range(SA):
                variance = 0.0
                for i in range(d):
                    for k in range(d):
                        variance += gram.phi[i, at] * gram.Lambda_inv[g, i, k] * power[g, j, k]
                noise.variance[g, j, at // A, at % A] = variance


def _sweep(gram: TableGram, h: int, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
    beta = (tables.bonus[0], rule.noise, doubts(gram, h), rule.late)
    estimate_from(gram, 0, h, tables, beta, (rule.floor, rule.cap[h]))  # l. 5-9
    soft_max(gram, h, tables, Y, alpha)  # l. 10-12


def _estimate(gram: TableGram, start: int, h: int, tables: ValueTables, beta: Bonus, bounds: Bounds) -> None:
    Q, V, floor, cap = tables.Q, tables.V, bounds[0], bounds[1]
    d, SA = gram.phi.shape
    A, observed, g, sums = Q.shape[3], gram.total.shape[1], row(gram.visits, h), row(gram.total, h)
    target, line, phi, moment, Lambda_inv, norm = gram.work[0], gram.line, gram.phi, gram.moment, gram.Lambda_inv, gram.norm
    late = of_late(beta)
    for j in range(start, Q.shape[1]):
        data = j if j < observed else j - observed + 1
        beta_j, c = each(beta, j), of_noise(beta, j)
        for i in range(d):
            target[i] = gram.total[sums, data, i]
        for place in range(gram.seen[g]):
            s_next = gram.seen_state[g, place]
            value = V[h + 1, j, s_next]
            for i in range(d):
                target[i] += moment[g, s_next, i] * value
        for k in range(SA):
            line[k] = beta_j * faded(norm[g, k], late)
        if c > 0.0:
            for k in range(SA):
                line[k] = with_doubt(line[k], gram.noise, (g * observed + data) * SA + k, c)
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


def _spread(gram: TableGram, h: int, tables: ValueTables, j: int) -> float:
    low, high, g = np.inf, -np.inf, row(gram.seen, h)
    for place in range(gram.seen[g]):
        value = tables.V[h + 1, j, gram.seen_state[g, place]]
        low, high = min(low, value), max(high, value)
    return max(high - low, 0.0)


def _norm(gram: TableGram, h: int, s: int, a: int) -> float:
    norm: float = gram.norm[row(gram.norm, h), s * (gram.norm.shape[1] // gram.moment.shape[1]) + a]
    return norm


def _doubts(gram: TableGram, h: int) -> bool:
    noisy = varies(gram.noise)
    if noisy:
        renew_all(gram, gram.noise, row(gram.norm, h))
    return noisy


@jit
def renew_all(gram: TableGram, noise: Noise | None, g: int) -> None:
    """Make D of all pairs anew where norms moved."""
    if noise is not None and noise.stale[g, 0]:  # they are stale together
        J, (S, A), L = len(noise.apart), noise.tried.shape[1:], gram.line
        square, norm = gram.square[g], gram.norm[g]
        for s in range(S):
            visits = 0.0
            for at in range(s * A, s * A + A):
                visits += 1.0 / max(square[at], 1e-300)
            for at in range(s * A, s * A + A):
                L[at] = logarithm(visits, square[at])
            noise.stale[g, s] = False
        for j in range(J):
            begin, far = (g * J + j) * S * A, noise.far[j]
            made, variance = flat(noise.doubt)[begin:], flat(noise.variance)[begin:]
            for at in range(S * A):
                made[at] = doubt(max(variance[at], 0.0), far, norm[at], L[at])


def _uneven(gram: TableGram) -> bool:
    return varies(gram.noise)


teach(TableGram, learn=_learn, sweep=_sweep, estimate=_estimate, spread=_spread, norm=_norm, doubts=_doubts, uneven=_uneven)
