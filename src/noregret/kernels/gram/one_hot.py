"""One-hot features φ = e_{x,a}: Λ is diagonal, n(x,a) + λ, and M is counts, kept as lists of the successors seen.

An episode's cost does not depend on how many went before.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.flat import flat, index, row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import doubts, each, estimate_from, faded, of_late, of_noise, spread, teach
from noregret.kernels.gram.noise import Noise, joined, no_noise, notice, renew, varies, with_doubt
from noregret.kernels.gram.retry import Rarity, doubt_of_next, no_rarity, renew_rarity, visit
from noregret.kernels.steps.softmax import soft_max
from noregret.kernels.types import COUNTS, Array, Bonus, Bounds, Flags, Index, Integers, Pair, Places, PlanTables, SweepRule


class OneHotGram(NamedTuple):
    """Counts for one-hot features; J = 1 + m objectives, G = H steps, or 1 when all share what they learn."""

    lam: float
    visits: Array  # (G,S,A) n(x,a)
    fit: Array  # (G,S,A,2+J) side by side: 1/(n+λ), its root ‖φ‖_{Λ⁻¹}, and the sums of what was observed
    successors: Places  # (G,S,A) how many distinct next states were seen
    successor: Places  # (G,S,A,S) which, in order of appearance
    times: Array  # (G,S,A,S) how often each
    known: Flags  # (G,S) whether a state was visited
    actives: Places  # (G,) how many were
    active: Places  # (G,S) which, in order of appearance
    reaches: Places  # (1,) how many next states were seen, when shared; else (0,): the states visited one step later
    reached: Places  # (1,S) or (0,S) which, in order of appearance
    noise: Noise | None  # of what was observed
    rarity: Rarity | None  # of pairs

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that kernels index with or count with, and the least and largest number each may hold."""
        S = self.known.shape[1]
        places, numbers = ("active", "successor", "reached"), ("actives", "successors", "reaches")
        return dict.fromkeys(places, (0, S - 1)) | dict.fromkeys(numbers, (0, S)) | {"visits": COUNTS, "times": COUNTS}


def one_hot_gram(
    H: int, S: int, A: int, J: int, lam: float, *, shared: bool = False, noise: bool = False, retry: bool = False
) -> OneHotGram:
    """Make a Gram without data, Λ = λI.

    Args:
        H: steps.
        S: states.
        A: actions.
        J: objectives that are observed.
        lam: λ.
        shared: whether all steps have one regression.
        noise: whether the noise of what is observed is looked at.
        retry: whether it is looked at how rare pairs are.
    """
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
        noise=no_noise(steps, S, A, J) if noise else None,
        rarity=no_rarity(steps, S, A) if retry else None,
    )
    gram.fit[..., 0] = 1.0 / lam
    gram.fit[..., 1] = 1.0 / np.sqrt(lam)
    return gram


@jit
def reach(gram: OneHotGram, s: Index) -> None:
    """Note a next state, if it is new."""
    for i in range(gram.reaches[0]):
        if gram.reached[0, i] == s:
            return
    gram.reached[0, gram.reaches[0]] = s
    gram.reaches[0] += 1


@partial(jit, inline=True)
def take(gram: OneHotGram, g: int, pair: Pair, s_next: Index, observed: Array, i: int) -> None:
    """Count one transition from a pair (x,a) to ``s_next`` in row g, and add ``observed[i]`` to its sums."""
    s, a = pair
    S, A, width = index(gram.visits.shape[1]), index(gram.visits.shape[2]), index(gram.fit.shape[3])
    state = index(g) * S + index(s)
    here = state * A + index(a)
    visits, fit, known, at, begin = flat(gram.visits), flat(gram.fit), flat(gram.known), here * width, here * S
    successors, successor = flat(gram.successors), flat(gram.successor)
    if not known[state]:
        known[state] = True
        gram.active[g, gram.actives[g]] = s
        gram.actives[g] += 1
    visits[here] += 1.0
    inverse = 1.0 / (visits[here] + gram.lam)
    fit[at] = inverse
    fit[at + index(1)] = np.sqrt(inverse)
    fit[at + index(2)] += observed[i, 0]
    if observed.shape[1] > 1:  # most often there are two
        fit[at + index(3)] += observed[i, 1]
    for j in range(2, observed.shape[1]):
        fit[at + index(2) + index(j)] += observed[i, j]
    take_noise(gram.noise, g, pair, observed, i, inverse)
    visit(gram.rarity, g, s)
    place, count = begin, begin + index(successors[here])
    while place < count and successor[place] != s_next:
        place += index(1)
    if place == count:
        successors[here] += 1
        successor[place] = s_next
        if len(gram.reaches) > 0:
            reach(gram, s_next)
    flat(gram.times)[place] += 1.0


def _learn(gram: OneHotGram, states: Integers, actions: Integers, observed: Array) -> None:
    for h in range(len(actions)):
        take(gram, row(gram.visits, h), (states[h], actions[h]), states[h + 1], observed, h)


@partial(jit, inline=True)
def take_noise(noise: Noise | None, g: int, pair: Pair, observed: Array, i: int, inverse: float) -> None:
    """Take in what a pair paid, ``observed[i]``, and move its variance; ``inverse`` is 1/(n+λ)."""
    if noise is not None and notice(noise, g, pair, observed, i, True):
        S, A, J = index(noise.tried.shape[1]), index(noise.tried.shape[2]), index(len(noise.apart))
        variance, news, at = flat(noise.variance), noise.news, (index(g) * J * S + index(pair[0])) * A + index(pair[1])
        for j in range(J):
            own = at + j * S * A
            variance[own] += (news[j] - variance[own]) * inverse


@partial(jit, inline=True)
def renew_stale(gram: OneHotGram, noise: Noise | None, h: int) -> None:
    """Make D of step h anew where it moved: at the states that paid since, and everywhere with R and ρ."""
    if noise is not None:
        g, width, fit = row(gram.visits, h), gram.fit.shape[3], flat(gram.fit)
        for i in range(gram.actives[g]):
            s = gram.active[g, i]
            if noise.stale[g, s]:
                renew(noise, g, s, fit, fit[1:], width)


def _estimate(gram: OneHotGram, start: int, h: int, tables: PlanTables, beta: Bonus, bounds: Bounds) -> None:
    Q, V, floor, cap = tables.Q, tables.V, bounds[0], bounds[1]
    J, S, A, width = Q.shape[1], index(Q.shape[2]), index(Q.shape[3]), index(gram.fit.shape[3])
    step, observed, active, q, v = index(row(gram.visits, h)), gram.fit.shape[3] - 2, gram.active, flat(Q), flat(V)
    fit, successors, successor, times = flat(gram.fit), flat(gram.successors), flat(gram.successor), flat(gram.times)
    late = of_late(beta)
    for one in range(start, J, 2):  # objectives two at a time: their sums stay in registers
        two = min(one + 1, J - 1)
        data_one = index(one if one < observed else one - observed + 1)
        data_two = index(two if two < observed else two - observed + 1)
        beta_one, beta_two, c_one, c_two = each(beta, one), each(beta, two), of_noise(beta, one), of_noise(beta, two)
        V_one, V_two = index((h + 1) * J + one) * S, index((h + 1) * J + two) * S  # where V_one,h+1 begins in v
        Q_one, Q_two = index(h * J + one) * S * A, index(h * J + two) * S * A
        D_one, D_two = (step * index(observed) + data_one) * S * A, (step * index(observed) + data_two) * S * A
        noisy = c_one > 0.0 or c_two > 0.0
        for i in range(index(gram.actives[step])):
            s = index(active[step, i])
            at_pair = (step * S + s) * A  # of (h,s,a)
            for pair in range(s * A, s * A + A):
                at = at_pair * width
                first, second = fit[at + index(2) + data_one], fit[at + index(2) + data_two]
                for place in range(at_pair * S, at_pair * S + index(successors[at_pair])):
                    s_next = index(successor[place])
                    first += times[place] * v[V_one + s_next]
                    second += times[place] * v[V_two + s_next]
                inverse, norm = fit[at], faded(fit[at + index(1)], late)
                more, other = beta_one * norm, beta_two * norm
                if noisy:
                    more = with_doubt(more, gram.noise, D_one + pair, c_one)
                    other = with_doubt(other, gram.noise, D_two + pair, c_two)
                q[Q_one + pair] = max(min(first * inverse + more, cap), floor)
                q[Q_two + pair] = max(min(second * inverse + other, cap), floor)
                at_pair += index(1)


def _sweep(gram: OneHotGram, h: int, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
    if rule.by_variance:  # l. 5-9
        noisy = doubts(gram, h)
        estimate_by_variance(gram, h, tables, rule, noisy)
        estimate_from(gram, len(rule.b) + 1, h, tables, (tables.bonus[0], rule.noise, noisy, 1.0), (rule.floor, rule.cap[h]))
    else:
        beta = (tables.bonus[0], rule.noise, doubts(gram, h), rule.late)
        estimate_from(gram, 0, h, tables, beta, (rule.floor, rule.cap[h]))
    soft_max(gram, h, tables, Y, alpha)  # l. 10-12


@partial(jit, inline=True)
def estimate_by_variance(gram: OneHotGram, h: int, tables: PlanTables, rule: SweepRule, noisy: bool) -> None:
    """:func:`estimate` of the 1 + m first objectives with β_j (σ_j n^-1/2 + s_j/n), joined with c'_j E_j and c_j D_j.

    The form is that of an empirical Bernstein bound, without its logarithm. Here σ_j² is the variance of V_j,h+1 over the next
    states of the pair, s_j the spread that the bonus by span has, and n the visits, plus λ. A pair that leads to one state
    needs no more than a few visits. E_j tries pairs again (:mod:`noregret.kernels.gram.retry`), D_j covers what a step pays.
    """
    Q, V, floor, cap, known = tables.Q, tables.V, rule.floor, rule.cap[h], len(rule.b)
    J, S, A, width = Q.shape[1], index(Q.shape[2]), index(Q.shape[3]), index(gram.fit.shape[3])
    step, observed, active, q, v = index(row(gram.visits, h)), gram.fit.shape[3] - 2, gram.active, flat(Q), flat(V)
    fit, successors, successor, times = flat(gram.fit), flat(gram.successors), flat(gram.successor), flat(gram.times)
    visits = flat(gram.visits)
    for one in range(0, known + 1, 2):  # objectives two at a time: their sums stay in registers
        two = min(one + 1, known)
        beta_one, beta_two, bonus_one, bonus_two = rule.beta[one], rule.beta[two], tables.bonus[0, one], tables.bonus[0, two]
        c_one, c_two = (rule.noise[one], rule.noise[two]) if noisy else (0.0, 0.0)
        again_one, again_two, far_one, far_two = rule.retry[one], rule.retry[two], 0.0, 0.0
        if again_one > 0.0:
            far_one, far_two = spread(gram, h, tables, one), spread(gram, h, tables, two)
        hoping = far_one > 0.0 or far_two > 0.0
        V_one, V_two = index((h + 1) * J + one) * S, index((h + 1) * J + two) * S  # where V_one,h+1 begins in v
        Q_one, Q_two = index(h * J + one) * S * A, index(h * J + two) * S * A
        D_one, D_two = (step * index(observed) + index(one)) * S * A, (step * index(observed) + index(two)) * S * A
        for i in range(index(gram.actives[step])):
            s = index(active[step, i])
            at_pair = (step * S + s) * A  # of (h,s,a)
            if hoping:
                renew_rarity(gram.rarity, step * S + s, A, fit, width)
            for pair in range(s * A, s * A + A):
                at, begin = at_pair * width, at_pair * S
                inverse, norm, n, where = fit[at], fit[at + index(1)], visits[at_pair], index(successor[begin])
                origin_one, origin_two, total_one, total_two = v[V_one + where], v[V_two + where], 0.0, 0.0
                square_one, square_two = 0.0, 0.0  # of how far next values lie from the first one
                for place in range(begin, begin + index(successors[at_pair])):
                    s_next = index(successor[place])
                    often, value_one, value_two = times[place], v[V_one + s_next], v[V_two + s_next]
                    total_one += often * value_one
                    total_two += often * value_two
                    square_one += often * (value_one - origin_one) * (value_one - origin_one)
                    square_two += often * (value_two - origin_two) * (value_two - origin_two)
                mean_one, mean_two = (total_one - n * origin_one) * inverse, (total_two - n * origin_two) * inverse
                sigma_one = np.sqrt(max(square_one * inverse - mean_one * mean_one, 0.0))
                sigma_two = np.sqrt(max(square_two * inverse - mean_two * mean_two, 0.0))
                more = beta_one * sigma_one * norm + bonus_one * inverse
                other = beta_two * sigma_two * norm + bonus_two * inverse
                if hoping:
                    more = joined(more, again_one * doubt_of_next(gram.rarity, at_pair, sigma_one, far_one))
                    other = joined(other, again_two * doubt_of_next(gram.rarity, at_pair, sigma_two, far_two))
                if noisy:
                    more = with_doubt(more, gram.noise, D_one + pair, c_one)
                    other = with_doubt(other, gram.noise, D_two + pair, c_two)
                total_one += fit[at + index(2) + index(one)]
                total_two += fit[at + index(2) + index(two)]
                q[Q_one + pair] = max(min(total_one * inverse + more, cap), floor)
                q[Q_two + pair] = max(min(total_two * inverse + other, cap), floor)
                at_pair += index(1)


def _spread(gram: OneHotGram, h: int, tables: PlanTables, j: int) -> float:
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


def _norm(gram: OneHotGram, h: int, s: int, a: int) -> float:
    norm: float = gram.fit[row(gram.fit, h), s, a, 1]
    return norm


def _doubts(gram: OneHotGram, h: int) -> bool:
    noisy = varies(gram.noise)
    if noisy:
        renew_stale(gram, gram.noise, h)
    return noisy


def _uneven(gram: OneHotGram) -> bool:
    return varies(gram.noise)


teach(OneHotGram, learn=_learn, sweep=_sweep, estimate=_estimate, spread=_spread, norm=_norm, doubts=_doubts, uneven=_uneven)
