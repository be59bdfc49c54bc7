"""Environments side by side (``gymnasium.vector``) as episodes that begin together.

A round starts one episode in each of the n environments and ends when the last of them is over. An environment whose episode is
over goes on by itself until then, as its mode of autoreset has it, and nobody looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from numpy.typing import NDArray

from noregret.problems.base import Array

if TYPE_CHECKING:
    from gymnasium import Space


from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from noregret.errors import InputError
from noregret.gym.actions import Action, check_mask
from noregret.gym.objectives import Objectives
from noregret.gym.spaces import Mask, spaces_of
from noregret.gym.world import EnvWorld, StepOutcome, Stepped, WorldOptions, mask_method


class VectorEnvironment(Protocol):
    """What is asked of several environments side by side."""

    num_envs: int
    metadata: dict[str, Any]
    single_observation_space: Space[object]

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[object, dict[str, Any]]:
        """Start an episode in each."""

    def step(self, action: Any, /) -> tuple[object, Array, Mask, Mask, dict[str, Any]]:
        """Take an action in each."""

    def close(self) -> object:
        """End what the environments hold."""

    def call(self, name: str) -> Sequence[object]:
        """Call a method of each."""


class VectorWorld(EnvWorld):
    """Several environments side by side; the arguments are those of :class:`~noregret.gym.EnvWorld`."""

    env: VectorEnvironment

    def __init__(self, env: VectorEnvironment, objectives: Objectives, **options: Unpack[WorldOptions]) -> None:
        super().__init__(env, objectives, **options)
        self.size = int(env.num_envs)
        mode = str(getattr(env.metadata.get("autoreset_mode"), "name", env.metadata.get("autoreset_mode") or "NEXT_STEP"))
        self._mode = mode.upper()
        if self._mode not in ("NEXT_STEP", "SAME_STEP", "DISABLED"):
            raise InputError(f"env has the autoreset mode {mode!r}; expected NextStep, SameStep or Disabled")
        with one_of(env) as single:
            self._single, self._asks = single is not None, single is not None and mask_method(single) is not None
        self._xs: list[object] = [None] * self.size
        self._idle: list[Mask | None] = [None] * self.size

    def start(self, seed: int) -> tuple[NDArray[np.generic], Mask | None]:
        """One environment alone is not to be had."""
        raise InputError("env is several environments side by side; expected a single one here")

    def start_all(self, seeds: Sequence[int]) -> list[tuple[NDArray[np.generic], Mask | None]]:
        """Start an episode in the first environments, one for each seed; the others start too, and nobody looks."""
        seeds = [int(seed) for seed in seeds]
        all_seeds = seeds + [(seeds[-1] + 1 + i) & 0x7FFFFFFF for i in range(self.size - len(seeds))]
        observations, infos = self.env.reset(seed=all_seeds if self._single else seeds[0])  # one made as a whole takes one seed
        self._xs = _parts(self.env.single_observation_space, observations, self.size)
        shown = self._all_masks()
        self._idle = [self._mask(0, _info(infos, i), shown[i], self._xs[i]) for i in range(self.size)]
        for mask in self._idle[: len(seeds)]:
            check_mask(mask, 0)
        return [(self.see(0, self._xs[i]), self._idle[i]) for i in range(len(seeds))]

    def step_all(self, h: int, actions: Sequence[int | None]) -> list[StepOutcome | None]:
        """Take an action in each episode that goes on; an environment whose episode is over takes any that it allows."""
        chosen = [self._any(i) if a is None else a for i, a in enumerate([*actions, *[None] * (self.size - len(actions))])]
        taken = [self.actions.to_env(a) for a in chosen]
        observations, rewards, ends, cuts, infos = self.env.step(self._batch(taken))
        after = _parts(self.env.single_observation_space, observations, self.size)
        shown, out = self._all_masks(), list[StepOutcome | None]()
        for i in range(self.size):
            info, y = _info(infos, i), after[i]
            if self._mode == "SAME_STEP" and (ends[i] or cuts[i]):  # y and info are those of the next episode
                y, info = infos["final_obs"][i], _info(infos.get("final_info", {}), i)
            goes_on = i < len(actions) and actions[i] is not None
            if goes_on:
                results = Stepped(y, rewards[i], ends[i], cuts[i], info)
                out.append(self._read(h, taken[i], results, self._xs[i], shown[i]))
            elif i < len(actions):
                out.append(None)
            over = self._mode == "NEXT_STEP" and (ends[i] or cuts[i])
            self._idle[i] = None if over else self._mask(h + 1, _info(infos, i), shown[i], after[i])
        self._xs = after
        if self._mode == "DISABLED" and (over_now := np.logical_or(ends, cuts)).any():
            observations, infos = self.env.reset(options={"reset_mask": over_now})
            self._xs = _parts(self.env.single_observation_space, observations, self.size)
            for i in np.flatnonzero(over_now).tolist():
                self._idle[i] = self._mask(0, _info(infos, i), None, self._xs[i])
        return out

    def _batch(self, taken: list[Action]) -> object:
        """The actions of all environments as they take them."""
        if not self.actions.shape:
            return np.stack(taken)  # type: ignore[arg-type]
        from gymnasium.vector.utils import concatenate, create_empty_array

        space = spaces_of(self.env)[1]
        return concatenate(space, taken, create_empty_array(space, self.size))  # type: ignore[arg-type]

    def _any(self, i: int) -> int:
        mask = self._idle[i]
        return 0 if mask is None else int(mask.argmax())

    def _all_masks(self) -> list[Callable[[], object] | None]:
        """What each environment says of its actions when it is asked, as functions."""
        if not self._asks or not self.masked:
            return [None] * self.size
        said = self.env.call("action_masks")
        return [lambda i=i: said[i] for i in range(self.size)]  # type: ignore[misc]


@contextmanager
def one_of(env: object) -> Iterator[object]:
    """Lend one of the environments of a vector, to look at; None where the vector is not made of environments.

    Those of other processes cannot be looked at, and a question that one of them cannot answer ends it: another one is made.
    """
    core = getattr(env, "unwrapped", env)
    if made := getattr(core, "envs", None):
        yield made[0]
    elif makers := getattr(core, "env_fns", None):
        extra = makers[0]()
        try:
            yield extra
        finally:
            extra.close()
    else:
        yield None


def _parts(space: Space[object], batch: object, n: int) -> list[object]:
    """The observations of n environments, one by one."""
    if isinstance(batch, np.ndarray):
        return list(batch)
    from gymnasium.vector.utils import batch_space, iterate

    return list(iterate(batch_space(space, n), batch))


def _info(infos: Mapping[str, Any], i: int) -> dict[str, object]:
    """What ``infos`` says of environment i: entries whose mask ``_name`` is set there, and dictionaries of such entries."""
    entries = {}
    for name, value in infos.items():
        there = infos.get(f"_{name}")
        if there is None or not np.asarray(there)[i]:
            continue
        entries[name] = _info(value, i) if isinstance(value, dict) else value[i]
    return entries
