"""Ask and tell: the same agent as by learn, episodes in flight at once, told late and out of order, and what is refused."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.features import Fourier

H = 12


class Cart(gymnasium.Env):
    """A point on a line that is pushed; it leaves at 1, and not all pushes are possible everywhere."""

    observation_space, action_space = spaces.Box(-2, 2, (1,), dtype=np.float64), spaces.Discrete(3)

    def _seen(self):
        return np.array([self.x]), {"action_mask": np.array([self.x > -0.5, 1, 1], dtype=np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.h = float(self.np_random.uniform(-0.2, 0.2)), 0
        return self._seen()

    def step(self, action):
        self.x += 0.2 * (action - 1) + 0.05 * float(self.np_random.normal())
        self.h += 1
        seen, info = self._seen()
        return seen, self.x, self.x > 1.0, self.h == H, info | {"cost": float(action != 1)}


KINDS = {
    "found": {},
    "given": {"features": Fourier([-2.0], [2.0], n_actions=3, order=3), "reward_range": (-3, 3), "episodes": 40},
}


def agent(kind, **options):
    return nr.Agent(Cart(), **({"limit": 6.0, "horizon": H, "seed": 3} | KINDS[kind] | options))


def same(one, two):
    a, b = one.learner.arrays(), two.learner.arrays()
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    assert one.rewards == two.rewards and one.lengths == two.lengths
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.curve.dual, two.curve.dual)


def flown(a, name, late=False):
    """Play an episode of a system that drives its own loop; ``late``: tell all of it at the end."""
    env = Cart()
    x, info = env.reset(seed=a.env_seed)
    rewards, costs = [], []
    while True:
        action = a.act(x, episode=name, mask=info["action_mask"])
        x, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        costs.append(info["cost"])
        over = terminated or truncated
        if not late:
            record = a.tell(reward, info["cost"], x, terminated=terminated, truncated=truncated, episode=name)
        elif over:
            record = a.tell(rewards, costs, x, terminated=terminated, truncated=truncated, episode=name)
        if over:
            return record


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_one_after_the_other_are_those_of_learn(kind):
    whole, told = agent(kind).learn(30, progress_bar=False), agent(kind)
    for k in range(30):
        record = flown(told, None if k % 3 else k, late=k % 2 == 0)
        assert record.episode == k and record.reward == whole.rewards[k] and record.length == whole.lengths[k]
    same(whole, told)
    assert min(whole.lengths) < H and told.in_flight == ()
    same(whole.learn(3, progress_bar=False), told.learn(3, progress_bar=False))


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_in_flight_at_once_and_told_in_any_order(kind):
    a, envs = agent(kind).learn(10, progress_bar=False), {}
    for name in "abc":
        envs[name] = Cart()
        x, info = envs[name].reset(seed=a.env_seed)
        envs[name].last = [a.act(x, name, mask=info["action_mask"])]
    assert a.in_flight == ("a", "b", "c") and a.learner.replans == agent(kind).learn(10, progress_bar=False).learner.replans + 1
    out = {name: [] for name in "abc"}
    over = set()
    while len(over) < 3:
        for name, env in envs.items():
            if name in over:
                continue
            x, r, ended, cut, info = env.step(env.last[-1])
            out[name].append((r, info["cost"], x, ended, cut))
            if ended or cut:
                over.add(name)
            else:
                env.last.append(a.act(x, name, mask=info["action_mask"]))
    assert a.episodes == 10
    for i, name in enumerate("cab"):
        steps = out[name]
        record = a.tell([s[0] for s in steps], [s[1] for s in steps], steps[-1][2], terminated=steps[-1][3], truncated=True,
                        episode=name)  # fmt: skip
        assert record.episode == 10 + i and record.length == len(steps) and record.values[0] == sum(s[1] for s in steps)
        assert record.reward == pytest.approx(sum(s[0] for s in steps))
    assert a.in_flight == () and a.episodes == 13
    flown(a, "next")


@pytest.mark.parametrize("kind", KINDS)
def test_whole_episodes_from_a_log_are_learned_as_if_they_were_played(kind):
    whole, told = agent(kind), agent(kind)
    log = []
    take = whole.learner.learn
    whole.learner.learn = lambda played, counts: (log.append(played), take(played, counts))[1]
    whole.learn(12, progress_bar=False)
    for p in log:
        told.tell_episode(p.observations, p.actions, p.rewards, p.values, terminated=p.terminated, masks=p.masks[:-1])
    same(whole, told)
    same(whole.learn(2, progress_bar=False), told.learn(2, progress_bar=False))
    x, a, r = [[0.0]] * 3, [0, 1], [0.0, 0.0]
    for make, text in (
        (lambda: told.tell_episode(x, [0, 3], r, r), "step 1: action is 3; expected one of the 3 actions"),
        (lambda: told.tell_episode(x, [], [], []), "actions has 0 entries; expected 1 to the horizon 12"),
        (lambda: told.tell_episode(x, [0] * 13, r, r), "actions has 13 entries; expected 1 to the horizon 12"),
        (lambda: told.tell_episode(x[:2], a, r, r), "observations has 2 entries; expected 3 for 2 actions"),
        (lambda: told.tell_episode(x, a, [0.0], r), "rewards has 1 entries; expected 2"),
        (lambda: told.tell_episode(x, a, r, [r, r, r]), "values has 6 entries; expected 2"),
        (lambda: told.tell_episode(x, a, [0.0, np.nan], r), "step 1: reward is nan"),
        (lambda: told.tell_episode(x, a, ["x", 0.0], r), "rewards is ['x', 0.0]; expected numbers"),
        (
            lambda: told.tell_episode(x, a, r, r, masks=[[1, 1, 1], [1, 0, 1]]),
            "step 1: action is 1; expected one that its mask",
        ),
    ):
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value) and told.episodes == 14


def test_given_features_learn_in_environments_side_by_side():
    one = agent("given").learn(8, progress_bar=False)
    alone = nr.Agent(gymnasium.vector.SyncVectorEnv([Cart]), limit=6.0, horizon=H, seed=3, **KINDS["given"])
    same(one, alone.learn(8, progress_bar=False))
    many = nr.Agent(gymnasium.vector.SyncVectorEnv([Cart] * 3), limit=6.0, horizon=H, seed=3, **KINDS["given"])
    assert many.learn(8, progress_bar=False).episodes == 8 and many.rewards[0] == one.rewards[0]
    assert many.evaluate(5).episodes == 5 and many.adequacy(12).residual.shape == (2,)


def test_actions_of_different_episodes_are_drawn_from_different_numbers():
    a = agent("found")
    first = [a.act([0.0], name) for name in range(60)]
    assert set(first) == {0, 1, 2}


def test_what_is_refused_is_one_line_and_changes_nothing():
    a = agent("found").learn(5, progress_bar=False)
    a.act([0.0], "x")
    before = a.learner.arrays()["counters"].tolist()
    cases = [
        (
            lambda: a.tell(0.0, 0.0, [0.0]),
            "the episode is not in flight; expected one that began",
        ),
        (lambda: a.tell(0.0, 0.0, [0.0], episode="y"), "episode 'y' is not in flight"),
        (
            lambda: a.tell([0.0, 1.0], [0.0, 1.0], [0.0], episode="x"),
            "steps 0 to 1 are reported and 1 were decided",
        ),
        (
            lambda: a.tell(0.0, [0.0, 1.0], [0.0], episode="x"),
            "and values (2,); expected 1 for each reward",
        ),
        (lambda: a.tell(np.nan, 0.0, [0.0], episode="x"), "step 0: reward is nan; expected a finite number"),
        (lambda: a.tell(0.0, np.inf, [0.0], episode="x"), "step 0: values[0] is inf; expected a finite number"),
        (lambda: a.tell(0.0, 0.0, terminated=True, episode="x"), "observation is None; expected what came after"),
        (lambda: a.tell(0.0, 0.0, [np.nan], terminated=True, episode="x"), "step 1: observation[0] is nan"),
        (lambda: a.act([np.nan], "x"), "step 1: observation[0] is nan"),
        (lambda: a.act([0.0], "x", mask=[0, 0, 0]), "step 1: the action mask allows no action"),
        (lambda: a.act([0.0], "x", mask=[1, 1]), "step 1: action mask has 2 entries; expected 3"),
        (lambda: a.act([0.0, 1.0], "z"), "step 0: observation has 2 numbers; expected 1"),
        (lambda: a.abandon("y"), "episode 'y' is not in flight"),
    ]
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value) and "\n" not in str(caught.value)
    assert a.in_flight == ("x",) and a.learner.arrays()["counters"].tolist() == before and a.episodes == 5
    a.act([0.0], "x")
    with pytest.raises(nr.NoRegretError, match="ends after 1 steps, and 2 were decided"):
        a.tell(0.0, 0.0, [0.0], terminated=True, episode="x")
    for _ in range(H - 2):
        a.act([0.0], "x")
    with pytest.raises(nr.NoRegretError, match=f"episode 'x' took its {H} steps; expected a report"):
        a.act([0.0], "x")
    assert a.tell([0.0] * H, [0.0] * H, [0.0], episode="x").length == H
    a.act([0.0], "gone")
    a.abandon("gone")
    assert a.in_flight == () and a.episodes == 6


def test_no_more_begin_than_the_agent_was_made_for():
    a = agent("given", episodes=2)
    a.act([0.0], "a"), a.act([0.0], "b")
    with pytest.raises(nr.NoRegretError, match="expected at most 2, what is left of the 2"):
        a.act([0.0], "c")


def test_an_agent_that_is_told_saves_itself(tmp_path):
    a = agent("found").autosave(tmp_path / "a.npz", every=2)
    for name in range(4):
        flown(a, name)
    loaded = nr.Agent.load(tmp_path / "a.npz")  # no environment: it is asked and told
    same(a, loaded)
    flown(a, "x"), flown(loaded, "x")
    same(a, loaded)
