"""Gymnasium both ways: our problems as environments, and environments of every protocol as worlds."""

from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import noregret as nr
from noregret.gym import EnvWorld, Objectives, env_id, make_env, sample_states
from noregret.kernels.worlds import world as worlds
from noregret.problems import load, names

ALL = names()


@pytest.mark.parametrize("name", ALL)
def test_every_problem_is_a_registered_environment_that_passes_check_env(name):
    env = gymnasium.make(env_id(name))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Box observation space .* infinity.*")
        check_env(env.unwrapped)
    problem = env.unwrapped.problem
    env.reset(seed=0)
    for h in range(problem.horizon):
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert 0 <= reward <= 1 and info["utility"].shape == (problem.n_constraints,)
        np.testing.assert_allclose(
            1 - np.asarray(info["cost"]), info["utility"] if problem.n_constraints > 1 else info["utility"][0]
        )
        assert not terminated and truncated == (h == problem.horizon - 1)
    with pytest.raises(Exception, match="reset"):
        env.unwrapped.step(0)


@pytest.mark.parametrize("text", ["job-scheduling", "random:m=2,noise=bernoulli"])
def test_an_environment_fed_the_worlds_uniforms_is_the_compiled_world(text):
    p = load(text)
    env, world = make_env(p), worlds.compile_world(p)
    scratch = worlds.scratch_for(world)
    policy = np.broadcast_to(np.arange(1, p.n_actions + 1) / np.arange(1, p.n_actions + 1).sum(), p.r.shape).copy()
    rng = np.random.default_rng(0)
    for seed in range(20):
        x, _ = env.reset(seed=seed)
        v = rng.random(p.horizon)
        worlds.play(world, policy, env._u, v, scratch)
        for h in range(p.horizon):
            assert x == scratch.states[h]
            x, reward, _, _, info = env.step(scratch.actions[h])
            np.testing.assert_array_equal([reward, *info["utility"]], scratch.observed[h])


def test_masks_are_shown_and_an_unavailable_action_earns_nothing():
    p = load("inventory")
    env = make_env(p)
    _, info = env.reset(seed=0)
    np.testing.assert_array_equal(info["action_mask"], p.available[0, env._x])
    x, a = (int(i) for i in np.argwhere(~p.available[0])[0])
    env._x = x
    following, reward, *_, info = env.step(a)
    assert following == x and reward == 0.0 and (info["utility"] == 0.0).all()


def test_importing_noregret_does_not_import_gymnasium():
    code = "import noregret, sys; assert 'gymnasium' not in sys.modules and 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- other environments ---------------------------------------------------------------------------------------------


class Walk(gymnasium.Env):
    """A walk on 1..5 that starts at 3 and ends at 5; ``kind`` says how utilities are shown."""

    observation_space, action_space = spaces.Discrete(5, start=1), spaces.Discrete(2, start=7)

    def __init__(self, kind):
        self.kind = kind

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 3
        return self.x, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.x = max(1, self.x + (1 if action == 8 else -1))
        cost, end = float(self.x == 1), self.x == 5
        if self.kind == "tuple":
            return self.x, -1.0, cost, end, False, {}
        if self.kind == "vector":
            return self.x, np.array([-1.0, -cost]), end, False, {}
        info = {"utility": {"utility": -cost}, "cost": {"cost": cost}, "none": {}, "late": {"cost": cost} if end else {}}[
            self.kind
        ]
        return self.x, -1.0, end, False, info


def world(kind, utility=None, costs=True, **options):
    word = {"limit": 1.0} if costs else {"threshold": -1.0}
    objectives = Objectives.make(4, reward_range=(-1, 0), utility_range=(0, 1) if costs else (-1, 0), **word)
    return EnvWorld(Walk(kind), objectives, utility=utility, **options)


@pytest.mark.parametrize(
    ("kind", "utility", "costs"),
    [
        ("tuple", None, True),
        ("cost", None, True),
        ("utility", None, False),
        ("vector", None, False),
        ("none", lambda x, a, y, r, info: float(y == 1), True),
        ("cost", "cost", True),
    ],
)
def test_every_protocol_gives_the_same_numbers_in_the_unit_interval(kind, utility, costs):
    w = world(kind, utility, costs)
    assert w.reset(seed=0) == 2 and w.n_actions == 2  # states and actions count from 0
    out = [w.step(h, 0) for h in range(2)]
    assert [int(o.observation) for o in out] == [1, 0]
    units = [w.objectives.to_unit(h, o.reward, o.values) for h, o in enumerate(out)]
    np.testing.assert_allclose(units, [[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(w.objectives.thresholds, [3.0])  # at most one visit to 1 in four steps
    np.testing.assert_allclose(w.objectives.absorbing, [1.0, 1.0])  # raw 0: the best reward, no cost


def test_weights_of_a_vector_reward():
    w = EnvWorld(
        Walk("vector"), Objectives.make(4, threshold=-1, reward_range=(-3, 0), utility_range=(-2, 0)), reward_weights=[1, 2],
        utility_weights=[[0.5, 0.5]],
    )  # fmt: skip
    w.reset(seed=0)
    w.step(0, 0)
    out = w.step(1, 0)
    assert out.reward == -3.0 and out.values.tolist() == [-1.0]


def test_real_mo_gymnasium():
    mo = pytest.importorskip("mo_gymnasium")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = mo.make("resource-gathering-v0")
    w = EnvWorld(
        env, Objectives.make(5, threshold=-0.1, utility_range=(-1, 0)), reward_weights=[0, 1, 1], utility_weights=[[1, 0, 0]]
    )
    assert w.reset(seed=0).shape == (4,)
    assert w.step(0, 0).values.shape == (1,)


def test_thresholds_and_ranges_go_there_and_back():
    o = Objectives.make(10, limit=[3.0, 20.0], utility_range=[(0, 2), (-1, 5)], reward_range=(-4, 4), names=["a", "b"])
    np.testing.assert_allclose(o.thresholds, [10 - 1.5, 10 - 30 / 6])
    np.testing.assert_allclose(o.to_unit(0, 2.0, [1.0, 5.0]), [0.75, 0.5, 0.0])
    assert Objectives.from_plain(o.plain()) == o
    assert Objectives.make(10, threshold=3.0, reward_range=(1, 2)).absorbing is None
    assert o.meets(np.array([3.0, 21.0])).tolist() == [True, False]


def one_step(w):
    w.reset(seed=0)
    return w.step(1, 0)


def test_what_is_refused():
    good = Objectives.make(4, limit=1.0, reward_range=(-1, 0))
    box = EnvWorld(Walk("cost"), good)
    box.env.observation_space = spaces.Box(0, 1)
    cases = [
        (lambda: Objectives.make(4), "neither given"),
        (lambda: Objectives.make(4, limit=1, threshold=1), "both given"),
        (lambda: Objectives.make(4, limit="x"), "limit is not an array of numbers: could not convert string to float: 'x'"),
        (lambda: Objectives.make(0, limit=1), "horizon is 0"),
        (lambda: Objectives.make(4, limit=1, reward_range=(1, 1)), "reward_range is (1, 1)"),
        (lambda: Objectives.make(4, limit=[1, 2], utility_range=[(0, 1)]), "utility_range has 1 ranges; expected 2"),
        (lambda: good.to_unit(3, 0.5, [0.0]), "step 3: reward is 0.5; expected -1 to 0"),
        (lambda: good.to_unit(3, float("nan"), [0.0]), "step 3: reward is nan"),
        (lambda: good.to_unit(3, -0.5, [2.0]), "step 3: cost 0 is 2; expected 0 to 1"),
        (lambda: good.to_unit(3, -0.5, [0.0, 0.0]), "step 3: cost has shape (2,)"),
        (lambda: EnvWorld(Walk("cost"), good, utility="costs"), "did you mean 'cost'"),
        (lambda: EnvWorld(Walk("cost"), good, overrun="maybe"), "unknown overrun"),
        (lambda: EnvWorld(gymnasium.make("Pendulum-v1"), good, actions=1), "actions is 1; expected a whole number, at least 2"),
        (lambda: one_step(EnvWorld(Walk("none"), good)), "step 1: the environment shows no cost"),
        (
            lambda: (lambda w: (w.reset(0), w.step(1, 0)))(EnvWorld(Walk("late"), good, utility="cost")),
            "step 1: info has no 'cost'",
        ),
        (lambda: make_env(3), "problem is 3"),
        (lambda: box.see(0, {"a": 1}), "FlattenObservation"),
    ]
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value) and "\n" not in str(caught.value)


def test_sample_states_plays_at_random():
    sample = sample_states(gymnasium.make("MountainCar-v0"), 50, seed=1, steps=20)
    assert sample.shape == (50, 2) and len(np.unique(sample, axis=0)) > 40
    np.testing.assert_array_equal(sample, sample_states(gymnasium.make("MountainCar-v0"), 50, seed=1, steps=20))
