"""Episodes from different start states: regret against the best from each, literally; refused, stored, taken up again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import oracle
from noregret.kernels.worlds import world as worlds
from noregret.learners import make
from noregret.runs.execute import Settings, execute
from noregret.runs.keys import make_key
from noregret.runs.streams import streams
from noregret.runs.trial import TableTrial as Trial
from noregret.store import RunKey, Store
from tests.reference import world as slow
from tests.support import CONSTANTS, slow_twin, small

K = 24


def curves(problem: nr.TabularCMDP, states: list[int], seed: int = 4) -> np.ndarray:
    """Regret, hard regret, signed and hard violation by the slow world and Algorithm 1, episode k from states[k]."""
    learner, (world, own) = slow_twin(problem, CONSTANTS), streams(seed, 0)
    u, v = world.random((len(states), slow.width(problem))), own.random((len(states), problem.horizon))
    rows, sums = [], np.zeros(2 + 2 * problem.n_constraints)
    for k, s in enumerate(states):
        alone = problem.replace(mu=s)
        policy = learner.plan().policy
        V_r, V_g = slow.evaluate(alone, policy)
        gap, lack = oracle.solve(alone).value - V_r, problem.b - V_g
        sums = sums + np.concatenate([[gap, max(gap, 0.0)], lack, np.maximum(lack, 0.0)])
        learner.observe(*slow.play(alone, policy, u[k], v[k]))
        rows.append(np.concatenate([sums, learner.Y]))
    return np.array(rows)


@pytest.mark.parametrize("given", [2, [0, 3, 1], "drawn"], ids=["fixed", "sequence", "drawn"])
def test_regret_per_start_is_the_literal_one(given: Any) -> None:
    problem = small(3, m=2, b=[1.1, 1.1])
    if given == "drawn":
        u = streams(4, 0)[0].random((K, slow.width(problem)))[:, 0]
        states = [slow.draw(problem.mu, x) for x in u]
        assert len(set(states)) > 2
    else:
        states = np.resize(given, K).tolist()
    begins = oracle.of(problem).starts(given)
    learner = make("primal-dual-lsvi", begins.problem.spec, episodes=K, **CONSTANTS)
    layout = worlds.compile_world(begins.problem)
    before = layout.start.copy()
    key = RunKey("small", learner.name, K, 4, record_every=1)
    one = Trial(begins.problem, learner, key, 0.0, layout).from_starts(begins)
    for n in (5, 1, K):  # blocks do not matter
        one.advance(n)
    np.testing.assert_allclose(one.curves, curves(problem, states), rtol=1e-9, atol=1e-8)
    np.testing.assert_array_equal(layout.start, before)


def test_the_optimum_of_each_start() -> None:
    problem = small(3)
    found = oracle.per_start(problem.replace(mu=[0.5, 0.0, 0.25, 0.25]))
    assert found.states.tolist() == [0, 2, 3]
    assert np.isnan(found.values[1])
    for s in (0, 2, 3):
        alone = oracle.solve(problem.replace(mu=s))
        assert (found.values[s], found.slater_gaps[s]) == (alone.value, alone.slater_gap)
        np.testing.assert_array_equal(found.duals[s], alone.dual)


def test_a_start_without_room_is_refused_by_name() -> None:
    problem = small(3)
    gaps = [oracle.slater_gap(problem.replace(mu=s)) for s in range(4)]
    worst, b = int(np.argmin(gaps)), problem.b + np.sort(gaps)[0] + 1e-3
    with pytest.raises(nr.InfeasibleError, match=f"start state {worst}: the Slater gap is -0.001"):
        nr.run(problem.replace(b=b), episodes=10, starts=[0, 1, 2, 3])
    others = [s for s in range(4) if s != worst]
    assert nr.run(problem.replace(b=b), episodes=10, trials=1, starts=others, progress=False).slater_gap > 0


def test_it_learns_from_every_start() -> None:
    """From three starts in turn; without damping, which takes the change of start for a swing of the dual."""
    problem = nr.problems.load("random:seed=4")
    found = nr.run(problem, episodes=8000, trials=2, record_every=2000, starts=[0, 2, 4], damping=False, progress=False)
    values = [oracle.solve(problem.replace(mu=s)).value for s in (0, 2, 4)]
    assert found.optimal_value == pytest.approx(np.mean(values))
    assert found.violation[:, -1].max() < 80.0  # 0.01 an episode
    assert (found.regret[:, -1] - found.regret[:, 0]).max() < 60.0  # of the last 6000 episodes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("first", "starts is 'first'; expected 'drawn'"),
        ([0, 9], r"starts\[1\] is 9; expected 0..3"),
        ([0.5], "starts has shape"),
        ([], "starts has shape"),
    ],
)
def test_what_is_refused(given: Any, message: str) -> None:
    with pytest.raises(nr.NoRegretError, match=message):
        nr.run(small(3), episodes=10, starts=given)
    with pytest.raises(nr.NoRegretError, match="with starts the best policy depends on the start"):
        nr.run(small(3), "optimal", episodes=10, starts=[0])


def test_a_stored_run_with_starts_stops_and_goes_on(tmp_path: Path) -> None:
    key = make_key("random", "primal-dual-lsvi", 600, record_every=50, starts=[0, 2, 1])
    assert key.id != make_key("random", "primal-dual-lsvi", 600, record_every=50).id
    assert RunKey.from_json(key.to_json()) == key
    assert "starts=[0, 2, 1]" in key.repeat()
    store, stop = Store(tmp_path), threading.Event()
    settings = Settings(block_size=97, stop=stop, progress=lambda _, k: stop.set() if k >= 97 else None)
    assert execute(key, store, settings).status == "stopped"
    assert execute(key, store, Settings(block_size=101)).status == "done"
    whole = nr.run(nr.problems.load("random"), episodes=600, trials=1, record_every=50, starts=[0, 2, 1], progress=False)
    np.testing.assert_array_equal(store.read(key.id).curves()["regret"], whole.regret[0])
    assert store.read(key.id).record["optimal_value"] == whole.optimal_value
