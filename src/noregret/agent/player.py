"""A learner with its environment, as far as it only plays and is looked at: nothing is learned here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.agent.adequacy import Adequacy
from noregret.agent.curve import SUMMED, Curve
from noregret.agent.episodes import draw, play, ready, seeds, totals
from noregret.agent.flight import Name
from noregret.agent.flights import Flights
from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.ranges import Ranges
from noregret.agent.records import Evaluation
from noregret.agent.setup import Setup
from noregret.agent.watching import Film, policy_map
from noregret.errors import InputError
from noregret.gym import EnvWorld
from noregret.gym.actions import Action
from noregret.problems.base import Array
from noregret.problems.checks import integer
from noregret.results import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Player:
    """Plays by the plan of its learner, and says what it is and what its episodes brought.

    Args:
        setup: all that decides it.
        world: its environment; None for one from a file that is only asked and told.

    Attributes:
        learner: what learns (:class:`noregret.agent.minds.protocol.Mind`); ``learner.name`` is its name.
        curve, flights: what its episodes brought, and the episodes in flight.
        objectives, actions, features: parts of the setup.
    """

    def __init__(self, setup: Setup, world: EnvWorld | None) -> None:
        self.setup, self.world, self.ranges = setup, world, Ranges(setup.objectives, setup.outside)
        self.objectives, self.actions, self.features = setup.objectives, setup.actions, setup.features
        self.learner, self.curve = setup.mind(self.ranges), Curve(setup.objectives)
        self.see = setup.see if world is None else world.see
        self.flights = Flights(setup.objectives.horizon, setup.actions.n, len(setup.objectives.limits))
        self._predictions = np.random.default_rng(np.random.SeedSequence(setup.seed, spawn_key=(3,)))

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse what would do nothing, such as ``agent.limit = 3``: an agent changes by learning only."""
        if "_closed" in vars(self):
            raise InputError(f"agent.{name} cannot be set; expected a new agent: nr.Agent takes what can be chosen")
        super().__setattr__(name, value)

    # --- what it is --------------------------------------------------------------------------------------------------------

    @property
    def episodes(self) -> int:
        """How many episodes were learned from; those of a log that do not count are left out."""
        return len(self.curve)

    @property
    def history(self) -> History:
        """The learning curve so far: rewards, utilities or costs, and dual of every episode learned from."""
        return self.curve.history(self.learner.name)

    @property
    def rewards(self) -> list[float]:
        """The total reward of each episode learned from."""
        return self.curve.rewards

    @property
    def values(self) -> list[Array]:
        """The total utilities or costs (m,) of each episode learned from."""
        return self.curve.values

    @property
    def lengths(self) -> list[int]:
        """The steps of each episode learned from."""
        return self.curve.lengths

    @property
    def in_flight(self) -> tuple[Name, ...]:
        """The names of the episodes that began and did not end."""
        return tuple(self.flights)

    @property
    def env_seed(self) -> int:
        """The seed with which :meth:`Agent.learn` would reset the environment for the next episode that begins."""
        return seeds(self.setup.seed, 0, self.flights.next, self.objectives.horizon)[0]

    def __repr__(self) -> str:
        """What the agent is and how far it has come, in one line."""
        o = self.objectives
        asked = ", ".join(o.stated(">=", "<="))
        return f"<Agent {self.learner.name}: {asked}; H={o.horizon} {self._size()}, {self.episodes} episodes learned>"

    def _size(self) -> str:
        seen, f = self.setup.observations, self.features
        return f"d={f.dimension}" if f is not None else f"S={seen.n_states}" if seen.n_states else f"d={seen.dimension}"

    def summary(self) -> str:
        """Say whether each limit is met, what the agent is, every choice that was made for it, and how far it has come."""
        o, n, mind, total = self.objectives, min(SUMMED, self.episodes), self.learner, self.setup.total
        logged = f" and {self.curve.logged} of a log" if self.curve.logged else ""
        lines = [
            *self.curve.verdicts(),
            *self.curve.doubts(),
            mind.about,
            f"{mind.name}, H={o.horizon} A={self.actions.n} {self._size()}",
            *self.actions.describe(),
            *mind.describe(),
            f"episodes: {self.episodes}{logged} of {'no end' if total is None else total}; plans: {mind.replans}; "
            f"dual: {np.round(mind.dual, 4).tolist()}",
            self._notice(),
        ]
        return "\n".join([*lines, f"last {n} episodes: reward {np.mean(self.curve.rewards[-n:]):.4g}"] if n else lines)

    def _notice(self) -> str:
        until = self.learner.bounded_until
        when = "" if until is None else f" until episode {until}"
        return f"this run will need at most {self.learner.memory_bound() / 1e9:.2g} GB{when}"

    # --- playing -----------------------------------------------------------------------------------------------------------

    def predict(self, observation: object, step: int, deterministic: bool = False, mask: ArrayLike | None = None) -> Action:
        """Choose an action for an observation.

        Args:
            observation: as the environment gives it.
            step: 0..H-1, how many actions of the episode were taken before.
            deterministic: take the likeliest action; if not, one is drawn from the policy.
            mask: which actions can be taken; None for what the observation says, else all.

        Returns:
            The action, as the environment takes it.
        """
        policy = self.probabilities(observation, step, mask)
        return self.actions.to_env(draw(policy, self._predictions.random(), deterministic))

    def probabilities(self, observation: object, step: int, mask: ArrayLike | None = None) -> Array:
        """Compute the probabilities (A,) of all actions at an observation, in the order of the environment's actions.

        While no episode is in flight they are those of what was learned, without anything that is only tried.

        Args:
            observation: as the environment shows it.
            step: h, from 0.
            mask: (A,) which actions can be taken; None for what the observation says, else all.
        """
        step = integer("step", step, 0, self.objectives.horizon - 1)
        read, seen = self.setup.mask(step, observation, mask), self.see(step, observation)
        if not self.flights:  # else the plan that they began with stands
            ready(self.learner)
        return self.learner.chances(step, seen, read) if self.flights else self.learner.steady().chances(step, seen, read)

    def evaluate(self, episodes: int = 100, deterministic: bool = False) -> Evaluation:
        """Play fresh episodes with the current policy and learn nothing; ``deterministic`` takes the likeliest actions."""
        played = [totals(each) for each in self._fresh(episodes, 1, deterministic)]
        return Evaluation.of(self.objectives, np.array([r for r, _ in played]), np.array([v for _, v in played]))

    def adequacy(self, episodes: int = 200) -> Adequacy:
        """Judge by fresh episodes whether given features are good enough; see :mod:`noregret.agent.adequacy`."""
        return self.learner.adequacy(self._fresh(episodes, 2, False))

    def _fresh(self, n: int, purpose: int, deterministic: bool) -> list[PlayedEpisode]:
        world, H = self._need_world("evaluate"), self.objectives.horizon
        draws = [seeds(self.setup.seed, purpose, i, H) for i in range(integer("episodes", n, 1))]
        rounds = (draws[i : i + world.size] for i in range(0, n, world.size))
        return [played for each in rounds for played in play(world, self.learner, each, deterministic)]

    def _need_world(self, what: str) -> EnvWorld:
        if self.world is None:
            raise InputError(f"the agent has no environment to {what} in; pass env= to Agent.load")
        return self.world

    # --- to be looked at ---------------------------------------------------------------------------------------------------

    def plot(self, axes: NDArray[np.object_] | None = None) -> NDArray[np.object_]:
        """Draw the learning curve: reward and costs of each episode, rolling means, the limits as lines, the dual.

        Args:
            axes: an array of three axes to draw on; None for a new figure.

        Returns:
            The axes.
        """
        drawn: NDArray[np.object_] = self.history.plot(axes)
        return drawn

    def policy_map(
        self, step: int = 0, ax: Axes | None = None, names: tuple[str, str] = ("observation 0", "observation 1")
    ) -> Axes:
        """Draw which action is likeliest where, over the part of a two-dimensional world that was seen.

        Args:
            step: of the episode.
            ax: the axes to draw on; None for a new figure.
            names: of the two numbers of an observation.

        Returns:
            The axes.

        Raises:
            InputError: observations are not two numbers, or nothing was learned yet.
        """
        step = integer("step", step, 0, self.objectives.horizon - 1)
        return policy_map(self.learner, self.actions, self.curve.seen, step, ax, names)

    def record(
        self, path: str | os.PathLike[str], episode: int = 0, *, deterministic: bool = False, fps: int = 25, width: int = 480
    ) -> Path:
        """Play one fresh episode and write it as a GIF: the environment's own pictures, with what was earned so far.

        The environment is used as it is if it renders pictures ("rgb_array"); else it is made again from its id.

        Args:
            path: the file, whose name ends with .gif.
            episode: which of the fresh episodes, from 0.
            deterministic: take the likeliest actions.
            fps: pictures in a second.
            width: of the pictures, in pixels; wider ones are made smaller.

        Raises:
            InputError: the environment cannot be rendered, or the name does not end with .gif.
            NoRegretError: Pillow is not installed.
        """
        film = Film(path, fps, width, deterministic)
        film.check()
        draws = seeds(self.setup.seed, 4, integer("episode", episode, 0), self.objectives.horizon)
        return film.write(self._need_world("record"), self.learner, draws)
