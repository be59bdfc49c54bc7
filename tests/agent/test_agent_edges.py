"""nr.Agent at its edges: interrupts, schedules without an end, spaces that do not count from 0, costs against utilities."""

from __future__ import annotations

import signal
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
import noregret.agent.agent
import noregret.agent.minds.regression
from noregret._system.interrupts import held
from noregret.agent.minds.soft_cells import mind as cells
from noregret.features import Lifted, Table, one_hot
from noregret.learners.lsvi import continuous


class Line(gymnasium.Env):
    """Four places in a row; action 1 goes right, and one time in five the walk begins anew. ``shown`` is 1 at the last one."""

    def __init__(self, action=0, state=0, shown="cost", n_actions=2, n=4):
        self.action_space, self.observation_space = spaces.Discrete(n_actions, start=action), spaces.Discrete(n, start=state)
        self.first_action, self.first_state, self.shown, self.n = action, state, shown, n

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.h = int(self.np_random.integers(self.n)), 0
        return self.x + self.first_state, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.x = min(self.n - 1, self.x + action - self.first_action) if self.np_random.random() < 0.8 else 0
        self.h += 1
        return self.x + self.first_state, self.x / self.n, False, self.h == 5, {self.shown: float(self.x == self.n - 1)}


def agent(env=None, **options):
    return nr.Agent(env or Line(), **({"limit": 2.0, "horizon": 5, "learner": "primal-dual-lsvi"} | options))


def learned(n, *args, **options):
    return agent(*args, **options).learn(n, progress_bar=False)


def same(one, two):
    a, b = one.learner.algorithm.state(), two.learner.algorithm.state()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    assert one.rewards == two.rewards and one.lengths == two.lengths and len(one.values) == len(two.values)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


WATCHED = {module.__file__ for module in (noregret.agent.agent, noregret.agent.minds.regression, continuous, cells)}


def interrupt_at(line, work):
    """Do ``work`` with a Ctrl-C when the given line of the agent's and the learner's own code comes; whether it came."""
    before, left = sys.gettrace(), [line]

    def trace(frame, event, _):
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                sys.settrace(before)
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("replan", ["always", "doubling"])
def test_ctrl_c_at_any_line_loses_and_doubles_nothing(replan):
    whole, line, counted = learned(6, episodes=6, replan=replan), 0, set()
    while True:
        line += 1
        broken = learned(3, episodes=6, replan=replan)
        came = interrupt_at(line, lambda: broken._round(broken.world, 1))  # noqa: B023
        counted.add(broken.episodes)
        same(whole, broken.learn(6 - broken.episodes, progress_bar=False))
        if not came:
            break
    assert line > 50 and counted == {3, 4}


def test_ctrl_c_at_any_line_of_a_mind_that_finds_features_loses_and_doubles_nothing():
    def made():
        return agent(learner=None).learn(3, progress_bar=False)

    whole, line, counted = made().learn(3, progress_bar=False), 0, set()
    while True:
        line += 3
        broken = made()
        came = interrupt_at(line, lambda: broken._round(broken.world, 1))  # noqa: B023
        counted.add(broken.episodes)
        broken.learn(6 - broken.episodes, progress_bar=False)
        assert broken.rewards == whole.rewards
        for key, value in whole.learner.arrays().items():
            np.testing.assert_array_equal(value, broken.learner.arrays()[key], err_msg=key)
        if not came:
            break
    assert line > 50 and counted == {3, 4}


def test_a_held_ctrl_c_comes_at_the_end_of_the_outermost_block():
    reached = []
    with pytest.raises(KeyboardInterrupt):
        with held():
            with held():
                signal.raise_signal(signal.SIGINT)
                reached.append("inner")
            reached.append("outer")
        reached.append("after")
    assert reached == ["inner", "outer"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


# --- a schedule without an end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["paper", "practical"])
def test_looking_saving_and_loading_past_a_power_of_two_change_nothing(preset, tmp_path):
    options = {"preset": preset, "slater_gap": 0.5}
    whole = learned(1030, **options)
    parts = learned(1024, **options)
    parts.evaluate(2)  # the plan that this makes is that of episode 1024, and stands
    parts.learn(3, progress_bar=False).save(tmp_path / "a.npz")
    loaded = nr.Agent.load(tmp_path / "a.npz", env=Line())
    np.testing.assert_array_equal(loaded.probabilities(1, 0), parts.probabilities(1, 0))
    same(whole, parts.learn(3, progress_bar=False))
    same(whole, loaded.learn(3, progress_bar=False))


# --- spaces that do not count from 0 ----------------------------------------------------------------------------------


def test_spaces_that_start_elsewhere_give_the_same_agent_in_the_environments_own_numbers(tmp_path):
    told = []

    def cost(x, action, y, reward, info):
        told.append((int(x), action, int(y)))
        return info["cost"]

    plain, shifted = learned(30, beta=0.1), learned(30, Line(action=7, state=3), beta=0.1, utility=cost)
    same(plain, shifted)
    assert {x for x, _, _ in told} == {y for _, _, y in told} == {3, 4, 5, 6} and {a for _, a, _ in told} == {7, 8}
    shifted.save(tmp_path / "a.npz")
    for other in (shifted, nr.Agent.load(tmp_path / "a.npz")):  # also where no environment says where counting begins
        for x in range(4):
            np.testing.assert_array_equal(other.probabilities(x + 3, 2), plain.probabilities(x, 2))
            assert other.predict(x + 3, 2, deterministic=True) == plain.predict(x, 2, deterministic=True) + 7
        assert {other.predict(np.int64(3), 0) for _ in range(50)} <= {7, 8}
        with pytest.raises(nr.NoRegretError, match="outside the table"):
            other.predict(2, 0)


def test_transformers_are_fitted_on_states_counted_as_the_learner_counts_them():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    a = learned(5, Line(state=3), features=preprocessing.OneHotEncoder())
    assert a.learner.spec.dimension == 8 and a.probabilities(6, 0).shape == (2,)


# --- costs and utilities ----------------------------------------------------------------------------------------------


def test_a_cost_is_not_taken_for_a_utility_nor_the_reverse(tmp_path):
    limit, threshold = {"limit": 2.0}, {"limit": None, "threshold": 2.0}
    for shown, options, text in (
        ("cost", threshold, "step 0: the environment shows a cost, and threshold= is for the opposite; expected limit="),
        ("utility", limit, "step 0: the environment shows a utility, and limit= is for the opposite; expected threshold="),
    ):
        a = agent(Line(shown=shown), **options)
        with pytest.raises(nr.NoRegretError) as caught:
            a.learn(1, progress_bar=False)
        assert text in str(caught.value) and a.episodes == 0
        meant = learned(3, Line(shown=shown), utility=shown, **options)  # said in so many words, it is taken
        meant.save(tmp_path / "a.npz")
        with pytest.raises(nr.NoRegretError) as caught:
            nr.Agent.load(tmp_path / "a.npz", env=Line(shown=shown)).learn(1, progress_bar=False)
        assert text in str(caught.value)
        nr.Agent.load(tmp_path / "a.npz", env=Line(shown=shown), utility=shown).learn(1, progress_bar=False)


# --- files ------------------------------------------------------------------------------------------------------------


def test_numbers_of_numpy_can_be_saved_and_what_cannot_is_refused_at_once(tmp_path):
    a = learned(
        4, episodes=np.int64(6), beta=np.float32(0.3), slater_gap=np.float64(0.5), seed=np.int32(3), merge_tol=np.array(0.0)
    )
    a.save(tmp_path / "a.npz")
    b = nr.Agent.load(tmp_path / "a.npz", env=Line())
    same(a.learn(2, progress_bar=False), b.learn(2, progress_bar=False))
    with pytest.raises(nr.NoRegretError, match="is a set"):
        agent(beta={0.3})


def test_flipped_bits_are_noticed_or_do_not_matter(tmp_path):
    a = learned(4, episodes=6)
    a.save(tmp_path / "a.npz")
    whole, refused = (tmp_path / "a.npz").read_bytes(), 0
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 300, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "b.npz").write_bytes(damaged)
        try:
            b = nr.Agent.load(tmp_path / "b.npz")
        except nr.NoRegretError as error:
            refused += 1
            assert "\n" not in str(error)
        else:
            same(a, b)
    assert refused > 100


def test_an_environment_or_an_argument_that_cannot_be_meant_is_refused_by_load(tmp_path):
    a = learned(2, Line(action=1))
    a.save(tmp_path / "a.npz")
    for options, text in (
        ({"env": Line(action=1, n_actions=3)}, "env has 3 actions; expected 2"),
        ({"env": Line(action=1, n=5)}, "env has 5 states; expected 4"),
        ({"env": Line()}, "env counts states and actions from [0, 0]; expected [0, 1]"),
        ({"env": Line(action=1), "cost": "cost", "utility": "cost"}, "cost and utility are both given"),
    ):
        with pytest.raises(nr.NoRegretError) as caught:
            nr.Agent.load(tmp_path / "a.npz", **options)
        assert text in str(caught.value)


# --- what is promised before work starts ------------------------------------------------------------------------------


def test_no_more_is_learned_than_memory_was_bounded_for():
    a = learned(8, episodes=10)
    before = a.learner.algorithm.state()
    with pytest.raises(nr.NoRegretError, match="episodes is 3; expected at most 2, what is left of the 10"):
        a.learn(3)
    assert a.episodes == 8 and all((before[key] == value).all() for key, value in a.learner.algorithm.state().items())
    a.learn(2, progress_bar=False)
    with pytest.raises(nr.NoRegretError, match="episodes is 1; expected at most 0"):
        a.learn(1)
    assert a.summary().count("GB") == 1 and "until" not in a.summary()


def test_a_bound_on_states_bounds_memory_for_ever_and_else_it_is_said_until_when(tmp_path):
    forever = learned(3)
    assert " GB\n" in forever.summary() and "of at most 3000 for all steps" in forever.summary()
    assert forever.learner.memory_bound() == agent(episodes=10**6).learner.memory_bound()
    a = learned(1023, share="nothing")
    bound = agent(episodes=1024, share="nothing").learner.memory_bound()
    assert "GB until episode 1024" in a.summary() and a.learner.memory_bound() == bound
    a.learn(2, progress_bar=False).save(tmp_path / "a.npz")
    for other in (a, nr.Agent.load(tmp_path / "a.npz")):
        assert "GB until episode 2048" in other.summary()
        assert other.learner.memory_bound() == agent(episodes=2048, share="nothing").learner.memory_bound()


def test_limits_out_of_reach_are_refused_and_those_at_the_edge_are_not():
    for options, text in (
        ({"limit": -1.0}, "limit is -1; expected at least 0, as 5 steps in utility_range (0, 1) allow"),
        ({"limit": None, "threshold": 99}, "threshold is 99; expected at most 5, as 5 steps in utility_range (0, 1) allow"),
        ({"limit": [0.5, -11.0], "utility_range": [(0, 1), (-2, 3)]}, "limit[1] is -11; expected at least -10"),
    ):
        with pytest.raises(nr.NoRegretError) as caught:
            agent(**options)
        assert text in str(caught.value)
    agent(limit=0.0), agent(limit=99.0), agent(limit=None, threshold=5.0)


def test_one_episode_has_no_interval():
    found = learned(3).evaluate(1)
    low, mean, high = found.reward
    assert np.isnan([low, high]).all() and mean == found.rewards[0] and np.isnan([found.values[0][0], found.values[0][2]]).all()
    assert "[nan, nan] over 1 episode" in str(found)


def test_multi_binary_observations_are_not_states_0_to_n():
    env = Line()
    env.observation_space = spaces.MultiBinary(4)
    with pytest.raises(nr.NoRegretError, match="features is None; observations of MultiBinary"):
        agent(env)


# --- are features good enough? ----------------------------------------------------------------------------------------


class Ring(Line):
    """Six places in a ring, and nothing random but the start."""

    def __init__(self):
        super().__init__(n=6)

    def step(self, action):
        self.x, self.h = (self.x + (1 if action else 5)) % 6, self.h + 1
        return self.x, self.x / 5, False, self.h == 5, {"cost": float(self.x == 5)}


def test_exact_features_are_not_called_poor_where_nothing_is_random():
    exact = Lifted(lambda x: np.eye(6)[x.ravel()], n_actions=2, width=6, bound=1.0)  # as one-hot, but nobody knows
    for features in (None, exact, Table(one_hot(6, 2))):
        for n, options in ((300, {}), (60, {"preset": "paper", "slater_gap": 0.5, "beta": 0.2, "lam": 1.0})):  # a large ridge
            report = learned(n, Ring(), features=features, episodes=n, **options).adequacy(100)
            assert "adequate" in report.verdict and ("exact" in report.verdict) == (features is not exact)
    poor = Lifted(lambda x: np.ones((len(x), 1)), n_actions=2, width=1, bound=1.0)
    assert "too poor" in learned(300, Ring(), features=poor, episodes=300).adequacy(100).verdict


def test_little_data_and_values_that_hardly_vary_are_not_called_poor_features():
    lake = gymnasium.wrappers.TimeLimit(gymnasium.make("FrozenLake-v1", is_slippery=False).unwrapped, 20)
    options = {
        "limit": 0.3,
        "horizon": 20,
        "utility": lambda x, a, y, r, info: float(y in (5, 7, 11, 12)),
        "episodes": 200,
        "share": "all",
    }
    assert "exact" in learned(200, lake, **options).adequacy(100).verdict
    exact = Lifted(lambda x: np.eye(16)[x.ravel()], n_actions=4, width=16, bound=1.0)
    report = learned(200, lake, features=exact, **options).adequacy(100)
    assert "poor" not in report.verdict and report.large_bonus < 0.3 and 0.0 < report.ended < 1.0
    assert "Too little data" in learned(2, lake, features=exact, **options).adequacy(100).verdict
    flat = Lifted(lambda x: np.ones((len(x), 1)), n_actions=4, width=1, bound=1.0)  # never finds the reward
    report = learned(200, lake, features=flat, **(options | {"share": "nothing"})).adequacy(100)
    assert "Nothing to judge by" in report.verdict and report.spread.max() < 0.01


class OneBuffer(gymnasium.Env):
    """Writes every observation into the same array, as many simulators do; the best action is the one of the step."""

    observation_space, action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float64), gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.x = 0, np.zeros(1)
        return self.x, {}

    def step(self, action):
        right = float(action == self.t % 3)
        self.t += 1
        self.x[0] = self.t / 10
        return self.x, right, False, self.t == 10, {}


def test_an_environment_may_reuse_the_array_of_its_observations():
    seen = []

    def cost(x, action, y, reward, info):
        seen.append((float(x[0]), float(y[0])))
        return 0.0

    a = nr.Agent(OneBuffer(), limit=1.0, horizon=10, utility=cost).learn(60, progress_bar=False)
    assert all(x < y for x, y in seen)
    assert np.mean(a.rewards[-10:]) > 8.0


def test_to_ask_for_auto_is_to_leave_it_out():
    given = {
        "features": Lifted(lambda x: np.asarray(x), n_actions=3, width=1, bound=1.0),
        "limit": 1.0,
        "utility": lambda *_: 0.0,
    }
    made = [
        nr.Agent(OneBuffer(), horizon=10, **given, **share).learner.algorithm.constants for share in ({}, {"share": "auto"})
    ]
    assert made[0] == made[1] and made[0]["share"] == "all"
