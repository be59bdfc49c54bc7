r"""The object a user holds: an environment and what learns in it, with learn, act and tell, predict, evaluate, save and load.

    agent = nr.Agent("MountainCar-v0", limit=90, cost=lambda x, action, y, reward, info: float(action != 1))
    agent.learn(200)
    print(agent.summary(), agent.evaluate(100), sep="\n")
    action = agent.predict(observation, step=0)

Episode k resets the environment with a seed made from (seed, k) and draws its actions from another, so learning K episodes
and K more is learning 2K, bit for bit. With features that are given this holds if the total is given as ``episodes`` or left
out: then constants that depend on K are those of the next power of two, at least 1024 (a schedule without an end).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from noregret._system.interrupts import held
from noregret._system.progress import bar
from noregret.agent import files
from noregret.agent import setup as making
from noregret.agent.driven import Driven
from noregret.agent.episodes import play, ready, seeds, totals
from noregret.agent.flight import Name
from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.player import Player
from noregret.agent.records import Callback, EpisodeRecord, Function
from noregret.agent.setup import Setup, SupportsTransform
from noregret.errors import InputError
from noregret.features import FeatureMap
from noregret.gym import EnvWorld, Objectives
from noregret.gym.actions import Action
from noregret.gym.environments import as_environment, horizon_of, time_limit, world_of
from noregret.gym.sources import Source, one_source
from noregret.problems.checks import integer

if TYPE_CHECKING:
    from noregret.gym.world import Environment
    from noregret.problems import LinearCMDP, TabularCMDP

    Asked = Environment | TabularCMDP | LinearCMDP | str

#: Episodes of a learner that finds its own features have at most so many steps: its plans have values for each.
MOST_STEPS = 100_000


class Agent(Player):
    """Learns to act in an environment under a constraint on a long-run total.

    The default learner, soft-cells, learns a model of the environment. It is inspired by the paper's soft-max and price and has
    no guarantee. Algorithm 1 of the paper is ``learner="primal-dual-lsvi"`` with ``features``; on problems of noregret it is
    what learns. Actions that a mask forbids (``info["action_mask"]``, ``env.action_masks()`` or ``observation["action_mask"]``)
    are not taken. Problems of noregret say themselves what such an action does, so there masks are not looked at.

    Args:
        env: a Gymnasium environment or its id, several side by side (``gymnasium.vector``), or a problem of noregret.
        learner: "soft-cells", "primal-dual-lsvi" or "lsvi-ucb"; None lets ``features`` decide.
        features: "auto"; or a feature map, or a scikit-learn transformer, which is fitted on random play if it is not yet. None
            takes a problem's own features, and "auto" elsewhere.
        threshold: the least raw total of each utility. A problem brings its own.
        limit: the most raw total of each cost, in place of ``threshold``.
        episodes: how many will be learned in all (more are refused), or None for no end.
        horizon: H; None for that of the environment's time limit or of the problem.
        seed: determines everything random.
        reward_range: (low, high) of raw rewards; None to find it from data, or (0, 1) with given features.
        utility_range: (low, high) of raw utilities or costs, or one for each; None as for ``reward_range``.
        outside: what becomes of a number outside its range: "widen" the range, "clip" the number, or "error". None widens where
            ranges can be found from data, and clips with given features.
        actions: for a Box of actions, how many points each dimension has on a grid, or the list of actions. None is 5 points
            or 3, at most 27 in all, or else each dimension alone at its ends.
        cost, utility: what a step costs, for ``limit``, or brings, for ``threshold``; see :mod:`noregret.gym.world`.
        reward_weights, utility_weights: of rewards that are vectors; see :mod:`noregret.gym.world`.
        overrun: "error" refuses an episode that goes on after the horizon, "cut" ends it there. None cuts where ``horizon`` is
            given and features are found from data.
        constraint_names: one for each constraint.
        bound: on the norm of a transformer's features, where none is proven.
        preset, slater_gap, params: of the learner, e.g. ``replan="doubling"``, ``merge_tol=0.01``, ``beta=0.3``.

    >>> import noregret as nr
    >>> nr.Agent(nr.problems.load("job-scheduling"), episodes=100)
    <Agent primal-dual-lsvi: jobs finished / 2 >= 4; H=10 d=20, 0 episodes learned>
    """

    def __init__(
        self,
        env: Asked,
        learner: str | None = None,
        *,
        features: FeatureMap | str | SupportsTransform | None = None,
        threshold: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        episodes: int | None = None,
        horizon: int | None = None,
        seed: int = 0,
        reward_range: Sequence[float] | None = None,
        utility_range: Sequence[float] | Sequence[Sequence[float]] | None = None,
        outside: str | None = None,
        actions: ArrayLike | None = None,
        cost: Source = None,
        utility: Source = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        overrun: str | None = None,
        constraint_names: Sequence[str] = (),
        bound: float | None = None,
        preset: str | None = None,
        slater_gap: float | None = None,
        **params: ArrayLike | None,
    ) -> None:
        making.check_names(params, inspect.signature(type(self)).parameters)
        env = as_environment(env)
        options = params | {k: v for k, v in (("preset", preset), ("slater_gap", slater_gap)) if v is not None}
        auto, source = making.finds_features(env, features, learner, options), one_source(cost, utility, limit is not None)
        if making.is_problem(env):
            problem = env.unwrapped.problem  # type: ignore[attr-defined]
            horizon = horizon or problem.horizon
            if threshold is None and limit is None:
                threshold, source = problem.b, source or "utility"
                constraint_names = constraint_names or problem.constraint_names
        unit = None if auto else (0.0, 1.0)
        objectives = Objectives.make(
            horizon_of(env, horizon), threshold=threshold, limit=limit, names=constraint_names,
            reward_range=unit if reward_range is None else reward_range,
            utility_range=unit if utility_range is None else utility_range,
        )  # fmt: skip
        objectives.check_signs()
        if auto:
            integer("horizon", objectives.horizon, 1, MOST_STEPS)
        if auto and (most := time_limit(env)) is not None and objectives.horizon > most:
            raise InputError(f"horizon is {objectives.horizon}; expected at most {most}, the environment's time limit")
        world = world_of(
            env, objectives, utility=source, reward_weights=reward_weights, utility_weights=utility_weights, actions=actions,
            overrun=overrun or ("cut" if auto and horizon is not None else "error"),
        )  # fmt: skip
        total = None if episodes is None else integer("episodes", episodes, 1, making.LARGEST_OPTION)
        setup = making.in_world(
            world, learner, features, options, bound, outside=outside or ("widen" if auto else "clip"),
            seed=integer("seed", seed, 0), total=total,
        )  # fmt: skip
        self._begin(setup, world)

    def _begin(self, setup: Setup, world: EnvWorld | None) -> None:
        """Put the parts together: the one way to an agent, new or from a file."""
        super().__init__(setup, world)
        self._keeper, self._driven = files.Keeper(), Driven(setup, self.learner, self.flights, self.see)
        self._closed = True

    # --- learning ------------------------------------------------------------------------------------------------------

    def learn(
        self,
        episodes: int,
        callback: Callback | Callable[[Agent, EpisodeRecord], bool | None] | None = None,
        progress_bar: bool = True,
    ) -> Agent:
        """Learn from more episodes. An episode that fails is not counted and leaves the learner as it was.

        Of several environments side by side each plays an episode with one plan, and all are learned from.

        Args:
            episodes: how many.
            callback: called after each episode with the agent and an ``EpisodeRecord``; False as its answer stops learning.
            progress_bar: show one.

        Raises:
            InputError: more episodes than the agent was made for, or the environment broke a promise.
        """
        episodes = integer("episodes", episodes, 1)
        self._check_room(episodes)
        world = self._need_world("learn")
        hooks = callback if isinstance(callback, Callback) else Function(callback)
        hooks.on_start(self)
        done, goes_on = 0, True
        try:
            with bar(episodes, None if progress_bar else False, self._notice()) as show:
                while goes_on and done < episodes:
                    for record in self._round(world, min(world.size, episodes - done)):
                        done += 1
                        show(done, self.curve.recent())
                        goes_on = hooks.on_episode(self, record) is not False and goes_on
        finally:
            try:
                hooks.on_end(self)
            finally:
                self._keeper.look(self, end=True)
        return self

    def _check_room(self, episodes: int) -> None:
        total = self.setup.total
        if total is not None and episodes > total - self.episodes:
            raise InputError(
                f"episodes is {episodes}; expected at most {total - self.episodes}, what is left of the {total} that "
                f"the agent was made for (leave episodes= out of Agent for no end)"
            )

    def _round(self, world: EnvWorld, n: int) -> list[EpisodeRecord]:
        """Play n episodes side by side and learn from them, each wholly or not at all."""
        first = self.flights.next
        draws = [seeds(self.setup.seed, 0, first + i, self.objectives.horizon) for i in range(n)]
        records = []
        for i, played in enumerate(play(world, self.learner, draws, learning=True)):
            with held():
                records.append(self._take(played))
                self.flights.next = max(self.flights.next, first + i + 1)
            self._keeper.look(self)
        return records

    def _take(self, played: PlayedEpisode, counts: bool = True) -> EpisodeRecord:
        """Learn from an episode and count it, or neither."""
        fitted, expected = self.ranges.fit(played), self.learner.estimate
        reward, values = totals(played)
        number = self.episodes if counts else -1
        with held():
            self.learner.learn(fitted, counts)
            self.curve.look(played)
            if counts:
                self.curve.add(played, expected, self.learner)
            self.curve.logged += not counts
        return EpisodeRecord(number, reward, values, len(played.actions))

    # --- driven by another system ----------------------------------------------------------------------------------------

    def plan(self) -> bool:
        """Make a new plan if it is time, so that the next :meth:`act` need not; tells whether one was made."""
        before = self.learner.replans
        ready(self.learner)
        return self.learner.replans > before

    def act(
        self, observation: object, episode: Name = None, *, step: int | None = None, mask: ArrayLike | None = None
    ) -> Action:
        """Choose the next action of an episode, which begins if no episode of this name is in flight.

        Args:
            observation: as the environment gives it.
            episode: the name of the episode; one episode after the other needs none.
            step: h, from 0. Given, it is checked, and asking again for the same step gives the same action. None: the next one.
            mask: which actions can be taken; None for what the observation says, else all.

        Returns:
            The action, as the environment takes it.

        Raises:
            InputError: the step is not the next one, the episode has taken all its steps, or a part cannot be used.
        """
        return self._driven.act(observation, episode, step, mask, lambda: self._check_room(1 + len(self.flights)))

    def tell(
        self,
        reward: ArrayLike,
        values: ArrayLike,
        observation: object = None,
        *,
        terminated: bool = False,
        truncated: bool = False,
        episode: Name = None,
        step: int | None = None,
        taken: object = None,
    ) -> EpisodeRecord | None:
        """Tell what an action of an episode brought, or several in a row.

        Args:
            reward: raw, of one action; or one for each action.
            values: raw utilities or costs, m of them (a number where m = 1); or (n,m) for n actions.
            observation: what came after the last action; needed at the end of the episode.
            terminated: whether the world ended the episode with the last of these actions.
            truncated: whether the episode was cut after it.
            episode: its name.
            step: of the first of these actions; None for the first that was not told yet. The same report again counts once.
            taken: the action that was done, as the environment takes it, where something overrode the agent's.

        Returns:
            What the episode brought, if all of it is known now; else None.

        Raises:
            InputError: there is no such episode or step, it was told otherwise before, or a number cannot be used.
        """
        with held():  # told, learned from and counted, or none of it
            played = self._driven.tell(reward, values, observation, (terminated, truncated), episode, step, taken)
            if played is None:
                return None
            record = self._take(played)
            self.flights.remove(episode)
        self._keeper.look(self)
        return record

    def tell_episode(
        self,
        observations: Sequence[object],
        actions: Sequence[object],
        rewards: ArrayLike,
        values: ArrayLike,
        *,
        terminated: bool = False,
        masks: Sequence[object] | None = None,
        counts: bool = True,
    ) -> EpisodeRecord:
        """Tell a whole episode that the agent was not asked for, such as one from a log.

        Args:
            observations: L+1 of them, the last one after the last action.
            actions: L of them, as the environment takes them.
            rewards: (L,) raw.
            values: (L,m) raw utilities or costs, or (L,) where m = 1.
            terminated: whether the world ended the episode.
            masks: L masks, which actions could be taken; None for what the observations say, else all.
            counts: False for an episode that somebody else played: it teaches the agent the world, is not charged to its
                limits, and is no part of its curve.

        Raises:
            InputError: there are more steps than the horizon has, or a part cannot be used; the message names the step.
        """
        played = self._driven.whole(observations, actions, rewards, values, terminated, masks)
        if counts:
            self._check_room(1 + len(self.flights))
            ready(self.learner)
        with held():
            record = self._take(played, counts)
            self.flights.next += counts
        self._keeper.look(self)
        return record

    def abandon(self, episode: Name = None) -> None:
        """Forget an episode in flight; nothing is learned from it."""
        self.flights.remove(episode)

    # --- files -----------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write all but environment and features to one .npz file, episodes in flight too; a failed write leaves the old file.

        Args:
            path: the file.
            replace: write although another process has written the file since this agent read or wrote it.

        Raises:
            FileError: the file cannot be written, or another process has written it.
        """
        self._keeper.save(self, path, replace)

    def autosave(self, path: str | os.PathLike[str] | None, every: int | None = None, seconds: float | None = None) -> Agent:
        """Save the agent by itself from now on while it learns or is told, and when a call to :meth:`learn` ends in any way.

        Args:
            path: the file, which is replaced as a whole; None stops it.
            every: after so many episodes.
            seconds: after so much time; 30 s where neither is given.
        """
        self._keeper.autosave(path, every, seconds)
        return self

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        features: FeatureMap | SupportsTransform | None = None,
        env: Asked | None = None,
        cost: Source = None,
        utility: Source = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        actions: ArrayLike | None = None,
        overrun: str | None = None,
    ) -> Agent:
        """Read an agent from a file that :meth:`save` wrote, with the episodes that were in flight.

        Args:
            path: what :meth:`save` wrote.
            features: the feature map that the agent was made with; it is verified on observations stored in the file. None
                where it was one-hot or found from data.
            env: the environment, to learn on or evaluate; not needed to predict, act and tell.
            cost: as at construction.
            utility: as at construction, and so are the weights.
            reward_weights: of vector rewards.
            utility_weights: of vector rewards.
            actions: None for those of the file.
            overrun: None for what it was.

        Raises:
            InputError: the feature map or the environment is not the one that the agent was made with.
            FileError: the file cannot be read.
        """
        meta, arrays = files.read(path)
        setup = files.setup_of(path, meta, arrays, features)
        reading = {"reward_weights": reward_weights, "utility_weights": utility_weights, "overrun": overrun, "actions": actions}
        source = one_source(cost, utility, setup.objectives.costs)
        world = None if env is None else files.world_for(setup, as_environment(env), utility=source, **reading)
        agent = cls.__new__(cls)
        with files.explained(path):
            agent._begin(setup, world)
            agent.curve.restore(arrays)
            agent.flights.restore(files.part(arrays, "flight."), setup.shown())
            agent.learner.restore(files.part(arrays, "state."))
        agent._keeper.note(path)
        return agent
