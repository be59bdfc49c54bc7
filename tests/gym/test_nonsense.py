"""Environments that return nonsense: one line with the step, what came, and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noregret.errors import InputError
from noregret.gym.objectives import Objectives
from noregret.gym.world import EnvWorld, sample_states

gymnasium = pytest.importorskip("gymnasium")


class Odd(gymnasium.Env):  # type: ignore[misc]
    """Returns what it is told to."""

    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reset: Any, step: Any) -> None:
        self._reset, self._step = reset, step

    def reset(self, **options: Any) -> Any:
        return self._reset

    def step(self, action: Any) -> Any:
        return self._step


GOOD = (1, 0.5, False, False, {"cost": 0.0})


@pytest.mark.parametrize("reset", [None, 1, (1,), (1, None), (1, {}, {}), "ab", (1, [])])
def test_reset(reset: Any) -> None:
    world = EnvWorld(Odd(reset, GOOD), Objectives.make(3, limit=1.0))
    with pytest.raises(InputError, match=r"reset: the environment returned .*; expected \(observation, info\)") as caught:
        world.reset(0)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="reset: the environment returned"):
        sample_states(Odd(reset, GOOD), n=2)


@pytest.mark.parametrize(
    "step",
    [
        None, 1, (), "abcde", (1, 0.5, False, False, None), (1, 0.5, False, False), (1, "x", False, False, {"cost": 0.0}),
        (1, None, False, False, {"cost": 0.0}), (1, [[1], [1, 2]], False, False, {"cost": 0.0}),
        (1, {}, False, False, {"cost": 0.0}),
        (1, 0.5, None, False, {"cost": 0.0}), (1, 0.5, np.array([True, False]), False, {"cost": 0.0}),
        (1, 0.5, False, "no", {"cost": 0.0}), (1, 0.5, False, False, {"cost": "much"}), (1, 0.5, False, False, {"cost": {}}),
        (1, 1e70, False, False, {"cost": 0.0}), (1, 0.5, False, False, {"cost": -1e55}),
    ],
)  # fmt: skip
def test_step(step: Any) -> None:
    """Sums of numbers as large as the last two were saved, and then refused by whoever read them."""
    world = EnvWorld(Odd((1, {}), step), Objectives.make(3, limit=1.0), utility="cost")
    world.reset(0)
    with pytest.raises(InputError, match="step 0: ") as caught:
        world.step(0, 1)
    assert "\n" not in str(caught.value) and "expected" in str(caught.value)


def test_what_is_good_is_taken() -> None:
    world = EnvWorld(Odd((1, {}), GOOD), Objectives.make(3, limit=1.0))
    assert world.reset(0) == 1 and world.step(0, 1).reward == 0.5
