"""Which rules are worth trying: they are played in what was seen, and the best of them are varied.

Trees are grown on kept transitions, as for a model of trees. A step of a rule moves the state as one of the transitions did in
the leaf of its action. So thousands of episodes are played in a second, without a plan. What they bring is a guess: it says
which rule to try in the world next, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.counts import Counts, table_of
from noregret.agent.minds.soft_cells.forests import USED, Grown, choose, still_brought, targets
from noregret.agent.minds.soft_cells.history import EpisodeMemory, Transitions, Units
from noregret.agent.minds.soft_cells.kernels.forest import Leaves, Trees
from noregret.agent.minds.soft_cells.kernels.rehearsing import Echoes, RuleLines, rehearse
from noregret.agent.minds.soft_cells.rules import Drawn, SimpleRule, constant, packed
from noregret.agent.minds.soft_cells.types import Array

#: Steps of all episodes of a search, each as long as the longest seen; rounds of it; episodes that a rule is judged by in a
#: round; rules of a round: from, to.
_STEPS, _ROUNDS, _EPISODES, _RULES = 1.2e6, 6, (8, 100), (24, 200)
#: What targets count for beside the signals: what the episode still brought, and how the state moved.
_WORTH, _MOVES = 0.5, 1.5
#: Rules of a round that the next ones are made from, and the best that are judged once more by so many times the episodes.
PARENTS, _FINAL = 25, 8
#: Two rules are the same where they do the same in more than this share of the states seen.
_SAME = 0.98


class Found(NamedTuple):
    """What a search found."""

    rules: list[SimpleRule]  # new ones, the best first
    totals: Array  # (rules,J) their mean totals
    known: Array  # (known,J) mean totals of the rules that were tried
    pool: list[SimpleRule]  # what to begin with the next time
    bold: list[SimpleRule]  # rules that push to one end and the other by a coordinate, none of which was tried


class Rehearsal:
    """Episodes in what was seen.

    Args:
        seen: kept transitions.
        units: how signals are mapped.
        horizon: H.
        random: draws everything.
    """

    def __init__(self, seen: Transitions, units: Units, horizon: int, random: np.random.Generator) -> None:
        used = choose(len(seen.actions), USED, random)
        n, self.states = len(used), seen.before[used]
        self.starts, self.longest = seen.before[seen.first], int(seen.lengths.max())
        moves, ended, signals = seen.after[used] - self.states, seen.ended[used], seen.signals[used]
        brought = still_brought(seen, units, horizon)[used]
        wanted = targets(units.of(signals), ended, (brought, _WORTH), (moves, _MOVES))
        forest = Grown(self.states, wanted, signals, np.where(ended, n, np.arange(n)))
        self.J = signals.shape[1]
        self.H, self.A, self.random = horizon, seen.masks.shape[1], random
        exact = table_of(seen, units, len(seen.actions), True) is not None  # a leaf is to hold one pair then
        for a in range(self.A):
            mine = np.flatnonzero(seen.actions[used] == a)
            forest.add(mine if len(mine) else np.arange(n), random, *([1] if exact else []))
        parts = forest.arrays()
        trees = Trees(parts["roots"], parts["coordinate"], parts["cut"], parts["child"])
        leaves = Leaves(parts["first"], parts["after"].astype(np.int32), parts["signal"])
        low, high = np.minimum(seen.before.min(axis=0), seen.after.min(axis=0)), np.maximum(seen.before, seen.after).max(axis=0)
        self.echoes = Echoes(trees, leaves, moves, low, high)

    def totals(self, rules: Sequence[SimpleRule], episodes: int) -> Array:
        """(R,J) the mean raw totals of rules, all with the same luck."""
        starts = self.starts[self.random.integers(len(self.starts), size=episodes)]
        packs = packed(rules)
        lines = RuleLines(np.append(0, np.cumsum(packs["lines"])), packs["where"], packs["how"], packs["actions"])
        out: Array = rehearse(lines, self.echoes, starts, self.random.random((episodes, self.H)), self.A)
        return out

    def search(self, known: Sequence[SimpleRule], begin: Sequence[SimpleRule], scores: Callable[[Array], Array]) -> Found:
        """The best rules found, none of which does what a known one does.

        Args:
            known: rules that were tried, the best first.
            begin: what the first rules are made from.
            scores: how good mean totals (R,J) are, (R,).
        """
        M = int(np.clip(_STEPS / (_ROUNDS * _RULES[1] * self.longest), *_EPISODES))
        n = int(np.clip(_STEPS / (_ROUNDS * M * self.longest), *_RULES))
        drawn = Drawn(self.states, self.A, self.random)
        pool = [*known[:PARENTS], *begin, *(constant(a) for a in range(min(self.A, n)))]
        pool += [drawn.rule() for _ in range(n)]
        best = scores(self.totals(pool, M))
        for _ in range(_ROUNDS - 2):
            parents = [pool[k] for k in np.argsort(-best, kind="stable")[:PARENTS]]
            pool = parents + [drawn.like(parents[int(len(parents) * u * u)]) for u in self.random.random(n)]
            best = scores(self.totals(pool, M))
        order = np.argsort(-best, kind="stable")
        done = [rule(self.states) for rule in known]
        found: list[SimpleRule] = []
        tried = list(done)
        for k in order:
            does = pool[k](self.states)
            if len(found) < _FINAL and not any((does == other).mean() > _SAME for other in done):
                found.append(self._plain(pool[k]))
                done.append(does)
        following = [self._plain(pool[k]) for k in order[:PARENTS]]
        more = max(4 * M, int(_STEPS / (_ROUNDS * max(len(known) + len(found), 1) * self.longest)))
        totals = self.totals([*known, *found], more) if known or found else np.zeros((0, self.J))
        new = totals[len(known) :]
        order = np.argsort(-scores(new), kind="stable") if found else order[:0]
        bold = [rule for rule in drawn.bold() if not any((rule(self.states) == other).mean() > _SAME for other in tried)]
        return Found([found[k] for k in order], new[order], totals[: len(known)], following, bold)

    def _plain(self, rule: SimpleRule) -> SimpleRule:
        """The rule without the lines that change nothing."""
        does, k = rule(self.states), 0
        while k < len(rule.where):
            less = rule.only([i for i in range(len(rule.where)) if i != k])
            if (less(self.states) == does).all():
                rule = less
            else:
                k += 1
        return rule


def searched(
    memory: EpisodeMemory | Counts,
    units: Units,
    key: Sequence[int],
    known: Sequence[SimpleRule],
    begin: Sequence[SimpleRule],
    scores: Callable[[Array], Array],
) -> Found:
    """What :meth:`Rehearsal.search` finds in what is remembered; nothing where observations are numbers without an order.

    Args:
        memory: what is remembered.
        units: how signals are mapped.
        key: of all that is drawn.
        known: as there, and so are the next two.
        begin: rules.
        scores: of mean totals.
    """
    if isinstance(memory, Counts):
        none = np.full((len(known), len(units.low)), np.nan)
        return Found([], none[:0], none, [], [])
    rehearsal = Rehearsal(memory.transitions(), units, memory.spec.horizon, np.random.default_rng(list(key)))
    return rehearsal.search(known, begin, scores)
