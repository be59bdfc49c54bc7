"""Small problems, and the literal Algorithm 1 set up as a given learner is."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret import learners
from noregret.features import one_hot
from noregret.kernels.compiler.guests import is_guest
from noregret.kernels.worlds import world as worlds
from noregret.learners.lsvi.table import TABLE
from noregret.learners.presets import Resolved
from noregret.problems.base import TabularCMDP
from noregret.runs import Ask
from noregret.runs.start import start
from noregret.runs.streams import streams
from noregret.runs.trial import TableTrial
from noregret.store import RunKey
from noregret.testing.cases import fitting, small, told
from tests.reference import world as slow_world
from tests.reference.algorithm1 import ReferenceAlgorithm1

__all__ = ["CONSTANTS", "OURS", "begin", "chosen", "fitting", "limited", "slow_curves", "slow_twin", "small", "told", "trial"]

#: noregret's own learners, by name. Other tests register learners of theirs, also while pytest collects.
OURS = [name for name in learners.names() if not is_guest(learners.get(name).__module__)]

#: A setting in which little data already moves policies, duals and caps; the printed form, but for its truncation.
CONSTANTS: dict[str, Any] = {
    "preset": "paper",
    "lam": 0.05, "beta": 0.4, "alpha": 3.0, "eta": 0.2, "xi": 2.5, "zeta": 0.0, "cap": "H-h+1", "lower_clip": True,
}  # fmt: skip


def chosen(preset: str = "theory", slater_gap: float | None = 1.0, **given: Any) -> Resolved:
    """The constants of Algorithm 1 for sizes that are given among the others; no learner is made."""
    sizes = {"H": 4, "A": 2, "d": 6, "m": 1, "K": 100, "room": 1.0, "one_hot": True}
    sizes |= {name: given.pop(name) for name in list(given) if name in sizes}
    return TABLE.resolve("primal-dual-lsvi", preset, {"share": "nothing"} | given, sizes, slater_gap)


def trial(
    problem: TabularCMDP, name: str = "primal-dual-lsvi", *, episodes: int, seed: int = 0, index: int = 0, **params: Any
) -> TableTrial:
    """A trial that records every episode; its regret is Σ −V_r, as V* is taken as 0."""
    problem = fitting(name, problem)
    made = learners.make(name, problem.spec, episodes=episodes, **told(name, problem), **params)
    key = RunKey(problem.name, name, episodes, seed, index, record_every=1)
    return TableTrial(problem, made, key, 0.0, worlds.compile_world(problem))


def limited(seed: int, **changes: Any) -> TabularCMDP:
    """A small random problem whose steps may cost 0.35; action 0 is always there and costs at most 0.3."""
    problem = small(seed, **changes)
    g = np.array(problem.g if problem.g_next is None else problem.g_next)
    g[:, :, :, 0] = 0.7 + 0.3 * g[:, :, :, 0]
    available = problem.available.copy()
    available[:, :, 0] = True
    P = np.where(available[..., None] & ~problem.available[..., None], 1.0 / problem.n_states, problem.P)
    return problem.replace(
        P=P, g=g, available=available, b=0.65 * problem.horizon, step_limit=0.35, safe_actions=[0] * problem.n_states
    )


def begin(problem: Any, name: str = "primal-dual-lsvi", *, episodes: int, **options: Any) -> Any:
    """The trial that ``nr.run`` would begin with; records every episode unless told otherwise."""
    ours = ("seed", "record_every", "preset", "slater_gap", "starts", "features")
    own = {"record_every": 1} | {key: options.pop(key) for key in ours if key in options}
    key = Ask(problem, name, episodes, **own, params=options).keys()[0]
    return start(key)


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
