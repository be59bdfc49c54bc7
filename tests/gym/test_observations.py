"""Observations of every kind of space as a learner sees them: plain numbers in the order of the space, or one clear refusal."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import noregret as nr
from noregret.gym.spaces import MOST_NUMBERS, Observations, number_of

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


class Spoken(gymnasium.Space[str]):
    """Texts as MiniGrid has them: a space of its own whose type is str."""

    def __init__(self) -> None:
        super().__init__(dtype=str)


@pytest.mark.parametrize("space", [spaces.Text(20), Spoken()])
def test_a_text_is_one_number_that_is_its_own(space: Any) -> None:
    """A Dict with a mission was refused."""
    see = Observations.of(spaces.Dict(mission=space, x=BOX))
    one, same, other = (see(0, {"mission": said, "x": [0.5, -1.0]}).tolist() for said in ("go left", "go left", "go right"))
    assert see.dimension == 3 and one == same and one[0] != other[0] and one[1:] == other[1:] == [0.5, -1.0]
    assert len({number_of(f"fetch a {i} key") for i in range(200)}) == 200 and Observations.of(space)(0, "go left") == one[0]
    with pytest.raises(nr.NoRegretError, match=r"step 3: observation\['mission'\] is 7; expected a text"):
        see(3, {"mission": 7, "x": [0.5, -1.0]})


class Told(gymnasium.Env[Any, Any]):
    """The mission says which action pays, and paying costs nothing; the image shows nothing."""

    observation_space = spaces.Dict(image=spaces.Box(0.0, 1.0, (2,), dtype=np.float64), mission=Spoken())
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.right = bool(self.np_random.integers(2))
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._seen(), float(bool(action) == self.right), False, False, {"cost": 0.0}

    def _seen(self) -> dict[str, Any]:
        return {"image": np.zeros(2), "mission": "go right" if self.right else "go left"}


def test_an_agent_does_what_a_text_says() -> None:
    agent = nr.Agent(Told(), cost="cost", limit=1.0, horizon=4, seed=0).learn(60, progress_bar=False)
    assert np.mean(agent.rewards[-20:]) > 3.5  # either action alone brings 2


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Dict(image=IMAGE, all=spaces.Sequence(BOX)), "observation['all'] is a Sequence;.*FilterObservation .* 'all'"),
        (spaces.Tuple((BOX, spaces.Sequence(BOX))), "observation[1] is a Sequence;.*TransformObservation"),
        (spaces.Sequence(BOX), "observation is a Sequence;"),
        (spaces.Graph(BOX, None), "observation is a Graph;"),
        (spaces.OneOf((BOX, spaces.Discrete(2))), "observation is a OneOf;"),
        (spaces.Box(0, 255, (210, 160, 3), dtype=np.uint8), f"100,800 numbers; expected 1 to {MOST_NUMBERS:,}: .*ResizeObserv"),
        (spaces.Dict(), "0 numbers; expected 1 to"),
    ],
    ids=lambda value: value.split(";")[0] if isinstance(value, str) else "",
)
def test_what_is_not_so_many_numbers_is_refused_with_what_to_do(space: Any, words: str) -> None:
    """Dicts with a Sequence ended in NotImplementedError; an image of a screen was taken, and filled the memory."""
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
