"""What the checks share: small random problems, a learner to be checked on one of them, and how a check fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret import learners
from noregret.errors import InputError, NoRegretError, one_line
from noregret.kernels.compiler.guests import uniforms_of
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.simulator import simulator_of
from noregret.learners.base import Learner
from noregret.problems.base import Array, TabularCMDP
from noregret.runs.trial import TableTrial
from noregret.store import RunKey

#: Episodes of a check.
K = 24

#: A check with its name; calling it raises CheckError where the check fails.
Check = tuple[str, Callable[[], None]]


class CheckError(NoRegretError, AssertionError):
    """A learner or a problem does not keep what a check asks for."""


def expect(true: object, message: str) -> None:
    """Fail a check with a message, unless ``true``."""
    if not true:
        raise CheckError(message)


def run_checks(subject: object, checks: Iterable[Check]) -> None:
    """Run checks one after the other; the first that fails raises CheckError with the subject and its own name."""
    for name, check in checks:
        try:
            check()
        except CheckError as error:
            raise CheckError(f"{subject}: {name}: {error}") from error


@contextmanager
def refused(what: str, *words: str) -> Iterator[None]:
    """Fail a check unless the block raises an InputError whose message has all ``words``."""
    try:
        yield
    except InputError as error:
        expect(all(word in str(error) for word in words), f"{what} is refused by {str(error)!r}; expected {words} in it")
    except Exception as error:
        raise CheckError(f"{what} raises {one_line(error)}; expected an InputError") from error
    else:
        raise CheckError(f"{what} is not refused; expected an InputError")


def same(first: Mapping[str, ArrayLike], other: Mapping[str, ArrayLike], what: str) -> None:
    """Fail a check unless two states of a learner have the same entries, bit for bit.

    Args:
        first: a state.
        other: another state.
        what: what the two states are, for the message.
    """
    expect(first.keys() == other.keys(), f"{what}: the states have entries {sorted(first)} and {sorted(other)}")
    for key, value in first.items():
        expect(np.array_equal(value, other[key]), f"{what}: state[{key!r}] differs")


def small(
    seed: int = 0,
    *,
    H: int = 3,
    S: int = 4,
    A: int = 3,
    m: int = 1,
    d: int | None = None,
    masked: bool = False,
    by_next: bool = False,
    sparse: bool = False,
    **changes: Any,
) -> TabularCMDP:
    """A small random problem.

    Args:
        seed: of all random numbers.
        H: steps of an episode.
        S: states.
        A: actions.
        m: constraints.
        d: the dimension of random features; None for one-hot ones.
        masked: whether some actions are not available at some steps.
        by_next: whether reward and utilities depend on the next state too.
        sparse: whether a state and an action have at most two next states.
        changes: arrays of the problem in place of the random ones.
    """
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.7), size=(H, S, A))
    if sparse:  # two successors a row, some of them one
        P = np.where(np.arange(S) == rng.integers(S, size=(H, S, A, 1)), 0.7, 0.0)
        P += np.where(np.arange(S) == rng.integers(S, size=(H, S, A, 1)), 0.3, 0.0)
    last = (S,) if by_next else ()
    arguments: dict[str, Any] = {
        "P": P,
        "r": rng.random((H, S, A, *last)),
        "g": rng.random((m, H, S, A, *last)),
        "b": np.full(m, 0.3 * H),
        "mu": rng.dirichlet(np.ones(S)),
        "name": "small",
    }
    if d is not None:
        phi = rng.normal(size=(S, A, d))
        arguments["features"] = phi / np.linalg.norm(phi, axis=2, keepdims=True) * rng.uniform(0.2, 1.0, size=(S, A, 1))
    if masked:
        available = rng.random((H, S, A)) < 0.6
        available[..., 0] |= ~available.any(axis=2)
        arguments["available"] = available
    return TabularCMDP(**(arguments | changes))


def problems() -> dict[str, TabularCMDP]:
    """The problems that a learner is checked on."""
    return {
        "one constraint": small(11, b=[1.2]),
        "masks, noise": small(12, masked=True, noise="bernoulli"),
        "masks, noise, two constraints": small(12, m=2, masked=True, noise="bernoulli"),
        "features, by next state": small(13, d=3, A=2, by_next=True, b=[1.2]),
    }


def fitting(name: str, problem: TabularCMDP) -> TabularCMDP:
    """The problem itself; with one-hot features and a limit on every step for a learner that needs that.

    The action of least cost is known to be safe. A problem with several constraints stays as it is: such learners refuse it.
    """
    if not learners.get(name).stepwise or problem.step_limit is not None or problem.n_constraints > 1:
        return problem
    g = np.where(problem.available, problem.g[0], -np.inf)
    limit = 1.0 - 0.5 * float(g.max(axis=2).min())
    b = np.minimum(problem.b, problem.horizon * (1.0 - limit))
    return problem.replace(features=None, b=b, step_limit=limit, safe_actions=g.argmax(axis=2))


def told(name: str, problem: TabularCMDP) -> dict[str, object]:
    """The options of a learner that must know more than the spec. The safe policy need not be safe for these checks."""
    safe = problem.available / problem.available.sum(axis=2, keepdims=True)
    knowledge: dict[str, Callable[[], object]] = {
        "reward": lambda: problem.r,
        "utilities": lambda: problem.g,
        "safe_policy": lambda: safe,
        "simulator": lambda: simulator_of(worlds.compile_world(problem)),
    }
    return {key: knowledge[key]() for key in learners.get(name).told}


@dataclass(frozen=True)
class Case:
    """A learner, with parameters, on a problem."""

    learner: str
    problem: TabularCMDP
    params: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "problem", fitting(self.learner, self.problem))

    def make(self, episodes: int = K, **more: object) -> Learner:
        """Make the learner, for so many episodes and with ``more`` parameters."""
        options: dict[str, Any] = {"slater_gap": 0.5} | told(self.learner, self.problem) | dict(self.params) | more
        return learners.make(self.learner, self.problem.spec, episodes=episodes, **options)

    def trial(self, episodes: int = K, seed: int = 3, steps: int | None = None) -> TableTrial:
        """A trial that records every episode, played to its end.

        Args:
            episodes: its length.
            seed: of all its random numbers.
            steps: the episodes of a block; None for one block, 0 for a trial that is not played.
        """
        key = RunKey(self.problem.name, self.learner, episodes, seed, record_every=1)
        trial = TableTrial(self.problem, self.make(episodes), key, 0.0, worlds.compile_world(self.problem))
        while trial.k < episodes and steps != 0:
            trial.advance(steps or episodes)
        return trial

    def play(self, learner: Learner, first: int, last: int) -> list[Array]:
        """Play some episodes from one fixed sequence of random numbers.

        Args:
            learner: plans and observes each episode.
            first: the first episode, from 0.
            last: the episode after the last one.

        Returns:
            The policy of each episode.
        """
        world, policies = worlds.compile_world(self.problem), []
        scratch = worlds.scratch_for(world)
        for k in range(first, last):
            rng = np.random.default_rng(k)
            u, v = rng.random(worlds.world_width(self.problem)), rng.random(self.problem.horizon)
            policies.append(plan(learner, k))
            worlds.play(world, policies[-1], u, v, scratch)
            learner.observe(scratch.states, scratch.actions, scratch.observed[:, 0], scratch.observed[:, 1:].T)
        return policies


def plan(learner: Learner, k: int = 0) -> Array:
    """The policy of episode k, from one fixed sequence of uniforms if the learner draws."""
    return learner.plan(np.random.default_rng((1, k)).random(uniforms_of(learner._state))).policy
