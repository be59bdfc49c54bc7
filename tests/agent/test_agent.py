"""nr.Agent: learning in pieces, files, callbacks, evaluation, adequacy, and what goes wrong."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.agent import Callback
from noregret.features import Fourier, Lifted, OneHot

ONE = nr.problems.load("linear-continuous")


class Drift(gymnasium.Env):
    """A point on [0,1] pushed left or right with noise; reward is its place, cost 1 above 0.8; ``fault`` breaks a step."""

    observation_space, action_space = spaces.Box(0, 1, (1,), dtype=np.float64), spaces.Discrete(2)

    def __init__(self, length=6, fault=None, ends=False):
        self.length, self.fault, self.ends = length, fault, ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.h = 0.5, 0
        return np.array([self.x]), {}

    def step(self, action):
        self.x = float(np.clip(self.x + 0.3 * (action - 0.5) + 0.1 * self.np_random.normal(), 0, 1))
        self.h += 1
        reward, info = self.x, {"cost": float(self.x > 0.8)}
        bad = self.fault if self.h == 3 else None
        if bad == "reward":
            reward = 1.7
        if bad == "nan":
            self.x = float("nan")
        if bad == "utility":
            info = {}
        return np.array([self.x]), reward, self.ends and self.x > 0.95, self.h == self.length, info


FEATURES = Fourier([0.0], [1.0], n_actions=2, order=4)


def agent(env=None, **options):
    given = {
        "features": FEATURES,
        "limit": 1.5,
        "horizon": 6,
        "episodes": 60,
        "beta": 0.1,
        "preset": "paper",
        "share": "all",
        "seed": 5,
    }
    return nr.Agent(env or Drift(), **(given | options))


def same(one, two):
    a, b = one.learner.algorithm.state(), two.learner.algorithm.state()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    assert one.rewards == two.rewards


@pytest.mark.parametrize("options", [{}, {"replan": "doubling"}, {"episodes": None}], ids=["total", "lazy", "anytime"])
def test_learning_in_two_calls_or_with_a_file_between_is_learning_in_one(options, tmp_path):
    whole = agent(**options).learn(60, progress_bar=False)
    assert whole.episodes == 60
    parts = agent(**options).learn(25, progress_bar=False)
    parts.evaluate(3), parts.predict([0.5], 0)  # asking changes nothing
    parts.save(tmp_path / "a.npz")
    parts.learn(35, progress_bar=False)
    again = nr.Agent.load(tmp_path / "a.npz", features=FEATURES, env=Drift()).learn(35, progress_bar=False)
    same(whole, parts)
    same(whole, again)
    other = agent(seed=6, **options).learn(60, progress_bar=False)
    assert other.rewards != whole.rewards


def test_the_schedule_without_an_end_changes_its_constants_with_the_episodes():
    a = agent(episodes=None, beta=None, preset="practical")
    a.learn(3, progress_bar=False)
    early = a.learner.algorithm.constants["zeta"], a.learner.algorithm.constants["xi"]
    a.learner.learned = 5000
    a.learn(1, progress_bar=False)
    late = a.learner.algorithm.constants["zeta"], a.learner.algorithm.constants["xi"]
    assert late != early


def test_it_learns_what_the_limit_allows():
    a = agent(episodes=600, beta=0.1).learn(600, progress_bar=False)
    free = agent(episodes=600, limit=6.0, beta=0.1).learn(600, progress_bar=False)
    held, loose = a.evaluate(200), free.evaluate(200)
    assert held.values[0][1] < loose.values[0][1] - 0.5 and held.reward[1] < loose.reward[1]
    assert held.values[0][1] < 2.0 and a.learner.dual[0] > 0
    assert held.reward[0] < held.reward[1] < held.reward[2] and held.rewards.shape == (200,)
    assert "over 200 episodes" in str(held) and "cost" in str(held)
    assert a.evaluate(50, deterministic=True).episodes == 50


def test_a_problem_brings_its_own_threshold_horizon_and_features():
    a = nr.Agent(ONE, episodes=10, preset="paper", beta=0.1).learn(10, progress_bar=False)
    assert a.objectives.horizon == ONE.horizon and a.objectives.thresholds[0] == ONE.b[0] and a.features is ONE.features
    b = nr.Agent("noregret/Queue-v0", episodes=5, preset="paper", beta=0.1).learn(5, progress_bar=False)
    assert b.learner.spec.n_constraints == 2 and isinstance(b.features, OneHot)


def test_predict_follows_the_policy():
    a = agent().learn(30, progress_bar=False)
    pi = a.probabilities([0.4], 2)
    assert pi.shape == (2,) and pi.sum() == pytest.approx(1.0)
    assert a.predict([0.4], 2, deterministic=True) == pi.argmax()
    draws = np.mean([a.predict(np.array([0.4]), 2) for _ in range(300)])
    assert abs(draws - pi[1]) < 4 * np.sqrt(0.25 / 300)
    with pytest.raises(nr.NoRegretError, match="step is 6"):
        a.predict([0.4], 6)


def test_callbacks_start_episode_end_and_stop():
    seen = []

    class Watch(Callback):
        def on_start(self, agent):
            seen.append("start")

        def on_episode(self, agent, record):
            seen.append(record.episode)
            assert agent.episodes == record.episode + 1 and record.length == 6
            return record.episode < 4

        def on_end(self, agent):
            seen.append("end")

    a = agent().learn(50, callback=Watch(), progress_bar=False)
    assert seen == ["start", 0, 1, 2, 3, 4, "end"] and a.episodes == 5
    assert a.learn(50, callback=lambda agent, record: False, progress_bar=False).episodes == 6
    with pytest.raises(nr.NoRegretError, match="callback is 3"):
        a.learn(1, callback=3)


def test_early_ends_count_as_an_absorbing_state():
    a = agent(Drift(ends=True), episodes=80).learn(80, progress_bar=False)
    assert min(a.lengths) < 6
    strict = agent(Drift(ends=True), reward_range=(0.0001, 1.0), episodes=80, outside="error")
    with pytest.raises(nr.NoRegretError, match="ended early, and 0 lies outside reward_range"):
        strict.learn(80, progress_bar=False)
    with pytest.warns(UserWarning, match="ended early, and 0 lies outside"):
        agent(Drift(ends=True), reward_range=(0.0001, 1.0), episodes=80).learn(80, progress_bar=False)


@pytest.mark.parametrize(
    ("env", "options", "text"),
    [
        (Drift(fault="reward"), {"outside": "error"}, "step 2: reward is 1.7; expected 0 to 1"),
        (Drift(fault="nan"), {"utility": lambda *_: 0.5, "reward_range": (0, 1)}, "is nan"),
        (Drift(fault="utility"), {"utility": "cost"}, "step 2: info has no 'cost'"),
        (Drift(length=9), {}, "step 5: the episode goes on after the horizon 6"),
        (Drift(length=4), {}, "cut the episode after 4 steps; expected the horizon 6"),
        (Drift(), {"utility": "utility"}, "step 0: info has no 'utility'"),
        (Drift(), {"features": Lifted(lambda x: 2 * x, n_actions=2, width=1, bound=1.0)}, "step 1: features of state [0."),
    ],
)
def test_a_bad_episode_names_step_and_value_and_is_not_counted(env, options, text):
    a = agent(env, **options)
    fault, length = env.fault, env.length
    if "features" not in options and options.get("utility") != "utility":
        env.fault, env.length = None, 6
        a.learn(4, progress_bar=False)
        env.fault, env.length = fault, length
    before, n = a.learner.algorithm.state(), a.episodes
    with pytest.raises(nr.NoRegretError) as caught:
        a.learn(3, progress_bar=False)
    assert text in str(caught.value)
    after = a.learner.algorithm.state()
    for key in ("gram.Lambda", "gram.total", "gram.counts", "gram.visits", "Y"):
        np.testing.assert_array_equal(before[key], after[key])
    assert a.episodes == n and a.learner.algorithm._state.counters[0] == n


def test_a_state_unseen_by_a_fitted_transformer_is_named():
    pytest.importorskip("sklearn")
    from sklearn.preprocessing import OneHotEncoder

    env = gymnasium.wrappers.TimeLimit(gymnasium.make("FrozenLake-v1", is_slippery=False).unwrapped, 8)
    encoder = OneHotEncoder().fit([[0], [1], [4]])
    a = nr.Agent(env, features=encoder, limit=1.0, utility=lambda *_: 0.0, episodes=50)
    with pytest.raises(nr.NoRegretError, match=r"step \d: OneHotEncoder refuses state"):
        a.learn(50, progress_bar=False)


def test_overrun_can_be_cut():
    assert agent(Drift(length=9), overrun="cut").learn(3, progress_bar=False).lengths == [6, 6, 6]


def test_files_are_plain_versioned_and_checked(tmp_path):
    a = agent().learn(10, progress_bar=False)
    path = tmp_path / "agent.npz"
    a.save(path)
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(file["meta"].tobytes())
        assert (
            meta["format"] == 5 and meta["version"] == nr.__version__ and all(file[key].dtype != object for key in file.files)
        )
        arrays = {key: file[key] for key in file.files}
    loaded = nr.Agent.load(path, features=FEATURES)
    np.testing.assert_array_equal(loaded.probabilities([0.3], 1), a.probabilities([0.3], 1))
    assert loaded.episodes == 10 and loaded.summary() == a.summary()
    with pytest.raises(nr.NoRegretError, match="no environment to learn in"):
        loaded.learn(1)
    cases = [
        (lambda: nr.Agent.load(path), "expected the feature map"),
        (lambda: nr.Agent.load(path, features=Fourier([0.0], [2.0], n_actions=2, order=4)), "differ from those"),
        (lambda: nr.Agent.load(path, features=Fourier([0.0], [1.0], n_actions=2, order=3)), "features have shape"),
        (lambda: nr.Agent.load(path, features=Fourier([0.0], [1.0], n_actions=3, order=4)), "for 3 actions"),
        (lambda: nr.Agent.load(tmp_path / "none.npz", features=FEATURES), "no such file"),
    ]
    for name, change in (("version", {"meta": np.frombuffer(b'{"format": 7}', dtype=np.uint8)}), ("text", None)):
        wrong = tmp_path / f"{name}.npz"
        if change is None:
            wrong.write_text("not an agent")
        else:
            np.savez(wrong, **(arrays | change))
        cases.append((lambda wrong=wrong: nr.Agent.load(wrong, features=FEATURES), "format 7" if change else "not an agent"))
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value)
    with pytest.raises(nr.NoRegretError, match="cannot be written"):
        a.save(tmp_path / "nowhere" / "a.npz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["agent.npz", "text.npz", "version.npz"]


def test_one_hot_needs_no_features_to_load(tmp_path):
    a = nr.Agent("noregret/JobScheduling-v0", episodes=8, preset="paper", beta=0.1).learn(4, progress_bar=False)
    a.save(tmp_path / "a.npz")
    b = nr.Agent.load(tmp_path / "a.npz", env="noregret/JobScheduling-v0").learn(4, progress_bar=False)
    same(a.learn(4, progress_bar=False), b)


def test_adequacy_tells_poor_features_from_good_ones():
    good = (
        nr.Agent(ONE, episodes=800, preset="paper", beta=0.02, replan="doubling").learn(800, progress_bar=False).adequacy(150)
    )
    assert good.unexplained.max() < 0.15 and "adequate" in good.verdict
    flat = Fourier([-2.0], [2.0], n_actions=3, order=0)  # knows the action only
    poor = (
        nr.Agent(ONE, episodes=800, preset="paper", beta=0.02, features=flat, replan="doubling")
        .learn(800, progress_bar=False)
        .adequacy(150)
    )
    assert poor.unexplained.max() > 0.3 and "too poor" in poor.verdict
    young = nr.Agent(ONE, episodes=20).learn(3, progress_bar=False).adequacy(30)
    assert "Too little data" in young.verdict
    assert (good.rank[1:] == 8).all() and good.dimension == 8 and (good.smallest[1:] > 0).all()
    assert "rank" in str(poor) and (poor.rank <= 3).all()


def test_what_is_refused_at_construction():
    box = Drift()
    cases = [
        (lambda: nr.Agent(box, "primal-dual-lsvi", limit=1.0, horizon=6), "features is None"),
        (lambda: nr.Agent(box, features=FEATURES, limit=1.0), "horizon is None"),
        (lambda: nr.Agent(box, features=FEATURES, horizon=6), "neither given"),
        (lambda: nr.Agent(3, limit=1.0), "env is 3"),
        (lambda: nr.Agent(box, features=3, limit=1.0, horizon=6), "features is 3"),
        (lambda: nr.Agent(box, features=OneHot(3, 5), limit=1.0, horizon=6), "features are for 5 actions; expected 2"),
        (lambda: agent(episodes=0), "episodes is 0"),
        (lambda: agent(gamma=1.0), "unknown parameter of primal-dual-lsvi 'gamma'"),
        (lambda: agent(learner="opdop"), "learner of continuous states"),
    ]
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value)


def test_the_horizon_is_that_of_the_time_limit_and_transformers_are_fitted_on_play():
    pytest.importorskip("sklearn")
    from sklearn.kernel_approximation import RBFSampler

    env = gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1").unwrapped, 7)
    a = nr.Agent(env, features=RBFSampler(n_components=8, random_state=0), limit=1, utility=lambda *_: 0.0, episodes=4)
    assert a.objectives.horizon == 7 and a.learner.spec.dimension == 16
    a.learn(4, progress_bar=False)
