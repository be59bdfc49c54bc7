"""One episode in an environment, played with a learner's current plan: checked as it goes, nothing learned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError
from noregret.gym.world import World
from noregret.kernels.world import draw_action
from noregret.learners.vectors import ContinuousLearner
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


def play(world: World, learner: ContinuousLearner, seed: int, uniforms: Array, deterministic: bool = False) -> Episode:
    """Play one episode with a learner's current plan, and learn nothing.

    Args:
        world: the environment.
        learner: whose plan is played.
        seed: of the environment's randomness.
        uniforms: (H,) random numbers in [0,1) that draw the actions.
        deterministic: take the likeliest action instead.

    Returns:
        What happened.

    Raises:
        InputError: a value or the episode's length is not what was promised; the message names the step and the value.
    """
    objectives, view = world.objectives, learner.current()
    H, m = objectives.horizon, len(objectives.limits)
    rows, actions = np.empty((H, learner.map.rows, learner.map.width)), np.empty(H, dtype=np.int64)
    observed, reward, values = np.empty((H, 1 + m)), 0.0, np.zeros(m)
    observations = [world.reset(seed)]
    for h in range(H):
        rows[h] = learner.encode(h, observations[h])
        policy = view.chances(h, rows[h : h + 1])
        a = actions[h] = int(policy[0].argmax()) if deterministic else draw_action(policy[None], 0, 0, uniforms[h])
        outcome = world.step(h, int(a))
        observed[h] = objectives.to_unit(h, outcome.reward, outcome.values)
        reward, values = reward + outcome.reward, values + outcome.values
        observations.append(outcome.observation)
        if outcome.terminated:
            if h + 1 < H and objectives.absorbing is None:
                raise InputError(
                    f"step {h}: the episode ended early, and 0 lies outside reward_range {objectives.reward_range} or "
                    f"utility_range {objectives.utility_ranges}; expected ranges that hold 0, what a missing step is worth"
                )
            return Episode(observations, rows[: h + 1], actions[: h + 1], observed[: h + 1], reward, values, True)
        if outcome.truncated and h + 1 < H:
            raise InputError(f"step {h}: the environment cut the episode after {h + 1} steps; expected the horizon {H}")
    if not outcome.truncated and world.overrun == "error":
        raise InputError(
            f"step {H - 1}: the episode goes on after the horizon {H}; expected its end (wrap the environment in "
            f"gymnasium.wrappers.TimeLimit, or pass overrun='cut')"
        )
    return Episode(observations, rows, actions, observed, reward, values, False)
