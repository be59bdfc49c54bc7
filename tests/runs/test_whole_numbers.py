"""A whole number may be written as 1e3, wherever a number of episodes, trials or a seed is given; 10.5 may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.experiments.leaderboard import Contest
from noregret.problems.random import random_tabular

WORLD, NAME = "random:S=3,A=2,H=2", ["uniform"]


def one(*_: Any) -> float:
    """A step's cost."""
    return 1.0


def sweep(episodes: float, trials: float, seed: float) -> Any:
    spec = {"episodes": episodes, "trials": trials, "seeds": [seed], "problems": [WORLD], "learners": [{"name": "uniform"}]}
    return nr.sweep(spec, progress=False)


CALLS: dict[str, Callable[[float, float, float], Any]] = {
    "run": lambda k, t, s: nr.run(WORLD, "uniform", episodes=k, trials=t, seed=s, progress=False),
    "compare": lambda k, t, s: nr.compare([WORLD], NAME, episodes=k, trials=t, seed=s, progress=False),
    "leaderboard": lambda k, t, s: nr.leaderboard([WORLD], NAME, episodes=k, trials=t, seed=s, progress=False),
    "sweep": sweep,
    "agent": lambda k, t, s: nr.Agent("FrozenLake-v1", limit=5.0, cost=one, horizon=t, seed=s).learn(k, progress_bar=False),
    "learner": lambda k, t, s: nr.learners.make("uniform", nr.problems.load(WORLD).spec, episodes=k),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_whole_floats_are_whole_numbers(name: str) -> None:
    CALLS[name](2e1, 2.0, 1.0)
    with pytest.raises(InputError, match=r"episodes is 10\.5; expected a whole number"):
        CALLS[name](10.5, 2, 1)


def test_what_was_asked_for_is_kept_as_integers() -> None:
    board = Contest([WORLD], None, 2e1, 2.0, 1.0, "practical")  # type: ignore[arg-type]
    assert [type(number) for number in board.protocol[:3]] == [int, int, int]
    keys = [nr.runs.Ask(WORLD, "uniform", k, t, s).keys() for k, t, s in ((20, 2, 1), (2e1, 2.0, 1.0))]  # type: ignore[arg-type]
    assert keys[0] == keys[1] and [key.id for key in keys[0]] == [key.id for key in keys[1]]


def test_a_size_of_a_table_is_given_as_an_integer() -> None:
    with pytest.raises(InputError, match=r"S is 3\.0; expected a whole number"):
        random_tabular(S=3.0)  # type: ignore[arg-type]


def test_a_negative_limit_needs_a_range() -> None:
    env = gymnasium.make("CartPole-v1")
    with pytest.raises(InputError, match=r"limit is -5; expected at least 0, or also utility_range"):
        nr.Agent(env, limit=-5, cost=one)
    with pytest.raises(InputError, match=r"limit is -5; expected at least 0"):
        nr.Agent(env, limit=[3, -5], cost=one)
    nr.Agent(env, limit=-5, cost=one, utility_range=(-1, 1))
    nr.Agent(env, threshold=-5, utility=one)
