"""Rules of a few lines: what they do, what they say, how they are drawn, and what rehearsals of them are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noregret.agent.minds.soft_cells.counts import Counts
from noregret.agent.minds.soft_cells.history import Transitions, Units
from noregret.agent.minds.soft_cells.rehearsal import Rehearsal, searched
from noregret.agent.minds.soft_cells.rules import MOST_LINES, Drawn, SimpleRule, constant, packed, unpacked
from noregret.problems.worlds import WorldSpec
from tests.reference import rehearsing as slow

H, A = 10, 3
UNITS = Units(np.array([-1.0, -1.0]), np.array([2.0, 1.0]))
RULE = SimpleRule.of([(0, 0, 1.0, 0.0, 0.5), (1, 0, -1.0, 2.0, -0.2)], [2, 0, 1])


def same(one: SimpleRule, other: SimpleRule) -> bool:
    """Whether two rules have the same lines."""
    return all(a.shape == b.shape and (a == b).all() for a, b in zip(one, other, strict=True))


def balances(random: np.random.Generator, episodes: int) -> Transitions:
    """A number that drifts by its second one; actions push it by -1, 0, 1. It pays to be near 0, pushes cost 1."""
    parts: list[Any] = []
    for _ in range(episodes):
        x, drift = random.uniform(-2.0, 2.0), random.choice([-0.3, 0.3])
        for _ in range(H):
            a = int(random.integers(A))
            y = float(np.clip(x + a - 1 + drift, -4.0, 4.0))
            parts.append(((x, drift), a, (1.0 - abs(x) / 2.0, -float(a != 1)), (y, drift)))
            x = y
    before, actions, signals, after = (np.array(part) for part in zip(*parts, strict=True))
    n, first = len(actions), np.arange(episodes) * H
    none = np.zeros(n, dtype=np.bool_)
    return Transitions(before, actions, signals, after, none, np.ones((n, A), dtype=np.bool_), first, np.full(episodes, H))


def real(rule: SimpleRule, episodes: int, seed: int) -> Any:
    """The mean totals of a rule in that world."""
    random, totals = np.random.default_rng(seed), np.zeros(2)
    for _ in range(episodes):
        x, drift = random.uniform(-2.0, 2.0), random.choice([-0.3, 0.3])
        for _ in range(H):
            a = rule.at(np.array([x, drift]))
            totals += (1.0 - abs(x) / 2.0, -float(a != 1))
            x = float(np.clip(x + a - 1 + drift, -4.0, 4.0))
    return totals / episodes


def test_the_first_line_that_holds_decides() -> None:
    states = np.array([[0.0, 0.0], [0.6, 1.5], [0.6, 1.0], [0.5, 9.0]])
    assert RULE(states).tolist() == [2, 0, 1, 0]
    assert [slow.action(RULE, x) for x in states] == RULE(states).tolist() == [RULE.at(x) for x in states]
    assert constant(3)(states).tolist() == [3, 3, 3, 3] and constant(3).at(np.array(7)) == 3
    assert str(RULE) == "action 2 where x[0] < 0.5, else action 0 where -1 x[1] +2 x[0] < -0.2, else action 1"
    assert str(constant(2)) == "always action 2"
    assert str(SimpleRule.of([(4, 4, -1.0, 0.0, -3.0)], [1, 0])) == "action 1 where x[4] > 3, else action 0"
    assert RULE.only([1])(states).tolist() == [1, 0, 1, 0]


def test_rules_survive_as_arrays() -> None:
    rules = [constant(1), RULE, constant(0), RULE.only([0])]
    assert all(same(a, b) for a, b in zip(rules, unpacked(packed(rules)), strict=True))
    assert unpacked(packed([])) == []


def test_drawn_rules_are_rules_of_this_world() -> None:
    random = np.random.default_rng(0)
    states = np.column_stack([random.standard_normal(200), np.ones(200), random.integers(0, 2, 200)])
    drawn, rule, kinds = Drawn(states, 4, random), constant(0), set()
    for k in range(600):
        rule = drawn.like(rule) if k % 3 else drawn.rule()
        kinds.add(len(rule.where))
        assert len(rule.where) == len(rule.how) == len(rule.actions) - 1 <= MOST_LINES
        assert not (rule.where == 1).any(), "a coordinate that never varies says nothing"
        assert rule.actions.min() >= 0 and rule.actions.max() < 4 and np.isfinite(rule.how).all()
    assert {0, 1, 2, 3} <= kinds
    assert [r.actions.tolist() for r in drawn.bold()] == [[0, 3], [3, 0]] * 2
    none = Drawn(np.ones((5, 2)), 4, random)
    assert len(none.rule().where) == 0 and none.bold() == []


@pytest.mark.kernels
@pytest.mark.parametrize("ends", [False, True])
def test_rehearsals_are_as_literally(ends: bool) -> None:
    seen = balances(np.random.default_rng(1), 12)
    if ends:
        seen = seen._replace(ended=np.isin(np.arange(len(seen.actions)), seen.first + H - 1))
    rehearsal = Rehearsal(seen, UNITS, H, np.random.default_rng(2))
    rules, rehearsal.random = [constant(1), RULE, RULE.only([0])], np.random.default_rng(3)
    again = np.random.default_rng(3)
    starts = rehearsal.starts[again.integers(len(rehearsal.starts), size=7)]
    expected = slow.rehearse(rules, rehearsal.echoes, starts, again.random((7, H)), A)
    np.testing.assert_allclose(rehearsal.totals(rules, 7), expected, rtol=1e-12)


def test_the_best_rules_found_are_good_in_the_world() -> None:
    seen = balances(np.random.default_rng(4), 60)
    rehearsal = Rehearsal(seen, UNITS, H, np.random.default_rng(5))
    known = [constant(a) for a in range(A)]
    found = rehearsal.search(known, [], lambda means: means[:, 0] + 0.1 * means[:, 1])
    best = real(found.rules[0], 300, 0)
    assert best[0] > 5.0 > max(real(rule, 300, 0)[0] for rule in known) + 2.0
    assert abs(best[0] - found.totals[0, 0]) < 1.5, "what was promised comes"
    assert found.known.shape == (3, 2) and found.totals.shape == (len(found.rules), 2)
    done = np.stack([rule(rehearsal.states) for rule in [*known, *found.rules]])
    alike = (done[:, None] == done[None]).mean(axis=2)
    assert (alike[~np.eye(len(done), dtype=bool)] <= 0.98).all(), "none does what another one does"
    first = Rehearsal(seen, UNITS, H, np.random.default_rng(5)).search(known, [], lambda means: means[:, 0] + 0.1 * means[:, 1])
    assert all(same(a, b) for a, b in zip(found.rules, first.rules, strict=True))


def test_rehearsals_in_a_table_are_exact() -> None:
    """A corridor in which all but the last steps were seen often: leaves of several transitions would mix what they bring."""
    parts: list[Any] = []
    lengths = [4] * 20 + [10]  # one episode alone went to the end, which pays 9
    for length in lengths:
        parts += [((float(x), 0.0), 1, (9.0 * (x == 9), -1.0), (x + 1.0, 0.0), x == 9) for x in range(length)]
    before, actions, signals, after, ended = (np.array(part) for part in zip(*parts, strict=True))
    first, n = np.append(0, np.cumsum(lengths)[:-1]), len(actions)
    seen = Transitions(before, actions, signals, after, ended, np.ones((n, 2), dtype=np.bool_), first, np.array(lengths))
    rehearsal = Rehearsal(seen, Units(np.array([0.0, -1.0]), np.array([9.0, 1.0])), 12, np.random.default_rng(0))
    np.testing.assert_allclose(rehearsal.totals([constant(1)], 20), [[9.0, -10.0]])


def test_numbers_without_an_order_have_no_rules() -> None:
    spec = WorldSpec(5, 2, 7, 0, np.array([1.0]), True, ("cost",))
    found = searched(Counts(spec, 7), UNITS, (0, 1), [constant(0)], [], lambda means: means[:, 0])
    assert found.rules == [] and found.pool == [] and np.isnan(found.known).all()
