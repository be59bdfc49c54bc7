"""Small problems, and the literal Algorithm 1 set up as a given learner is."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret import learners
from noregret.features import one_hot
from noregret.kernels import world as worlds
from noregret.problems.base import TabularCMDP
from noregret.runs import Ask
from noregret.runs.prepare import prepared
from noregret.runs.streams import streams
from noregret.runs.trial import TableTrial
from noregret.store import RunKey
from tests.reference import world as slow_world
from tests.reference.algorithm1 import ReferenceAlgorithm1

#: A setting in which little data already moves policies, duals and caps; the printed form, but for its truncation.
CONSTANTS: dict[str, Any] = {
    "preset": "paper",
    "lam": 0.05, "beta": 0.4, "alpha": 3.0, "eta": 0.2, "xi": 2.5, "zeta": 0.0, "cap": "H-h+1", "lower_clip": True,
}  # fmt: skip


def small(
    seed: int = 0, *, H: int = 3, S: int = 4, A: int = 3, m: int = 1, d: int | None = None, masked: bool = False,
    by_next: bool = False, sparse: bool = False, **changes: Any,
) -> TabularCMDP:  # fmt: skip
    """A random problem; ``d`` gives it features, ``masked`` takes some actions away at some steps."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.7), size=(H, S, A))
    if sparse:  # two successors a row, some of them one
        P = np.where(np.arange(S) == rng.integers(S, size=(H, S, A, 1)), 0.7, 0.0)
        P += np.where(np.arange(S) == rng.integers(S, size=(H, S, A, 1)), 0.3, 0.0)
    last = (S,) if by_next else ()
    given: dict[str, Any] = {
        "P": P, "r": rng.random((H, S, A, *last)), "g": rng.random((m, H, S, A, *last)), "b": np.full(m, 0.3 * H),
        "mu": rng.dirichlet(np.ones(S)), "name": "small",
    }  # fmt: skip
    if d is not None:
        phi = rng.normal(size=(S, A, d))
        given["features"] = phi / np.linalg.norm(phi, axis=2, keepdims=True) * rng.uniform(0.2, 1.0, size=(S, A, 1))
    if masked:
        available = rng.random((H, S, A)) < 0.6
        available[..., 0] |= ~available.any(axis=2)
        given["available"] = available
    return TabularCMDP(**(given | changes))


def told(name: str, problem: TabularCMDP) -> dict[str, Any]:
    """What a learner must be told beyond the spec; the safe policy need not be safe for these tests."""
    safe = problem.available / problem.available.sum(axis=2, keepdims=True)
    knowledge = {"reward": problem.r, "utilities": problem.g, "safe_policy": safe}
    return {key: knowledge[key] for key in learners.get(name).told}


def trial(
    problem: TabularCMDP, name: str = "primal-dual-lsvi", *, episodes: int, seed: int = 0, index: int = 0, **params: Any
) -> TableTrial:
    """A trial that records every episode; its regret is Σ −V_r, as V* is taken as 0."""
    made = learners.make(name, problem.spec, episodes=episodes, **told(name, problem), **params)
    key = RunKey(problem.name, name, episodes, seed, index, record_every=1)
    return TableTrial(problem, made, key, 0.0, worlds.compile_world(problem))


def begin(problem: Any, name: str = "primal-dual-lsvi", *, episodes: int, **options: Any) -> Any:
    """The trial that ``nr.run`` would begin with; records every episode unless told otherwise."""
    ours = ("seed", "record_every", "preset", "slater_gap", "starts", "features")
    own = {"record_every": 1} | {key: options.pop(key) for key in ours if key in options}
    key = Ask(problem, name, episodes, **own, params=options).keys()[0]
    return prepared(key).start(key)


def slow_twin(problem: TabularCMDP, constants: dict[str, Any]) -> ReferenceAlgorithm1:
    """The literal Algorithm 1 with the same constants."""
    phi = one_hot(problem.n_states, problem.n_actions) if problem.features is None else problem.features
    given = {key: value for key, value in constants.items() if key not in ("features", "preset")}
    return ReferenceAlgorithm1(phi, problem.horizon, problem.b, available=problem.available, **given)


def slow_curves(problem: TabularCMDP, learner: ReferenceAlgorithm1, episodes: int, seed: int = 0, index: int = 0) -> np.ndarray:
    """What :class:`TableTrial` records, by the literal world and Algorithm 1 fed the same uniforms."""
    world, own = streams(seed, index)
    u, v = world.random((episodes, slow_world.width(problem))), own.random((episodes, problem.horizon))
    rows, sums = [], np.zeros(2 + 2 * problem.n_constraints)
    for k in range(episodes):
        policy = learner.plan().policy
        V_r, V_g = slow_world.evaluate(problem, policy)
        lack = problem.b - V_g
        sums = sums + np.concatenate([[-V_r, max(-V_r, 0.0)], lack, np.maximum(lack, 0.0)])
        learner.observe(*slow_world.play(problem, policy, u[k], v[k]))
        rows.append(np.concatenate([sums, learner.Y]))
    return np.array(rows)
