"""nr.Agent without features: what a mind is shown of any environment, ranges, files, refusals."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.agent import setup
from noregret.errors import FileError
from noregret.gym.actions import Actions
from tests.agent.fake_mind import FakeMind
from tests.agent.toys import BOX, MASKS, Toy, agent, same


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    monkeypatch.setitem(setup.FINDERS, "soft-cells", FakeMind)


@pytest.mark.parametrize(
    ("space", "sizes"),
    [
        (BOX, (0, 2)),
        (spaces.Box(0, 255, (3, 2), dtype=np.uint8), (0, 6)),
        (spaces.Box(-1, 1, (), dtype=np.float32), (0, 1)),
        (spaces.Discrete(7, start=3), (7, 0)),
        (spaces.MultiDiscrete([3, 4]), (0, 2)),
        (spaces.MultiBinary(4), (0, 4)),
        (spaces.Dict(a=BOX, b=spaces.Discrete(3)), (0, 3)),
        (spaces.Tuple((BOX, spaces.Dict(c=spaces.MultiBinary(2)))), (0, 4)),
    ],
)
def test_observations_of_every_space_are_numbers_or_vectors(space, sizes):
    env = Toy(space, spaces.Discrete(2))
    a = agent(env).learn(4, progress_bar=False)
    assert (
        (a.learner.spec.n_states, a.learner.spec.dimension) == sizes
        and a.learner.spec.reward_range is None
        and a.learner.spec.value_ranges is None
    )
    for played in a.learner.told:
        assert played.observations.shape == ((6,) if sizes[0] else (6, sizes[1])) and np.isfinite(played.observations).all()
        assert played.observations.dtype.kind == ("i" if sizes[0] else "f")
        assert not sizes[0] or (0 <= played.observations.min() and played.observations.max() < sizes[0])
    assert env.action_space.contains(a.predict(space.sample(), 0))


@pytest.mark.parametrize(
    ("space", "given", "n"),
    [
        (spaces.Discrete(3, start=-1), None, 3),
        (spaces.MultiDiscrete([2, 3]), None, 6),
        (spaces.MultiDiscrete([2, 3], start=[4, 5]), None, 6),
        (spaces.MultiBinary(3), None, 8),
        (spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(3, start=1)), None, 6),
        (spaces.Tuple((spaces.MultiBinary(2), spaces.Dict(c=spaces.Discrete(2)))), None, 8),
        (spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0.05, 0.9, (1,), dtype=np.float32)), None, 10),
        (spaces.Tuple((spaces.Discrete(20), spaces.Box(-1, 1, (4,), dtype=np.float32))), None, 28),
        (spaces.Box(0, 3, (2,), dtype=np.int64), None, 16),
        (spaces.Dict(a=spaces.Box(0, 2, (1,), dtype=np.int64), b=spaces.Discrete(2)), None, 6),
        (spaces.Box(-1, 1, (), dtype=np.float32), None, 5),
        (spaces.Box(-1, 1, (0,), dtype=np.float32), None, 1),
        (spaces.Box(-2, 2, (1,), dtype=np.float32), 5, 5),
        (spaces.Box(np.array([-1, 0]), np.array([1, 4]), dtype=np.float64), 3, 9),
        (spaces.Box(-2, 2, (1,), dtype=np.float32), [-2, 0.5, 2], 3),
        (spaces.Box(-np.inf, np.inf, (2,), dtype=np.float32), [[0, 1], [1, 0]], 2),
    ],
)
def test_actions_of_every_space_are_numbered_and_come_out_as_the_environment_takes_them(space, given, n, tmp_path):
    env = Toy(BOX, space)
    a = agent(env, actions=given).learn(30, progress_bar=False)
    assert a.actions.n == a.learner.spec.n_actions == n
    assert len({str(action) for _, action in env.taken}) == n
    a.save(tmp_path / "a.npz")
    for other in (nr.Agent.load(tmp_path / "a.npz"), nr.Agent.load(tmp_path / "a.npz", env=Toy(BOX, space))):
        found = other.predict([0.1, 0.2], 1, deterministic=True)
        assert space.contains(found) and str(found) == str(a.predict([0.1, 0.2], 1, deterministic=True))
        assert other.actions.number(found, 1) == a.actions.number(found, 1)
    same(a.learn(3, progress_bar=False), nr.Agent.load(tmp_path / "a.npz", env=Toy(BOX, space)).learn(3, progress_bar=False))


def test_the_grid_of_a_box_of_actions_has_its_ends():
    a = agent(Toy(BOX, spaces.Box(-2, 2, (1,), dtype=np.float32)), actions=5)
    assert [a.actions.to_env(i).tolist() for i in range(5)] == [[-2.0], [-1.0], [0.0], [1.0], [2.0]]


# --- ranges -------------------------------------------------------------------------------------------------------------


def test_a_number_outside_its_range_widens_it_or_is_clipped_with_one_warning_or_refused():
    def made(outside):
        return agent(Toy(BOX, spaces.Discrete(3)), reward_range=(-0.5, 0.5), utility_range=(0, 1), outside=outside)

    for outside, text in ((None, "wider"), ("widen", "wider"), ("clip", "nearest")):
        a = made(outside)
        with pytest.warns(UserWarning, match=r"step \d: reward is .*; expected -0.5 to 0.5 \(reward_range\)") as caught:
            a.learn(20, progress_bar=False)
        assert len(caught) == 1 and text in str(caught[0].message) and a.episodes == 20
        largest = max(np.abs(played.rewards).max() for played in a.learner.told)
        assert (largest <= 0.5) == (outside == "clip")
        assert max(np.abs(a.rewards)) > 0.5  # the curve is of what was observed
    with pytest.raises(nr.NoRegretError, match="reward is"):
        made("error").learn(20, progress_bar=False)


def test_given_features_clip_by_default_and_cannot_widen():
    a = agent(Toy(spaces.Discrete(4), spaces.Discrete(3)), learner="primal-dual-lsvi", episodes=30)
    with pytest.warns(UserWarning, match="nearest") as caught:
        a.learn(30, progress_bar=False)
    assert len(caught) == 1 and a.episodes == 30
    with pytest.raises(nr.NoRegretError, match="outside is 'widen'; expected 'clip' or 'error' with given features"):
        agent(Toy(spaces.Discrete(4), spaces.Discrete(3)), learner="primal-dual-lsvi", outside="widen")


# --- what is chosen, and what is refused --------------------------------------------------------------------------------


def test_who_learns():
    numbered, box = Toy(spaces.Discrete(4), spaces.Discrete(2)), Toy(BOX, spaces.Discrete(2))
    job = nr.problems.load("job-scheduling")
    assert agent(box).learner.name == agent(numbered).learner.name == agent(numbered, learner="soft-cells").learner.name
    assert agent(numbered, features="auto").learner.name == "soft-cells"
    assert agent(numbered, beta=0.3).learner.name == agent(numbered, preset="paper").learner.name == "primal-dual-lsvi"
    assert agent(numbered, learner="lsvi-ucb").learner.name == "lsvi-ucb"
    assert nr.Agent(job).learner.name == "primal-dual-lsvi" and nr.Agent(job, features="auto").learner.name == "soft-cells"


def test_continuous_actions_that_nobody_listed_are_a_few():
    def rows(low, high):
        return Actions.of(spaces.Box(np.array(low, np.float32), np.array(high, np.float32))).table

    assert rows([-2], [2]).tolist() == [[-2], [-1], [0], [1], [2]]
    assert [len(rows([-1] * k, [1] * k)) for k in (1, 2, 3, 4, 17)] == [5, 25, 27, 9, 35]
    assert rows([-1, 0, 1, -4], [1, 1, 2, -3]).tolist() == [
        [0, 0, 1, -3], [-1, 0, 1, -3], [1, 0, 1, -3], [0, 1, 1, -3], [0, 0, 2, -3], [0, 0, 1, -4]
    ]  # fmt: skip
    taken = agent(Toy(BOX, spaces.Box(-1, 1, (4,), dtype=np.float32)))
    assert "actions: 9, the first [0., 0., 0., 0.], the last [0., 0., 0., 1.]" in taken.summary()


def test_an_environment_that_counts_its_steps_itself_has_a_horizon():
    counting = Toy(BOX, spaces.Discrete(2))
    counting.max_steps = 7
    assert nr.Agent(counting, limit=1).learner.spec.horizon == 7


def test_what_is_refused_at_construction_is_one_line():
    box, numbered = Toy(BOX, spaces.Discrete(2)), Toy(spaces.Discrete(4), spaces.Discrete(2))
    wide = spaces.Box(-1, 1, (6,), dtype=np.float32)
    cart = gymnasium.make("CartPole-v1")
    cases = [
        (lambda: nr.Agent(box, limit=1), "horizon is None and the environment has no time limit; expected horizon="),
        (lambda: nr.Agent(cart, limit=1, horizon=501), "horizon is 501; expected at most 500, the environment's time limit"),
        (lambda: agent(Toy(BOX, spaces.Box(0, np.inf, (1,)))), "actions is None and Box("),
        (lambda: agent(Toy(BOX, wide), actions=5), "makes 5^6 actions"),
        (lambda: agent(Toy(BOX, wide), actions=1), "actions is 1; expected a whole number, at least 2"),
        (lambda: agent(Toy(BOX, wide), actions=[[2.0] * 6]), "actions[0] is"),
        (lambda: agent(Toy(BOX, wide), actions=[[2.0] * 5]), "actions has shape (1, 5); expected (n, 6)"),
        (lambda: agent(Toy(BOX, spaces.Box(-np.inf, np.inf, (1,))), actions=3), "has no ends; expected a list"),
        (lambda: agent(box, actions=3), "actions is 3; expected None, as the action space is Discrete(2)"),
        (lambda: agent(Toy(BOX, spaces.MultiDiscrete([20, 20, 20]))), "has 8,000 actions; expected at most 1,000"),
        (lambda: agent(Toy(BOX, spaces.Text(3))), "expected Discrete, MultiDiscrete, MultiBinary, Box, or a Dict or"),
        (lambda: agent(Toy(BOX, spaces.Discrete(5000))), "Discrete(5000) has 5,000 actions; expected at most 1,000"),
        (lambda: agent(Toy(BOX, spaces.Dict({str(i): spaces.Discrete(2) for i in range(10)}))), "has 1,024 actions; expected"),
        (lambda: agent(Toy(BOX, spaces.Dict(a=spaces.Text(2)))), "action['a'] is a Text; expected Discrete"),
        (lambda: agent(Toy(BOX, spaces.Tuple([spaces.Box(0, np.inf, (1,))]))), "action[0] is Box(0.0, inf, (1,), float32) and"),
        (lambda: agent(box, horizon=10**7), "horizon is 10000000; expected a whole number from 1 to 100,000"),
        (lambda: agent(box, limt=3), "unknown argument of Agent 'limt'; did you mean 'limit'?"),
        (lambda: agent(box, costs=abs), "unknown argument of Agent 'costs'; did you mean 'cost'?"),
        (lambda: agent(box, penalty=abs), "unknown argument of Agent 'penalty' (known: actions"),
        (lambda: agent(box, learner="primal"), "unknown learner 'primal'; did you mean"),
        (lambda: agent(Toy(spaces.Sequence(BOX), spaces.Discrete(2))), "observation is a Sequence; expected Box"),
        (lambda: agent(box, features="fourier"), "features is 'fourier'; expected 'auto', a feature map"),
        (lambda: agent(box, "primal-dual-lsvi", features="auto"), "learner 'primal-dual-lsvi' needs features"),
        (lambda: agent(box, "primal-dual-lsvi"), "features is None"),
        (lambda: agent(box, "soft-cells", features=nr.features.OneHot(3, 2)), "finds its own features; expected features=None"),
        (lambda: agent(box, preset="safe"), "preset is 'safe'; expected None with features='auto': it has one setting"),
        (lambda: agent(box, slater_gap=1.0), "slater_gap is 1.0; expected None with features='auto'"),
        (lambda: agent(box, xi=3.0), "xi is 3.0; expected None with features='auto': its dual has no cap"),
        (lambda: agent(box, head=3), "unknown parameter of soft-cells 'head'; did you mean 'heat'?"),
        (lambda: agent(numbered, preset="safe"), "preset is 'safe'; expected theory, paper or practical"),
        (lambda: agent(numbered, xi_rule="estimate"), "unknown xi_rule 'estimate'"),
        (lambda: agent(box, outside="ignore"), "unknown outside 'ignore'"),
        (lambda: nr.Agent("NoSuchWorld-v0", limit=1), "env is 'NoSuchWorld-v0'; Gymnasium cannot make it"),
        (lambda: agent(box).adequacy(), "adequacy is for features that were given"),
    ]  # fmt: skip
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("space", "wrong", "text"),
    [
        (BOX, [0.0, np.nan], "observation[1] is nan; expected a finite number"),
        (BOX, [np.inf, 0.0], "observation[0] is inf; expected a finite number"),
        (BOX, [0.0], "observation has 1 numbers; expected 2"),
        (BOX, "x", "expected 2 numbers"),
        (spaces.Discrete(4, start=1), 0, "observation is 0; expected 1..4"),
        (spaces.Discrete(4), 1.5, "observation is 1.5; expected 0..3"),
    ],
)
def test_an_observation_that_cannot_be_names_the_step(space, wrong, text):
    env = Toy(space, spaces.Discrete(2))
    a = agent(env).learn(2, progress_bar=False)
    before = a.learner.arrays()["sums"].copy()
    env.step = lambda action: (wrong, 0.0, False, False, {"cost": 0.0})
    with pytest.raises(nr.NoRegretError) as caught:
        a.learn(1, progress_bar=False)
    assert f"step 1: {text}" in str(caught.value) or ("x" in str(wrong) and text in str(caught.value))
    assert "\n" not in str(caught.value) and a.episodes == 2 and (a.learner.arrays()["sums"] == before).all()
    for number, word in ((np.nan, "reward is nan"), (np.inf, "reward is inf")):
        env.step = lambda action, number=number: (space.sample(), number, False, False, {"cost": 0.0})
        with pytest.raises(nr.NoRegretError, match=f"step 0: {word}; expected a finite number"):
            a.learn(1, progress_bar=False)


def test_an_episode_that_the_environment_cuts_early_is_learned_from_as_it_is():
    a = agent(Toy(BOX, spaces.Discrete(2), length=3)).learn(4, progress_bar=False)
    assert a.lengths == [3] * 4 and not any(played.terminated for played in a.learner.told)


def test_a_horizon_that_is_given_cuts_longer_episodes():
    assert agent(Toy(BOX, spaces.Discrete(2), length=9)).learn(2, progress_bar=False).lengths == [5, 5]
    with pytest.raises(nr.NoRegretError, match="goes on after the horizon 5"):
        agent(Toy(BOX, spaces.Discrete(2), length=9), overrun="error").learn(2, progress_bar=False)


# --- files ---------------------------------------------------------------------------------------------------------------


def test_learning_with_a_file_between_is_learning_in_one(tmp_path):
    env = spaces.Dict(a=BOX, b=spaces.Discrete(3))
    whole = agent(Toy(env, spaces.Discrete(3)), heat=2.0).learn(20, progress_bar=False)
    parts = agent(Toy(env, spaces.Discrete(3)), heat=2.0).learn(8, progress_bar=False)
    parts.evaluate(3)
    parts.save(tmp_path / "a.npz")
    again = nr.Agent.load(tmp_path / "a.npz", env=Toy(env, spaces.Discrete(3))).learn(12, progress_bar=False)
    same(whole, parts.learn(12, progress_bar=False))
    same(whole, again)
    alone = nr.Agent.load(tmp_path / "a.npz")
    assert alone.learner.heat == 2.0 and alone.episodes == 8 and "heat: 2.0" in alone.summary()
    assert alone.predict(np.zeros(3), 0) in (0, 1, 2)
    with pytest.raises(nr.NoRegretError, match=r"expected 3 numbers, or env= for Agent.load"):
        alone.predict({"a": 1}, 0)
    for other, text in (
        (Toy(BOX, spaces.Discrete(3)), "env shows 2 numbers; expected 3"),
        (Toy(env, spaces.Discrete(4)), "env has 4 actions; expected 3"),
        (Toy(spaces.Discrete(5), spaces.Discrete(3)), "env shows 5 states; expected 3"),
    ):
        with pytest.raises(nr.NoRegretError, match=text):
            nr.Agent.load(tmp_path / "a.npz", env=other)
    with pytest.raises(nr.NoRegretError, match="found its features itself"):
        nr.Agent.load(tmp_path / "a.npz", features=nr.features.OneHot(3, 3))


def test_a_disk_that_fails_does_not_end_the_learning(tmp_path):
    (tmp_path / "there").mkdir()
    a = agent(Toy(BOX, spaces.Discrete(3))).autosave(tmp_path / "there" / "a.npz", every=1)
    (tmp_path / "there").rmdir()
    with pytest.warns(UserWarning, match="not saved by itself"), pytest.raises(FileError, match=r"a\.npz"):
        a.learn(3, progress_bar=False)  # all of it, and the last word is that nothing was saved
    assert a.episodes == 3
    (tmp_path / "there").mkdir()
    a.learn(1, progress_bar=False)
    assert (tmp_path / "there" / "a.npz").exists()


def test_autosave_is_a_file_to_go_on_from(tmp_path):
    path = tmp_path / "a.npz"
    a = agent(Toy(BOX, spaces.Discrete(3))).autosave(path, every=4)
    seen = []
    a.learn(10, progress_bar=False, callback=lambda agent, record: seen.append(path.exists() and np.load(path)["rewards"].size))
    assert seen == [False] * 3 + [4] * 4 + [8] * 3 and np.load(path)["rewards"].size == 10  # and at the end
    same(a.learn(5, progress_bar=False), nr.Agent.load(path, env=Toy(BOX, spaces.Discrete(3))))

    def broken(agent, record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a.learn(5, progress_bar=False, callback=broken)
    assert np.load(path)["rewards"].size == a.episodes == 16
    a.autosave(None).learn(2, progress_bar=False)
    assert np.load(path)["rewards"].size == 16
    timed = agent(Toy(BOX, spaces.Discrete(3))).autosave(tmp_path / "b.npz", seconds=0.0)
    timed.learn(1, progress_bar=False)
    assert (tmp_path / "b.npz").exists()
    for options, text in (({"every": 0}, "every is 0"), ({"seconds": -1}, "seconds is -1")):
        with pytest.raises(nr.NoRegretError, match=text):
            a.autosave(path, **options)
    with pytest.raises(nr.NoRegretError, match="no such folder"):
        a.autosave(tmp_path / "nowhere" / "a.npz")


def test_nothing_is_warned_of_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent(Toy(BOX, spaces.Discrete(3), MASKS)).learn(3, progress_bar=False)


class Boards(Toy):
    """A world like those of pyRDDLGym: it counts its steps itself, and says how many parts of an action may leave 0."""

    horizon, max_allowed_actions = 5, 1

    def step(self, action):
        assert sum(action.values()) <= 1, action
        return super().step(action)


def test_a_world_that_allows_few_parts_of_an_action_at_once_is_asked_for_no_more():
    env = Boards(BOX, spaces.Dict({f"board {i}": spaces.Discrete(2) for i in range(12)}))
    a = nr.Agent(env, limit=3).learn(20, progress_bar=False)
    assert a.actions.n == 13 and a.learner.spec.horizon == 5 and a.actions.to_env(0) == dict.fromkeys(env.action_space, 0)
    env.max_allowed_actions = 2
    assert nr.Agent(env, limit=3).actions.n == 1 + 12 + 66


def test_several_environments_side_by_side_take_actions_that_are_dicts():
    def one():
        return gymnasium.wrappers.TimeLimit(Toy(BOX, spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(-1, 1, (1,)))), 5)

    both = gymnasium.vector.SyncVectorEnv([one, one])
    assert nr.Agent(both, limit=3).learn(4, progress_bar=False).episodes == 4


@pytest.mark.filterwarnings("error")
def test_an_action_of_a_box_without_sides_is_an_array_as_its_space_has_it():
    taken = agent(Toy(BOX, spaces.Box(-1, 1, (), dtype=np.float32))).learn(2, progress_bar=False).predict([0.1, 0.2], 0)
    assert isinstance(taken, np.ndarray) and taken.shape == () and taken.dtype == np.float32


def test_a_cost_or_a_limit_that_is_none_is_refused_with_what_was_expected():
    toy = Toy(BOX, spaces.Discrete(2))
    cases = [
        (lambda: agent(toy, cost=lambda x, action: 1.0), "a function of (x, action); expected one of five: (observation,"),
        (lambda: agent(toy, cost="action != 1"), "a text as Expression('action != 1') of noregret.gym.expressions"),
        (lambda: agent(toy, cost=1.0), "cost or utility is 1.0; expected a function"),
        (lambda: agent(toy, cost=lambda *step: None).learn(1), "step 0: cost is None; expected numbers"),
        (lambda: agent(toy, cost=lambda *step: "3").learn(1), "step 0: cost is '3'; expected numbers"),
        (lambda: agent(toy, limit="3"), "limit is not an array of numbers: '3' is text"),
        (lambda: agent(toy, limit=True), "limit is True; expected a finite number"),
        (lambda: agent(toy, reward_weights=[1, 2]).learn(1), "step 0: reward has 1 entries; expected 2, as reward_weights"),
        (lambda: agent(toy, cost=len, utility_weights=[[1, 2]]), "cost or utility is a function of"),
        (lambda: agent(toy, cost="cost", utility_weights=[[1, 2]]), "utility_weights is array([[1., 2.]]); expected None"),
    ]  # fmt: skip
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value) and "\n" not in str(caught.value)
