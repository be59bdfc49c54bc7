"""Observations of every kind of space as a learner sees them: plain numbers in the order of the space, or one clear refusal."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import noregret as nr
from noregret.gym.spaces import MOST_NUMBERS, Observations

spaces = gymnasium.spaces
BOX = spaces.Box(-1.0, 1.0, (2,), dtype=np.float64)
IMAGE = spaces.Box(0, 255, (7, 7, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("space", "observation", "vector"),
    [
        (spaces.Tuple((spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2))), (17, np.int64(10), True), [17, 10, 1]),
        (spaces.Dict(a=spaces.Discrete(3, start=5), b=BOX), {"b": np.array([0.5, -1.0]), "a": 6}, [6, 0.5, -1]),
        (spaces.MultiDiscrete([3, 4]), np.array([2, 3]), [2, 3]),
        (spaces.MultiDiscrete([[3, 4], [5, 6]]), np.array([[2, 3], [4, 5]]), [2, 3, 4, 5]),
        (spaces.MultiBinary([2, 2]), np.array([[0, 1], [1, 1]], dtype=np.int8), [0, 1, 1, 1]),
        (spaces.Box(0, 255, (2, 2, 1), dtype=np.uint8), np.array([[[9], [255]], [[0], [1]]], dtype=np.uint8), [9, 255, 0, 1]),
        (spaces.Tuple((spaces.Dict(x=BOX), spaces.MultiBinary(1))), ({"x": [0.25, 0.0]}, [1]), [0.25, 0, 1]),
    ],
)
def test_parts_are_plain_numbers_in_the_order_of_the_space(space: Any, observation: Any, vector: list[float]) -> None:
    see = Observations.of(space)
    assert (see.n_states, see.dimension) == (0, len(vector))
    assert see(0, observation).tolist() == vector


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Dict(image=IMAGE, mission=spaces.Text(9)), "observation['mission'] is a Text;.*FilterObservation .* 'mission'"),
        (spaces.Tuple((BOX, spaces.Text(9))), "observation[1] is a Text;.*TransformObservation"),
        (spaces.Text(9), "observation is a Text;.*TransformObservation"),
        (spaces.Sequence(BOX), "observation is a Sequence;"),
        (spaces.Graph(BOX, None), "observation is a Graph;"),
        (spaces.OneOf((BOX, spaces.Discrete(2))), "observation is a OneOf;"),
        (spaces.Box(0, 255, (210, 160, 3), dtype=np.uint8), f"100,800 numbers; expected 1 to {MOST_NUMBERS:,}: .*ResizeObserv"),
        (spaces.Dict(), "0 numbers; expected 1 to"),
    ],
    ids=lambda value: value.split(";")[0] if isinstance(value, str) else "",
)
def test_what_is_not_so_many_numbers_is_refused_with_what_to_do(space: Any, words: str) -> None:
    """Dicts with a Text ended in NotImplementedError; an image of a screen was taken, and filled the memory."""
    with pytest.raises(nr.NoRegretError, match=words.replace("[", r"\[").replace("]", r"\]")) as caught:
        Observations.of(space)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ({"a": 1}, "step 4: observation is .*; expected an entry observation['b'][0]"),
        ({"a": 1, "b": (2,)}, "step 4: observation is .*; expected an entry observation['b'][1]"),
        ({"a": [1, 2], "b": (2, [0.0, 0.0])}, "step 4: observation['a'] has 2 numbers; expected 1"),
        ({"a": 1, "b": (2, "x")}, "step 4: observation['b'][1] is 'x'; expected 2 numbers"),
        ({"a": 1, "b": (2, [0.0, np.nan])}, "step 4: observation[3] is nan; expected a finite number"),
        ([1, 0.0, 0.0], "step 4: observation is .*; expected an entry observation['a']"),
    ],
)
def test_an_observation_of_another_space_is_refused(observation: Any, words: str) -> None:
    see = Observations.of(spaces.Dict(a=spaces.Discrete(3), b=spaces.Tuple((spaces.Discrete(9), BOX))))
    with pytest.raises(nr.NoRegretError, match=words.replace("[", r"\[").replace("]", r"\]")):
        see(4, observation)


def test_blackjack_shows_three_numbers_and_stays_below_its_limit_of_busts() -> None:
    """As 45 zeros and ones the same hands cost .19 busts and -.26 a hand (this seed)."""
    agent = nr.Agent("Blackjack-v1", limit=0.1, cost=lambda x, a, y, reward, info: float(y[0] > 21), horizon=10, seed=2)
    agent.learn(300, progress_bar=False)
    assert agent.learner.spec.dimension == 3
    fresh = agent.evaluate(400)
    assert fresh.totals.mean() <= 0.12 and fresh.rewards.mean() >= -0.15
