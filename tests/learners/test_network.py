"""The network of soft cells: kernels against literal versions, what it learns, its turns, the same bits, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells import SoftCells
from noregret.agent.minds.soft_cells.contest import PlanContest
from noregret.agent.minds.soft_cells.dual import Aim
from noregret.agent.minds.soft_cells.history import EpisodeMemory, Record
from noregret.agent.minds.soft_cells.kernels import network as fast
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish
from noregret.agent.minds.soft_cells.kinds import CELLS, FOREST, NETWORK, ModelKinds, alone
from noregret.agent.minds.soft_cells.networks import NetworkModel, QNetwork, takes_part
from noregret.agent.minds.soft_cells.trials import RuleTrials
from noregret.errors import InputError
from noregret.problems.worlds import WorldSpec
from tests.learners.cell_worlds import Line, play
from tests.reference import network as slow

D, N, A, J = 3, 6, 3, 2
SIZES = (D, N, J * A)
P = D * N + N + N * N + N + N * J * A + J * A


def replay_of(random: np.random.Generator, n: int = 40) -> fast.Replay:
    """Transitions in episodes of eight, the first of which ended."""
    last = np.arange(n) // 8 * 8 + 7
    ended = np.zeros(n, dtype=np.bool_)
    ended[7] = ended[23] = True
    allowed = random.random((n, A)) < 0.7
    allowed[~allowed.any(axis=1)] = True
    before, after = (random.standard_normal((n, D)).astype(np.float32) for _ in range(2))
    signals = random.standard_normal((n, J)).astype(np.float32)
    return fast.Replay(before, after, random.integers(0, A, n), signals, ended, allowed, last)


def adam_of(random: np.random.Generator) -> fast.Adam:
    weights = (0.5 * random.standard_normal(P)).astype(np.float32)
    return fast.Adam(weights, weights + np.float32(0.01), np.zeros(P, np.float32), np.zeros(P, np.float32))


WISH = Wish(np.array([1.0, 0.7]), 5.0, np.zeros((J, 1)), np.zeros(J))
NONE = PlanValues(np.zeros((1, J, 0), np.float32), np.zeros((0, J, 0), np.float32))
PRACTICE = fast.Practice(0.9, 3, 1e-2, 0.1, np.array([-0.5, -1e9]), np.array([1e9, 1.0]))


@pytest.mark.kernels
def test_values_and_targets_are_the_literal_ones() -> None:
    random = np.random.default_rng(1)
    replay, adam = replay_of(random), adam_of(random)
    for x in replay.before[:5]:
        Q = fast.network_values(x, adam.weights, SIZES, J)
        np.testing.assert_allclose(Q.ravel(), slow.values(x, adam.weights, SIZES), rtol=2e-4, atol=2e-5)
    drawn, wanted = np.arange(40), np.zeros((40, J))
    nets = fast.layers(adam.weights, SIZES), fast.layers(adam.slow, SIZES)
    fast.targets(drawn, replay, nets, WISH, PRACTICE, wanted)
    expected = np.array([slow.target(t, replay, (adam.weights, adam.slow), SIZES, WISH, PRACTICE) for t in drawn])
    np.testing.assert_allclose(wanted, expected, rtol=1e-3, atol=1e-4)
    assert (expected[:, 0] == -0.5).any() and (expected[:, 1] == 1.0).any(), "values that would leave their range are cut"
    np.testing.assert_allclose(wanted[7], np.clip(replay.signals[7], PRACTICE.low, PRACTICE.high), rtol=1e-6)  # an end
    assert abs(wanted[15] - replay.signals[15]).max() > 1e-3, "where an episode was cut off, something follows"


@pytest.mark.kernels
def test_gradients_are_differences() -> None:
    random = np.random.default_rng(2)
    replay, adam, batch = replay_of(random), adam_of(random), np.arange(0, 40, 3)
    wanted = random.standard_normal((len(batch), J)) * 2.0
    net, held = fast.layers(adam.weights, SIZES), fast.nothing_held(len(batch), N)
    Q, error, out = (
        np.zeros((len(batch), J * A), np.float32),
        np.zeros((len(batch), J * A), np.float32),
        np.zeros(P, np.float32),
    )
    fast.forward(replay.before[batch], net, held, Q)
    for i, t in enumerate(batch):
        for j in range(J):
            place = j * A + replay.actions[t]
            error[i, place] = np.clip(Q[i, place] - wanted[i, j], -1.0, 1.0) / len(batch)
    fast.gradient(replay.before[batch], net, held, error, fast.layers(out, SIZES))
    np.testing.assert_allclose(out, slow.slopes(adam.weights, SIZES, replay, batch, wanted), rtol=5e-3, atol=2e-5)


@pytest.mark.kernels
def test_training_is_the_literal_one() -> None:
    random = np.random.default_rng(3)
    replay, adam = replay_of(random), adam_of(random)
    drawn = random.integers(0, 40, (4, 7))
    expected = slow.train(adam, SIZES, replay, drawn, WISH, PRACTICE, 5)
    fast.train(adam, SIZES, replay, drawn, WISH, PRACTICE, 5)
    for name, array, wanted in zip(adam._fields, adam, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=2e-2, atol=2e-4, err_msg=name)
    assert abs(adam.weights - adam_of(np.random.default_rng(3)).weights).max() > 1e-3
    np.testing.assert_allclose(
        fast.to_go(replay.signals.astype(np.float64), replay.last, 0.9), slow.to_go(replay.signals, replay.last, 0.9), rtol=1e-5
    )


@pytest.mark.kernels
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8])
def test_products_of_any_size(n: int) -> None:
    random = np.random.default_rng(n)
    X, W, out = (random.standard_normal(shape).astype(np.float32) for shape in ((5, n), (n, 3), (5, 3)))
    X[2] = 0.0
    expected = out + X @ W
    fast.multiply(X, W, out)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


class Wide(Line):
    """The line, seen as four numbers."""

    def __init__(self, limit: float, **how: bool) -> None:
        super().__init__(limit, **how)
        self.spec = replace(self.spec, dimension=4)

    def reset(self, random: np.random.Generator) -> np.ndarray:
        return self._seen(super().reset(random))

    def step(self, action: int) -> tuple[np.ndarray, float, list[float], bool]:
        x, *rest = super().step(action)
        return self._seen(x), *rest  # type: ignore[return-value]

    @staticmethod
    def _seen(x: np.ndarray) -> np.ndarray:
        return np.array([x[0], x[0] ** 2, 1.0, 3.0 - x[0]])


def learned(limit: float, episodes: int) -> tuple[np.ndarray, QNetwork]:
    """A network that plays alone, from nothing."""
    world, random = Wide(limit), np.random.default_rng(0)
    network, memory, record = QNetwork(world.spec, 0), EpisodeMemory(world.spec, 10_000), Record(world.spec)
    totals: list[np.ndarray] = []
    for _ in range(episodes):
        observations, actions, rewards, costs = [world.reset(random)], [], [], []
        play_with = network.practise(memory.transitions(), record) if memory.total else None
        while len(actions) < world.spec.horizon:
            chances = np.full(3, 1 / 3)
            if play_with is not None:
                model, wish = play_with
                Q = model.values(observations[-1], 0, wish, NONE)
                assert Q is not None
                best = np.eye(3)[int((wish.prices @ Q).argmax())]
                chances = model.explored(best, np.ones(3, dtype=np.bool_), observations[-1])
            actions.append(int(random.choice(3, p=chances)))
            x, reward, cost, _ = world.step(actions[-1])
            observations.append(x), rewards.append(reward), costs.append(cost)
        episode = PlayedEpisode(np.array(observations), np.array(actions), np.array(rewards), np.array(costs), False)
        signals = record.signals(episode)
        record.add(signals, False)
        memory.add(episode, signals)
        network.saw(len(actions))
        units = record.units()
        scale, m = record.scale(units), np.zeros(1)
        network.observe(signals.sum(axis=0)[1:], Aim(record.bounds, scale, m, m, m), 0.02)
        totals.append(signals.sum(axis=0))
    return np.array(totals), network


def test_a_network_learns_to_move_and_its_price_to_hold_a_limit() -> None:
    free, easy = learned(20.0, 100)
    held, dear = learned(6.0, 200)
    assert free[-40:, 0].mean() > 14.0
    assert 4.5 < -held[-60:, 1].mean() < 6.6 and held[-60:, 0].mean() > 8.0
    assert dear.prices[0] > 2.0 * easy.prices[0]


def test_new_scales_leave_values_as_they_are() -> None:
    world = Wide(5.0)
    mind = SoftCells(world.spec, 0)
    play(mind, world, 30)
    network, memory = mind.network, mind.memory
    assert network is not None and isinstance(memory, EpisodeMemory)
    seen, units = memory.transitions(), mind.record.units()
    network.practise(seen, mind.record)
    before, unit = network.model(units), network.scales["scale"].copy()
    shifted = seen._replace(before=0.8 * seen.before + 0.01, signals=2.0 * seen.signals)
    network._scale(shifted, np.repeat(seen.first + seen.lengths - 1, seen.lengths), units)
    after = network.model(units)
    assert not np.allclose(unit, network.scales["scale"])
    for x in seen.before[:20]:
        Q, again = (model.values(x, 0, WISH, NONE) for model in (before, after))
        assert Q is not None and again is not None
        np.testing.assert_allclose(Q * unit[:, None], again * network.scales["scale"][:, None], rtol=1e-3, atol=1e-3)


def test_who_has_a_network() -> None:
    spec = WorldSpec(20, 3, 0, 4, np.ones(1), True, ("cost",))
    assert takes_part(spec) and SoftCells(spec, 0).network is not None
    for n_actions, dimension in ((3, 3), (3, 10**6), (10**9, 4)):
        assert not takes_part(WorldSpec(20, n_actions, 0, dimension, np.ones(1), True, ("cost",)))


def contest_of() -> PlanContest:
    return PlanContest(10.0, Aim(np.array([-1.0]), np.array([1.0]), np.zeros(1), np.full(1, 20.0), np.zeros(1)))


def test_a_young_network_has_all_turns_and_then_what_it_earns() -> None:
    for brought, best in ((9.0, NETWORK), (0.0, CELLS)):
        kinds, contest, turns, played = ModelKinds(2, True), contest_of(), [], 4
        for _ in range(120):
            turns.append(kinds.turn(contest))
            for _ in range(played):
                earned = {CELLS: 5.0, FOREST: 1.0, NETWORK: brought}[turns[-1]]
                kinds.add(turns[-1], np.array([earned, 0.0]))
        assert turns[:5] == [CELLS, CELLS, CELLS, FOREST, NETWORK], "first the others, as many episodes as they are judged by"
        young = -(-110 // played)
        assert set(turns[4 : 4 + young]) == {NETWORK} and not kinds.young(NETWORK)
        late = np.array(turns[4 + young :])
        assert (late == best).mean() > 0.8 and set(late.tolist()) == {CELLS, FOREST, NETWORK}
        assert (late[:8] == best).all(), "nobody waited while the network was young"
        copy = ModelKinds(2, True)
        copy.restore(kinds.arrays())
        assert [copy.turn(contest) for _ in range(9)] == [kinds.turn(contest) for _ in range(9)]
    alone = ModelKinds(2)
    assert alone.turn(contest_of()) == CELLS and NETWORK not in {alone.turn(contest_of()) for _ in range(30)}


def test_a_young_network_that_goes_astray_is_paid_for() -> None:
    """It broke a limit by three times as much for 110 episodes, although doing nothing keeps to it."""
    contest = contest_of()
    nothing, other = np.array([0.0, 0.0]), np.array([-9.0, 0.0])
    for cost, paid in ((3.0, True), (1.1, False)):
        trials, kinds, costs = RuleTrials(2, 2), ModelKinds(2, True), []
        trials.totals = [nothing[None], other[None]]
        while kinds.young(NETWORK):
            trials.playing, astray = -1, kinds.astray(contest)
            if astray:
                trials.relieve(contest, kinds.totals[NETWORK])
            rule = trials.rule
            totals = np.array([5.0, -cost]) if rule is None else np.array([0.0, 0.0])
            assert rule is None or rule.actions.tolist() == [0], "not the one that earns less"
            if astray:
                trials.add(totals, contest, rule is not None, paid=True, young=True)
            kinds.add(NETWORK, totals) if rule is None else kinds.stand_in()
            costs.append(-totals[1])
        assert len(costs) == 110 and not len(trials.lately)
        assert np.mean(costs[24:]) == pytest.approx(1.0, abs=0.1) if paid else set(costs) == {cost}


def test_a_network_that_misses_a_little_is_judged_with_the_rule_that_pays_for_it() -> None:
    turns = []
    for ease in (alone, lambda contest, totals: totals - [0.5, -0.3]):
        kinds = ModelKinds(2, True)
        for kind, totals in ((CELLS, (7.0, 0.0)), (FOREST, (1.0, 0.0)), (NETWORK, (9.0, -1.3))):
            for _ in range(120):
                kinds.add(kind, np.array(totals))
        turns.append(kinds.turn(contest_of(), ease))
    assert turns == [CELLS, NETWORK]


@pytest.fixture(scope="module")
def mind() -> SoftCells:
    """A mind whose network plays."""
    world = Wide(5.0, ends=True)
    out = SoftCells(world.spec, 3)
    play(out, world, 25)
    for _ in range(60):
        if out.network is not None and out.network.playing and out.champion is not None:
            return out
        play(out, world, 1)
    raise AssertionError("the network never played")


def test_a_restored_network_goes_on_bit_for_bit(mind: SoftCells) -> None:
    copies = []
    for _ in range(2):
        copy = SoftCells(mind.spec, 3)
        copy.restore({name: value.copy() for name, value in mind.arrays().items()})
        totals = play(copy, Wide(5.0, ends=True), 12, seed=5)
        copies.append((copy, totals))
    (first, one), (second, two) = copies
    np.testing.assert_array_equal(one, two)
    for name, value in first.arrays().items():
        np.testing.assert_array_equal(value, second.arrays()[name], err_msg=name)
    text = "\n".join(mind.describe())
    assert "network: two layers" in text and "moved by what a network's episodes brought" in text
    assert np.isnan(mind.estimate).all() and (mind.dual > 0.0).all()


def test_a_network_in_the_place_of_a_worse_plan_goes_on_learning(mind: SoftCells, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = SoftCells(mind.spec, 3)
    copy.restore({name: value.copy() for name, value in mind.arrays().items()})
    best = copy.champion
    assert copy.network is not None and copy.planner is not None and best is not None
    best.planner, best.tally, copy.record.returns = copy.planner, np.tile([9.0, 0.0], (12, 1)), np.array([-10.0, 10.0])
    copy.network.calm[:] += 0.01  # it learned since that copy of it was made
    monkeypatch.setattr(copy.kinds, "turn", lambda contest, ease: CELLS)
    copy._build()
    assert not isinstance(copy.planner.model, NetworkModel) and not copy.network.playing
    copy.tally = np.tile([-9.0, -50.0], (12, 1))
    copy._compare(copy._contest(copy.planner), False)
    assert copy.alarms == mind.alarms + 1 and copy.network.playing and isinstance(copy.planner.model, NetworkModel)
    np.testing.assert_array_equal(copy.planner.model.parts["weights"], copy.network.calm)
    steps, copy.next = copy.network.steps, copy.episodes + 9
    play(copy, Wide(5.0, ends=True), 3, seed=6)
    assert copy.network.steps > steps


def test_a_plan_of_a_network_is_a_policy_elsewhere(mind: SoftCells) -> None:
    plan = mind.plan()
    policy = SoftCells(mind.spec, 3).policy(plan)
    for x in np.linspace(0.0, 1.0, 5):
        seen = np.array([x, x * x, 1.0, 3.0 - x])
        for mask in (None, np.array([True, False, True])):
            np.testing.assert_array_equal(policy.chances(3, seen, mask), mind.chances(3, seen, mask))
    assert policy.table(10**9) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("network/weights", lambda a: a[:-1]),
        ("network/weights", lambda a: np.full_like(a, 1e9)),
        ("network/slow", lambda a: a.astype(np.float64)),
        ("network/mean", lambda a: a + np.float32(1.0)),
        ("network/square", lambda a: -np.ones_like(a)),
        ("network/half", lambda a: 0.0 * a),
        ("network/scale", lambda a: -a),
        ("network/middle", lambda a: np.append(a, 0.0)),
        ("network/counters", lambda a: a + 2),
        ("network/counters", lambda a: -a - 1),
        ("network/push", lambda a: a + 100.0),
        ("network/owed", lambda a: np.array(np.nan)),
        ("plan/model.weights", lambda a: a[1:]),
        ("plan/model.explore", lambda a: np.array(1.5)),
        ("plan/prices", lambda a: 0.0 * a),
        ("kinds/played", lambda a: a[:2]),
    ],
)  # fmt: skip
def test_a_forged_network_is_refused(mind: SoftCells, name: str, change: Any) -> None:
    good = mind.arrays()
    with pytest.raises(InputError, match=rf"state\['{name}'\]"):
        SoftCells(mind.spec, 3).restore(good | {name: change(good[name])})
    if name.startswith("network"):
        with pytest.raises(InputError):
            SoftCells(mind.spec, 3).restore({key: value for key, value in good.items() if key != name})


def test_a_model_of_a_network_says_what_it_is(mind: SoftCells) -> None:
    assert mind.planner is not None and isinstance(mind.planner.model, NetworkModel)
    out = mind.planner.model.explored(np.array([1.0, 0.0, 0.0]), np.array([True, False, True]), np.zeros(1))
    assert out.sum() == pytest.approx(1.0) and out[1] == 0.0 and out[2] == pytest.approx(mind.planner.model.explore / 2)
