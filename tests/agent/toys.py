"""Environments of any spaces that end after a few steps, for tests of an agent that is given no features."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium import spaces

import noregret as nr


class Toy(gymnasium.Env):
    """Any spaces; an episode of 5 steps whose reward and cost are drawn; ``masks`` (6,A) go with the steps."""

    def __init__(self, observations, actions, masks=None, method=False, length=5, ends=0.0):
        self.observation_space, self.action_space = observations, actions
        self.masks, self.method, self.length, self.ends, self.taken = masks, method, length, ends, []

    def _info(self):
        return {} if self.masks is None or self.method else {"action_mask": self.masks[self.h]}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.h, self.seeded = 0, seed
        return self.observation_space.sample(), self._info()

    def step(self, action):
        assert self.action_space.contains(action), action
        self.taken.append((self.h, action))
        self.h += 1
        reward, ended = float(self.np_random.normal()), bool(self.np_random.random() < self.ends)
        cost = float(_size(action) > 0)
        return self.observation_space.sample(), reward, ended, self.h == self.length, self._info() | {"cost": cost}


def _size(action):
    """The sum of what an action is made of."""
    parts = action.values() if isinstance(action, dict) else action if isinstance(action, tuple) else None
    return float(np.sum(np.abs(action))) if parts is None else sum(map(_size, parts))


class Asked(Toy):
    """Says by a method what can be done."""

    def action_masks(self):
        return self.masks[self.h]


BOX = spaces.Box(-1, 1, (2,), dtype=np.float64)
MASKS = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=np.int8)


def agent(env, learner=None, **options):
    return nr.Agent(env, learner, **({"limit": 3.0, "horizon": 5} | options))


def same(one, two):
    for key, value in one.learner.arrays().items():
        np.testing.assert_array_equal(value, two.learner.arrays()[key], err_msg=key)
    assert one.rewards == two.rewards and one.lengths == two.lengths
    np.testing.assert_array_equal(one.curve.dual, two.curve.dual)
