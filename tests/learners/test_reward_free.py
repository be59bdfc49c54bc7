"""Reward-free learning: against its literal version, the exact model, and plans for any constraint on the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.features import one_hot
from tests.learners.test_tabular_learners import problem_with
from tests.reference import world
from tests.reference.reward_free import ReferenceRewardFree

GIVEN: dict[str, Any] = {"beta": 0.4, "lam": 0.3, "planner": "game", "rounds": 40, "eta": 0.3, "xi": 5.0}


def played(learner: Any, problem: Any, episodes: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(episodes):
        u, v = rng.random(world.width(problem)), rng.random(problem.horizon)
        learner.observe(*world.play(problem, learner.plan().policy, u, v))


def on_features() -> Any:
    return nr.problems.load("linear:seed=1,S=5,A=3,H=3,d=2,m=2")


@pytest.mark.parametrize("features", [False, True])
def test_equals_the_literal_version(features: bool) -> None:
    """Every policy of phase 1, then the plan of the game and its prices; rewards of phase 1 have no say in it."""
    problem = on_features() if features else problem_with(3, m=2, noise="bernoulli")
    S, A = problem.n_states, problem.n_actions
    K, K0 = 40, 30
    learner = nr.learners.make("reward-free", problem.spec, episodes=K, explore=K0, **GIVEN)
    phi = problem.features if features else one_hot(S, A)
    slow, rng = ReferenceRewardFree(problem.spec, phi, lam=0.3, beta=0.4), np.random.default_rng(5)
    for _ in range(K0):
        policy = slow.explore()
        np.testing.assert_allclose(learner.plan().policy, policy, rtol=0, atol=1e-9)
        states, actions, rewards, utilities = world.play(
            problem, policy, rng.random(world.width(problem)), rng.random(problem.horizon)
        )
        learner.observe(states, actions, rewards, utilities)
        slow.observe(states, actions, rewards, utilities)
    policy, prices = slow.game(rounds=40, eta=0.3, xi=5.0)
    np.testing.assert_allclose(learner.plan().policy, policy, rtol=0, atol=1e-9)
    np.testing.assert_allclose(learner.dual, prices, rtol=1e-9, atol=1e-9)
    before = learner.plan().policy
    played(learner, problem, K - K0)
    np.testing.assert_array_equal(learner.plan().policy, before, err_msg="phase 2 plays one policy")
    assert learner.notes()["explored"] == K0


def know(learner: Any, problem: Any, N: float = 1e12) -> None:
    """Put counts of the truth in the place of data, and end phase 1."""
    gram = learner._state.gram
    H, S, A = problem.r.shape
    gram.visits[:] = N
    gram.fit[..., 0], gram.fit[..., 1], gram.fit[..., 2], gram.fit[..., 3] = 1 / N, 0.0, 0.0, N * problem.r
    gram.fit[..., 4:] = N * np.moveaxis(problem.g, 0, -1)
    gram.known[:], gram.actives[:], gram.active[:] = True, S, np.arange(S)
    for h, s, a in np.ndindex(H, S, A):
        seen = np.flatnonzero(problem.P[h, s, a])
        gram.successors[h, s, a] = len(seen)
        gram.successor[h, s, a, : len(seen)] = seen
        gram.times[h, s, a, : len(seen)] = N * problem.P[h, s, a, seen]
    learner._state.tally[0] = learner.constants["explore"]


@pytest.mark.parametrize(("planner", "within"), [("simplex", 1e-7), ("game", 0.05)])
def test_on_the_exact_model_it_plays_the_optimum(planner: str, within: float) -> None:
    """Job scheduling with counts of the truth: V_r = V* and V_g = b, exactly or as near as the rounds of the game come."""
    problem = nr.problems.load("job-scheduling")
    optimum = nr.solve(problem)
    learner = nr.learners.make(
        "reward-free", problem.spec, episodes=100, explore=10, planner=planner, rounds=4000, xi=2.0, eta=0.01
    )
    know(learner, problem)
    V_r, V_g = nr.evaluate(problem, learner.plan().policy)
    assert V_r == pytest.approx(optimum.value, abs=within)
    assert V_g[0] == pytest.approx(problem.b[0], abs=within)
    assert learner.dual[0] == pytest.approx(optimum.dual[0], abs=within)


def test_explore_once_then_plan_for_any_constraint() -> None:
    """Three thresholds, another utility and another reward, from one exploration: each near its own optimum, no new data."""
    problem = nr.problems.load("job-scheduling")
    learner = nr.learners.make("reward-free", problem.spec, episodes=4000, explore=3000, share="nothing", beta=3.0)
    played(learner, problem, 3000)
    before = learner.state()
    found = []
    for b in (3.0, 4.0, 4.3):
        plan, optimum = learner.plan_for(b), nr.solve(problem.replace(b=b))
        V_r, V_g = nr.evaluate(problem, plan.policy)
        assert abs(V_r - optimum.value) < 0.1 and V_g[0] > b - 0.1, b
        assert plan.reward == pytest.approx(V_r, abs=0.15) and plan.lacking == 0.0
        assert plan.utilities[0] >= b - 1e-6
        found.append(V_r)
    assert found[0] > found[1] > found[2]
    # the reward as a utility, and the utility as the reward: what is kept of the reward is a matter of the threshold
    turned = learner.plan_for(9.0, reward=problem.g[0], utilities=problem.r)
    optimum = nr.solve(problem.replace(r=problem.g[0], g=problem.r[None], b=9.0))
    V_r, V_g = nr.evaluate(problem, turned.policy)
    assert abs(V_g[0] - optimum.value) < 0.1 and V_r > 8.9
    both = learner.plan_for([4.0, 8.0], utilities=np.stack([problem.g[0], problem.r]), planner="game")
    assert both.utilities.shape == (2,) and both.lacking < 0.2
    for key, value in learner.state().items():
        np.testing.assert_array_equal(value, before[key], err_msg=f"{key}: plan_for changes nothing")


def chain() -> nr.TabularCMDP:
    """Seven steps to the right, each by the last of four actions; the others go back to the start. Uniform: once in 4⁷."""
    H = S = 8
    P = np.zeros((H, S, 4, S))
    P[:, :, :3, 0] = 1.0
    for s in range(S):
        P[:, s, 3, min(s + 1, S - 1)] = 1.0
    r, g = np.zeros((H, S, 4)), np.ones((1, H, S, 4))
    r[:, S - 1] = 1.0
    return nr.TabularCMDP(P, r, g, 1.0, np.eye(S)[0])


def test_exploring_on_purpose_finds_what_a_random_walk_does_not() -> None:
    """The last state of a chain, after as many episodes of either kind."""
    reached = {}
    for name in ("reward-free", "explore-then-commit"):
        learner = nr.learners.make(name, chain().spec, episodes=400, explore=300, share="nothing")
        played(learner, chain(), 301)
        reached[name] = nr.evaluate(chain(), learner.plan().policy)[0]
    assert reached == {"reward-free": 1.0, "explore-then-commit": 0.0}


def test_what_plan_for_refuses() -> None:
    problem = problem_with(1, m=1)
    learner = nr.learners.make("reward-free", problem.spec, episodes=10, explore=5)
    with pytest.raises(InputError, match="no episode was explored yet"):
        learner.plan_for(1.0)
    played(learner, problem, 2)
    for given, words in (
        ({"thresholds": [1.0, 2.0]}, "thresholds has 2 numbers; there are 1 utilities"),
        ({"thresholds": np.nan}, "thresholds is nan"),
        ({"thresholds": "much"}, "thresholds is not an array of numbers"),
        ({"utilities": np.zeros((3, 4, 2))}, r"utilities has shape \(3, 4, 2\)"),
        ({"reward": np.full((3, 4, 3), 2.0)}, r"reward has 2\.0; expected values in \[0, 1\]"),
        ({"planner": "luck"}, "planner is 'luck'"),
    ):
        with pytest.raises(InputError, match=words):
            learner.plan_for(**given)
    assert learner.plan_for(1.0).policy.shape == (3, 4, 3)


@pytest.mark.parametrize(("key", "value"), [("explore", 0), ("planner", "luck"), ("rounds", 0)])
def test_bad_parameters_are_refused(key: str, value: Any) -> None:
    with pytest.raises(InputError, match=key):
        nr.learners.make("reward-free", problem_with(0).spec, episodes=10, **{key: value})


def test_constants_for_features_by_hand() -> None:
    """Here d = 2, H = 3, K = 1000: C = 8·3⁶·ln(6000/0.05) = 5832·11.695247; (1000·√C/6)^(2/3) = 1237.4, at most K."""
    learner = nr.learners.make("reward-free", on_features().spec, episodes=1000, preset="theory", slater_gap=0.5, p=0.05)
    assert learner.constants["explore"] == 1000 and learner.constants["features"] == "table, d=2"
    # 2·3·√ln(2·2·3000/0.05) = 6·√12.388394
    assert learner.constants["beta"] == pytest.approx(21.1182904442, rel=1e-10)
