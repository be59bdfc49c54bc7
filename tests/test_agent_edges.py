"""nr.Agent at its edges: interrupts, schedules without an end, spaces that do not count from 0, costs against utilities."""

from __future__ import annotations

import signal
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
import noregret.agent
from noregret.interrupts import held
from noregret.learners import continuous


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
    return nr.Agent(env or Line(), **({"limit": 2.0, "horizon": 5} | options))


def learned(n, *args, **options):
    return agent(*args, **options).learn(n, progress_bar=False)


def same(one, two):
    a, b = one.learner.state(), two.learner.state()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    assert one.rewards == two.rewards and one.lengths == two.lengths and len(one.values) == len(two.values)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


def interrupt_at(line, work):
    """Do ``work`` with a Ctrl-C when the given line of the agent's and the learner's own code comes; whether it came."""
    before, left = sys.gettrace(), [line]

    def trace(frame, event, _):
        if frame.f_code.co_filename not in (noregret.agent.__file__, continuous.__file__):
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
        came = interrupt_at(line, lambda: broken._one(broken.world))  # noqa: B023
        counted.add(broken.episodes)
        same(whole, broken.learn(6 - broken.episodes, progress_bar=False))
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
