"""Learners with a simulator: what they are given, what they draw, and the literal algorithms on the same random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.simulator import rollouts, simulate, simulator_of
from noregret.problems.base import TabularCMDP
from tests.reference.simulated import ReferenceCRPO, ReferenceCSPDA, ReferenceNPGPD
from tests.support import begin, small, told

NAMES = ("npg-pd", "crpo", "cspda")

#: Steps that are long enough to move policies, prices and bounds in a few episodes.
LITERAL: dict[str, tuple[Any, dict[str, float]]] = {
    "npg-pd": (ReferenceNPGPD, {"alpha": 0.7, "eta": 0.4, "xi": 0.9}),
    "crpo": (ReferenceCRPO, {"alpha": 0.8, "tol": 0.05}),
    "cspda": (ReferenceCSPDA, {"alpha": 0.3, "eta": 0.4, "eta_v": 0.5, "xi": 0.9, "kappa": 0.1, "spread": 0.3}),
}
#: Thresholds that are met by some policies and not by others.
PROBLEMS = {
    "noise, masks, two constraints": small(12, m=2, masked=True, noise="bernoulli", b=[1.4, 1.7]),
    "by next state": small(13, A=2, by_next=True, b=[1.6]),
}


def made(name: str, problem: TabularCMDP, episodes: int = 40, **params: Any) -> Any:
    given = told(name, problem) | params
    return nr.learners.make(name, problem.spec, episodes=episodes, slater_gap=0.5, **given)


def words(name: str) -> tuple[str, ...]:
    """What ``estimate`` may be; the printed one first."""
    table: Any = nr.learners.get(name).table
    return tuple(table.rows["estimate"].words)


def plan(learner: Any, k: int) -> np.ndarray:
    return np.asarray(learner.plan(np.random.default_rng(k).random(len(learner._state.uniforms))).policy)


def observe(learner: Any, problem: TabularCMDP) -> None:
    """Any episode: these learners learn nothing from it."""
    actions = problem.available[:, 0].argmax(axis=1)
    learner.observe(
        np.zeros(problem.horizon + 1, int), actions, np.zeros(problem.horizon), np.zeros((len(problem.b), problem.horizon))
    )


@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", PROBLEMS)
def test_they_do_what_the_literal_algorithms_do(case: str, name: str, printed: bool) -> None:
    """Policies, prices and draws of 25 episodes, from the same uniforms."""
    problem, (kind, constants) = PROBLEMS[case], LITERAL[name]
    learner = made(name, problem, draws=2, estimate=words(name)[not printed], **constants)
    slow, moved = kind(problem, 2, printed, **constants), 0.0
    for k in range(25):
        uniforms = np.random.default_rng(k).random(len(learner._state.uniforms))
        policy, expected = plan(learner, k), slow.plan(uniforms)
        np.testing.assert_allclose(policy, expected, rtol=0, atol=1e-9)
        observe(learner, problem)
        slow.step()
        np.testing.assert_allclose(learner.dual, slow.Y, rtol=0, atol=1e-9)
        moved = max(moved, float(np.abs(policy - problem.available / problem.available.sum(axis=2, keepdims=True)).max()))
    assert moved > 0.2
    assert slow.Y.max() > 0.0
    assert learner.notes() == {"simulator draws": slow.drawn}


def test_a_draw_is_a_step_of_the_world_and_counts() -> None:
    problem = small(12, m=2, noise="bernoulli")
    world = worlds.compile_world(problem)
    simulator, scratch = simulator_of(world), worlds.scratch_for(world)
    u, v = np.random.default_rng(1).random(worlds.world_width(problem)), np.zeros(problem.horizon)
    policy = np.zeros_like(problem.r)
    policy[..., 1] = 1.0
    worlds.play(world, policy, u, v, scratch)
    width = 2 + problem.n_constraints
    for h in range(problem.horizon):
        y = simulate(simulator, h, (scratch.states[h], 1), u[1 + width * h :][:width])
        assert y == scratch.states[h + 1]
        np.testing.assert_array_equal(simulator.outcome[0], scratch.observed[h])
    assert simulator.drawn[0] == problem.horizon


def test_rollouts_are_unbiased() -> None:
    """20 000 rollouts from each of 24 pairs: within 4.5 standard errors, of at most H/2 each, of Q by backward induction."""
    problem = small(11, H=2, b=[1.2])
    learner = made("npg-pd", problem)
    tables, n = learner._state.tables, 20_000
    rollouts(learner._state.simulator, tables, n, learner._state.stream)
    V = np.einsum("sa,sa->s", tables.policy[1], problem.r[1])
    Q = np.stack([problem.r[0] + problem.P[0] @ V, problem.r[1]])
    np.testing.assert_allclose(tables.Q[:, 0], Q, rtol=0, atol=4.5 * 1.0 / np.sqrt(n))
    assert learner.notes()["simulator draws"] == n * 12 * (2 + 1)


@pytest.mark.parametrize(("name", "draws"), [("npg-pd", (24, 12 * 6)), ("crpo", (24, 12 * 6)), ("cspda", (24, 2 * 3))])
def test_results_carry_the_draws_of_each_trial(name: str, draws: tuple[int, int]) -> None:
    """36 pairs, 12 a step, of which 24 may be drawn; Σ_h 8 (H−h+1) = 48 rollouts' draws at most."""
    available = np.ones((3, 4, 3), bool)
    available[..., 2] = False
    problem = small(11, b=[1.2], available=available)
    by_model, printed = (
        nr.run(problem, name, episodes=5, trials=2, slater_gap=0.5, draws=2, estimate=word).notes["simulator draws"]
        for word in reversed(words(name))
    )
    assert by_model.tolist() == [5 * 2 * 24] * 2
    assert printed.tolist() == [5 * 2 * (8 * 6 if name != "cspda" else 3)] * 2


def test_crpo_with_slack_constraints_is_natural_policy_gradient() -> None:
    """The same policies, bit for bit, as NPG-PD with constraints that always hold, whose prices stay 0."""
    problem = small(11, b=[0.0])
    one, other = (made(name, problem, alpha=0.7) for name in ("crpo", "npg-pd"))
    for k in range(30):
        uniforms = np.random.default_rng(k).random(3)
        policies = [one.plan(uniforms).policy, other.plan(uniforms[:2]).policy]
        np.testing.assert_array_equal(*policies)
        observe(one, problem)
        observe(other, problem)
    assert one.dual == other.dual == 0.0
    assert policies[0].max(axis=2).min() > 0.6


def test_a_simulator_is_given_to_those_who_declare_it_and_to_no_other() -> None:
    problem = small(11, b=[1.2])
    for name in nr.learners.names():
        learner = nr.learners.get(name)
        assert ("simulator" in learner.told) == (name in NAMES) == ("simulator" in learner.parameters)
    assert begin(problem, "npg-pd", episodes=4).learner.constants["told"] == "a simulator"
    with pytest.raises(InputError, match="simulator is None; npg-pd needs one"):
        nr.learners.make("npg-pd", problem.spec, episodes=4)
    with pytest.raises(InputError, match="simulator is of sizes"):
        nr.learners.make("crpo", problem.spec, episodes=4, **told("crpo", small(11, S=3)))
    with pytest.raises(InputError, match="simulator is given; cspda is told the problem's own"):
        nr.run(problem, "cspda", episodes=4, **told("cspda", problem))
    with pytest.raises(InputError, match="simulator"):
        nr.run(problem, "opdop", episodes=4, **told("npg-pd", problem))
    with pytest.raises(InputError, match="spread is 0"):
        made("cspda", problem, spread=0.0)


def test_a_state_has_the_count_and_nothing_of_the_world() -> None:
    learner = made("npg-pd", small(11, b=[1.2]))
    plan(learner, 0)
    kept = learner.state()
    assert kept["simulator.drawn"].tolist() == [36]
    assert not any("world" in name for name in kept)
    other = made("npg-pd", small(11, b=[1.2]))
    other.restore(kept)
    assert other.notes() == {"simulator draws": 36.0}


def test_tables_show_the_draws_where_some_learner_drew() -> None:
    problem = small(11, b=[1.2])
    both = nr.compare([problem], ["npg-pd", "uniform"], episodes=6, trials=2)
    alone = nr.compare([problem], ["uniform"], episodes=6, trials=2)
    from noregret.experiments.compare import page

    assert not [one.reason for one in both if one.result is None]
    table = page.table(both)
    at = table.columns.index("draws")
    assert [row[at] for row in table.rows] == [36.0 * 6, None]
    assert "draws" in page.everything(both)
    assert "draws" not in page.table(alone).columns
    assert ("simulator draws", 216.0) in [row[:2] for row in both[0].result._summary().rows]  # type: ignore[union-attr]
    assert "simulator draws" not in [row[0] for row in alone[0].result._summary().rows]  # type: ignore[union-attr]
