"""The object a user holds: an environment, features and a learner, with learn, predict, evaluate, save and load.

    agent = nr.Agent(env, features=..., limit=2.0, reward_range=(-1, 0), episodes=2000)
    agent.learn(2000)
    print(agent.evaluate(100))
    action = agent.predict(observation, step=0)

Episode k resets the environment with a seed made from (seed, k) and draws its actions from another, so learning K episodes
and K more is learning 2K, bit for bit, if the total is given as ``episodes`` or left out: then constants that depend on K are
those of the next power of two, at least 1024 (a schedule without an end).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret import DEFAULT_LEARNER, learners
from noregret._system.interrupts import held
from noregret._system.progress import bar
from noregret.agent import adequacy
from noregret.agent import files as agent_files
from noregret.agent.episodes import Episode, play
from noregret.errors import InputError, unknown_name
from noregret.features import OneHot, Transformer
from noregret.gym import LinearEnv, Objectives, TabularEnv, World
from noregret.gym.environments import as_environment, features_for, horizon_of
from noregret.gym.world import plain
from noregret.kernels.world import draw_action
from noregret.learners.vectors import ContinuousLearner
from noregret.metrics import Interval, mean_interval
from noregret.problems.base import Array
from noregret.problems.checks import integer
from noregret.problems.continuous import ContinuousSpec
from noregret.results import History
from noregret.store.identity import decode, encode

#: Without a total, constants are at first those of this many episodes.
FIRST_TOTAL = 1024
#: Observations kept to recognise the feature map by.
PROBES = 16
#: Arguments that say how an environment is read, which are not saved.
WORLD = ("utility", "reward_weights", "utility_weights", "overrun")


class Record(NamedTuple):
    """What the agent earned in one episode that it learned from, in raw units."""

    episode: int
    reward: float
    values: Array
    length: int


class Callback:
    """What :meth:`Agent.learn` calls while it learns. A plain function serves as ``on_episode`` alone."""

    def on_start(self, agent: Agent) -> None:
        """Called before the first episode of a call to learn."""

    def on_episode(self, agent: Agent, record: Record) -> bool | None:
        """Called after each episode; return False to stop learning."""

    def on_end(self, agent: Agent) -> None:
        """Called after the last episode, also when learning was stopped or failed."""


@dataclass(frozen=True)
class Evaluation:
    """Means of raw totals over fresh episodes, with 95% intervals (low, mean, high); of one episode the ends are nan."""

    episodes: int
    reward: tuple[float, float, float]
    values: tuple[tuple[float, float, float], ...]
    limits: tuple[float, ...]
    names: tuple[str, ...]
    costs: bool
    satisfied: tuple[bool, ...]  # whether the mean meets its limit
    rewards: Array  # (n,)
    totals: Array  # (n,m)

    def __str__(self) -> str:
        """The means with their intervals and whether each constraint is met, in a few lines."""
        lines = [f"reward {self.reward[1]:.4g} [{self.reward[0]:.4g}, {self.reward[2]:.4g}] over {self.episodes} episodes"]
        for name, (low, mean, high), limit, good in zip(self.names, self.values, self.limits, self.satisfied, strict=True):
            sense = "at most" if self.costs else "at least"
            lines.append(f"{name} {mean:.4g} [{low:.4g}, {high:.4g}], {sense} {limit:.4g}: {'met' if good else 'not met'}")
        return "\n".join(lines)


class Agent:
    """Learns to act in an environment under a constraint on a long-run total.

    Action masks (``info["action_mask"]``) are not looked at: every action may be drawn at every state.

    Args:
        env: a Gymnasium environment or its id, or a problem of noregret.
        learner: "primal-dual-lsvi" or "lsvi-ucb".
        features: a feature map, or a scikit-learn transformer. A transformer that is not fitted is fitted on random play. None
            takes a problem's own features, or one-hot features for Discrete observations.
        threshold: the least raw total of each utility. A problem brings its own.
        limit: the most raw total of each cost, in place of ``threshold``.
        episodes: how many will be learned in all (more are refused), or None for a schedule without an end.
        horizon: H; None for that of the environment's time limit or of the problem.
        seed: determines everything random.
        reward_range: (low, high) of raw rewards.
        utility_range: (low, high) of raw utilities or costs, or one for each.
        utility, reward_weights, utility_weights, overrun: see :mod:`noregret.gym.world`.
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
        learner: str = DEFAULT_LEARNER,
        *,
        features: Any = None,
        threshold: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        episodes: int | None = None,
        horizon: int | None = None,
        seed: int = 0,
        reward_range: Sequence[float] = (0.0, 1.0),
        utility_range: Any = (0.0, 1.0),
        utility: str | Callable[..., Any] | None = None,
        reward_weights: ArrayLike | None = None,
        utility_weights: ArrayLike | None = None,
        overrun: str = "error",
        constraint_names: Sequence[str] = (),
        bound: float | None = None,
        preset: str = "practical",
        slater_gap: float | None = None,
        **params: Any,
    ) -> None:
        env = as_environment(env)
        inner = getattr(env, "unwrapped", env)
        if isinstance(inner, TabularEnv | LinearEnv):
            horizon = horizon or inner.problem.horizon
            if threshold is None and limit is None:
                threshold, utility = inner.problem.b, utility or "utility"
                constraint_names = constraint_names or inner.problem.constraint_names
        objectives = Objectives.make(
            horizon_of(env, horizon), threshold=threshold, limit=limit, reward_range=reward_range, utility_range=utility_range,
            names=constraint_names,
        )  # fmt: skip
        world = World(
            env, objectives, utility=utility, reward_weights=reward_weights, utility_weights=utility_weights, overrun=overrun
        )
        seed = integer("seed", seed, 0)
        chosen = features_for(features, world, objectives.horizon, seed, bound)
        options = {"preset": preset, "slater_gap": slater_gap, **params}
        self._set_up(world, objectives, learner, chosen, episodes, seed, options)

    def _set_up(
        self, world: World | None, objectives: Objectives, learner: str, features: Any, episodes: int | None, seed: int,
        options: dict[str, Any],
    ) -> None:  # fmt: skip
        episodes = None if episodes is None else integer("episodes", episodes, 1)
        options = decode(encode(options))  # plain numbers, or refused now rather than when saved
        self.starts = (0, 0) if world is None else world.starts
        self.world, self.objectives, self.features, self.seed = world, objectives, features, seed
        self.total, self.learner_name, self.options = episodes, learner, options
        self.spec = ContinuousSpec(objectives.horizon, objectives.thresholds, features, objectives.names, objectives.absorbing)
        made = learners.make(learner, self.spec, episodes=episodes or FIRST_TOTAL, **options)
        assert isinstance(made, ContinuousLearner)
        self.learner = made
        self.rewards: list[float] = []
        self.values: list[Array] = []
        self.duals: list[Array] = []
        self.lengths: list[int] = []
        self.probes: list[NDArray[Any]] = []
        self._predictions = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))

    @property
    def episodes(self) -> int:
        """How many episodes were learned from."""
        return len(self.rewards)

    @property
    def history(self) -> History:
        """The learning curve so far: rewards, utilities or costs, and dual of every episode learned from."""
        o, shape = self.objectives, (-1, self.spec.n_constraints)
        return History(
            self.learner_name, o.names, o.limits, o.costs, np.array(self.rewards), np.array(self.values).reshape(shape),
            np.array(self.duals).reshape(shape), np.array(self.lengths, dtype=np.int64),
        )  # fmt: skip

    def __repr__(self) -> str:
        """What the agent is and how far it has come, in one line."""
        o = self.objectives
        asked = ", ".join(o.stated(">=", "<="))
        return f"<Agent {self.learner_name}: {asked}; H={o.horizon} d={self.spec.dimension}, {self.episodes} episodes learned>"

    # --- learning ------------------------------------------------------------------------------------------------------

    def learn(
        self, episodes: int, callback: Callback | Callable[[Agent, Record], Any] | None = None, progress_bar: bool = True
    ) -> Agent:
        """Learn from more episodes. An episode that fails is not counted and leaves the learner as it was.

        Args:
            episodes: how many.
            callback: called after each episode with the agent and a :class:`Record`; False as its answer stops learning.
            progress_bar: show one.

        Raises:
            InputError: more episodes than the agent was made for, or the environment broke a promise.
        """
        integer("episodes", episodes, 1)
        if self.total is not None and self.episodes + episodes > self.total:
            raise InputError(
                f"episodes is {episodes}; expected at most {self.total - self.episodes}, what is left of the {self.total} that "
                f"the agent was made for (leave episodes= out of Agent for no end)"
            )
        world = self._need_world("learn")
        hooks = callback if isinstance(callback, Callback) else _Plain(callback)
        hooks.on_start(self)
        try:
            with bar(episodes, None if progress_bar else False, self._notice()) as show:
                for done in range(episodes):
                    record = self._one(world)
                    show(done + 1, f"reward {record.reward:.3g}")
                    if hooks.on_episode(self, record) is False:
                        break
        finally:
            hooks.on_end(self)
        return self

    def _one(self, world: World) -> Record:
        k = self.episodes
        episode = play(world, self.learner, *_seeds(self.seed, 0, k, self.objectives.horizon))
        with held():  # learned from and counted, or neither
            self.learner.observe_rows(episode.rows, episode.actions, episode.observed)
            self.rewards.append(episode.reward)
            self.values.append(episode.values)
            self.duals.append(self.learner.dual)
            self.lengths.append(len(episode.actions))
            if len(self.probes) < PROBES:
                self.probes += [np.asarray(x) for x in episode.observations[: PROBES - len(self.probes)]]
            self._retune()
        return Record(k, episode.reward, episode.values, len(episode.actions))

    def _retune(self) -> None:
        """Without a total, take the constants of the next power of two episodes, before anything plans with the old ones."""
        K = max(FIRST_TOTAL, 1 << self.episodes.bit_length())
        if self.total is None and K != self.learner.episodes:
            self.learner.retune(K)

    # --- acting --------------------------------------------------------------------------------------------------------

    def predict(self, obs: Any, step: int, deterministic: bool = False) -> int:
        """Choose an action for an observation.

        Args:
            obs: as the environment gives it.
            step: 0..H-1, how many actions of the episode were taken before.
            deterministic: take the likeliest action; if not, one is drawn from the policy.

        Returns:
            The action, as the environment takes it.
        """
        integer("step", step, 0, self.objectives.horizon - 1)
        policy = self.probabilities(obs, step)
        a = policy.argmax() if deterministic else draw_action(policy[None, None], 0, 0, self._predictions.random())
        return int(a) + self.starts[1]

    def probabilities(self, obs: Any, step: int) -> Array:
        """Compute the probabilities (A,) of all actions at an observation, in the order of the environment's actions."""
        rows = self.learner.encode(step, plain(obs, self.starts[0]))
        return np.asarray(self.learner.current().chances(step, rows[None])[0])

    def evaluate(self, episodes: int = 100, deterministic: bool = False) -> Evaluation:
        """Play fresh episodes with the current policy and learn nothing; ``deterministic`` takes the likeliest actions."""
        integer("episodes", episodes, 1)
        played = self._fresh(episodes, 1, deterministic)
        rewards, totals = np.array([e.reward for e in played]), np.array([e.values for e in played])
        r, v = mean_interval(rewards), mean_interval(totals)
        if episodes == 1:  # one episode says nothing of the spread
            r, v = (Interval(i.mean, np.full_like(i.mean, np.nan), np.full_like(i.mean, np.nan)) for i in (r, v))
        return Evaluation(
            episodes=episodes, reward=(float(r.low), float(r.mean), float(r.high)),
            values=tuple((float(a), float(b), float(c)) for a, b, c in zip(v.low, v.mean, v.high, strict=True)),
            limits=self.objectives.limits, names=self.objectives.names, costs=self.objectives.costs,
            satisfied=tuple(bool(x) for x in self.objectives.meets(v.mean)), rewards=rewards, totals=totals,
        )  # fmt: skip

    def adequacy(self, episodes: int = 200) -> adequacy.Adequacy:
        """Judge by fresh episodes whether the features are good enough; see :mod:`noregret.agent.adequacy`."""
        return adequacy.assess(self.learner, self._fresh(integer("episodes", episodes, 1), 2, False))

    def _fresh(self, n: int, purpose: int, deterministic: bool) -> list[Episode]:
        world, H = self._need_world("evaluate"), self.objectives.horizon
        return [play(world, self.learner, *_seeds(self.seed, purpose, i, H), deterministic) for i in range(n)]

    def summary(self) -> str:
        """Say what the agent is and how far it has come, in a few lines."""
        o, n = self.objectives, min(100, self.episodes)
        total = "no end" if self.total is None else str(self.total)
        lines = [
            f"{self.learner_name} ({self.learner.preset}), H={o.horizon} A={self.spec.n_actions} d={self.spec.dimension}",
            f"features: {self.features.describe()}",
            f"constraint: {'; '.join(o.stated())}",
            f"episodes: {self.episodes} of {total}; plans: {self.learner.replans}; "
            f"dual: {np.round(self.learner.dual, 4).tolist()}",
            f"states kept: at most {int(self.learner.kept.max())} a step; {self._notice()}",
        ]
        if n:
            recent = np.mean(self.values[-n:], axis=0)
            lines.append(f"last {n} episodes: reward {np.mean(self.rewards[-n:]):.4g}, {np.round(recent, 4).tolist()}")
        return "\n".join(lines)

    def _notice(self) -> str:
        until = f" until episode {self.learner.episodes}" if self.total is None else ""
        return f"this run will need at most {self.learner.memory_bound() / 1e9:.2g} GB{until}"

    def _need_world(self, what: str) -> World:
        if self.world is None:
            raise InputError(f"the agent has no environment to {what} in; pass env= to Agent.load")
        return self.world

    # --- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the environment and the feature map to one .npz file; a failed write leaves the old file."""
        agent_files.write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, features: Any = None, env: Any = None, **world: Any) -> Agent:
        """Read an agent from a file that :meth:`save` wrote.

        Args:
            path: what :meth:`save` wrote.
            features: the feature map that the agent was made with; it is verified on observations stored in the file. None
                where it was one-hot.
            env: the environment, to learn on or evaluate; not needed to predict.
            world: ``utility``, ``reward_weights``, ``utility_weights``, ``overrun`` as at construction.

        Raises:
            InputError: the feature map or the environment is not the one that the agent was made with.
            FileError: the file cannot be read.
        """
        for key in world:
            if key not in WORLD:
                raise unknown_name("argument of Agent.load", key, ("env", "features", *WORLD))
        meta, arrays = agent_files.read(path)
        with agent_files.explained(path):
            objectives = Objectives.from_plain(meta["objectives"])
            if features is None and meta["one_hot"]:
                features = OneHot(*meta["one_hot"])
            if hasattr(features, "transform"):
                probe = arrays["probes"] if len(arrays["probes"]) else None
                features = Transformer(features, n_actions=meta["n_actions"], bound=meta["bound"], probe=probe)
        if features is None or not hasattr(features, "encode"):
            raise InputError(f"features is {features!r}; expected the feature map the agent was made with ({meta['features']})")
        agent = cls.__new__(cls)
        there = None
        if env is not None:
            env = as_environment(env)
            if isinstance(getattr(env, "unwrapped", env), TabularEnv | LinearEnv) and not objectives.costs:
                world.setdefault("utility", "utility")
            there = World(env, objectives, **world)
            agent_files.check_world(there, meta)
        agent_files.check_room(path, objectives.horizon, features, arrays)
        with agent_files.explained(path):
            agent._set_up(there, objectives, meta["learner"], features, meta["episodes"], meta["seed"], meta["options"])
            agent_files.fill(agent, meta, arrays)
            agent._retune()
        return agent


class _Plain(Callback):
    """A function as a callback."""

    def __init__(self, function: Callable[[Agent, Record], Any] | None) -> None:
        if function is not None and not callable(function):
            raise InputError(f"callback is {function!r}; expected a function or a noregret.agent.agent.Callback")
        self.function = function

    def on_episode(self, agent: Agent, record: Record) -> bool | None:
        return None if self.function is None else self.function(agent, record)


def _seeds(seed: int, purpose: int, k: int, H: int) -> tuple[int, Array]:
    """The environment's seed of episode k, and the uniforms that draw its actions; learning, evaluation, adequacy differ."""
    world, own = (np.random.SeedSequence(seed, spawn_key=(purpose, k, i)) for i in (0, 1))
    return int(world.generate_state(1)[0]) & 0x7FFFFFFF, np.random.default_rng(own).random(H)
