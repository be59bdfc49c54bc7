"""One-hot features φ = e_{x,a}: Λ is diagonal, n(x,a) + λ, and M is counts, kept as lists of the successors seen.

An episode's cost does not depend on how many went before.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.flat import flat, index, row
from noregret.kernels.gram.base import each, estimate, teach
from noregret.kernels.jit import jit
from noregret.kernels.softmax import soft_max

Array = NDArray[np.float64]


class OneHotGram(NamedTuple):
    """Counts for one-hot features; J = 1 + m objectives, G = H steps, or 1 when all share what they learn."""

    lam: float
    visits: Array  # (G,S,A) n(x,a)
    fit: Array  # (G,S,A,2+J) side by side: 1/(n+λ), its root ‖φ‖_{Λ⁻¹}, and the sums of what was observed
    successors: NDArray[np.uint32]  # (G,S,A) how many distinct next states were seen
    successor: NDArray[np.uint32]  # (G,S,A,S) which, in order of appearance
    times: Array  # (G,S,A,S) how often each
    known: NDArray[np.bool_]  # (G,S) whether a state was visited
    actives: NDArray[np.uint32]  # (G,) how many were
    active: NDArray[np.uint32]  # (G,S) which, in order of appearance
    reaches: NDArray[
        np.uint32
    ]  # (1,) how many next states were seen, when shared; else (0,): the states visited one step later
    reached: NDArray[np.uint32]  # (1,S) or (0,S) which, in order of appearance

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with, and the least and largest number each may hold."""
        S = self.known.shape[1]
        return dict.fromkeys(("active", "successor", "reached"), (0, S - 1)) | dict.fromkeys(
            ("actives", "successors", "reaches"), (0, S)
        )


def one_hot_gram(H: int, S: int, A: int, J: int, lam: float, *, shared: bool = False) -> OneHotGram:
    """Make a Gram without data, Λ = λI; with ``shared`` all steps have one regression."""
    steps = 1 if shared else H
    gram = OneHotGram(
        lam=float(lam),
        visits=np.zeros((steps, S, A)),
        fit=np.zeros((steps, S, A, 2 + J)),
        successors=np.zeros((steps, S, A), dtype=np.uint32),
        successor=np.zeros((steps, S, A, S), dtype=np.uint32),
        times=np.zeros((steps, S, A, S)),
        known=np.zeros((steps, S), dtype=np.bool_),
        actives=np.zeros(steps, dtype=np.uint32),
        active=np.zeros((steps, S), dtype=np.uint32),
        reaches=np.zeros(int(shared), dtype=np.uint32),
        reached=np.zeros((int(shared), S), dtype=np.uint32),
    )
    gram.fit[..., 0] = 1.0 / lam
    gram.fit[..., 1] = 1.0 / np.sqrt(lam)
    return gram


@jit
def reach(gram: OneHotGram, s: int) -> None:
    """Note a next state, if it is new."""
    for i in range(gram.reaches[0]):
        if gram.reached[0, i] == s:
            return
    gram.reached[0, gram.reaches[0]] = s
    gram.reaches[0] += 1


@partial(jit, inline=True)
def take(gram: Any, g: int, pair: Any, s_next: Any, observed: Any, i: int) -> None:
    """Count one transition from a pair (x,a) to ``s_next`` in row g, and add ``observed[i]`` to its sums."""
    visits, fit, known, lam = gram.visits, gram.fit, gram.known, gram.lam
    successors, successor, times = gram.successors, gram.successor, gram.times
    s, a = pair
    if not known[g, s]:
        known[g, s] = True
        gram.active[g, gram.actives[g]] = s
        gram.actives[g] += 1
    visits[g, s, a] += 1.0
    fit[g, s, a, 0] = 1.0 / (visits[g, s, a] + lam)
    fit[g, s, a, 1] = np.sqrt(fit[g, s, a, 0])
    for j in range(observed.shape[1]):
        fit[g, s, a, 2 + j] += observed[i, j]
    count = successors[g, s, a]
    place = 0
    while place < count and successor[g, s, a, place] != s_next:
        place += 1
    if place == count:
        successors[g, s, a] += 1
        successor[g, s, a, place] = s_next
        if len(gram.reaches) > 0:
            reach(gram, s_next)
    times[g, s, a, place] += 1.0


def _learn(gram: Any, states: Any, actions: Any, observed: Any) -> None:
    for h in range(len(actions)):
        take(gram, row(gram.visits, h), (states[h], actions[h]), states[h + 1], observed, h)


def _estimate(gram: Any, start: int, h: int, tables: Any, beta: Any, bounds: Any) -> None:
    Q, V, floor, cap = tables.Q, tables.V, bounds[0], bounds[1]
    J, S, A, width = Q.shape[1], index(Q.shape[2]), index(Q.shape[3]), index(gram.fit.shape[3])
    step, observed, active, q, v = index(row(gram.visits, h)), gram.fit.shape[3] - 2, gram.active, flat(Q), flat(V)
    fit, successors, successor, times = flat(gram.fit), flat(gram.successors), flat(gram.successor), flat(gram.times)
    for one in range(start, J, 2):  # objectives two at a time: their sums stay in registers
        two = min(one + 1, J - 1)
        data_one = index(2 + (one if one < observed else one - observed + 1))
        data_two = index(2 + (two if two < observed else two - observed + 1))
        beta_one, beta_two = each(beta, one), each(beta, two)
        V_one, V_two = index((h + 1) * J + one) * S, index((h + 1) * J + two) * S  # where V_one,h+1 begins in v
        Q_one, Q_two = index(h * J + one) * S * A, index(h * J + two) * S * A
        for i in range(index(gram.actives[step])):
            s = index(active[step, i])
            at_pair = (step * S + s) * A  # of (h,s,a)
            for pair in range(s * A, s * A + A):
                at = at_pair * width
                first, second = fit[at + data_one], fit[at + data_two]
                for place in range(at_pair * S, at_pair * S + index(successors[at_pair])):
                    s_next = index(successor[place])
                    first += times[place] * v[V_one + s_next]
                    second += times[place] * v[V_two + s_next]
                inverse, norm = fit[at], fit[at + index(1)]
                q[Q_one + pair] = max(min(first * inverse + beta_one * norm, cap), floor)
                q[Q_two + pair] = max(min(second * inverse + beta_two * norm, cap), floor)
                at_pair += index(1)


def _sweep(gram: Any, h: int, tables: Any, rule: Any, Y: Any, alpha: float) -> None:
    if rule.by_variance:
        estimate(gram, h, tables, 0.0, (-np.inf, np.inf))
        widen(gram, h, tables, rule)
    else:
        estimate(gram, h, tables, tables.bonus[0], (rule.floor, rule.cap[h]))  # l. 5-9
    soft_max(gram, h, tables, Y, alpha)  # l. 10-12


@jit
def widen(gram: OneHotGram, h: int, tables: Any, rule: Any) -> None:
    """Q_j,h ← clip(Q_j,h + β_j (σ_j n^-1/2 + s_j/n), floor, cap), an empirical Bernstein bonus, for the 1 + m first objectives.

    Here σ_j² is the variance of V_j,h+1 over the next states of the pair, s_j the spread that the bonus by span has, and n the
    visits, plus λ. A pair that leads to one state needs no more than a few visits. Further objectives have their usual bonus.
    """
    Q, V, bonus, m, g = tables.Q, tables.V, tables.bonus[0], len(rule.b), row(gram.visits, h)
    for i in range(gram.actives[g]):
        s = gram.active[g, i]
        for a in range(Q.shape[3]):
            inverse, norm = gram.fit[g, s, a, 0], gram.fit[g, s, a, 1]
            for j in range(Q.shape[1]):
                width = bonus[j] * norm
                if j <= m:
                    mean = square = 0.0
                    for place in range(gram.successors[g, s, a]):
                        mean += gram.times[g, s, a, place] * V[h + 1, j, gram.successor[g, s, a, place]]
                    mean *= inverse
                    for place in range(gram.successors[g, s, a]):
                        apart = V[h + 1, j, gram.successor[g, s, a, place]] - mean
                        square += gram.times[g, s, a, place] * apart * apart
                    width = rule.beta[j] * np.sqrt(square * inverse) * norm + bonus[j] * inverse
                Q[h, j, s, a] = max(min(Q[h, j, s, a] + width, rule.cap[h]), rule.floor)


def _spread(gram: Any, h: int, tables: Any, j: int) -> float:
    low, high, V = np.inf, -np.inf, tables.V
    if h + 2 == len(V):  # nothing comes after the last step
        return 0.0
    if len(gram.reaches) > 0:
        for i in range(gram.reaches[0]):
            value = V[h + 1, j, gram.reached[0, i]]
            low, high = min(low, value), max(high, value)
    else:
        for i in range(gram.actives[h + 1]):
            value = V[h + 1, j, gram.active[h + 1, i]]
            low, high = min(low, value), max(high, value)
    return max(high - low, 0.0)


def _norm(gram: Any, h: int, s: int, a: int) -> Any:
    return gram.fit[row(gram.fit, h), s, a, 1]


def _clear(gram: Any) -> None:
    gram.visits[:] = 0.0
    gram.fit[:] = 0.0
    gram.fit[..., 0] = 1.0 / gram.lam
    gram.fit[..., 1] = 1.0 / np.sqrt(gram.lam)
    gram.successors[:] = 0
    gram.successor[:] = 0
    gram.times[:] = 0.0
    gram.known[:] = False
    gram.actives[:] = 0
    gram.active[:] = 0
    gram.reaches[:] = 0
    gram.reached[:] = 0


teach(OneHotGram, learn=_learn, sweep=_sweep, estimate=_estimate, spread=_spread, norm=_norm, clear=_clear)
