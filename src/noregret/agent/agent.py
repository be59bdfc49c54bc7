r"""The object a user holds: an environment and a mind that learns, with learn, act and tell, predict, evaluate, save and load.

    agent = nr.Agent("MountainCar-v0", limit=90, utility=lambda x, action, y, reward, info: float(action != 1))
    agent.learn(200)
    print(agent.summary(), agent.evaluate(100), sep="\n")
    action = agent.predict(observation, step=0)

Episode k resets the environment with a seed made from (seed, k) and draws its actions from another, so learning K episodes
and K more is learning 2K, bit for bit. With features that are given this holds if the total is given as ``episodes`` or left
out: then constants that depend on K are those of the next power of two, at least 1024 (a schedule without an end).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.interrupts import held
from noregret._system.progress import bar
from noregret.agent import adequacy, choice
from noregret.agent import files as agent_files
from noregret.agent.episodes import draw, play, ready, seeds, totals
from noregret.agent.flights import Flights
from noregret.agent.ranges import Ranges
from noregret.agent.records import Callback, Evaluation, Function, Record
from noregret.agent.regression import Regression
from noregret.agent.watching import Watched
from noregret.errors import InputError
from noregret.gym import Objectives, World
from noregret.gym.environments import as_environment, features_for, horizon_of, time_limit, world_of
from noregret.gym.spaces import Actions, Observations, check_mask, plain
from noregret.learners.minds import Mind, Played
from noregret.problems.base import Array
from noregret.problems.checks import integer
from noregret.results import History
from noregret.store.identity import decode, encode

#: Observations kept to recognise the feature map by.
PROBES = 16
#: The progress bar and the summary tell means of so many episodes.
RECENT, SUMMED = 20, 100


class Agent(Flights, Watched):
    """Learns to act in an environment under a constraint on a long-run total.

    With nothing but an environment, a limit and a cost, features and ranges are found from data (the mind ``soft-cells``). With
    ``features`` or ``learner`` given, and on problems of noregret, a learner of the paper works on these features. Actions that
    a mask forbids (``info["action_mask"]`` or ``env.action_masks()``) are not taken. Problems of noregret say themselves what
    such an action does, so there masks are not looked at.

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
        actions: for a Box of actions, how many points each dimension has on a grid, or the list of actions.
        utility, reward_weights, utility_weights: see :mod:`noregret.gym.world`.
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
        env: Any,
        learner: str | None = None,
        *,
        features: Any = None,
        threshold: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        episodes: int | None = None,
        horizon: int | None = None,
        seed: int = 0,
        reward_range: Sequence[float] | None = None,
        utility_range: Any = None,
        outside: str | None = None,
        actions: Any = None,
        utility: str | Callable[..., Any] | None = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        overrun: str | None = None,
        constraint_names: Sequence[str] = (),
        bound: float | None = None,
        preset: str | None = None,
        slater_gap: float | None = None,
        **params: Any,
    ) -> None:
        env = as_environment(env)
        options = params | {k: v for k, v in (("preset", preset), ("slater_gap", slater_gap)) if v is not None}
        auto = choice.finds_features(env, features, learner, options)
        if choice.is_problem(env):
            problem = env.unwrapped.problem
            horizon = horizon or problem.horizon
            if threshold is None and limit is None:
                threshold, utility = problem.b, utility or "utility"
                constraint_names = constraint_names or problem.constraint_names
        unit = None if auto else (0.0, 1.0)
        objectives = Objectives.make(
            horizon_of(env, horizon), threshold=threshold, limit=limit, names=constraint_names,
            reward_range=unit if reward_range is None else reward_range,
            utility_range=unit if utility_range is None else utility_range,
        )  # fmt: skip
        if auto and (most := time_limit(env)) is not None and objectives.horizon > most:
            raise InputError(f"horizon is {objectives.horizon}; expected at most {most}, the environment's time limit")
        overrun = overrun or ("cut" if auto and horizon is not None else "error")
        world = world_of(
            env, objectives, utility=utility, reward_weights=reward_weights, utility_weights=utility_weights, overrun=overrun,
            actions=actions,
        )  # fmt: skip
        world.masked = auto or not choice.is_problem(env)
        seed = integer("seed", seed, 0)
        ranges = Ranges(objectives, outside or ("widen" if auto else "clip"))
        self._begin(world, objectives, episodes, seed, ranges)
        if auto:
            self._find(learner or choice.AUTO, choice.world_spec(world, objectives), options)
        else:
            chosen = features_for(features, world, objectives.horizon, seed, bound)
            self._regress(learner, chosen, choice.usual(env, options))

    def _begin(self, world: World | None, objectives: Objectives, episodes: int | None, seed: int, ranges: Ranges) -> None:
        """All but the mind, whose numbers come later."""
        self.total = None if episodes is None else integer("episodes", episodes, 1)
        self.world, self.objectives, self.seed, self.ranges = world, objectives, seed, ranges
        self.actions = Actions(1) if world is None else world.actions
        self.starts = (0, 0) if world is None else world.starts
        self.rewards: list[float] = []
        self.values: list[Array] = []
        self.duals: list[Array] = []
        self.lengths: list[int] = []
        self.probes: list[NDArray[Any]] = []
        self._predictions = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
        self._prepare_flights()
        self._saver: agent_files.Autosave | None = None

    def _find(self, name: str, spec: Any, options: dict[str, Any]) -> None:
        """Take a mind that finds its own features."""
        self.learner_name, self.options, self.features, self.spec = name, decode(encode(options)), "auto", spec
        self.mind: Mind = choice.find_mind(name, spec, self.seed, self.options)
        self.learner: Any = self.mind

    def _regress(self, name: str | None, features: Any, options: dict[str, Any]) -> None:
        """Take a learner on given features."""
        options = decode(encode(options))  # plain numbers, or refused now rather than when saved
        made = choice.regression(name, self.objectives, features, self.total, self.ranges, options)
        self.learner_name, self.options, self.features = made.learner.name, options, features
        self.mind, self.learner, self.spec = made, made.learner, made.spec

    @property
    def episodes(self) -> int:
        """How many episodes were learned from."""
        return len(self.rewards)

    @property
    def history(self) -> History:
        """The learning curve so far: rewards, utilities or costs, and dual of every episode learned from."""
        o, shape = self.objectives, (-1, len(self.objectives.limits))
        return History(
            self.learner_name, o.names, o.limits, o.costs, np.array(self.rewards), np.array(self.values).reshape(shape),
            np.array(self.duals).reshape(shape), np.array(self.lengths, dtype=np.int64),
        )  # fmt: skip

    def __repr__(self) -> str:
        """What the agent is and how far it has come, in one line."""
        o = self.objectives
        asked = ", ".join(o.stated(">=", "<="))
        return f"<Agent {self.learner_name}: {asked}; H={o.horizon} {self._size()}, {self.episodes} episodes learned>"

    def _size(self) -> str:
        return f"S={self.spec.n_states}" if getattr(self.spec, "n_states", 0) else f"d={self.spec.dimension}"

    # --- learning ------------------------------------------------------------------------------------------------------

    def learn(
        self, episodes: int, callback: Callback | Callable[[Agent, Record], Any] | None = None, progress_bar: bool = True
    ) -> Agent:
        """Learn from more episodes. An episode that fails is not counted and leaves the learner as it was.

        Of several environments side by side each plays an episode with one plan, and all are learned from.

        Args:
            episodes: how many.
            callback: called after each episode with the agent and a :class:`Record`; False as its answer stops learning.
            progress_bar: show one.

        Raises:
            InputError: more episodes than the agent was made for, or the environment broke a promise.
        """
        integer("episodes", episodes, 1)
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
                        show(done, self._recent())
                        goes_on = hooks.on_episode(self, record) is not False and goes_on
        finally:
            try:
                hooks.on_end(self)
            finally:
                self._autosave(end=True)
        return self

    def _check_room(self, episodes: int) -> None:
        left = None if self.total is None else self.total - self.episodes
        if left is not None and episodes > left:
            raise InputError(
                f"episodes is {episodes}; expected at most {left}, what is left of the {self.total} that "
                f"the agent was made for (leave episodes= out of Agent for no end)"
            )

    def _round(self, world: World, n: int) -> list[Record]:
        """Play n episodes side by side and learn from them, each wholly or not at all."""
        first, H = self._next, self.objectives.horizon
        draws = [seeds(self.seed, 0, first + i, H) for i in range(n)]
        return [self._take(first + i, played) for i, played in enumerate(play(world, self.mind, draws))]

    def _take(self, number: int, played: Played) -> Record:
        """Learn from an episode and count it."""
        fitted = self.ranges.fit(played)
        reward, values = totals(played)
        record = Record(self.episodes, reward, values, len(played.actions))
        with held():  # learned from and counted, or neither
            self.mind.learn(fitted)
            self.rewards.append(reward)
            self.values.append(values)
            self.duals.append(np.array(self.mind.dual))
            self.lengths.append(len(played.actions))
            if len(self.probes) < PROBES:
                self.probes += list(played.observations[: PROBES - len(self.probes)])
            self._watch(played)
            self._next = max(self._next, number + 1)
        self._autosave()
        return record

    # --- acting --------------------------------------------------------------------------------------------------------

    def predict(self, obs: Any, step: int, deterministic: bool = False, mask: Any = None) -> Any:
        """Choose an action for an observation.

        Args:
            obs: as the environment gives it.
            step: 0..H-1, how many actions of the episode were taken before.
            deterministic: take the likeliest action; if not, one is drawn from the policy.
            mask: which actions can be taken; None for all.

        Returns:
            The action, as the environment takes it.
        """
        integer("step", step, 0, self.objectives.horizon - 1)
        policy = self.probabilities(obs, step, mask)
        return self.actions.to_env(draw(policy, self._predictions.random(), deterministic))

    def probabilities(self, obs: Any, step: int, mask: Any = None) -> Array:
        """Compute the probabilities (A,) of all actions at an observation, in the order of the environment's actions.

        Args:
            obs: as the environment shows it.
            step: h, from 0.
            mask: (A,) which actions can be taken; None for all.
        """
        if not self.in_flight:
            ready(self.mind)
        read = self.actions.mask(mask, step)
        check_mask(read, step)
        return self.mind.chances(step, self.see(step, obs), read)

    def see(self, step: int, obs: Any) -> NDArray[Any]:
        """Give an observation as the mind sees it."""
        if self.world is not None:
            return self.world.see(step, obs)
        if isinstance(self.mind, Regression):
            return plain(obs, self.starts[0])
        return Observations(self.spec.n_states, self.spec.dimension, self.starts[0])(step, obs)

    def evaluate(self, episodes: int = 100, deterministic: bool = False) -> Evaluation:
        """Play fresh episodes with the current policy and learn nothing; ``deterministic`` takes the likeliest actions."""
        played = [totals(each) for each in self._fresh(integer("episodes", episodes, 1), 1, deterministic)]
        return Evaluation.of(self.objectives, np.array([r for r, _ in played]), np.array([v for _, v in played]))

    def adequacy(self, episodes: int = 200) -> adequacy.Adequacy:
        """Judge by fresh episodes whether given features are good enough; see :mod:`noregret.agent.adequacy`."""
        if not isinstance(self.mind, Regression):
            raise InputError(f"adequacy is for features that were given; expected none of {self.learner_name}, see summary()")
        mind = self.mind
        return adequacy.assess(mind.learner, [mind.encoded(self.ranges.fit(e)) for e in self._fresh(episodes, 2, False)])

    def _fresh(self, n: int, purpose: int, deterministic: bool) -> list[Played]:
        world, H = self._need_world("evaluate"), self.objectives.horizon
        draws = [seeds(self.seed, purpose, i, H) for i in range(integer("episodes", n, 1))]
        rounds = (draws[i : i + world.size] for i in range(0, n, world.size))
        return [played for each in rounds for played in play(world, self.mind, each, deterministic)]

    def summary(self) -> str:
        """Say what the agent is, every choice that was made for it, and how far it has come."""
        o, n = self.objectives, min(SUMMED, self.episodes)
        total = "no end" if self.total is None else str(self.total)
        preset = f" ({self.learner.preset})" if isinstance(self.mind, Regression) else ""
        lines = [
            f"{self.learner_name}{preset}, H={o.horizon} A={self.actions.n} {self._size()}",
            f"constraint: {'; '.join(o.stated())}",
            *self.mind.describe(),
            f"episodes: {self.episodes} of {total}; plans: {self.mind.replans}; dual: {np.round(self.mind.dual, 4).tolist()}",
            self._notice(),
        ]
        if n:
            recent = np.mean(self.values[-n:], axis=0)
            lines.append(f"last {n} episodes: reward {np.mean(self.rewards[-n:]):.4g}, {np.round(recent, 4).tolist()}")
        return "\n".join(lines)

    def _recent(self) -> str:
        """Means of the last episodes, for the progress bar."""
        o = self.objectives
        means = np.mean(self.values[-RECENT:], axis=0)
        said = [f"{name}: {mean:.3g} of {limit:g}" for name, mean, limit in zip(o.names, means, o.limits, strict=True)]
        return ", ".join([f"reward {np.mean(self.rewards[-RECENT:]):.4g}", *said])

    def _notice(self) -> str:
        until = isinstance(self.mind, Regression) and self.total is None and "states" not in self.learner.constants
        when = f" until episode {self.learner.episodes}" if until else ""
        return f"this run will need at most {self.mind.memory_bound() / 1e9:.2g} GB{when}"

    def _need_world(self, what: str) -> World:
        if self.world is None:
            raise InputError(f"the agent has no environment to {what} in; pass env= to Agent.load")
        return self.world

    # --- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all but environment, features and episodes in flight to one .npz file; a failed write leaves the old file."""
        agent_files.write(path, self)

    def autosave(self, path: str | os.PathLike[str] | None, every: int | None = None, seconds: float | None = None) -> Agent:
        """Save the agent by itself from now on while it learns or is told, and when a call to :meth:`learn` ends in any way.

        Args:
            path: the file, which is replaced as a whole; None stops it.
            every: after so many episodes.
            seconds: after so much time; 30 s where neither is given.
        """
        self._saver = None if path is None else agent_files.Autosave(path, every, seconds)
        return self

    def _autosave(self, end: bool = False) -> None:
        if self._saver is not None:
            self._saver.look(self, end)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, features: Any = None, env: Any = None, **world: Any) -> Agent:
        """Read an agent from a file that :meth:`save` wrote.

        Args:
            path: what :meth:`save` wrote.
            features: the feature map that the agent was made with; it is verified on observations stored in the file. None
                where it was one-hot or found from data.
            env: the environment, to learn on or evaluate; not needed to predict.
            world: ``utility``, ``reward_weights``, ``utility_weights``, ``overrun``, ``actions`` as at construction.

        Raises:
            InputError: the feature map or the environment is not the one that the agent was made with.
            FileError: the file cannot be read.
        """
        made: Agent = agent_files.load(cls, path, features, env, world)
        return made
