"""Episodes in an environment, played with a mind's plan: checked as they go, nothing learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret._system.interrupts import held
from noregret.errors import InputError
from noregret.gym.spaces import Mask
from noregret.gym.world import World
from noregret.kernels.world import draw_action
from noregret.learners.minds import Mind, Played
from noregret.problems.base import Array


class Episode(NamedTuple):
    """What happened in L steps, L at most H: observations, features (L,R,p), and numbers both raw and in [0,1]."""

    observations: list[Any]  # L+1
    rows: Array  # (L,R,p)
    actions: NDArray[np.int64]  # (L,)
    observed: Array  # (L,1+m) in [0,1]
    reward: float  # raw total
    values: Array  # (m,) raw totals
    terminated: bool


class Trace:
    """An episode as it goes on: what was seen, done and earned so far. ``number`` is the episode's own, ``uniforms`` draw."""

    def __init__(self, number: int, uniforms: Array) -> None:
        self.number, self.uniforms = number, uniforms
        self.observations: list[NDArray[Any]] = []
        self.masks: list[Mask | None] = []
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.values: list[Array] = []

    def see(self, observation: NDArray[Any], mask: Mask | None) -> None:
        """Take in what is seen before the next action, or after the last one."""
        self.observations.append(observation)
        self.masks.append(mask)

    def act(self, mind: Mind, deterministic: bool = False) -> int:
        """Choose the next action by the mind's plan, at what was seen last."""
        h = len(self.actions)
        policy = mind.chances(h, self.observations[h], self.masks[h])
        action = draw(policy, float(self.uniforms[h]), deterministic)
        self.actions.append(action)
        return action

    def played(self, terminated: bool) -> Played:
        """The whole episode, for a mind to learn from."""
        masks = None
        if any(mask is not None for mask in self.masks):
            A = len(next(mask for mask in self.masks if mask is not None))
            masks = np.array([np.ones(A, dtype=bool) if mask is None else mask for mask in self.masks])
        return Played(
            np.array(self.observations), np.array(self.actions, dtype=np.int64), np.array(self.rewards),
            np.array(self.values), terminated, masks,
        )  # fmt: skip


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


def totals(played: Played) -> tuple[float, Array]:
    """The raw totals of an episode: the reward and the m values, added up step by step."""
    reward, values = 0.0, np.zeros(played.values.shape[1])
    for r, v in zip(played.rewards.tolist(), played.values, strict=True):
        reward, values = reward + r, values + v
    return reward, values


def play(world: World, mind: Mind, draws: Sequence[tuple[int, Array]], deterministic: bool = False) -> list[Played]:
    """Play episodes side by side with a mind's plan, and learn nothing.

    Args:
        world: the environment, or several.
        mind: whose plan is played.
        draws: for each episode the seed of the environment and (H,) random numbers in [0,1) that draw the actions.
        deterministic: take the likeliest actions instead.

    Returns:
        What happened in each.

    Raises:
        InputError: a value or an episode's length is not what was promised; the message names the step and the value.
    """
    H = world.objectives.horizon
    ready(mind)
    traces = [Trace(i, uniforms) for i, (_, uniforms) in enumerate(draws)]
    for trace, (observation, mask) in zip(traces, world.start_all([seed for seed, _ in draws]), strict=True):
        trace.see(observation, mask)
    ended: list[bool | None] = [None] * len(traces)  # None: goes on
    for h in range(H):
        actions = [t.act(mind, deterministic) if end is None else None for t, end in zip(traces, ended, strict=True)]
        for i, outcome in enumerate(world.step_all(h, actions)):
            if outcome is None:
                continue
            trace = traces[i]
            trace.rewards.append(outcome.reward)
            trace.values.append(outcome.values)
            over = outcome.terminated or outcome.truncated or h + 1 == H
            trace.see(outcome.observation, outcome.mask)
            if over:
                ended[i] = outcome.terminated
            if outcome.terminated:
                continue
            if outcome.truncated and h + 1 < H and world.whole:
                raise InputError(f"step {h}: the environment cut the episode after {h + 1} steps; expected the horizon {H}")
            if h + 1 == H and not outcome.truncated and world.overrun == "error":
                raise InputError(
                    f"step {h}: the episode goes on after the horizon {H}; expected its end (wrap the environment in "
                    f"gymnasium.wrappers.TimeLimit, or pass overrun='cut')"
                )
        if None not in ended:
            break
    return [trace.played(bool(end)) for trace, end in zip(traces, ended, strict=True)]


def seeds(seed: int, purpose: int, number: int, horizon: int) -> tuple[int, Array]:
    """The environment's seed of an episode, and the uniforms that draw its actions.

    Args:
        seed: of the agent.
        purpose: 0 to learn, 1 to evaluate, 2 to judge features, 4 to be recorded; each draws other numbers.
        number: of the episode.
        horizon: H.
    """
    world, own = (np.random.SeedSequence(seed, spawn_key=(purpose, number, i)) for i in (0, 1))
    return int(world.generate_state(1)[0]) & 0x7FFFFFFF, np.random.default_rng(own).random(horizon)
