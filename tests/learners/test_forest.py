"""Trees and tables of soft cells: the kernels against literal versions, and what the models made of them know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noregret.agent.minds.soft_cells.contest import PlanContest
from noregret.agent.minds.soft_cells.counts import table_of
from noregret.agent.minds.soft_cells.dual import Aim
from noregret.agent.minds.soft_cells.forests import ForestModel, Grown, still_brought, targets
from noregret.agent.minds.soft_cells.history import Record, Transitions, Units
from noregret.agent.minds.soft_cells.kernels.forest import Trees, forest_worth, grow, leaves_of
from noregret.agent.minds.soft_cells.kernels.sweep import STEADY, PlanValues, Wish, backward
from noregret.agent.minds.soft_cells.kinds import CELLS, FOREST, ModelKinds
from noregret.agent.minds.soft_cells.vectors import most_prototypes
from noregret.problems.worlds import WorldSpec
from tests.reference import cells as slow_cells
from tests.reference import forest as slow

H, A, J = 12, 2, 2
UNITS = Units(np.array([0.0, -1.0]), np.ones(2))


def walks(random: np.random.Generator, episodes: int, grid: bool = False) -> Transitions:
    """Walks on a line from 0 to 5: action 1 goes right; beyond 4 the episode ends. Reward for the end, a cost for each step."""
    before, actions, after, ended, lengths = [], [], [], [], []
    for _ in range(episodes):
        x, n = 0.0, 0
        for _ in range(H):
            a = int(random.integers(A))
            y = max(x + (1.0 if grid else random.uniform(0.5, 1.5)) * (1 if a else -1), 0.0)
            before.append(x), actions.append(a), after.append(y), ended.append(y > 4.0)
            x, n = y, n + 1
            if ended[-1]:
                break
        lengths.append(n)
    n, first = len(before), np.concatenate([[0], np.cumsum(lengths)[:-1]])
    signals = np.column_stack([np.array(ended, dtype=float), -np.ones(n)])
    vectors = [np.column_stack([part, np.zeros(n)]) for part in (before, after)]
    masks = np.ones((n, A), dtype=np.bool_)
    over = np.array(ended)
    return Transitions(vectors[0], np.array(actions), signals, vectors[1], over, masks, first, np.array(lengths))


def test_a_model_of_many_actions_or_long_episodes_has_fewer_prototypes() -> None:
    def most(n_actions, dimension, horizon):
        return most_prototypes(WorldSpec(horizon, n_actions, 0, dimension, np.zeros(1), True, ("cost",)))

    assert most(25, 10, 50) == 1088 and most(27, 12, 1000) == 400
    assert [most(n, 12, 1000) for n in (57, 200, 1000)] == [189, 64, 64]
    assert most(5, 2, 200) == 3000 and most(5, 2, 1000) == 1290  # a full pass of both is as much work


def test_wide_places_count_as_much_as_all_their_numbers_in_few_targets() -> None:
    random = np.random.default_rng(0)
    worth, ended = np.zeros((300, J)), np.zeros(300, dtype=np.bool_)

    def apart(led):
        made = targets(worth, ended, (worth, 1.5), (led, 0.2))
        return made.shape[1], float(((made[:150] - made[150:]) ** 2).sum(axis=1).mean())

    few, many = random.standard_normal((300, 40)), random.standard_normal((300, 900))
    (narrow, one), (wide, two) = apart(few), apart(many)
    assert narrow == 2 * J + 1 + 40 and wide == 2 * J + 1 + 32
    assert one == pytest.approx(2 * 0.2**2, rel=0.05) and two == pytest.approx(2 * 0.2**2, rel=0.1)


@pytest.mark.kernels
@pytest.mark.parametrize(("n", "D", "least"), [(1, 1, 1), (9, 1, 2), (60, 3, 5), (200, 2, 5)])
def test_trees_are_grown_and_asked_as_literally(n: int, D: int, least: int) -> None:
    random = np.random.default_rng(n)
    X, Y = np.round(random.uniform(-1.0, 1.0, (n, D)), 1), random.standard_normal((n, 3))
    Y[:, 1] = X[:, 0] > 0.2
    most = 2 * (n // least) + 3
    draws, order = random.random((most, 4, 2)), np.arange(n)
    trees = Trees(np.zeros(1, np.int64), np.zeros(most, np.int64), np.zeros(most), np.zeros(most, np.int64))
    size = grow(X, Y, order, draws, least, trees)
    expected = slow.grow(X, Y, draws, least)
    begins = np.sort(trees.child[:size][trees.coordinate[:size] < 0])
    assert begins[0] == 0 and sorted(order.tolist()) == list(range(n))
    ends = dict(zip(begins.tolist(), [*begins[1:].tolist(), n], strict=True))
    for x, (begin,) in zip(X, leaves_of(X, trees).tolist(), strict=True):
        assert sorted(order[begin : ends[begin]].tolist()) == slow.leaf(expected, x)


def forest_of(seen: Transitions) -> ForestModel:
    return ForestModel.learned(seen, UNITS, lambda used: still_brought(seen, UNITS, H)[used], (H, np.random.default_rng(0)))


def wish_of(sharpness: float = 30.0) -> Wish:
    return Wish(np.array([1.0, 0.1]), sharpness, np.zeros((J, H)), UNITS.end)


def values_of(model: ForestModel) -> PlanValues:
    values = PlanValues(np.zeros((H + 1, J, model.n), np.float32), np.zeros((H, J, 0), np.float32))
    backward(model.rows(), wish_of(), values)
    return values


@pytest.mark.kernels
def test_the_backward_pass_over_pools_is_the_literal_one() -> None:
    model = forest_of(walks(np.random.default_rng(3), 12))
    rows, V = model.rows(), values_of(model).V
    N, T = model.n, 10
    P = np.zeros((N, A, N))
    for i in range(N - 1):
        for a in range(A):
            for e in range(rows.first[i * A + a], rows.first[i * A + a + 1]):
                pool = rows.after[e] - N
                members = rows.pool[rows.pool_first[pool] : rows.pool_first[pool + 1]]
                np.add.at(P[i, a], members, 1.0 / T / len(members))
    wish, expected = wish_of(), np.zeros((H + 1, J, N))
    for h in range(H - 1, -1, -1):
        expected[h, :, N - 1] = (H - h) * wish.end
        for i in range(N - 1):
            Q = np.clip(expected[h + 1] @ P[i].T + rows.signal[i].T, 0.0, H - h)
            expected[h, :, i] = Q @ slow_cells.policy(Q, np.ones(A, dtype=bool), wish)
    np.testing.assert_allclose(V, expected, atol=2e-3)  # less where steps that change nothing were left out
    Q = model.values(model.parts["X"][4], 3, wish, PlanValues(V, np.zeros((H, J, 0), np.float32)))
    assert Q is not None
    here = expected[4] @ P[4].T + rows.signal[4].T
    np.testing.assert_allclose(Q, np.clip(here, 0.0, H - 3), atol=2e-3)
    worth = forest_worth(model.parts["X"][4:5], (model.trees, model.leaves), H - 3, V[4], wish, A)
    np.testing.assert_allclose(worth[0], expected[3, :, 4], atol=2e-3)


def test_trees_find_the_way_and_know_of_ends() -> None:
    model = forest_of(walks(np.random.default_rng(1), 60))
    values = values_of(model)
    for x in (0.0, 1.5, 3.0):
        Q = model.values(np.array([x, 0.0]), 2, wish_of(), values)
        assert Q is not None and Q[1, 1] > Q[1, 0] + 0.5, x  # the end is near on the right, and ends the cost
    again = ForestModel(UNITS, model.parts)
    np.testing.assert_array_equal(again.rows().after, model.rows().after)


def test_an_action_never_taken_is_unknown() -> None:
    seen = walks(np.random.default_rng(1), 20)
    only = seen._replace(actions=np.zeros_like(seen.actions))
    rows = forest_of(only).rows()
    assert (rows.unknown.reshape(-1, A)[:-1] == [0.0, 1.0]).all()


def test_steps_that_change_nothing_are_left_out() -> None:
    """Where every step adds the same, a long horizon gives what all its steps would have given."""
    model, H = forest_of(walks(np.random.default_rng(2), 40)), 400
    rows = model.rows()
    wish = Wish(np.array([1.0, 0.1]), 30.0, np.zeros((J, H)), UNITS.end)
    values = PlanValues(np.zeros((H + 1, J, model.n), np.float32), np.zeros((H, J, 0), np.float32))
    backward(rows, wish, values)
    uneven = np.zeros((J, H))
    uneven[0, 0] = 9.0  # what is hoped for at one step keeps every step, and nothing here is unknown
    whole = PlanValues(np.zeros_like(values.V), np.zeros_like(values.coef))
    backward(rows, wish._replace(unknown=uneven), whole)
    np.testing.assert_allclose(values.V, whole.V, atol=2 * STEADY * H)


def test_a_table_is_made_of_vectors_that_come_back_with_certainty() -> None:
    seen = walks(np.random.default_rng(0), 40, grid=True)
    model = table_of(seen, UNITS, 100, True)
    assert model is not None and model.n - 1 == len(np.unique(np.concatenate([seen.before, seen.after]), axis=0))
    values = PlanValues(np.zeros((H + 1, J, model.n), np.float32), np.zeros((H, J, 0), np.float32))
    backward(model.rows(), wish_of(), values)
    Q = model.values(np.array([2.0, -0.0]), 0, wish_of(), values)
    assert Q is not None and Q[1, 1] > Q[1, 0]
    np.testing.assert_array_equal(model.values(np.array([2.1, 0.0]), 0, wish_of(), values), Q)  # the nearest one
    lost = table_of(seen, UNITS, 100, False)
    assert lost is not None and lost.values(np.array([2.1, 0.0]), 0, wish_of(), values) is None
    assert table_of(seen, UNITS, 3, True) is None and table_of(walks(np.random.default_rng(0), 40), UNITS, 10**6, True) is None


def test_one_disaster_does_not_make_all_other_returns_look_the_same() -> None:
    record = Record(WorldSpec(4, 2, 0, 1, np.ones(1), True, ("cost",), None, None))
    for total in (-1e7, *np.linspace(0.0, 100.0, 40)):
        record.add(np.column_stack([np.full(4, total / 4.0), np.zeros(4)]), False)
    assert 200.0 < record.apart < 320.0


def test_the_better_kind_has_more_turns() -> None:
    contest = PlanContest(10.0, Aim(np.array([-1.0]), np.array([1.0]), np.zeros(1), np.full(1, 20.0), np.zeros(1)))
    for brought, least in (((9.0, 2.0), CELLS), ((2.0, 9.0), FOREST)):
        kinds, turns = ModelKinds(2), []
        for _ in range(40):
            turns.append(kinds.turn(contest))
            for _ in range(3):
                kinds.add(turns[-1], np.array([brought[turns[-1]], 0.0]))
        assert 0.75 < np.mean(np.array(turns[10:]) == least) < 1.0
        copy = ModelKinds(2)
        copy.restore(kinds.arrays())
        assert copy.turn(contest) == kinds.turn(contest)
    assert ModelKinds(2).turn(contest._replace(apart=0.0)) == CELLS


def test_grown_tables_are_whole() -> None:
    random: Any = np.random.default_rng(0)
    X, signals = random.random((50, 3)), random.random((50, 2))
    grown = Grown(X, signals, signals, np.arange(50))
    grown.add(np.arange(30), random)
    grown.add(np.arange(30, 50), random)
    parts = grown.arrays()
    assert parts["first"][-1] == len(parts["after"]) == 50 * 10 and (np.diff(parts["first"]) >= 5).all()
