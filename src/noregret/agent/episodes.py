"""Episodes in an environment, played with a mind's plan: checked as they go, nothing learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from noregret._system.interrupts import held
from noregret.agent.flight import Flight
from noregret.agent.minds.protocol import Mind, PlayedEpisode
from noregret.errors import InputError
from noregret.gym.world import EnvWorld
from noregret.kernels.worlds.world import draw_action
from noregret.problems.base import Array


def ready(mind: Mind) -> None:
    """Let a mind plan anew if its plan is out of date; Ctrl-C waits until it has one."""
    with held():
        mind.ready()


def draw(policy: Array, uniform: float, deterministic: bool = False) -> int:
    """Draw an action from its probabilities (A,) by a number in [0,1), or take the likeliest.

    Args:
        policy: (A,).
        uniform: the number.
        deterministic: take the likeliest.
    """
    return int(policy.argmax()) if deterministic else int(draw_action(policy[None, None], 0, 0, uniform))


def totals(played: PlayedEpisode) -> tuple[float, Array]:
    """The raw totals of an episode: the reward and the m values, added up step by step."""
    reward, values = 0.0, np.zeros(played.values.shape[1])
    for r, v in zip(played.rewards.tolist(), played.values, strict=True):
        reward, values = reward + r, values + v
    return reward, values


def play(
    world: EnvWorld, mind: Mind, draws: Sequence[tuple[int, Array]], deterministic: bool = False, learning: bool = False
) -> list[PlayedEpisode]:
    """Play episodes side by side with a mind's plan, and learn nothing.

    Args:
        world: the environment, or several.
        mind: whose plan is played.
        draws: for each episode the seed of the environment and (H,) random numbers in [0,1) that draw the actions.
        deterministic: take the likeliest actions instead.
        learning: whether a mind may try what it does not keep to.

    Returns:
        What happened in each.

    Raises:
        InputError: a value or an episode's length is not what was promised; the message names the step and the value.
    """
    H = world.objectives.horizon
    ready(mind)
    chances = mind.chances if learning else mind.steady().chances
    flights = [Flight(i) for i in range(len(draws))]
    seen = world.start_all([seed for seed, _ in draws])
    for h in range(H):
        going = [flight for flight in flights if flight.last is None]
        if not going:
            break
        actions: list[int | None] = [None] * len(flights)
        for flight in going:
            (observation, mask), uniforms = seen[flight.number], draws[flight.number][1]
            action = draw(chances(h, observation, mask), float(uniforms[h]), deterministic)
            actions[flight.number] = flight.decide(observation, mask, action).action
        outcomes = world.step_all(h, actions)
        for flight in going:
            outcome = outcomes[flight.number]
            assert outcome is not None
            flight.steps[h].reward, flight.steps[h].values = outcome.reward, outcome.values
            seen[flight.number] = outcome.observation, outcome.mask
            if outcome.terminated or outcome.truncated or h + 1 == H:
                flight.last, flight.terminated = outcome.observation, outcome.terminated
            if outcome.terminated:
                continue
            if outcome.truncated and h + 1 < H and world.whole:
                raise InputError(f"step {h}: the environment cut the episode after {h + 1} steps; expected the horizon {H}")
            if h + 1 == H and not outcome.truncated and world.overrun == "error":
                raise InputError(
                    f"step {h}: the episode goes on after the horizon {H}; expected its end (wrap the environment in "
                    f"gymnasium.wrappers.TimeLimit, or pass overrun='cut')"
                )
    return [flight.played() for flight in flights]


@lru_cache(maxsize=256)
def seeds(seed: int, purpose: int, number: int, horizon: int) -> tuple[int, Array]:
    """The environment's seed of an episode, and the uniforms that draw its actions, which are not to be written to.

    Args:
        seed: of the agent.
        purpose: 0 to learn, 1 to evaluate, 2 to judge features, 4 to be recorded; each draws other numbers.
        number: of the episode.
        horizon: H.
    """
    world, own = (np.random.SeedSequence(seed, spawn_key=(purpose, number, i)) for i in (0, 1))
    return int(world.generate_state(1)[0]) & 0x7FFFFFFF, np.random.default_rng(own).random(horizon)
