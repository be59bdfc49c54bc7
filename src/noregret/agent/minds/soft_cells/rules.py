"""Rules of a few lines: an action where a coordinate lies below a cut, else another one, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells.types import Array, Arrays, Integers, Observation

#: RuleLines of a rule, at most.
MOST_LINES = 12
#: A coordinate beside another one in this share of new lines.
_PAIRS = 0.25
#: How far a cut moves, as a share of all states.
_MOVED = 0.15
#: Coordinates with bold rules, at most.
_BOLD = 4


class SimpleRule(NamedTuple):
    """Action ``actions[k]`` where line k is the first with weights · coordinates < cut; the last action where none holds.

    A rule without lines is a constant action.
    """

    where: Integers  # (K,2) two coordinates
    how: Array  # (K,3) their weights, and the cut
    actions: Integers  # (K+1,)

    @classmethod
    def of(cls, lines: Sequence[tuple[int, int, float, float, float]], actions: Sequence[int]) -> SimpleRule:
        """The rule of lines (coordinate, coordinate, weight, weight, cut) and of one action more."""
        table = np.array(lines, dtype=np.float64).reshape(-1, 5)
        return cls(table[:, :2].astype(np.int64), table[:, 2:].copy(), np.array(actions, dtype=np.int64))

    def __call__(self, states: Array) -> Integers:
        """The actions (n,) in states (n,D)."""
        out: Integers = np.full(len(states), self.actions[-1], dtype=np.int64)
        for (i, j), (v, w, cut), action in zip(self.where[::-1], self.how[::-1], self.actions[-2::-1], strict=True):
            out[v * states[:, i] + w * states[:, j] < cut] = action
        return out

    def at(self, observation: Observation) -> int:
        """The action at an observation, which may be a number."""
        return int(self(np.asarray(observation, dtype=np.float64).reshape(1, -1))[0])

    def plays(self, played: PlayedEpisode) -> bool:
        """Whether all actions of an episode are those of the rule."""
        states = np.asarray(played.observations, dtype=np.float64)[:-1].reshape(len(played.actions), -1)
        return bool((self(states) == played.actions).all())

    def only(self, kept: Sequence[int]) -> SimpleRule:
        """The rule with these lines only, and the action where none holds."""
        lines = np.array(kept, dtype=np.int64)
        return SimpleRule(self.where[lines], self.how[lines], np.append(self.actions[lines], self.actions[-1]))

    def __str__(self) -> str:
        """The rule in words."""
        said = []
        for (i, j), (v, w, cut), action in zip(self.where, self.how, self.actions, strict=False):
            left = f"{v:.3g} x[{i}] {w:+.3g} x[{j}] < {cut:.4g}" if w else f"x[{i}] {'<' if v > 0 else '>'} {cut / v:.4g}"
            said.append(f"action {action} where {left}")
        return ", else ".join([*said, f"action {self.actions[-1]}"]) if said else f"always action {self.actions[-1]}"


def constant(action: int) -> SimpleRule:
    """The rule that always takes one action."""
    return SimpleRule.of([], [action])


def packed(rules: Sequence[SimpleRule]) -> Arrays:
    """Rules as arrays, one after the other."""
    return {
        "where": np.concatenate([np.zeros((0, 2), dtype=np.int64), *(rule.where for rule in rules)]),
        "how": np.concatenate([np.zeros((0, 3)), *(rule.how for rule in rules)]),
        "actions": np.concatenate([np.zeros(0, dtype=np.int64), *(rule.actions for rule in rules)]),
        "lines": np.array([len(rule.where) for rule in rules], dtype=np.int64),
    }


def unpacked(arrays: Arrays) -> list[SimpleRule]:
    """The rules that :func:`packed` gave."""
    rules, line = [], 0
    for k, n in enumerate(arrays["lines"].tolist()):
        part = slice(line, line + n)
        rules.append(SimpleRule(arrays["where"][part], arrays["how"][part], arrays["actions"][line + k : line + k + n + 1]))
        line += n
    return rules


class Drawn:
    """Draws rules for states like those that were seen.

    Args:
        states: (n,D) seen.
        n_actions: A.
        random: draws.
    """

    def __init__(self, states: Array, n_actions: int, random: np.random.Generator) -> None:
        self.states, self.A, self.random = states, n_actions, random
        self.wide = states.std(axis=0)
        self.active = np.flatnonzero(self.wide > 0.0)

    def rule(self) -> SimpleRule:
        """A rule of one line, or the action that goes up or down with a coordinate."""
        if not len(self.active):
            return constant(self._action())
        if self.random.random() < 0.25:
            return self._graded()
        line, action = self._line()
        return SimpleRule.of([line], [action, self._action()])

    def bold(self) -> list[SimpleRule]:
        """For some coordinates, one end of all actions below the middle of what was seen and the other end above."""
        cuts = [(int(i), float(np.median(self.states[:, i]))) for i in self.active[:_BOLD]]
        ends = [(0, self.A - 1), (self.A - 1, 0)]
        return [SimpleRule.of([(i, i, 1.0, 0.0, cut)], pair) for i, cut in cuts for pair in ends]

    def like(self, rule: SimpleRule) -> SimpleRule:
        """A rule that differs from another one in a line, a cut or an action."""
        K, actions = len(rule.where), rule.actions.copy()
        way = self.random.integers(5)
        if way == 0 and K < MOST_LINES and len(self.active):
            line, action = self._line()
            at = int(self.random.integers(K + 1))
            new = SimpleRule.of([line], [action, 0])
            where, how = np.insert(rule.where, at, new.where, axis=0), np.insert(rule.how, at, new.how, axis=0)
            return SimpleRule(where, how, np.insert(actions, at, action))
        if way == 1 and K:
            gone = int(self.random.integers(K))
            return rule.only([k for k in range(K) if k != gone])
        if way == 2 and K:
            k, how = int(self.random.integers(K)), rule.how.copy()
            (i, j), (v, w, cut) = rule.where[k], rule.how[k]
            side = v * self.states[:, i] + w * self.states[:, j]
            share = np.clip((side < cut).mean() + _MOVED * self.random.normal(), 0.0, 1.0)
            how[k, 2] = self._cut(side, share)
            return rule._replace(how=how)
        actions[self.random.integers(K + 1)] = self._action()
        return rule._replace(actions=actions)

    def _action(self) -> int:
        return int(self.random.integers(self.A))

    def _cut(self, side: Array, share: float) -> float:
        """A number between two that were seen, with about this share of all below it."""
        cut = float(np.quantile(side, share, method="higher"))
        below = side[side < cut]
        return (cut + float(below.max())) / 2.0 if len(below) else cut

    def _line(self) -> tuple[tuple[int, int, float, float, float], int]:
        i, sign = int(self.random.choice(self.active)), 1.0 if self.random.random() < 0.5 else -1.0
        if len(self.active) > 1 and self.random.random() < _PAIRS:
            j = int(self.random.choice(self.active[self.active != i]))
            v, w = sign / self.wide[i], (1.0 if self.random.random() < 0.5 else -1.0) / self.wide[j]
        else:
            j, v, w = i, sign, 0.0
        side = v * self.states[:, i] + w * self.states[:, j]
        return (i, j, float(v), float(w), self._cut(side, self.random.random())), self._action()

    def _graded(self) -> SimpleRule:
        """From one action to another in even steps, over the range of a coordinate."""
        i = int(self.random.choice(self.active))
        low, high = np.quantile(self.states[:, i], [0.05, 0.95])
        a = self._action()
        b = (a + 1 + int(self.random.integers(max(self.A - 1, 1)))) % self.A
        n = min(abs(b - a), MOST_LINES)
        cuts = np.linspace(low, high, n + 2)[1:-1]
        return SimpleRule.of(
            [(i, i, 1.0, 0.0, float(cut)) for cut in cuts], np.rint(np.linspace(a, b, n + 1)).astype(int).tolist()
        )
