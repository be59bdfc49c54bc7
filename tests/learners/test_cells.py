"""The mind named soft-cells: limits held in small worlds, the same bits, what it keeps, what it refuses."""

from __future__ import annotations

import tracemalloc
from typing import Any

import gymnasium
import numpy as np
import pytest

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells import SoftCells
from noregret.agent.minds.soft_cells.contest import PlanContest
from noregret.agent.minds.soft_cells.dual import Aim, PriceSearch
from noregret.agent.minds.soft_cells.dynamics import MOST_DIMENSIONS, Scaling
from noregret.agent.minds.soft_cells.forests import ForestModel
from noregret.agent.minds.soft_cells.kernels.interpolation import EDGE
from noregret.errors import InputError
from noregret.problems.worlds import WorldSpec
from tests.learners.cell_worlds import Hidden, Line, Ring, Shop, World, play


def played(world: World, episodes: int, seed: int = 0, **options: Any) -> np.ndarray:
    return play(SoftCells(world.spec, seed, **options), world, episodes, seed)


def test_a_limit_that_does_not_bind() -> None:
    """Ten moves reach the edge; then it stays there: about 10 + Σ 0.1 i."""
    last = played(Line(limit=15.0), 40)[-10:].mean(axis=0)
    assert last[0] > 13.0 and last[1] <= 16.0  # of 20


def test_a_limit_that_binds() -> None:
    last = played(Line(limit=5.0), 60)[-25:].mean(axis=0)
    assert 3.5 <= last[1] <= 5.1 and last[0] > 6.5  # five moves: at most 0.5 * 15 + 1.5 = 9


def test_a_utility_to_stay_above() -> None:
    """The same world told the other way round: at least 15 steps without a move."""
    last = played(Line(limit=15.0, utility=True), 60)[-25:].mean(axis=0)
    assert last[1] >= 14.9 and last[0] > 6.5


def test_an_early_end_is_worth_nothing_more() -> None:
    """Where reaching the edge ends the episode, it is better to stay just before it."""
    last = played(Line(limit=20.0, ends=True), 60)[-10:].mean(axis=0)
    assert last[0] > 11.0


def test_masked_actions_are_never_played() -> None:
    last = played(Line(limit=15.0, walled=True), 40)[-10:].mean(axis=0)  # the world asserts it
    assert last[0] > 13.0


def test_two_limits_at_once() -> None:
    last = np.mean([played(Shop(5.0, 8.0), 120, seed)[-60:].mean(axis=0) for seed in range(4)], axis=0)
    assert last[1] <= 5.2 and last[2] <= 8.3 and last[0] >= 10.5  # rules that were tried among them


@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_numbers_go_through_counts(slip: float) -> None:
    loose, tight = (played(Ring(5, limit, slip=slip), 200)[-100:].mean(axis=0) for limit in (12.0, 5.0))
    assert loose[0] > 5.0 and tight[1] <= 5.1 and 2.0 < tight[0] <= loose[0] + 0.5


def test_numbers_with_ends() -> None:
    last = played(Ring(5, 12.0, ends=True), 60)[-20:].mean(axis=0)
    assert last[0] == 1.0


def test_what_the_observation_hides_is_paid_all_the_same() -> None:
    """The model cannot know the cost; the long-run average meets the limit nevertheless."""
    totals = played(Hidden(limit=6.0), 400)
    assert totals[100:, 1].mean() <= 6.2 and totals[-150:, 1].mean() <= 6.2
    assert totals[-150:, 0].mean() > 6.0


WORLDS: dict[str, Any] = {
    "vectors": lambda: Line(5.0, ends=True), "masks": lambda: Line(5.0, walled=True), "numbers": lambda: Ring(6, 5.0, slip=0.2)
}  # fmt: skip


@pytest.mark.parametrize("make_world", WORLDS.values(), ids=WORLDS)
def test_a_restored_mind_goes_on_bit_for_bit(make_world: Any) -> None:
    world = make_world()
    first, second = SoftCells(world.spec, 3), SoftCells(world.spec, 3)
    np.testing.assert_array_equal(play(first, world, 23), play(second, world, 23))
    third = SoftCells(world.spec, 3)
    third.restore({name: value.copy() for name, value in first.arrays().items()})
    for mind in (second, third):
        mind_world = make_world()
        np.testing.assert_array_equal(play(mind, mind_world, 15, seed=5), play(_again(first, world), make_world(), 15, seed=5))
    assert third.describe() == second.describe() and third.replans == second.replans
    for name, value in second.arrays().items():
        np.testing.assert_array_equal(third.arrays()[name], value)


def _again(mind: Any, world: World) -> Any:
    copy = SoftCells(world.spec, 3)
    copy.restore(mind.arrays())
    return copy


def test_before_anything_is_restored_or_learned() -> None:
    spec = Line(5.0).spec
    mind, copy = SoftCells(spec, 0), SoftCells(spec, 0)
    mind.ready()
    assert mind.replans == 0 and mind.dual.tolist() == [0.0] and "nothing" in mind.describe()[0]
    copy.restore(mind.arrays())
    np.testing.assert_array_equal(copy.chances(0, np.zeros(1)), np.full(3, 1 / 3))
    np.testing.assert_array_equal(copy.chances(0, np.zeros(1), np.array([True, False, True])), [0.5, 0.0, 0.5])


def test_what_is_refused() -> None:
    spec = Line(5.0).spec
    with pytest.raises(InputError, match="unknown option of soft-cells 'state'; did you mean 'states'"):
        SoftCells(spec, 0, state=5)
    for name, value in (("states", 1), ("transitions", 0), ("margin", 1.0), ("margin", "much")):
        with pytest.raises(InputError, match=name):
            SoftCells(spec, 0, **{name: value})
    mind = SoftCells(Ring(5, 5.0).spec, 0)
    play(mind, Ring(5, 5.0), 3)
    with pytest.raises(InputError, match=r"state\['record/best'\] has shape"):
        SoftCells(spec, 0).restore(mind.arrays())


def test_every_choice_is_told() -> None:
    mind = SoftCells(Line(5.0).spec, 0)
    play(mind, Line(5.0), 5)
    text = "\n".join(mind.describe())
    for word in ("range of reward", "range of moves", "found from data", "scaling", "Fourier", "prototypes", "noise",
                 "at most 5", "price", "worth 0", "budget", "MB"):  # fmt: skip
        assert word in text, word


def test_rewards_outside_a_given_range_widen_it() -> None:
    spec = WorldSpec(20, 3, 0, 1, np.array([5.0]), True, ("moves",), (0.0, 0.1), ((0.0, 0.5),))
    mind = SoftCells(spec, 0)
    play(mind, Line(5.0), 5)
    assert mind.record.high[0] > 0.1 and mind.record.low[1] == -1.0


@pytest.mark.parametrize(("kind", "options"), [("vectors", {"states": 60, "transitions": 300}), ("numbers", {"states": 4})])
def test_memory_is_bounded(kind: str, options: dict[str, int]) -> None:
    world: Any = Line(5.0) if kind == "vectors" else Ring(50, 5.0)
    mind = SoftCells(world.spec, 0, **options)
    play(mind, world, 3)  # compiled
    mind = SoftCells(world.spec, 0, **options)
    bound = mind.memory_bound()
    tracemalloc.start()
    play(mind, world, 120)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    planner = mind.planner
    assert planner is not None
    outside = sum(array.nbytes for array in planner.rows)  # made by compiled code, which is not traced
    most = options["transitions" if isinstance(planner.model, ForestModel) else "states"]  # trees are of transitions
    assert peak + outside <= bound and planner.model.n <= most + 1
    assert sum(array.nbytes for array in mind.arrays().values()) <= bound


def test_mountain_car_finds_its_flag() -> None:
    """Gymnasium's own world and its raw reward: -1 a step until the flag is reached."""
    env = gymnasium.make("MountainCar-v0").unwrapped
    spec = WorldSpec(200, 3, 0, 2, np.array([90.0]), True, ("pushes",))
    mind, random, returns = SoftCells(spec, 0), np.random.default_rng(0), []
    for k in range(70):
        mind.ready()
        observations, actions, ended = [env.reset(seed=k)[0]], [], False
        while len(actions) < 200 and not ended:
            chances = mind.chances(len(actions), observations[-1])
            actions.append(int(random.choice(3, p=chances)))
            observation, _, ended, _, _ = env.step(actions[-1])
            observations.append(observation)
        pushes = (np.array(actions) != 1).astype(float)[:, None]
        mind.learn(PlayedEpisode(np.array(observations), np.array(actions), -np.ones(len(actions)), pushes, ended))
        returns.append((-len(actions), pushes.sum()))
    last = np.mean(returns[-25:], axis=0)
    assert last[0] > -150.0 and last[1] <= 95.0


def test_a_worse_plan_is_given_up() -> None:
    aim = Aim(np.array([-10.0]), np.array([10.0]), np.zeros(1), np.full(1, 20.0), np.zeros(1))
    contest, noise = PlanContest(100.0, aim), np.tile([-1.0, 1.0], 6)[:, None]
    best = np.column_stack([90.0 + noise, -9.0 + noise])
    same, poor, dear = best[:4], best[:4] - [30.0, 0.0], best[:4] - [0.0, 5.0]
    assert contest.lost(poor, best) and contest.lost(dear, best)
    assert not contest.lost(same, best) and not contest.lost(poor[:2], best)
    assert contest.won(best + np.array([5.0, 0.0]), best) and not contest.won(best - [5.0, 0.0], best)
    assert not contest.won(best - [0.0, 5.0], best), "more reward does not pay for a limit that is missed"
    assert not PlanContest(0.0, aim).lost(poor, best), "while all returns are the same nothing is given up"


def test_the_price_is_the_least_that_is_enough() -> None:
    """A total that rises with the price, Ĝ = 10 Y/(1 + Y): 8 is reached at Y = 4."""
    aim, dual, calls = (
        Aim(np.array([8.0]), np.array([8.0]), np.zeros(1), np.full(1, 100.0), np.full(1, 99.0)),
        PriceSearch(1, 0.0),
        [],
    )

    def evaluate(Y: np.ndarray) -> np.ndarray:
        calls.append(float(Y[0]))
        return 10.0 * Y / (1.0 + Y)

    for _ in range(4):
        dual.settle(evaluate, aim, fresh=True)
    assert dual.Y[0] == pytest.approx(4.0, rel=0.1) and dual.estimate[0] == pytest.approx(8.0, abs=0.1)
    assert calls[-1] == dual.Y[0], "the plan in use is the one for the price that was found"
    assert len(calls) <= 4 * 7
    for _ in range(30):  # the world gives 1 less than the model says
        dual.observe(dual.estimate - 1.0, aim)
        dual.settle(evaluate, aim, fresh=False)
    assert dual.estimate[0] == pytest.approx(9.0, abs=0.3)


def test_coordinates_that_never_change_are_left_out_and_many_are_turned() -> None:
    random = np.random.default_rng(0)
    some = random.random((50, 3))
    some[:, 1] = 7.0
    assert Scaling.of(some).active.tolist() == [0, 2] and Scaling.of(np.ones((5, 2))).dimension == 1
    inner = random.standard_normal((400, 3))
    scaling = Scaling.of(inner @ random.standard_normal((3, 40)))
    Z = scaling(inner @ random.standard_normal((3, 40)))
    assert scaling.dimension == 12 == Z.shape[1] and (np.abs(Z) <= 3.0).all()


def test_a_limit_that_can_only_just_be_met_has_a_price_that_comes_down() -> None:
    """The estimate is at its top from a price of 1 on; nothing lacks, so the search goes down to about there."""
    aim = Aim(np.zeros(1), np.full(1, 0.1), np.zeros(1), np.full(1, 100.0), np.zeros(1))
    dual = PriceSearch(1, 0.02)
    dual.Y[:] = 64.0
    for _ in range(4):
        dual.settle(lambda Y: np.minimum(Y - 1.0, 0.0), aim, True)
        for _ in range(20):
            dual.observe(np.zeros(1), aim)
    assert 0.9 < dual.Y[0] <= 2.0 and dual.debt[0] == 0.0
    dual.debt[:] = 0.05
    for _ in range(200):
        dual.observe(np.zeros(1), aim)
    assert dual.debt[0] < 0.01, "an episode that meets the bound does not add to the debt"


def test_many_coordinates_and_few_states_cost_little() -> None:
    states = np.random.default_rng(0).standard_normal((8, 20_000))
    scaling = Scaling.of(states)
    assert scaling.dimension <= 8 and np.abs(scaling(states)).max() <= EDGE
    full = np.random.default_rng(1).standard_normal((60, 40))
    few, many = Scaling.of(full[:30]), Scaling.of(full)
    assert few.dimension == many.dimension == MOST_DIMENSIONS
    Z = few(full[:30])
    assert np.abs(np.corrcoef(Z.T) - np.eye(len(Z.T))).max() < 0.9, "axes differ"
