"""States that come back exactly as they were: what followed each pair of them is counted, and nothing of it is interpolated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers

#: States come back where at least this share of all that were seen was seen before.
_SHARE = 0.5
#: Transitions that repeat an earlier pair, after which an action whose repeated pairs never differed is certain.
_CERTAIN = 5
#: n0 = this · s/(1 - s) visits are worth as much as interpolation, where repeated pairs differ with share s.
_WORTH = 3.0
#: Coordinates that may lead all others, at most.
_LEADING = 12


class Steps(NamedTuple):
    """Transitions between numbered prototypes."""

    at: Integers  # (n,) the prototype before
    actions: Integers  # (n,)
    next: Integers  # (n,) the prototype after; anything where the episode ended
    over: Flags  # (n,) whether the episode ended, wherever the step led


def numbered(states: Array) -> Integers:
    """The number of each state (n,D) among all distinct ones; states are the same when all their numbers are."""
    mix = np.random.default_rng(0x5A3E).integers(1, 2**61, states.shape[1]) | 1
    bits = np.ascontiguousarray(states + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return np.asarray(np.unique((bits ^ (bits >> 31)) @ mix, return_inverse=True)[1], dtype=np.int64)


def come_back(states: Integers) -> bool:
    """Whether numbered states come back often enough to be counted."""
    return bool(len(states) and 1.0 - (states.max() + 1) / len(states) >= _SHARE)


def leading(keys: Array, row: Integers, after: Integers, A: int) -> Flags:
    """(D,) the fewest coordinates that decide by themselves how they move and when episodes end, in all that was seen.

    Those that change most often are taken first. All are leading where no few do.

    Args:
        keys: (N,D) the states.
        row: (entries,) state·A + action of each distinct transition.
        after: (entries,) the state that followed; N for an end.
        A: number of actions.
    """
    N, D = keys.shape
    live, at = after < N, row // A
    step = np.where(live[:, None], keys[np.minimum(after, N - 1)] - keys[at], 0.0)
    changes = (step != 0.0).sum(axis=0)
    order = np.argsort(-changes, kind="stable")[: min(int((changes > 0).sum()), _LEADING)]
    for k in range(1, len(order)):
        pair = numbered(keys[:, order[:k]])[at] * A + row % A
        moves = np.where(live, numbered(step[:, order[:k]]) + 1, 0)
        if len(np.unique(pair * (len(row) + 2) + moves)) == len(np.unique(pair)):
            return np.isin(np.arange(D), order[:k])
    return np.ones(D, dtype=np.bool_)


def led(keys: Array, lead: Flags, row: Integers, after: Integers, visits: Array) -> tuple[Integers, Integers, Integers]:
    """What would follow pairs never tried, if leading coordinates move as they did elsewhere and all others stay.

    Args:
        keys: (N,D) the states.
        lead: (D,) which coordinates lead.
        row: (entries,) state·A + action of each distinct transition.
        after: (entries,) the state that followed; N for an end.
        visits: (N,A).

    Returns:
        The pairs (state·A + action), the pair that each is judged by, and what followed that one: a state that was seen, with
        the same other coordinates if there is one, else the one of those with the same leading coordinates that was seen most.
    """
    N, A = visits.shape
    group = numbered(keys[:, lead])
    often = visits.sum(axis=1)[row // A]
    order = np.argsort(often, kind="stable")
    known: Integers = np.full((int(group.max()) + 1) * A, -1, dtype=np.int64)
    known[(group[row // A] * A + row % A)[order]] = order  # the one seen most is written last
    state, action = np.nonzero(visits == 0.0)
    entry = known[group[state] * A + action]
    state, action, entry = state[entry >= 0], action[entry >= 0], entry[entry >= 0]
    follows = after[entry]
    live = follows < N
    guess = keys[state[live]]
    guess[:, lead] = keys[follows[live]][:, lead]
    names = numbered(np.concatenate([keys, guess]))
    place: Integers = np.full(int(names.max()) + 1, -1, dtype=np.int64)
    place[names[:N]] = np.arange(N)
    common: Integers = np.zeros(int(group.max()) + 1, dtype=np.int64)
    most = np.argsort(visits.sum(axis=1), kind="stable")
    common[group[most]] = most
    there = place[names[N:]]
    follows[live] = np.where(there >= 0, there, common[group[follows[live]]])
    return state * A + action, row[entry], follows


def count_seen(steps: Steps, sizes: tuple[int, int], pure: Flags) -> Arrays:
    """What followed each pair, as shares, and how much of it is left to interpolation.

    Of n visits of a pair the counts are worth n/(n + n0). n0 is found for each action from pairs that were seen again: it is 0
    where what followed never differed, and grows with the share of those that differed.

    Args:
        steps: transitions.
        sizes: N prototypes and A actions.
        pure: (N,) which prototypes stand for one state only; pairs of others are not counted.

    Returns:
        ``row``, ``after``, ``share`` and ``rest`` as in :class:`.kernels.rows.Seen`; ``ended`` and ``doubt`` (N,A).
    """
    N, A = sizes
    kept = pure[steps.at]
    row = (steps.at * A + steps.actions)[kept]
    over = steps.over[kept]
    key, times = np.unique(row * (N + 1) + np.where(over, N, steps.next[kept]), return_counts=True)
    of, after = key // (N + 1), key % (N + 1)
    visits = np.bincount(row, minlength=N * A).astype(np.float64)
    n0 = np.tile(_surprise(of, times, visits, A), N)
    went_on = visits - np.bincount(row[over], minlength=N * A)
    live = after < N
    of, after, times = of[live], after[live], times[live]
    return {
        "row": of,
        "after": after,
        "share": times / (went_on + n0)[of],
        "rest": np.where(went_on > 0.0, n0 / np.maximum(went_on + n0, 1.0), 1.0).reshape(N, A),
        "ended": ((visits - went_on) / np.maximum(visits + n0, 1.0)).reshape(N, A),
        "doubt": np.where(visits > 0.0, n0 / np.maximum(visits + n0, 1.0), 1.0).reshape(N, A),
    }


def nothing_seen(sizes: tuple[int, int]) -> Arrays:
    """What :func:`count_seen` gives where nothing was counted."""
    none = np.zeros(0, dtype=np.int64)
    return {
        "row": none,
        "after": none,
        "share": np.zeros(0),
        "rest": np.ones(sizes),
        "ended": np.zeros(sizes),
        "doubt": np.ones(sizes),
    }


def _surprise(row: Integers, times: Integers, visits: Array, A: int) -> Array:
    """(A,) n0."""
    most = np.zeros(len(visits))
    np.maximum.at(most, row, times)
    again, differed = np.zeros(A), np.zeros(A)
    action = np.arange(len(visits)) % A
    np.add.at(again, action, np.maximum(visits - 1.0, 0.0))
    np.add.at(differed, action, visits - most)
    share = (differed + 0.5) / (again + 1.0)
    n0 = _WORTH * share / np.maximum(1.0 - share, 0.05)
    return np.where((differed == 0.0) & (again >= _CERTAIN), 0.0, n0)
