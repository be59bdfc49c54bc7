"""nr.Agent without features: actions that cannot be taken, and environments side by side."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.agent import setup
from tests.agent.fake_mind import FakeMind
from tests.agent.toys import BOX, MASKS, Asked, Toy, agent, same


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    monkeypatch.setitem(setup.FINDERS, "soft-cells", FakeMind)


@pytest.mark.parametrize("kind", ["info", "method", "wrapped"])
def test_a_masked_action_is_never_taken(kind):
    env = (Toy if kind == "info" else Asked)(BOX, spaces.Discrete(3), MASKS, method=kind != "info")
    outer = gymnasium.wrappers.TimeLimit(gymnasium.wrappers.TransformReward(env, lambda r: r), 5) if kind == "wrapped" else env
    a = agent(outer).learn(40, progress_bar=False)
    a.evaluate(10)
    assert len(env.taken) == 250 and all(MASKS[h, action] for h, action in env.taken)
    masks = a.learner.told[0].masks
    np.testing.assert_array_equal(masks[:5], MASKS[:5].astype(bool))
    assert masks.shape == (6, 3) and masks[5].all()  # after the end nothing is to be done
    assert a.probabilities([0.0, 0.0], 0, mask=[0, 0, 1]).tolist() == [0.0, 0.0, 1.0]


class Shown(Toy):
    """Shows the mask in its observations, as RLlib, PettingZoo and or-gymnasium do."""

    def __init__(self, masks):
        space = spaces.Dict(action_mask=spaces.Box(0, 1, (3,), dtype=np.int8), x=BOX)
        super().__init__(space, spaces.Discrete(3), masks, method=True)

    def _seen(self, x):
        return x | {"action_mask": self.masks[self.h]}

    def reset(self, *, seed=None, options=None):
        x, info = super().reset(seed=seed)
        return self._seen(x), info

    def step(self, action):
        x, *rest = super().step(action)
        return self._seen(x), *rest


def test_a_mask_in_the_observation_is_kept_to_too():
    """Such masks were numbers like others, and forbidden actions were taken for ever."""
    env = Shown(MASKS)
    a = agent(env).learn(40, progress_bar=False)
    a.evaluate(10)
    assert len(env.taken) == 250 and all(MASKS[h, action] for h, action in env.taken)
    x = {"x": np.zeros(2), "action_mask": np.array([0, 0, 1])}
    assert a.probabilities(x, 0).tolist() == [0.0, 0.0, 1.0]
    assert a.probabilities(x, 0, mask=[1, 0, 0]).tolist() == [1.0, 0.0, 0.0]
    assert all(a.act(x, episode=i) == 2 for i in range(8))
    pair = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.wrappers.TimeLimit(Shown(MASKS), 5)] * 2)
    both = agent(pair).learn(20, progress_bar=False)
    assert all(MASKS[h, action] for one in pair.envs for h, action in one.unwrapped.taken)
    np.testing.assert_array_equal(both.learner.told[0].masks[:5], MASKS[:5].astype(bool))


def test_a_mask_in_the_observation_that_allows_nothing_or_was_not_kept_to_is_none():
    """or-gymnasium's knapsack goes on when nothing fits any more."""
    env = Shown(np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=np.int8))
    a = agent(env).learn(20, progress_bar=False)
    assert {action for h, action in env.taken if h == 1} == {0, 1, 2}
    xs = [{"x": np.zeros(2), "action_mask": np.array(mask)} for mask in ([0, 1, 1], [0, 1, 0], [1, 1, 1])]
    a.tell_episode(xs, [1, 2], [0.0, 0.0], [0.0, 0.0], terminated=True)
    np.testing.assert_array_equal(a.learner.told[-1].masks[:2], [[False, True, True], [True, True, True]])


def test_masks_of_multi_discrete_actions_are_of_each_entry_or_of_all_combinations():
    space = spaces.MultiDiscrete([2, 3])
    each = np.array([[1, 1, 1, 0, 1]] * 6)
    whole = np.array([[1, 0, 1, 1, 0, 1]] * 6)
    runs = []
    for masks in (each, whole, [(np.ones(2), np.array([1, 0, 1]))] * 6):
        env = Toy(BOX, space, masks)
        runs.append(agent(env).learn(20, progress_bar=False))
        assert all(action[1] != 1 for _, action in env.taken)
    same(runs[0], runs[1])
    same(runs[0], runs[2])


def test_given_features_act_under_a_mask_too():
    env = Toy(spaces.Discrete(4), spaces.Discrete(3), MASKS)
    agent(env, learner="primal-dual-lsvi", episodes=20, outside="clip", reward_range=(-4, 4)).learn(20, progress_bar=False)
    assert len(env.taken) == 100 and all(MASKS[h, action] for h, action in env.taken)


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        (np.array([[1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]), "step 2: the action mask allows no"),
        (np.ones((6, 2)), "step 0: action mask has 2 entries; expected 3"),
        (np.full((6, 3), 0.5), "step 0: action mask is"),
    ],
)
def test_masks_that_cannot_be_used_name_the_step(masks, text):
    a = agent(Toy(BOX, spaces.Discrete(3), masks))
    with pytest.raises(nr.NoRegretError) as caught:
        a.learn(2, progress_bar=False)
    assert text in str(caught.value) and "\n" not in str(caught.value) and a.episodes == 0


# --- several environments side by side -----------------------------------------------------------------------------------


def vector(n, mode, ends=0.2, masks=None, kind=Toy):
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    def make():
        return kind(BOX, spaces.Discrete(3), masks, method=kind is Asked, ends=ends)

    return SyncVectorEnv([make for _ in range(n)], autoreset_mode=AutoresetMode[mode])


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_a_vector_of_environments_plays_rounds_with_one_plan(mode):
    one = agent(Toy(BOX, spaces.Discrete(3), ends=0.2)).learn(12, progress_bar=False)
    same(one, agent(vector(1, mode)).learn(12, progress_bar=False))
    many = agent(vector(4, mode)).learn(10, progress_bar=False)
    assert many.episodes == 10 and many.learner.plans == 2 and min(many.lengths) < 5 == max(many.lengths)
    same(many, agent(vector(4, "NEXT_STEP")).learn(10, progress_bar=False))  # each mode shows the same episodes
    first = agent(Toy(BOX, spaces.Discrete(3), ends=0.2)).learn(1, progress_bar=False)
    assert many.rewards[0] == first.rewards[0]
    for played in many.learner.told:
        assert len(played.observations) == len(played.actions) + 1
    assert many.evaluate(7).episodes == 7


@pytest.mark.parametrize("kind", [Toy, Asked])
@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_masks_of_a_vector_of_environments(mode, kind):
    env = vector(3, mode, ends=0.3, masks=MASKS[[0, 1, 2, 3, 4, 4]], kind=kind)
    a = agent(env).learn(9, progress_bar=False)
    for played in a.learner.told:
        L = len(played.actions)
        np.testing.assert_array_equal(played.masks[:L], MASKS[:L].astype(bool))
        assert all(MASKS[h, action] for h, action in enumerate(played.actions))


def test_environments_in_other_processes_and_made_as_a_whole():
    from gymnasium.vector import AsyncVectorEnv

    env = AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=20) for _ in range(2)])
    try:
        a = nr.Agent(env, limit=5, utility=lambda x, action, y, reward, info: float(abs(y[0]) > 0.1)).learn(
            5, progress_bar=False
        )
        assert a.objectives.horizon == 20 and a.episodes == 5
    finally:
        env.close()
    whole = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
    b = nr.Agent(whole, limit=5, horizon=20, utility=lambda x, action, y, reward, info: 0.0).learn(6, progress_bar=False)
    assert b.episodes == 6 and b.learner.spec.dimension == 4
